//! Inputs of the simulator of TCD's authors.

use paceline_fabric::spec::{Detection, EcmpHash, FlowControl, NodeId, PfcMode, PfcThreshold};
use paceline_kernel::{Bytes, Span, Time};
use paceline_parity::tcd_ns3::TcdNs3Spec;
use paceline_scenario::{EXACT, Overrides, Resolved, load_config_text, load_text};

const TOPOLOGY: &str = "4 1 3\n3\n0 3 40Gbps 0.004ms 0\n1 3 40Gbps 0.004ms 0\n2 3 40Gbps 0.004ms 0\n";
const FLOWS: &str = "3\n0 2 3 64000 2.0 2.5\n1 2 3 1001 2.000001 3\n0 1 3 24 2.0 3\n";
const CONFIG: &str = "ENABLE_QCN 1\nUSE_DYNAMIC_PFC_THRESHOLD 0\nENABLE_ROOTECN 1\nENABLE_ROOTECNCC 1\nSEED_NUMBER 6\n\
                      ROOTECN_INTERVAL 97\nFLOW_LEVEL_ECMP 1\nTOPOLOGY_FILE t\nFLOW_FILE f\nSEND_IN_CHUNKS 0\n\
                      APP_STOP_TIME 2.06\nSIMULATOR_STOP_TIME 2.06\nRP_TIMER 55\nBYTE_COUNTER 10000000\nKMAX 200\nKMIN 5\n\
                      PMAX 0.01\nDCTCP_GAIN 0.00390625\nRATE_AI 40Mb/s\nRATE_HAI 200Mb/s\nL2_CHUNK_SIZE 4000\nL2_ACK_INTERVAL 256\n";

fn load(config: &str, flows: &str) -> Result<Resolved, String> {
    let files = [("t", TOPOLOGY), ("f", flows)].map(|(name, text)| (name.to_string(), text.to_string()));
    load_config_text("mix", config, &files, &Overrides::default()).map_err(|error| error.to_string())
}

/// Checks the error after adding or replacing a line of the configuration.
#[track_caller]
fn refused(line: &str, why: &str) {
    let key = line.split_whitespace().next().unwrap();
    let others: String = CONFIG
        .lines()
        .filter(|other| other.split_whitespace().next() != Some(key))
        .map(|other| format!("{other}\n"))
        .collect();
    let error = load(&format!("{others}{line}\n"), FLOWS).unwrap_err();
    assert!(error.contains(why), "{line}: {error}");
}

#[test]
fn a_configuration_is_known_by_its_keys() {
    let resolved = load(CONFIG, FLOWS).unwrap();
    assert_eq!(
        (resolved.fidelity, resolved.seed),
        ("tcd-ns3".parse().unwrap(), 6)
    );
    let run = &resolved.run;
    let FlowControl::Pfc(pfc) = run.switch.flow_control else {
        panic!("{:?}", run.switch.flow_control);
    };
    let (xoff, xon) = (Bytes::new(329_600), Bytes::new(327_540));
    assert_eq!(pfc.threshold, PfcThreshold::Static { xoff, xon });
    let pause = Span::from_us(5);
    assert_eq!(pfc.mode, PfcMode::Quanta { pause });
    let curve = run.switch.ecn[0];
    assert_eq!((curve.kmin, curve.kmax), (Bytes::new(5150), Bytes::new(206_000)));
    let Detection::Tcd(tcd) = run.switch.detection else {
        panic!("{:?}", run.switch.detection);
    };
    assert_eq!(tcd.max_ton, Some(Span::from_us(97)));
}

/// Receivers' ports are drawn in the order of the file; senders' ports count their host's flows in the order of
/// starts.
#[test]
fn flows_have_the_ports_of_the_original() {
    let run = load(CONFIG, FLOWS).unwrap().run;
    let own = TcdNs3Spec::of(&run).unwrap();
    let sports: Vec<u16> = run.flows.iter().map(|flow| flow.sport).collect();
    assert_eq!(sports, [49_153, 49_154, 49_153]);
    assert_eq!((run.flows[1].dst, run.flows[2].src), (NodeId(1), NodeId(1)));
    // Four nodes, a switch and an error model, and two streams per flow.
    assert_eq!(own.setup_streams, 4 * 6 + 1 + 2 + 3 * 2);
    let stops: Vec<Time> = own.stops.clone();
    let seconds = |s: u64| Time::from_ns(s * 100_000_000);
    assert_eq!(stops, [seconds(25), seconds(30), seconds(30)]);
}

