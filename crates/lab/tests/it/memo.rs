//! Memoised phases give the same results as simulated ones.

use std::path::PathBuf;

use paceline_fabric::outcome::{EndedFlow, Repeats};
use paceline_fabric::{Outcome, Simulation};
use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Memoise, Overrides, load, load_text};

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data");
    path.join(name)
        .canonicalize()
        .unwrap()
        .to_str()
        .unwrap()
        .to_string()
}

fn run(scenario: &str, memoise: Memoise) -> Finished {
    let overrides = Overrides {
        memoise,
        streams: true,
        ..Overrides::default()
    };
    let text = scenario.replace("DATA", &data(""));
    let input = load_text("memo.toml", &text, &overrides).unwrap();
    execute(&input, &mut |_| Control::Continue).unwrap()
}

/// Runs a scenario with and without memoisation, compares all results, and returns the phases that were reused.
#[track_caller]
fn same(scenario: &str) -> Repeats {
    let (with, without) = (run(scenario, Memoise::On), run(scenario, Memoise::Off));
    let checked = run(scenario, Memoise::Check);
    assert_same(&with, &without);
    assert_same(&checked, &without);
    with.outcome.repeats.unwrap()
}

#[track_caller]
fn assert_same(with: &Finished, without: &Finished) {
    assert_eq!(with.summary.jobs, without.summary.jobs);
    assert_eq!(with.flows, without.flows);
    let plain = |outcome: &Outcome| Outcome {
        repeats: None,
        ended: Vec::new(),
        ..outcome.clone()
    };
    let (with, without) = (plain(&with.outcome), plain(&without.outcome));
    assert_eq!(with.end, without.end);
    assert_eq!(with.counters, without.counters);
    assert!(with == without, "something else differs");
}

#[test]
fn a_ring_on_a_star() {
    let repeats = same(
        "duration = '1s'\ncc.scheme = 'dcqcn'\nrecord = { ports = 'off', accounts = 'off' }\ntopology.star.hosts = 8\n\
         [[job]]\niterations = 20\nchakra = 'DATA/chakra/microbenchmarks/all_reduce/8npus_1MB/all_reduce'\n",
    );
    assert_eq!(repeats.why_not, None);
}

/// Returns a ring all-reduce of 16 ranks, twice round, on a leaf-spine network with several spines.
fn ring_over_spines(scheme: &str, connections: &str) -> String {
    format!(
        "duration = '1s'\ncc.scheme = '{scheme}'\nrecord = {{ ports = 'off', accounts = 'off' }}\n\
         [topology.leaf-spine]\nleaves = 4\nspines = 3\nhosts-per-leaf = 4\n\
         [[job]]\niterations = 30\nplacement = 'spread'\nconnections = '{connections}'\n\
         chakra = 'DATA/chakra/microbenchmarks/all_reduce/8npus_1MB/all_reduce'\n"
    )
}

/// With the same ports, messages of a connection take one path, and phases recur under ECMP.
#[test]
fn rings_over_several_spines_with_the_same_ports() {
    for scheme in ["none", "dcqcn", "timely"] {
        let repeats = same(&ring_over_spines(scheme, "same-ports"));
        assert_eq!(repeats.why_not, None);
        assert!(repeats.taken > 0, "{scheme}: {:?}", repeats.parts);
    }
    let repeats = same(&ring_over_spines("none", "per-message"));
    assert_eq!(repeats.taken, 0, "each message has ports of its own");
}

/// Messages of a communicator and a channel between two ranks have one port, and each path is used by whole connections.
#[test]
fn connections_of_a_trace_have_one_port_each() {
    let ports = |connections| {
        let text = ring_over_spines("none", connections).replace("DATA", &data(""));
        let input = load_text("ports.toml", &text, &Overrides::default()).unwrap();
        let mut simulation = Simulation::new(input.run).unwrap();
        while !simulation.advance(1 << 20).done {}
        let flows = simulation.finish().ended;
        let ends = |flow: &EndedFlow| (flow.spec.src, flow.spec.dst, flow.spec.sport);
        let mut ports: Vec<_> = flows.iter().map(ends).collect();
        ports.sort_unstable();
        ports.dedup();
        (ports.len(), flows.len())
    };
    let (same, flows) = ports("same-ports");
    assert_eq!(same, 8, "a ring of eight ranks has eight connections");
    let (each, again) = ports("per-message");
    assert_eq!((each, again), (flows, flows));
}

#[test]
fn a_dissemination() {
    for scheme in ["none", "dcqcn", "hpcc", "swift"] {
        let repeats = same(&format!(
            "duration = '1s'\ncc.scheme = '{scheme}'\nrecord = {{ ports = 'off', accounts = 'off' }}\n\
             [topology.leaf-spine]\nleaves = 4\nspines = 2\nhosts-per-leaf = 4\n\
             [[job]]\niterations = 50\ngoal = 'DATA/goal/dissemination_16.goal'\n"
        ));
        assert_eq!(repeats.why_not, None);
    }
}

#[test]
fn iterations_of_simai() {
    let folder = tempfile::tempdir().unwrap();
    let conf = std::fs::read_to_string(data("simai/SimAI.conf")).unwrap();
    for (topology, workload, iterations) in [
        ("Rail_Opti_SingleToR_8g_8gps_200Gbps_H20", "microAllReduce.txt", 8),
        (
            "Spectrum-X_32g_8gps_100Gbps_A100",
            "reduced-moe-w32-tp2-ep8.txt",
            2,
        ),
    ] {
        let path = folder.path().join("SimAI.conf");
        let more = format!(
            "TOPOLOGY_FILE DATA/simai/{topology}\nWORKLOAD_FILE DATA/simai/{workload}\nAS_SEND_LAT 3\n{conf}"
        );
        std::fs::write(&path, more.replace("DATA", &data(""))).unwrap();
        let once = load(path.to_str().unwrap(), &Overrides::default()).unwrap();
        let scenario = once
            .toml
            .replace("iterations = 1", &format!("iterations = {iterations}"));
        for (name, content) in &once.files {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let path = folder.path().join("again.toml");
        std::fs::write(&path, scenario).unwrap();
        let run = |memoise| {
            let overrides = Overrides {
                memoise,
                ..Overrides::default()
            };
            let input = load(path.to_str().unwrap(), &overrides).unwrap();
            execute(&input, &mut |_| Control::Continue).unwrap()
        };
        let (with, without) = (run(Memoise::On), run(Memoise::Off));
        let repeats = with.outcome.repeats.as_ref().unwrap();
        assert_eq!(repeats.why_not, None);
        assert!(repeats.taken > 0 || iterations == 2);
        assert_same(&with, &without);
        assert_same(&run(Memoise::Check), &without);
    }
}
