//! ACC's properties on small scale: the built-in scenarios, shortened.

use paceline_fabric::Outcome;
use paceline_lab::run::Finished;
use paceline_lab::run::{Control, execute};
use paceline_scenario::{Overrides, load};

fn run(name: &str, scheme: &str, settings: &[&str]) -> Finished {
    let overrides = Overrides {
        scheme: Some(scheme.into()),
        set: settings.iter().map(ToString::to_string).collect(),
        check: true,
        ..Overrides::default()
    };
    let input = load(name, &overrides).expect("the scenario ships");
    execute(&input, &mut |_| Control::Continue).expect("it runs")
}

/// Returns the goodput of a flow between two times in us, in Gbit/s.
fn goodput(outcome: &Outcome, flow: u32, from: u64, to: u64) -> f64 {
    let width = outcome.rate_bin.as_ns() / 1000;
    let record = outcome
        .rates
        .iter()
        .find(|record| record.flow == flow)
        .expect("it sent");
    let bins = (record.first_bin..).zip(&record.bytes);
    let within = bins.filter(|(bin, _)| (from..to).contains(&(bin * width)));
    within.map(|(_, &bytes)| bytes).sum::<u64>() as f64 * 8e-3 / (to - from) as f64
}

/// A1: eight flows at 40 Gbit/s finish in the time that their queue takes to drain.
#[test]
fn an_incast_drains_at_once() {
    let settings = [
        "topology.star.rate=40Gbps",
        "workload.0.incast.fan-in=8",
        "workload.0.incast.size=250KB",
    ];
    let done = run("acc-drain", "acc", &settings).outcome;
    assert_eq!(done.counters.pauses, 0);
    let queue = done
        .queues
        .iter()
        .max_by_key(|queue| queue.max)
        .expect("it queued");
    let largest = queue.max.get();
    let after = queue.series.bins().skip_while(|bin| bin.max < largest);
    let gone = after
        .map(|bin| (bin.at, bin.min))
        .find(|(_, bytes)| *bytes <= 8 * 1048)
        .expect("it drains");
    // 5 bytes per ns, and round trips of 16 us: to hear, to measure, and to be heard.
    let least = largest / 5;
    assert!(gone.0.as_ns() < least + 50_000, "{} {largest}", gone.0);
}

/// A2: a second flow gets its share at once, and the queue is about equal to its unscheduled bytes.
#[test]
fn two_flows_share_at_once() {
    let settings = ["workload.0.flows.0.size=10MB", "workload.1.flows.0.size=3MB"];
    let done = run("acc-join", "acc", &settings).outcome;
    let [one, other] = [0, 1].map(|flow| goodput(&done, flow, 1050, 1150));
    assert!((one - other).abs() < 0.05 * (one + other), "{one} {other}");
    assert!(
        done.queue_max.get() as f64 <= 1.15 * done.bdp.get() as f64,
        "{}",
        done.queue_max
    );
}

/// A3: no flow starves, and links are used. (A warning says that the long flow gets less than its share.)
#[test]
fn a_parking_lot_is_used() {
    let done = run("acc-parking-lot", "acc", &["duration=4ms"]).outcome;
    let rates = [0, 1, 2, 3].map(|flow| goodput(&done, flow, 2000, 4000));
    assert!(rates[0] > 1.0, "{rates:?}");
    for cross in &rates[1..] {
        assert!(rates[0] + cross > 0.95 * 38.2, "{rates:?}");
    }
}

/// A4: uncongested flows are left alone if all have ACC; next to flows that ignore it, the policies act in order.
#[test]
fn victims_are_held() {
    let short = ["duration=5ms", "workload.3.incast.rounds=40"];
    let all: Vec<&str> = short
        .into_iter()
        .chain(["workload.2.scheme=acc", "workload.3.scheme=acc"])
        .collect();
    let done = run("acc-victims", "acc", &all).outcome;
    for victim in [0, 1] {
        let gbps = goodput(&done, victim, 2000, 5000);
        assert!(gbps > 0.97 * 5.0 * 1000.0 / 1048.0, "{gbps}");
    }
    let [hold, f1, f2] = ["hold", "f1", "f2"].map(|policy| {
        let policy = format!("cc.acc.victims={policy}");
        let settings: Vec<&str> = short
            .into_iter()
            .chain([policy.as_str(), "cc.window=off"])
            .collect();
        let done = run("acc-victims", "acc", &settings).outcome;
        goodput(&done, 1, 2000, 5000)
    });
    assert!(hold > f1 && f1 > f2, "{hold} {f1} {f2}");
}

