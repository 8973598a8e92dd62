//! Inputs of programs that are derived from, or similar to, the reproduced ones: detection of the program,
//! conversion, and warnings.

use std::fs;
use std::path::PathBuf;

use paceline_fabric::spec::{FlowControl, LoadBalancing, PfcThreshold};
use paceline_kernel::{BitRate, Bytes, Time};
use paceline_scenario::{EXACT, InputFormat, Overrides, Resolved, SIMAI, load, load_text};

fn data(name: &str) -> String {
    format!("{}/tests/data/relatives/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn as_format(format: InputFormat) -> Overrides {
    Overrides {
        input_format: Some(format),
        ..Overrides::default()
    }
}

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

/// Loads a scenario with this topology and workload.
fn scenario(topology: &str, workload: &str) -> Result<Resolved, String> {
    let text = format!(
        "duration = \"5ms\"\n[topology]\nfile = {topology:?}\n[[workload]]\n{workload}\n[cc]\nscheme = \"dcqcn\"\n"
    );
    load_text("mine.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

fn temporary(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_string();
    (folder, path)
}

/// Two simulators have all the keys of DCQCN's: one counts flows in packets, the other in bytes.
#[test]
fn a_configuration_that_may_be_anothers_is_refused() {
    let config = data("ns3-rdma/mix/config.txt");
    let error = load(&config, &Overrides::default()).unwrap_err().to_string();
    for what in [
        "may be of the simulator of TCD's authors (`tcd-ns3`) or of ns3-rdma, the simulator of DCQCN's authors (`ns3-rdma`)",
        "`--input-format tcd-ns3` or `--input-format ns3-rdma`",
        "in packets in ns3-rdma",
    ] {
        assert!(error.contains(what), "{what}: {error}");
    }
    let tcd = load(&config, &as_format(InputFormat::TcdNs3)).unwrap();
    assert_eq!(
        (tcd.fidelity, tcd.run.flows[0].size),
        ("tcd-ns3".parse().unwrap(), Bytes::new(10_000_000))
    );
}

#[test]
fn ns3_rdma_counts_flows_in_packets() {
    let config = data("ns3-rdma/mix/config.txt");
    let resolved = load(&config, &as_format(InputFormat::Ns3Rdma)).unwrap();
    assert_eq!(resolved.fidelity, EXACT);
    let run = &resolved.run;
    let sizes: Vec<_> = run.flows.iter().map(|flow| flow.size).collect();
    assert_eq!(sizes, [Bytes::new(10_000_000_000); 2]);
    assert_eq!(run.flows[0].start, Time::from_ns(2_000_000_000));
    let curve = run.switch.ecn[0];
    assert_eq!(
        (curve.kmin, curve.kmax),
        (Bytes::new(41_200), Bytes::new(1_030_000))
    );
    let values = run.schemes[0].config.values();
    for (parameter, value) in [
        ("increase-timer", "60us"),
        ("byte-counter", "300MB"),
        ("cnp-interval", "50us"),
    ] {
        assert!(
            values.contains(&(parameter.to_string(), value.to_string())),
            "{parameter}: {values:?}"
        );
    }
    assert_eq!(
        resolved.read_as().unwrap(),
        "mix is read as an input of ns3-rdma, the simulator of DCQCN's authors (input-format ns3-rdma)"
    );
    assert!(
        resolved.toml.contains("input-format = \"ns3-rdma\""),
        "{}",
        resolved.toml
    );
    says(&resolved, "in its own model");
    says(&resolved, "left out: APP_START_TIME, APP_STOP_TIME");
    let again = written_and_read(&resolved);
    assert_eq!(again.run, resolved.run);
    assert_eq!(again.input_format, Some(InputFormat::Ns3Rdma));
}

/// Writes the folder of a run and loads it again.
fn written_and_read(resolved: &Resolved) -> Resolved {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scenario.toml"), &resolved.toml).unwrap();
    for (name, text) in &resolved.files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    load(folder.path().to_str().unwrap(), &Overrides::default()).unwrap()
}

#[test]
fn what_proves_whose_a_configuration_is() {
    let hpcc = load(
        &format!("{}/tests/data/c_incast16/hpcc.txt", env!("CARGO_MANIFEST_DIR")),
        &Overrides::default(),
    )
    .unwrap();
    assert_eq!(hpcc.input_format, Some(InputFormat::Ns3Hpcc));
    assert!(hpcc.toml.contains("input-format = \"ns3-hpcc\""));
    let shared = error(&[("config.txt", "TOPOLOGY_FILE t\nFLOW_FILE f\nENABLE_QCN 0\n")]);
    assert!(
        shared.contains("(`ns3-hpcc`), of the simulator of TCD's authors (`tcd-ns3`) or of ns3-rdma"),
        "{shared}"
    );
    let format = "unknown input format `ns3-rmda`: did you mean `ns3-rdma`?";
    assert_eq!("ns3-rmda".parse::<InputFormat>().unwrap_err(), format);
}

/// The topology of ns3-datacenter counts its ToRs; paths start above the configuration.
#[test]
fn powertcps_experiment_of_a_burst() {
    let config = data("ns3-datacenter/examples/PowerTCP/config-burst.txt");
    let resolved = load(&config, &Overrides::default()).unwrap();
    assert_eq!(resolved.input_format, Some(InputFormat::Ns3Datacenter));
    assert_eq!((resolved.scheme.as_str(), resolved.fidelity), ("powertcp", EXACT));
    let run = &resolved.run;
    assert_eq!(
        (run.nodes.len(), run.links.len(), run.flows.len()),
        (276, 288, 266)
    );
    assert_eq!(run.links[0].rate, BitRate::from_gbps(25));
    says(&resolved, "by default PowerTCP, which is used");
    says(
        &resolved,
        "is read as ns3-datacenter's (nodes switches ToRs links)",
    );
    let hpcc = Overrides {
        scheme: Some("hpcc".to_string()),
        ..Overrides::default()
    };
    let hpcc = load(&config, &hpcc).unwrap();
    assert_eq!(hpcc.scheme, "hpcc");
    // Its switches are numbered after the hosts; a line of other numbers is HPCC's format.
    let (_folder, path) = temporary(
        "star.txt",
        "4 1 1 3\n3\n0 3 25000000000.0 1us 0\n1 3 25Gbps 1us 0\n2 3 25Gbps 1us 0\n",
    );
    let star = scenario(&path, "incast = { receiver = 2, fan-in = 2, size = \"4KB\" }").unwrap();
    assert_eq!(star.run.links.len(), 3);
    let (_folder, path) = temporary(
        "one.txt",
        "4 1 3 3\n0 3 25Gbps 1us 0\n1 3 25Gbps 1us 0\n2 3 25Gbps 1us 0\n",
    );
    let one = scenario(&path, "incast = { receiver = 2, fan-in = 2, size = \"4KB\" }").unwrap();
    assert_eq!(one.run.links.len(), 3);
}

#[test]
fn simais_topology_has_servers() {
    let resolved = scenario(
        &data("simai/HPN_18"),
        "all-reduce = { size = \"16MB\", hosts = \"0..7\" }",
    )
    .unwrap();
    assert_eq!((resolved.run.nodes.len(), resolved.run.links.len()), (18, 20));
    says(&resolved, "what follows the 20 announced links is ignored");
    let flow = &resolved.run.flows[0];
    assert!(flow.src.0 < 8 && flow.dst.0 < 8);
    assert_eq!(resolved.run.links[0].rate, BitRate::from_gbps(2400));
}

/// SimAI's configuration from its repository: missing keys are reported together, and none is called misspelt.
#[test]
fn simais_configuration() {
    let config = data("simai/SimAI.conf");
    let missing = load(&config, &Overrides::default()).unwrap_err().to_string();
    assert!(
        missing.contains(
            "the configuration has no TOPOLOGY_FILE (SimAI takes the topology from its command line (-n)"
        ),
        "{missing}"
    );
    assert_eq!(missing.lines().count(), 1, "{missing}");
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        folder.path().join("SimAI.conf"),
        format!("TOPOLOGY_FILE HPN_18\n{text}"),
    )
    .unwrap();
    for name in ["HPN_18", "flow1.txt"] {
        fs::copy(data(&format!("simai/{name}")), folder.path().join(name)).unwrap();
    }
    let path = folder.path().join("SimAI.conf");
    let resolved = load(path.to_str().unwrap(), &Overrides::default()).unwrap();
    assert_eq!(
        (resolved.input_format, resolved.fidelity, resolved.scheme.as_str()),
        (Some(InputFormat::Simai), SIMAI, "dcqcn")
    );
    assert_eq!(resolved.run.stop, Time::LATEST);
    assert_eq!(
        (resolved.run.packet.mtu, resolved.run.packet.data_header),
        (Bytes::new(9000), Bytes::new(52))
    );
    says(&resolved, "is 40000000000000.00, more than can be simulated");
    says(&resolved, "using `flow1.txt` next to the configuration");
    says(
        &resolved,
        "BW_MON_FILE, BW_MON_INTERVAL, CNP_MON_FILE, MON_END, MON_START",
    );
    says(&resolved, "no node is traced");
}

#[test]
fn keys_with_namespaces() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(data("simai/alibabacloud.txt"), folder.path().join("config.txt")).unwrap();
    fs::copy(data("simai/HPN_18"), folder.path().join("topo")).unwrap();
    fs::copy(data("simai/flow1.txt"), folder.path().join("flow1.txt")).unwrap();
    let config = folder.path().join("config.txt");
    let resolved = load(config.to_str().unwrap(), &Overrides::default()).unwrap();
    assert_eq!(resolved.input_format, Some(InputFormat::Ns3Alibabacloud));
    assert_eq!(resolved.run.packet.mtu, Bytes::new(8192));
    let values = resolved.run.schemes[0].config.values();
    for (parameter, value) in [("rate-ai", "5Mbps"), ("increase-timer", "900us")] {
        assert!(
            values.contains(&(parameter.to_string(), value.to_string())),
            "{parameter}: {values:?}"
        );
    }
    let text = fs::read_to_string(&config).unwrap();
    let lossy =
        text.replace("PfcEnabled true", "PfcEnabled false") + "\nns3::RdmaHw::NicCoalesceMethod PER_QP\n";
    fs::write(&config, lossy).unwrap();
    let lossy = load(config.to_str().unwrap(), &Overrides::default()).unwrap();
    assert_eq!(lossy.run.switch.flow_control, FlowControl::None);
    says(&lossy, "ns3::RdmaHw::NicCoalesceMethod");
}

/// Template of ConWeave's `run.py`, with its numbers.
const CONWEAVE: &str = "TOPOLOGY_FILE config/t.txt
FLOW_FILE config/f.txt
FLOW_INPUT_FILE mix/output/1/in.txt
VOQ_MON_FILE mix/output/1/voq.txt
QLEN_MON_START 2.0
QLEN_MON_END 2.1
SW_MONITORING_INTERVAL 10000
FLOWGEN_START_TIME 2.0
FLOWGEN_STOP_TIME 2.1
BUFFER_SIZE 9
CC_MODE 1
LB_MODE 9
ENABLE_PFC 0
ENABLE_IRN 1
CONWEAVE_TX_EXPIRY_TIME 300
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
FAST_RECOVERY_TIMES 1
EWMA_GAIN 0.00390625
RATE_AI 40.0Mb/s
RATE_HAI 100.0Mb/s
MIN_RATE 100Mb/s
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
VAR_WIN 0
LINK_DOWN 0 0 0
KMAX_MAP 1 100000000000 400
KMIN_MAP 1 100000000000 100
PMAX_MAP 1 100000000000 0.20
LOAD 50
RANDOM_SEED 7
";
const STAR: &str = "4 1 3\n3\n0 3 100Gbps 1000ns 0.000000\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0\n";

#[test]
fn conweaves_flows_have_five_columns() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("config")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("config/t.txt", STAR);
    write("config/f.txt", "2\n0 2 3 1500 2.000000100\n1 2 3 0 2.0000002\n");
    write("config.txt", CONWEAVE);
    let load = |text: &str| {
        write("config.txt", text);
        load(folder.path().to_str().unwrap(), &Overrides::default())
    };
    let resolved = load(CONWEAVE).unwrap();
    assert_eq!(
        (resolved.input_format, resolved.seed, resolved.run.stop),
        (Some(InputFormat::Conweave), 7, Time::from_ns(12_100_000_000))
    );
    let run = &resolved.run;
    assert_eq!(
        run.flows.iter().map(|flow| flow.size.get()).collect::<Vec<_>>(),
        [1500, 1]
    );
    assert_eq!(run.flows[0].start, Time::from_ns(2_000_000_100));
    assert_eq!(run.switch.flow_control, FlowControl::None);
    assert_eq!(run.load_balancing, LoadBalancing::Ecmp);
    assert!(resolved.toml.contains("recovery = \"irn\""));
    says(
        &resolved,
        "LB_MODE 9 (ConWeave) is not here: flows are spread by ECMP",
    );
    says(&resolved, "CONWEAVE_TX_EXPIRY_TIME");
    let letflow = load(&CONWEAVE.replace("LB_MODE 9", "LB_MODE 6")).unwrap();
    assert!(matches!(letflow.run.load_balancing, LoadBalancing::Flowlet(_)));
    assert_eq!(written_and_read(&resolved).run, resolved.run);
    // Without ConWeave's own keys it is taken for HPCC's, whose flows have six columns.
    let own = [
        "LB_",
        "ENABLE_PFC",
        "ENABLE_IRN",
        "CONWEAVE",
        "FLOW_INPUT",
        "VOQ",
        "SW_",
        "FLOWGEN",
        "LOAD",
        "RANDOM",
    ];
    let plain: String = CONWEAVE
        .lines()
        .filter(|line| !own.iter().any(|key| line.starts_with(key)))
        .map(|line| format!("{line}\n"))
        .collect();
    let error = load(&plain.replace("QLEN_MON_START 2.0\nQLEN_MON_END 2.1\n", ""))
        .unwrap_err()
        .to_string();
    assert!(error.contains("`--input-format conweave` reads"), "{error}");
}

