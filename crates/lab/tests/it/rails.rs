//! Rail-optimised and oversubscribed networks: routes, times of flows alone, and every invariant under random traffic.

use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Overrides, load_text};

fn run(topology: &str, rest: &str) -> Finished {
    let text = format!("duration = '20ms'\ncheck = true\n[topology.{topology}]\n{rest}\n");
    let input = load_text("test.toml", &text, &Overrides::default()).unwrap();
    execute(&input, &mut |_| Control::Continue).unwrap()
}

/// A packet of 1048 bytes takes 20.96 ns per link at 400 Gbit/s, and a quarter of that inside a server.
#[test]
fn the_ways_between_gpus() {
    let rails = "servers = 4\nservers-per-pod = 2\nserver-rate = '1.6Tbps'";
    for (dst, hops, picoseconds) in [
        // The same server, the same rail, another rail of the same pod, the same rail of another pod.
        (1, 2, 2 * (200_000 + 5_240)),
        (8, 2, 2 * (1_000_000 + 20_960)),
        (9, 4, 4 * (1_000_000 + 20_960)),
        (16, 4, 4 * (1_000_000 + 20_960)),
    ] {
        let flows = format!("[[workload]]\nflows = [{{ src = 0, dst = {dst}, size = '1KB' }}]");
        let done = run("rail", &format!("{rails}\n{flows}\n[cc]\nscheme = 'none'"));
        let flow = &done.outcome.flows[0];
        assert_eq!(done.outcome.counters.data_hops, hops, "to {dst}");
        assert_eq!(flow.received.unwrap().as_ps(), picoseconds, "to {dst}");
        assert_eq!(flow.fct, flow.ideal, "to {dst}");
    }
}

#[test]
fn random_traffic_on_rails_and_oversubscribed_leaves() {
    let work = "[[workload]]\npermutation = { size = '200KB' }\n\
                [[workload]]\npoisson = { sizes = 'fb-hadoop', load = 0.3, to = '100us' }\n\
                [[workload]]\nlabel = 'in'\nincast = { fan-in = 12, receiver = 15, size = '50KB' }\n[cc]\n";
    for topology in [
        (
            "rail",
            "servers = 4\ngpus = 4\nservers-per-pod = 2\noversubscription = 2",
        ),
        (
            "rail",
            "servers = 4\ngpus = 4\nserver-rate = '1.6Tbps'\nspine-rate = '800Gbps'",
        ),
        ("leaf-spine", "hosts-per-leaf = 6\noversubscription = '3:1'"),
        (
            "leaf-spine",
            "hosts-per-leaf = 8\noversubscription = '4:3'\nspines = 2",
        ),
    ] {
        for scheme in ["dcqcn", "hpcc"] {
            let done = run(topology.0, &format!("{}\n{work}scheme = '{scheme}'", topology.1));
            assert_eq!(
                done.summary.flows.completed, done.summary.flows.total,
                "{topology:?} {scheme}"
            );
            assert_eq!(done.summary.drops, 0, "{topology:?} {scheme}");
            let too_fast = done.outcome.flows.iter().find(|flow| flow.fct < flow.ideal);
            assert_eq!(too_fast, None, "{topology:?} {scheme}");
        }
    }
}
