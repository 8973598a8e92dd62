//! Network sections, written and read again.

use std::fs;

use paceline_fabric::spec::{DropPolicy, Flowlets, Irn, LoadBalancing, PfcThreshold, Recovery, Trim};
use paceline_kernel::{BitRate, Bytes, Span};
use paceline_scenario::Overrides;

use super::assert_round_trip;

#[test]
fn every_kind_of_load_balancing() {
    for set in [
        &["network.load-balancing=ecmp"][..],
        &["network.load-balancing=spray"],
        &["network.load-balancing=adaptive"],
        &[
            "network.load-balancing=flowlet",
            "network.flowlet.gap=7us",
            "network.flowlet.entries=64",
        ],
        &["network.load-balancing=adaptive", "network.adaptive.per=flowlet"],
    ] {
        let overrides = Overrides {
            scheme: Some("dcqcn".into()),
            set: set.iter().map(|s| (*s).to_string()).collect(),
            ..Overrides::default()
        };
        let resolved = assert_round_trip("leaf-spine-failure", &overrides);
        let policy = resolved.run.load_balancing;
        let expected = match set {
            [_, "network.flowlet.gap=7us", _] => LoadBalancing::Flowlet(Flowlets {
                gap: Span::from_us(7),
                entries: 64,
            }),
            [_, _] => LoadBalancing::AdaptiveFlowlet(Flowlets {
                gap: Span::from_us(100),
                entries: 4096,
            }),
            ["network.load-balancing=spray"] => LoadBalancing::Spray,
            ["network.load-balancing=adaptive"] => LoadBalancing::Adaptive,
            _ => LoadBalancing::Ecmp,
        };
        assert_eq!(policy, expected);
    }
}

#[test]
fn loss_and_recovery() {
    let defaults = "[topology.star]\nhosts = 4\n[[workload]]\nincast = { fan-in = 3, receiver = 4 }\n[cc]\nscheme = \"dcqcn\"\n";
    let folder = tempfile::tempdir().unwrap();
    let resolve = |more: &str| {
        let path = folder.path().join("loss.toml");
        fs::write(&path, format!("{defaults}{more}")).unwrap();
        assert_round_trip(path.to_str().unwrap(), &Overrides::default()).run
    };
    let plain = resolve("");
    assert_eq!(plain.nic.recovery, Recovery::GoBackN);
    assert_eq!(plain.switch.loss.drop, DropPolicy::Shared);
    let irn = resolve(
        "[network]\nflow-control = 'none'\nrecovery = 'irn'\n[network.irn]\nreordering = 9\nbdp-cap = false\n",
    );
    let expected = Irn {
        rto_low: Span::from_us(100),
        rto_high: Span::from_us(320),
        low_packets: 3,
        bdp_cap: false,
        reordering: 9,
    };
    assert_eq!(irn.nic.recovery, Recovery::SelectiveRepeat(expected));
    // Eight packets of 1048 bytes; headers have the default size.
    let trimmed = resolve(
        "[network]\nflow-control = 'none'\n[network.drop]\npolicy = 'tail'\npackets = 8\ntrim = true\n",
    );
    assert_eq!(trimmed.switch.loss.drop, DropPolicy::Tail(Bytes::new(8 * 1048)));
    assert_eq!(
        trimmed.switch.loss.trim,
        Some(Trim {
            queue: Bytes::new(100_000)
        })
    );
    // With lossless classes, the others share the free buffer.
    let both = resolve("[network]\nlossless = [4, 5]\n");
    assert_eq!(both.switch.loss.drop, DropPolicy::Dynamic { alpha: 1.0 });
    assert_eq!(both.switch.loss.lossless, 0b11_0000);
}

#[test]
fn tiers_of_switches() {
    let leaf_spine = "[topology.leaf-spine]\nleaves = 2\nspines = 2\nspine-rate = '400Gbps'\n[[workload]]\npermutation = { size = '1MB' }\n[cc]\nscheme = \"dcqcn\"\n";
    let folder = tempfile::tempdir().unwrap();
    let resolve = |more: &str| {
        let path = folder.path().join("tiers.toml");
        fs::write(&path, format!("{leaf_spine}{more}")).unwrap();
        assert_round_trip(path.to_str().unwrap(), &Overrides::default()).run
    };
    assert_eq!(resolve("").switch.tiers, []);
    let run = resolve(
        "[network]\nbuffer = '16MB'\n[network.tier.spine]\nbuffer = '64MB'\necn.kmin = '50KB'\npfc.dynamic.shift = 2\n[network.tier.leaf]\necn.curves = []\n",
    );
    // Tiers are in the order of their names.
    let [leaf, spine] = &run.switch.tiers[..] else {
        panic!("{:?}", run.switch.tiers);
    };
    assert_eq!((leaf.switches.len(), spine.switches.len()), (2, 2));
    assert_eq!(
        (leaf.buffer, spine.buffer),
        (Bytes::new(16_000_000), Bytes::new(64_000_000))
    );
    assert_eq!(
        (leaf.headroom, leaf.threshold, &leaf.ecn[..]),
        (run.switch.headroom, None, &[][..])
    );
    let shift = |threshold| match threshold {
        PfcThreshold::Dynamic { shift, .. } => shift,
        PfcThreshold::Static { .. } => panic!("the network's are dynamic"),
    };
    assert_eq!(spine.threshold.map(shift), Some(2));
    // Spines only have links of 400 Gbit/s; the threshold is given for 25 Gbit/s, the rest is the network's.
    let [curve] = &spine.ecn[..] else {
        panic!("{:?}", spine.ecn);
    };
    let all = run
        .switch
        .ecn
        .iter()
        .find(|curve| curve.rate == BitRate::from_gbps(400))
        .unwrap();
    assert_eq!((curve.rate, curve.kmin), (all.rate, Bytes::new(800_000)));
    assert_eq!((curve.kmax, curve.pmax), (all.kmax, all.pmax));
}