/// Checks the thresholds of ns3-rdma's switches.
#[test]
fn static_thresholds_of_ns3_rdma() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["topology.txt", "flow.txt", "flow_tcp_0.txt", "trace.txt"] {
        fs::copy(data(&format!("ns3-rdma/mix/{name}")), folder.path().join(name)).unwrap();
    }
    let text = fs::read_to_string(data("ns3-rdma/mix/config.txt")).unwrap();
    let text = text
        .replace("mix/", "")
        .replace("USE_DYNAMIC_PFC_THRESHOLD 1", "USE_DYNAMIC_PFC_THRESHOLD 0");
    fs::write(
        folder.path().join("config.txt"),
        text.replace("SIMULATOR_STOP_TIME 3.01", "SIMULATOR_STOP_TIME 9.8"),
    )
    .unwrap();
    fs::write(
        folder.path().join("flow_tcp_0.txt"),
        "2\n0 1 3 5 2.0 3.0\n0 1 3 5 2.0 3.0\n",
    )
    .unwrap();
    let resolved = load(folder.path().to_str().unwrap(), &as_format(InputFormat::Ns3Rdma)).unwrap();
    let FlowControl::Pfc(pfc) = resolved.run.switch.flow_control else {
        panic!("{:?}", resolved.run.switch.flow_control);
    };
    let (xoff, xon) = (Bytes::new(41_200), Bytes::new(39_140));
    assert_eq!(pfc.threshold, PfcThreshold::Static { xoff, xon });
    says(&resolved, "2 TCP flows are left out");
    says(&resolved, "2 flows would stop before the end of the run");
    let error = load(
        folder.path().to_str().unwrap(),
        &Overrides {
            fidelity: "tcd-ns3".parse().ok(),
            ..as_format(InputFormat::Ns3Rdma)
        },
    )
    .unwrap_err();
    assert!(error.to_string().contains("has no tcd-ns3 fidelity"), "{error}");
}