#[test]
fn keys_of_ours() {
    let run = load(&format!("{CONFIG}X_NOQCN 0,2\nX_APP 0:4\nX_SLOTS 2048\n"), FLOWS)
        .unwrap()
        .run;
    let own = TcdNs3Spec::of(&run).unwrap();
    assert_eq!(own.unmanaged, [NodeId(0), NodeId(2)]);
    assert_eq!(
        (own.fixed_rate.as_slice(), own.flow_slots),
        (&[(NodeId(0), 4.0)][..], 2048)
    );
    refused("X_NOQCN 0;2", "expected hosts with commas");
    refused("X_NOQCN 3", "node 3 is no host");
    refused("X_APP 0=4", "expected host:factor");
    refused("X_APP 0:9", "from which on nothing is sent");
}

#[test]
fn what_is_not_here_is_refused() {
    refused(
        "SEND_IN_CHUNKS 1",
        "applications that send in chunks are not here",
    );
    refused("PACKET_LEVEL_ECMP 1", "paths chosen for each packet are not here");
    refused("ENABLE_NPECN 1", "ENABLE_NPECN and ENABLE_ROOTECN are both 1");
    refused("ERROR_RATE_PER_LINK 0.1", "links that lose packets");
    refused("L2_CHUNK_SIZE 0", "divide by zero");
    refused("ROOTECN_INTERVALL 97", "did you mean `ROOTECN_INTERVAL`?");
    refused("RATE_AI", "RATE_AI");
    let error = load(CONFIG, "1\n0 2 3 23 2.0 3\n").unwrap_err();
    assert!(error.contains("expected 24B or more"), "{error}");
    let error = load(CONFIG, "1\n0 2 1 64000 2.0 3\n").unwrap_err();
    assert!(error.contains("expected 2 to 6"), "{error}");
    let error = load(CONFIG, "1\n0 2 3 64000 2.0 never\n").unwrap_err();
    assert!(error.contains("`never` is not a stop time"), "{error}");
    let exact = Overrides {
        fidelity: Some(EXACT),
        ..Overrides::default()
    };
    let error = load_config_text("mix", CONFIG, &[], &exact)
        .unwrap_err()
        .to_string();
    assert!(error.contains("its flow file has other columns"), "{error}");
}

/// A scenario of ours in that fidelity; unsupported features are errors.
#[test]
fn a_scenario_in_that_fidelity() {
    const TEXT: &str = "fidelity = \"tcd-ns3\"\nduration = \"3ms\"\n[topology.star]\nhosts = 3\nrate = \"40Gbps\"\n\
                        delay = \"4us\"\n[[workload]]\nincast = { fan-in = 2, receiver = 3, size = \"64KB\" }\n[cc]\n\
                        scheme = \"dcqcn-tcd\"\n[network.detection]\nkind = \"tcd\"\nvariant = \"as-coded\"\n";
    let run = load_text("mine.toml", TEXT, &Overrides::default()).unwrap().run;
    assert!(TcdNs3Spec::of(&run).is_some());
    assert_eq!(run.ecmp_hash, EcmpHash::Shared);
    for (setting, why) in [
        ("cc.scheme=hpcc", "`dcqcn-paper`, `dcqcn-tcd` and `none` only"),
        ("network.pfc.mode=on-off", "pauses without an end of their own"),
        ("network.recovery=irn", "selective repeat"),
        ("workload.0.priority=7", "expected 2 to 6"),
        (
            "network.ecmp-hash=per-switch",
            "--set:1:19: another ecmp-hash than `shared` in tcd-ns3 fidelity: that simulator hashes alike at all switches, and has no salt",
        ),
    ] {
        let overrides = Overrides {
            set: vec![setting.to_string()],
            ..Overrides::default()
        };
        let error = load_text("mine.toml", TEXT, &overrides).unwrap_err().to_string();
        assert!(error.contains(why), "{setting}: {error}");
    }
}
