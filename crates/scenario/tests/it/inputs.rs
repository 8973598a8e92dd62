//! Reading of configurations and their files: all errors together, files from other folders, silent behaviour of the
//! original.

use std::fs;
use std::path::Path;

use paceline_scenario::{Overrides, Resolved, load, load_text};

#[track_caller]
fn says(resolved: &Resolved, what: &str) {
    assert!(
        resolved
            .warnings
            .iter()
            .any(|warning| warning.to_string().contains(what)),
        "{what}: {:#?}",
        resolved.warnings
    );
}

/// Returns the error of an input with these files, the first of which is loaded.
fn error(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let input = folder.path().join(files[0].0);
    let error = load(input.to_str().unwrap(), &Overrides::default()).unwrap_err();
    error
        .to_string()
        .replace(&format!("{}/", folder.path().display()), "")
}

const HPCC: &str = "TOPOLOGY_FILE t\nFLOW_FILE f\nCC_MODE 3\nRATE_AI 50Mb/s\nL2_CHUNK_SIZE 4000\nENABLE_TRACE 0\n\
                    SIMULATOR_STOP_TIME 2.5\nKMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\n\
                    PMAX_MAP 1 100000000000 0.2\n";

const STAR: &str = "4 1 3\n3\n0 3 100Gbps 1000ns 0.000000\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0\n";

/// Errors in the configuration, the network and the flows are reported together.
#[test]
fn errors_of_all_files_come_at_once() {
    let config = HPCC
        .replace(
            "SIMULATOR_STOP_TIME 2.5",
            "SIMULATOR_STOP_TIM 2.5\nBUFFER_SIZE big",
        )
        .replace("RATE_AI 50Mb/s", "RATE_AI 50Mb");
    let files = [
        ("config.txt", config.as_str()),
        (
            "t",
            "4 1 3\n3\n0 9 100Gbps 1us 0\n1 3 100Gbps 1parsec 0\n2 3 100Gbps 1us 0\n",
        ),
        ("f", "2\n0 2 3 100 1000 soon\n1 2 9 100 1000 2.0\n"),
    ];
    let all = error(&files);
    for what in [
        "config.txt:4:9: `50Mb` is not a value of RATE_AI",
        "unknown key `SIMULATOR_STOP_TIM` (did you mean `SIMULATOR_STOP_TIME`?)",
        "BUFFER_SIZE is `big`",
        "t:3:3: there is no node 9",
        "t:4:13: `1parsec` is not a delay",
        "f:2:16: `soon` is not a start time",
        "f:3:5: priority class 9",
    ] {
        assert!(all.contains(what), "{what}: {all}");
    }
    assert_eq!(all.lines().count(), 7, "{all}");
    // Files of a scenario behave the same.
    let toml = "[topology]\nfile = \"t\"\n[[workload]]\nfile = \"f\"\n[[workload]]\nfile = \"g\"\n";
    let all = error(&[("mine.toml", toml), files[1], files[2]]);
    assert_eq!(all.lines().count(), 5, "{all}");
    assert!(all.contains("the flow file `g` does not exist"), "{all}");
    let missing = error(&[("config.txt", "CC_MODE 1\nKMAX_MAP 1 100000000000 1600\n")]);
    assert!(
        missing.contains("no TOPOLOGY_FILE") && missing.contains("no FLOW_FILE"),
        "{missing}"
    );
}

#[test]
fn numbers_out_of_range_are_told_to_be() {
    let flows = error(&[
        ("config.txt", HPCC),
        ("t", STAR),
        ("f", "2\n0 2 3 70000 1000 2.0\n1 2 3 100 1000 40000000000000.0\n"),
    ]);
    assert!(
        flows.contains(
            "`70000` is out of range for the port of flow 1 of 2: expected a whole number from 0 to 65535"
        ),
        "{flows}"
    );
    assert!(
        flows.contains("`40000000000000.0` is out of range for a start time: expected at most 86400 seconds"),
        "{flows}"
    );
    let config = error(&[
        ("config.txt", &format!("{HPCC}BUFFER_SIZE 99999999999999999999\n")),
        ("t", STAR),
        ("f", "1\n0 2 3 100 1000 2.0\n"),
    ]);
    assert!(
        config.contains("BUFFER_SIZE is `99999999999999999999`, which is out of range"),
        "{config}"
    );
}

/// Like `paceline run mix/config.txt` from any folder: paths start where the program ran.
#[test]
fn a_configuration_is_run_from_another_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("simulation/mix/deep");
    fs::create_dir_all(&mix).unwrap();
    let config = HPCC
        .replace("TOPOLOGY_FILE t", "TOPOLOGY_FILE mix/t")
        .replace("FLOW_FILE f", "FLOW_FILE mix/deep/f");
    fs::write(mix.join("config.txt"), config).unwrap();
    fs::write(mix.join("../t"), STAR).unwrap();
    fs::write(mix.join("f"), "1\n0 2 3 100 1000 2.0\n").unwrap();
    let load = |path: &Path| load(path.to_str().unwrap(), &Overrides::default());
    assert_eq!(load(&mix.join("config.txt")).unwrap().run.flows.len(), 1);
    fs::remove_file(mix.join("f")).unwrap();
    let error = load(&mix.join("config.txt")).unwrap_err().to_string();
    assert!(error.contains("and from the folders above"), "{error}");
}

/// Switches that do not mark, and a rate of fifty bits per second.
#[test]
fn what_hpccs_simulator_does_silently() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("t", STAR);
    write("f", "1\n0 2 3 100 1000 2.0\n");
    let config = HPCC.replace(
        "CC_MODE 3",
        "CC_MODE 1\nENABLE_QCN 0\nRATE_HAI 50\nEWMA_GAIN 0.0625\nRP_TIMER 900",
    );
    write("config.txt", &config);
    let load = || load(folder.path().to_str().unwrap(), &Overrides::default()).unwrap();
    let resolved = load();
    assert_eq!(resolved.scheme, "dcqcn");
    says(
        &resolved,
        "config.txt:4:12: no switch marks packets (ECN), so dcqcn hears of no congestion",
    );
    says(
        &resolved,
        "config.txt:5:10: RATE_HAI has no unit: 50 bit/s, as in ns-3",
    );
    write(
        "config.txt",
        &config
            .replace("ENABLE_QCN 0", "ENABLE_QCN 1")
            .replace("RATE_HAI 50", "RATE_HAI 50Mb/s"),
    );
    let quiet = load();
    let said = paceline_scenario::warning::lines(&quiet.warnings).join("\n");
    assert!(!said.contains("marks") && !said.contains("unit"), "{said}");
    // An equivalent scenario in TOML.
    let none = "duration = \"5ms\"\n[topology.star]\nhosts = 3\n[[workload]]\npermutation = {}\n[cc]\nscheme = \"dctcp\"\n\
                [network.ecn]\ncurves = []\n";
    let none = load_text("mine.toml", none, &Overrides::default()).unwrap();
    says(
        &none,
        "no switch marks packets (ECN), so dctcp hears of no congestion",
    );
}
