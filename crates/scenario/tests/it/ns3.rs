//! Conversion of ns-3 inputs to runs.

use std::num::NonZeroU64;

use paceline_congestion::registry::WindowMode;
use paceline_fabric::spec::{
    AckPolicy, FlowControl, Headroom, NodeId, Pfc, PfcMode, PfcResponse, PfcThreshold, TieOrder,
};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use paceline_scenario::warning::lines;
use paceline_scenario::{EXACT, Overrides, Resolved, load};

fn reference(config: &str, overrides: &Overrides) -> Resolved {
    load(
        &format!("{}/tests/data/{config}", env!("CARGO_MANIFEST_DIR")),
        overrides,
    )
    .unwrap()
}

#[test]
fn a_reference_configuration_in_full() {
    let resolved = reference("c_incast16/hpcc.txt", &Overrides::default());
    let run = &resolved.run;
    assert_eq!(
        (resolved.scheme.as_str(), resolved.name.as_str()),
        ("hpcc", "hpcc")
    );
    assert_eq!(run.schemes[0].window, WindowMode::Variable);
    assert_eq!(run.ties, TieOrder::Insertion);
    assert_eq!(run.int_multi, 4);
    assert_eq!(run.packet.pfc_frame, Bytes::new(43));
    let nic = &run.nic;
    assert_eq!(
        (nic.ack, nic.ack_chunk),
        (AckPolicy::EveryBytes(Bytes::new(1)), Bytes::new(4000))
    );
    assert_eq!((nic.ack_class, nic.back_to_chunk, nic.rto), (None, None, None));
    assert!(nic.pacing && nic.global_rtt);
    assert_eq!(run.switch.buffer, Bytes::new(32 << 20));
    assert_eq!(run.switch.reserve, Bytes::new(4096));
    let per_link = Headroom::PerLink {
        factor: 3.0,
        extra: Bytes::ZERO,
    };
    assert_eq!(run.switch.headroom, per_link);
    let pfc = Pfc {
        threshold: PfcThreshold::Dynamic {
            shift: 3,
            reference_rate: BitRate::from_gbps(100),
        },
        resume_offset: Bytes::new(3072),
        mode: PfcMode::OnOff,
        response: PfcResponse::NONE,
    };
    assert_eq!(run.switch.flow_control, FlowControl::Pfc(pfc));
    let curve = run.switch.ecn[1];
    assert_eq!(
        (curve.rate, curve.kmin, curve.kmax),
        (
            BitRate::from_gbps(400),
            Bytes::new(1_600_000),
            Bytes::new(6_400_000)
        )
    );
    assert_eq!(run.labels, ["normal"]);
    assert_eq!(
        (run.flows.len(), run.flows[0].start),
        (16, Time::from_ns(2_000_000_000))
    );
    assert_eq!(
        (run.flows[3].src, run.flows[3].class, run.flows[3].sport),
        (NodeId(4), 3, 10_000)
    );
    assert!(run.quirks.wakeup_suppression && !run.quirks.ack_high_priority);
    assert_eq!(run.record.queue_every, Some(Span::from_ns(100)));
    assert_eq!(
        run.record.queue_dump_every,
        NonZeroU64::new(100_000).map(|us| Span::from_us(us.get()))
    );
}

#[test]
fn traced_nodes_and_high_priority_acks() {
    let resolved = reference("a_single_10KB/dcqcn.txt", &Overrides::default());
    assert_eq!(resolved.run.record.trace_nodes, [NodeId(0), NodeId(1), NodeId(2)]);
    assert!(resolved.run.quirks.ack_high_priority);
    assert_eq!(resolved.run.schemes[0].window, WindowMode::Off);
    // The file lists 400 nodes, but the network has three.
    assert!(
        lines(&resolved.warnings)
            .iter()
            .any(|warning| warning.contains("397 nodes to trace do not exist"))
    );
    let config = &resolved.run.schemes[0].config;
    let values = config.values();
    for (parameter, value) in [
        ("alpha-interval", "1us"),
        ("increase-timer", "300us"),
        ("rate-hai", "200Mbps"),
        ("g", "0.00390625"),
    ] {
        assert!(
            values.contains(&(parameter.to_string(), value.to_string())),
            "{parameter}: {values:?}"
        );
    }
}

