//! Ultra Ethernet's transport: options as arguments or keys, and errors.

use paceline_parity::uet_htsim::UetModel;
use paceline_scenario::{Overrides, Resolved, load_text};

const FOLDER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../validation/uet-htsim/scenarios"
);

fn resolve(rest: &str) -> Result<Resolved, String> {
    let text = format!("fidelity = \"uet-htsim\"\n{rest}").replace("FOLDER", FOLDER);
    load_text("mine.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

fn with_keys(keys: &str) -> Result<Resolved, String> {
    resolve(&format!(
        "[parity.uet-htsim]\nconnections = \"FOLDER/perm16.cm\"\n{keys}"
    ))
}

fn model(resolved: &Resolved) -> UetModel {
    UetModel::of(&resolved.run).unwrap().clone()
}

/// Each command-line option has a key, and resolved scenarios contain the keys.
#[test]
fn arguments_and_keys_say_the_same() {
    for (arguments, keys) in [
        ("-sender_cc_only", "sender-cc = true"),
        ("-receiver_cc_only", "sender-cc = false\nreceiver-cc = true"),
        (
            "-sender_cc -receiver_cc -q 8 -ecn 2 6",
            "sender-cc = true\nreceiver-cc = true\nqueue = 8\necn = [2, 6]",
        ),
        (
            "-strat ecmp_ar -linkspeed 400000 -mtu 9000",
            "strategy = \"ecmp_ar\"\nlinkspeed = 400000\nmtu = 9000",
        ),
        ("-strat ecmp_rr", "strategy = \"ecmp_rr\""),
        ("-strat ecmp_rr -paths 8", "strategy = \"ecmp_rr\"\npaths = 8"),
        (
            "-sender_cc_algo dctcp -cwnd 9 -disable_trim -queue_size_bdp_factor 2",
            "sender-cc-algo = \"dctcp\"\ncwnd = 9\ntrim = false\nqueue-bdp-factor = 2",
        ),
        (
            "-load_balancing_algo reps_legacy -failed 2 -sleek -qa_gate 2 -target_q_delay 6.5",
            "load-balancing = \"reps_legacy\"\nfailed = 2\nsleek = true\nqa-gate = 2\ntarget-delay = 6.5",
        ),
        (
            "-oversubscribed_cc -Ai .02 -Md .25 -alpha .75 -hop_latency 0.5 -switch_latency 0.1",
            "oversubscribed-cc = \"on\"\nadditive-increase = 0.02\nmultiplicative-decrease = 0.25\nalpha = 0.75\n\
             hop-latency = 0.5\nswitch-latency = 0.1",
        ),
        (
            "-enable_accurate_base_rtt -disable_base_rtt_update_on_nack -sack_threshold 4000 -trimsize 80",
            "accurate-base-rtt = true\nbase-rtt-on-nack = false\nsack-threshold = 4000\ntrim-size = 80",
        ),
    ] {
        let by_keys = with_keys(keys).unwrap();
        let by_arguments = resolve(&format!(
            "[parity.uet-htsim]\narguments = \"-tm FOLDER/perm16.cm {arguments}\""
        ));
        let by_arguments = by_arguments.unwrap();
        assert_eq!(model(&by_arguments), model(&by_keys), "{arguments}");
        assert!(by_arguments.warnings.is_empty(), "{:?}", by_arguments.warnings);
        for resolved in [&by_arguments, &by_keys] {
            let again = resolved
                .toml
                .replace("\"connections.cm\"", "\"FOLDER/perm16.cm\"")
                .replace("fidelity = \"uet-htsim\"\n", "");
            let again = resolve(&again).unwrap_or_else(|error| panic!("{arguments}: {error}"));
            assert_eq!(model(&again), model(&by_keys), "{arguments}");
        }
    }
}

#[test]
fn seed_and_end_are_the_scenarios() {
    let own = model(&with_keys("").unwrap()).spec.options;
    assert_eq!((own.seed, own.end), (13, 1000));
    let given = resolve("[parity.uet-htsim]\narguments = \"-tm FOLDER/perm16.cm -seed 5 -end 40\"").unwrap();
    let own = model(&given).spec.options;
    assert_eq!((given.seed, own.seed, own.end), (5, 5, 40));
    let written = resolve(
        "seed = 7\nduration = \"3ms\"\n[parity.uet-htsim]\narguments = \"-tm FOLDER/perm16.cm -seed 5\"",
    );
    let own = model(&written.unwrap()).spec.options;
    assert_eq!((own.seed, own.end), (7, 3000));
}

/// Flows are ordered by start time, connections as in their file.
#[test]
fn connections_find_their_flows() {
    let resolved = resolve("[parity.uet-htsim]\nconnections = \"FOLDER/nic_mix.cm\"\ntiers = 2").unwrap();
    let own = model(&resolved);
    for (line, flow) in own.spec.matrix.connections.iter().zip(&own.flows) {
        let flow = &resolved.run.flows[*flow as usize];
        assert_eq!((flow.src.0, flow.dst.0), (line.src, line.dst));
        assert_eq!(flow.size.get(), u64::from(line.size));
    }
}

#[test]
fn mistakes_say_what_was_expected() {
    let written = |rest: &str| resolve(rest).unwrap_err();
    let key = |keys: &str| with_keys(keys).unwrap_err();
    let argument = |arguments: &str| written(&format!("[parity.uet-htsim]\narguments = \"{arguments}\""));
    for (found, expected) in [
        (key("paths = 3"), "mine.toml:4:9: 3 paths"),
        (key("paths = 0"), "a number of paths is 0"),
        (
            key("ecn = [2, 90]"),
            "mine.toml:4:7: the upper marking threshold in bytes is 373500",
        ),
        (
            argument("-tm FOLDER/perm16.cm -ecn 2 90"),
            "mine.toml:3:13: the upper marking threshold",
        ),
        (
            key("trim-size = 5000"),
            "mine.toml:4:13: a trimmed packet in bytes is 5000",
        ),
        (
            key("cwnd = 1000000\nmtu = 9000"),
            "the initial window in bytes is 9000000000",
        ),
        (key("queue = 1.5"), "whole number"),
        (key("ecn = [9]"), "`ecn` has not two thresholds"),
        (key("load-balancing = \"rep\""), "unknown value `rep`"),
        (key("queue = 5\nqueue-bdp-factor = 2"), "a queue by packets and"),
        (key("tiers = 2"), "no fat tree of 2 tiers has 16 hosts"),
        (
            key("topology = \"FOLDER/leaf_spine32_4to1.topo\""),
            "the topology has 32 hosts, the connection matrix 16",
        ),
        (
            key("topology = \"FOLDER/leaf_spine32_4to1.topo\"\nhop-latency = 2.0"),
            "a topology file has its own latencies",
        ),
        (argument("-tm FOLDER/one.cm -path 4"), "did you mean `-paths`?"),
        (argument("-planes 2"), "`-planes` is not modelled"),
        (
            argument("-sender_cc_only"),
            "the scenario has no connection matrix",
        ),
        (argument("-tm FOLDER/none.cm"), "none.cm"),
        (
            written("[network]\nmtu = \"9KB\"\n"),
            "`network.mtu` in uet-htsim fidelity",
        ),
        (written("[topology.star]\nhosts = 4\n"), "in uet-htsim fidelity"),
        (
            written("duration = \"1500ns\"\n[parity.uet-htsim]\nconnections = \"FOLDER/one.cm\""),
            "whole microseconds",
        ),
    ] {
        assert!(found.contains(expected), "expected `{expected}` in: {found}");
    }
}
