//! Inputs of simulators related to HPCC's: the interpretation is reported and recorded, and results are right.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{command, json, run};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scenario/tests/data/relatives")
        .join(name)
}

/// The experiment of DCQCN's authors: two flows of ten gigabytes to a host of 40 Gbit/s. (Interpreted as TCD's input,
/// sizes would be in bytes, and both flows would end after 8.32 ms.)
#[test]
fn whose_a_configuration_is_is_said_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let config = data("ns3-rdma/mix/config.txt");
    let config = config.to_str().unwrap();
    let refused = run(folder.path(), &["run", config]);
    assert_eq!(refused.status.code(), Some(2));
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("--input-format ns3-rdma"), "{error}");
    let args = [
        "run",
        config,
        "--input-format",
        "ns3-rdma",
        "--duration",
        "2.01s",
        "--out",
        "r",
    ];
    let output = run(folder.path(), &args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let read_as = "is read as an input of ns3-rdma, the simulator of DCQCN's authors (input-format ns3-rdma)";
    assert!(said.contains(read_as), "{said}");
    let args = [
        "sweep",
        config,
        "--input-format=ns3-rdma",
        "--over=network.buffer=8MB,9MB",
        "--duration=2.0001s",
        "--out=s",
    ];
    let swept = run(folder.path(), &args);
    let got = String::from_utf8_lossy(&swept.stderr);
    assert_eq!(got.matches(read_as).count(), 1, "{got}");
    let summary = json(&folder.path().join("r/summary.json"));
    assert_eq!(summary["input_format"], "ns3-rdma");
    assert_eq!(
        (&summary["flows"]["total"], &summary["flows"]["completed"]),
        (&2.into(), &0.into())
    );
    let goodput = summary["goodput_gbps"]["aggregate"].as_f64().unwrap();
    // 40 Gbit/s times 1000 of 1048 bytes, and bytes in flight at the end.
    assert!((37.0..38.2).contains(&goodput), "{goodput}");
    let scenario = fs::read_to_string(folder.path().join("r/scenario.toml")).unwrap();
    assert!(scenario.contains("input-format = \"ns3-rdma\""), "{scenario}");
}

/// An all-reduce of 16 MB over eight NVLinks of 2400 Gbit/s: 97.8 us, and 14 steps of 0.45 us.
#[test]
fn an_all_reduce_inside_simais_server() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(data("simai/HPN_18"), folder.path().join("HPN_18")).unwrap();
    let text = "duration = \"50ms\"\ntopology.file = \"HPN_18\"\n[[workload]]\n\
                all-reduce = { size = \"16MB\", hosts = \"0..7\" }\n[cc]\nscheme = \"dcqcn\"\n";
    fs::write(folder.path().join("s.toml"), text).unwrap();
    let output = command(folder.path())
        .args(["run", "s.toml", "-q", "--out", "r"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let summary = json(&folder.path().join("r/summary.json"));
    let us = summary["makespan_us"].as_f64().unwrap();
    assert!((103.0..105.0).contains(&us), "{us}");
}

/// Fifteen flows of 2 MB into one host of 100 Gbit/s take 2.4 ms and the headers. A chain waits for acknowledgements.
#[test]
fn htsims_matrices_run_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = |name: &str| {
        let file = data(&format!("htsim/{name}"));
        let text = format!(
            "duration = \"50ms\"\n[topology.fat-tree]\nk = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n[[workload]]\n\
             file = {:?}\n[network]\nmtu = \"4096B\"\n[cc]\nscheme = \"dcqcn\"\n",
            file.to_str().unwrap()
        );
        fs::write(folder.path().join("m.toml"), text).unwrap();
        let output = run(folder.path(), &["run", "m.toml", "-q", "--out", name]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let summary = json(&folder.path().join(name).join("summary.json"));
        assert_eq!(summary["flows"]["total"], summary["flows"]["completed"]);
        summary["makespan_us"].as_f64().unwrap()
    };
    let us = matrix("incast.cm");
    assert!((2430.0..2700.0).contains(&us), "{us}");
    let us = matrix("alltoall_serial_16n.cm");
    assert!((7500.0..9000.0).contains(&us), "{us}");
}