#[test]
fn the_same_experiment_in_exact_mode() {
    let overrides = Overrides {
        fidelity: Some(EXACT),
        ..Overrides::default()
    };
    let run = reference("c_incast16/dcqcn.txt", &overrides).run;
    assert_eq!(run.quirks, Default::default());
    assert_eq!(run.ties, TieOrder::Structural);
    assert_eq!(
        (run.nic.ack, run.nic.ack_class),
        (AckPolicy::EveryPackets(1), Some(0))
    );
    assert_eq!(run.nic.rto, Some(Span::from_us(4000)));
}

/// Start times are truncated to nanoseconds after a binary conversion, or exact.
#[test]
fn start_times_keys_and_failures() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "topology.txt",
        "4 2 4\n2 3\n0 2 25Gbps 1us 0\n2 3 100Gbps 1us 0.5\n2 3 50Gbps 2us 0\n1 3 25Gbps 1us 0\n",
    );
    write(
        "flow.txt",
        "3 0 1 5 100 1000 2.000005 0 1 3 200 5000000000 2.1 1 0 3 7 10 2.1",
    );
    write(
        "config.txt",
        "TOPOLOGY_FILE topology.txt FLOW_FILE flow.txt CC_MODE 99 L2_CHUNK_SIZE 8000 L2_BACK_TO_ZERO 1 ENABLE_QCN 0
        HAS_WIN 1 RATE_BOUND 0 GLOBAL_T 0 LINK_DOWN 12.5 2 3 ERROR_RATE_PER_LINK 0.001 ENABLE_TRACE 0 L2_ACK_INTERVAL 20000",
    );
    let path = folder.path().join("config.txt");
    let resolved = load(path.to_str().unwrap(), &Overrides::default()).unwrap();
    let run = &resolved.run;
    assert_eq!(resolved.scheme, "none");
    assert_eq!(run.schemes[0].window, WindowMode::Fixed);
    assert_eq!(run.flows[0].start, Time::from_ns(2_000_004_999));
    assert_eq!(run.flows[1].size, Bytes::new(5_000_000_000));
    assert_eq!(
        run.flows.iter().map(|flow| flow.class).collect::<Vec<_>>(),
        [5, 3, 3]
    );
    assert_eq!(
        run.flows.iter().map(|flow| flow.sport).collect::<Vec<_>>(),
        [10_000, 10_001, 10_000]
    );
    assert_eq!(run.labels, ["normal", "incast", "dport-7"]);
    assert_eq!(
        run.links.iter().map(|link| link.error_rate).collect::<Vec<_>>(),
        [0.001, 0.5, 0.001, 0.001]
    );
    assert_eq!(
        (run.failures[0].link, run.failures[0].at, run.failures[0].until),
        (2, Time::from_ns(2_000_012_500), None)
    );
    assert!(run.switch.ecn.is_empty() && !run.nic.pacing && !run.nic.global_rtt);
    assert_eq!(
        (run.nic.back_to_chunk, run.nic.ack),
        (Some(Bytes::new(8000)), AckPolicy::EveryBytes(Bytes::new(20_000)))
    );
    assert_eq!(
        (run.switch.buffer, run.stop),
        (Bytes::new(16 << 20), Time::from_ns(3_009_999_999))
    );
    assert_eq!(run.record.queue_every, None);
    let exact = Overrides {
        fidelity: Some(EXACT),
        ..Overrides::default()
    };
    let exact = load(path.to_str().unwrap(), &exact).unwrap().run;
    assert_eq!(
        (exact.flows[0].start, exact.stop),
        (Time::from_ns(2_000_005_000), Time::from_ns(3_010_000_000))
    );
    assert!(exact.switch.ecn.is_empty());
}

#[test]
fn a_folder_is_its_scenario_or_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let message = |path: &std::path::Path| {
        load(path.to_str().unwrap(), &Overrides::default())
            .unwrap_err()
            .to_string()
    };
    assert!(message(folder.path()).contains("is a folder without a scenario.toml or a config.txt"));
    std::fs::write(folder.path().join("config.txt"), "CC_MOD 3").unwrap();
    assert!(message(folder.path()).contains("unknown key `CC_MOD` (did you mean `CC_MODE`?)"));
}