/// A5: acknowledgements in the class of data do not block it.
#[test]
fn acknowledgements_may_share_the_class_of_data() {
    let done = run("acc-shared-class", "acc", &["duration=4ms"]).outcome;
    for way in [0..4, 4..8] {
        let gbps: f64 = way.map(|flow| goodput(&done, flow, 2000, 4000)).sum();
        assert!(gbps > 0.85 * 36.1, "{gbps}");
    }
}

/// A6 and A7, in a network of 16 hosts: a tenth of DCQCN's pauses, and faster completion than under HPCC.
#[test]
fn it_hardly_pauses() {
    let settings = [
        "topology.fat-tree.k=4",
        "workload.0.poisson.to=200us",
        "workload.1.incast.fan-in=14",
        "workload.1.incast.receiver=15",
        "network.buffer=16MB",
    ];
    let [acc, dcqcn, hpcc] = ["acc", "dcqcn", "hpcc"].map(|scheme| {
        let done = run("acc-fat250-websearch60", scheme, &settings);
        let slowdown = done.summary.fct_slowdown.mean.expect("flows were done");
        (done.outcome.counters.paused_ps, slowdown)
    });
    assert!(dcqcn.0 > 0 && acc.0 * 10 <= dcqcn.0, "{acc:?} {dcqcn:?}");
    assert!(acc.1 < hpcc.1, "{acc:?} {hpcc:?}");
}

/// The ring that deadlocks without congestion control does not under ACC.
#[test]
fn a_ring_does_not_stand_still() {
    let done = run("pfc-deadlock", "acc", &[]);
    assert!(done.outcome.deadlock.is_none());
    assert_eq!(done.outcome.completions.len(), 4);
}

/// Without pauses packets are lost, and a warning explains the consequences.
#[test]
fn a_loss_is_told() {
    let settings = [
        "network.flow-control=none",
        "network.buffer=500KB",
        "workload.0.incast.size=300KB",
    ];
    let done = run("acc-drain", "acc", &settings);
    let got = done
        .summary
        .warnings
        .iter()
        .any(|warning| warning.text.contains("ACC assumes a lossless network"));
    assert!(
        got && done.outcome.counters.buffer_drops > 0,
        "{:?}",
        done.summary.warnings
    );
}

/// Default settings of switches for ACC, and explicit ones that override them.
#[test]
fn switches_detect_and_mark_for_it() {
    let resolved = |scheme: &str, settings: &[&str]| {
        let overrides = Overrides {
            scheme: Some(scheme.into()),
            set: settings.iter().map(ToString::to_string).collect(),
            ..Overrides::default()
        };
        let run = load("acc-join", &overrides).expect("the scenario ships").run;
        (
            run.switch.detection,
            run.switch.ecn[0].kmin.get(),
            run.switch.ecn[0].kmax.get(),
        )
    };
    use paceline_fabric::spec::Detection;
    let (detection, kmin, kmax) = resolved("acc", &[]);
    assert!(matches!(detection, Detection::Tcd(_)));
    assert_eq!((kmin, kmax), (50_000, 50_000));
    assert_eq!(resolved("acc", &["topology.star.rate=100Gbps"]).1, 125_000);
    assert!(matches!(
        resolved("acc", &["network.detection.kind=red"]).0,
        Detection::Red
    ));
    assert!(matches!(
        resolved("acc", &["network.flow-control=none"]).0,
        Detection::Red
    ));
    assert!(matches!(resolved("dcqcn", &[]).0, Detection::Red));
}
