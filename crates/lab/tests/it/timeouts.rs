//! Timeouts in whole runs: several losses wait in parallel, and long round trips cause no retransmission.

use paceline_lab::run::{Control, Finished, Resources, execute_on};
use paceline_scenario::{Overrides, WarningKind, load_text};

const SITES: &str = r#"
duration = "400ms"
[topology.graph]
nodes = 4
switches = [2, 3]
links = [
  { a = 0, b = 2, rate = "100Gbps", delay = "500ns" },
  { a = 1, b = 3, rate = "100Gbps", delay = "500ns" },
  { a = 2, b = 3, rate = "100Gbps", delay = "2500us" },
]
[network]
mtu = "4096B"
buffer = "400MB"
[[workload]]
flows = [{ src = 0, dst = 1, size = "500MB", start = "0s" }]
[cc]
scheme = "dcqcn"
"#;

fn set(settings: &[&str]) -> Overrides {
    Overrides {
        set: settings.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    }
}

fn execute(input: &paceline_scenario::Resolved) -> Finished {
    execute_on(input, Resources::ONE_THREAD, &mut |_| Control::Continue).unwrap()
}

fn last_fct_us(finished: &Finished) -> f64 {
    let flows = finished.outcome.flows.iter();
    flows.map(|flow| flow.fct.as_us_f64()).fold(0.0, f64::max)
}

/// 500 MB in packets of 4096 and 48 bytes at 100 Gbit/s take 40.5 ms, and the round trip 5.0.
#[test]
fn five_hundred_kilometres() {
    for recovery in ["go-back-n", "irn", "rud"] {
        let input = load_text(
            "sites.toml",
            SITES,
            &set(&[&format!("network.recovery={recovery}")]),
        )
        .unwrap();
        let finished = execute(&input);
        let fct = last_fct_us(&finished);
        assert!((45_400.0..45_600.0).contains(&fct), "{recovery}: {fct} us");
        assert_eq!(finished.outcome.counters.timeouts, 0);
    }
    // With a timeout below the round trip everything is sent twice, which warnings report before and after the run.
    let input = load_text("sites.toml", SITES, &set(&["network.rto=4ms"])).unwrap();
    let finished = execute(&input);
    let told = |kind: WarningKind| {
        finished
            .summary
            .warnings
            .iter()
            .find(|warning| warning.id == kind)
    };
    assert!(told(WarningKind::TimeConstant).is_some_and(|warning| warning.text.contains("network.rto")));
    let early = told(WarningKind::EarlyTimeouts).unwrap();
    assert!(early.text.contains("no packet was lost"), "{}", early.text);
}

/// Without trimming RUD learns of losses by timeouts alone: Ultra Ethernet's public simulator takes 2.74 ms, a timeout
/// for each loss in turn 8.80.
#[test]
fn an_incast_without_trimming() {
    let mut shipped = paceline_scenario::builtin::scenarios().iter();
    let text = shipped
        .find(|scenario| scenario.name == "uec-incast")
        .unwrap()
        .text;
    let settings = set(&["network.drop.trim=false"]);
    let settings = Overrides {
        duration: Some(paceline_kernel::Span::from_us(60_000)),
        ..settings
    };
    let finished = execute(&load_text("uec-incast.toml", text, &settings).unwrap());
    let fct = last_fct_us(&finished);
    assert!(finished.outcome.counters.timeouts > 500);
    assert!((2200.0..3200.0).contains(&fct), "{fct} us");
}
