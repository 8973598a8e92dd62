//! Persistent connections next to flows with their own queue pairs.

use paceline_lab::run::{Control, execute};
use paceline_scenario::{Overrides, load_text};

/// A connection reuses the queue pair of an ended flow while acknowledgements of that flow's retransmissions are still
/// in flight: they must not count for the connection.
#[test]
fn late_acknowledgements_are_not_a_connections() {
    const TEXT: &str = "duration = \"200us\"\n[topology.fat-tree]\nk = 4\n[[workload]]\nincast = { receiver = 0, fan-in = 8, \
                        size = \"200KB\" }\n[[workload]]\nclosed-loop = { senders = [1, 2, 3], receivers = [9, 10, 11, 12], \
                        messages = 6, size = \"20KB\", connections = \"persistent\" }\n[[workload]]\npermutation = { size = \
                        \"60KB\" }\n[network]\nflow-control = \"none\"\nbuffer = \"150KB\"\nrecovery = \"irn\"\n\
                        load-balancing = \"spray\"\n[cc]\nscheme = \"dctcp\"\n";
    for seed in 1..=4 {
        let overrides = Overrides {
            seed: Some(seed),
            check: true,
            ..Overrides::default()
        };
        let input = load_text("connections.toml", TEXT, &overrides).unwrap();
        let finished = execute(&input, &mut |_| Control::Continue).unwrap();
        let mut flows = finished.outcome.flows.iter().zip(&input.run.flows);
        assert!(
            flows.all(|(got, asked)| got.delivered <= asked.size),
            "seed {seed}"
        );
    }
}
