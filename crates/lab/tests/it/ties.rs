//! Ties between equal senders whose packets arrive at a full buffer at the same instant.

use paceline_lab::run::{Control, Finished, Resources, execute_on};
use paceline_scenario::{Overrides, WarningKind, load_text};

/// Runs equal senders at line rate, on equal cables, to one receiver through a buffer that drops.
fn run(senders: usize, size: &str, set: &[&str], threads: usize) -> Finished {
    let hosts = senders + 1;
    let text = format!(
        "duration = \"20ms\"\n[topology.star]\nhosts = {hosts}\nrate = \"100Gbps\"\ndelay = \"515ns\"\n[[workload]]\n\
         incast = {{ fan-in = {senders}, receiver = {hosts}, size = \"{size}\" }}\n[network]\nmtu = \"4096B\"\n\
         buffer = \"1MB\"\nport-reserve = \"0B\"\nflow-control = \"none\"\n[cc]\nscheme = \"none\"\n"
    );
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    let input = load_text("ties.toml", &text, &overrides).unwrap();
    let resources = Resources {
        threads,
        ..Resources::ONE_THREAD
    };
    execute_on(&input, resources, &mut |_| Control::Continue).unwrap()
}

/// Returns the minimum and maximum over senders of retransmitted bytes.
fn sent_again(finished: &Finished) -> (u64, u64) {
    let all = finished.outcome.flows.iter().map(|flow| flow.retransmitted.get());
    (all.clone().min().unwrap(), all.max().unwrap())
}

fn is_told(finished: &Finished) -> bool {
    let mut warnings = finished.summary.warnings.iter();
    warnings.any(|warning| warning.id == WarningKind::OneSidedTies)
}

#[test]
fn equal_senders_lose_alike() {
    for (senders, size) in [(2, "8MiB"), (8, "2MiB")] {
        let drawn = run(senders, size, &[], 1);
        let (least, most) = sent_again(&drawn);
        assert!(
            least > 0 && most < 2 * least,
            "{senders} senders: {least} to {most}"
        );
        assert!(drawn.summary.tied_drops > 0 && !is_told(&drawn), "{senders}");
        // Another seed is another order; the number of threads is not.
        assert_ne!(
            run(senders, size, &["seed=2"], 1).summary.digest,
            drawn.summary.digest
        );
        assert!(drawn.outcome.hangs_on_seed);
    }
}

/// With a fixed order one of two equal senders loses nothing, and a warning says so.
#[test]
fn a_fixed_order_that_decides_who_loses_is_told() {
    let fixed = run(2, "8MiB", &["ties=structural"], 1);
    let (least, most) = sent_again(&fixed);
    assert!(least == 0 && most > 0, "{least} to {most}");
    assert!(is_told(&fixed), "{:?}", fixed.summary.warnings);
    let shuffled = run(2, "8MiB", &["shuffle-ties=1"], 1);
    assert!(!is_told(&shuffled), "{:?}", shuffled.summary.warnings);
}

/// A network that is cut into parts: two racks, with losses in both.
#[test]
fn parts_of_a_run_agree() {
    let text = "duration = \"2ms\"\n[topology.leaf-spine]\nleaves = 2\nspines = 1\nhosts-per-leaf = 4\n[[workload]]\n\
                incast = { senders = [1, 2, 3, 4, 5, 6, 7], receiver = 0, size = \"500KB\" }\n[[workload]]\n\
                incast = { senders = [0, 1, 2, 3, 5, 6], receiver = 7, size = \"500KB\" }\n[network]\nbuffer = \"100KB\"\n\
                port-reserve = \"0B\"\nflow-control = \"none\"\n[cc]\nscheme = \"none\"\n";
    let of = |threads| {
        let input = load_text("racks.toml", text, &Overrides::default()).unwrap();
        let resources = Resources {
            threads,
            ..Resources::ONE_THREAD
        };
        execute_on(&input, resources, &mut |_| Control::Continue).unwrap()
    };
    let (one, two) = (of(1), of(2));
    assert!(one.summary.tied_drops > 0);
    assert_eq!(one.summary.digest, two.summary.digest);
    assert_eq!(one.outcome.ties, two.outcome.ties);
}

/// A lossless network has a fixed order by default.
#[test]
fn lossless_networks_keep_their_order() {
    let [own, fixed] = [
        &["network.flow-control=pfc"][..],
        &["network.flow-control=pfc", "ties=structural"],
    ]
    .map(|set| run(8, "256KiB", set, 1));
    assert_eq!(own.summary.digest, fixed.summary.digest);
    assert_eq!((own.summary.tied_drops, own.summary.drops), (0, 0));
}
