//! Flow completion times of the reference simulator, to the nanosecond.

use crate::common::{add_flow, fcts, run, scheme, star};

const T0: u64 = 2_000_000_000;

/// One flow alone: `(size, [hpcc, dcqcn, timely, dctcp])`.
#[test]
fn a_flow_alone() {
    let expected = [
        (1_000, [4_188, 4_174, 4_176, 4_174]),
        (10_000, [4_971, 4_921, 4_932, 4_921]),
        (100_000, [13_022, 12_391, 12_492, 12_391]),
        (1_000_000, [95_726, 87_091, 88_092, 87_091]),
        (10_000_000, [921_013, 834_091, 844_092, 834_091]),
    ];
    for (size, fct) in expected {
        for (name, fct) in ["hpcc", "dcqcn", "timely", "dctcp"].into_iter().zip(fct) {
            let mut spec = star(2, scheme(name));
            add_flow(&mut spec, 1, 2, size, T0);
            assert_eq!(fcts(&run(spec)), [fct], "{size} bytes under {name}");
        }
    }
}

#[test]
fn two_flows_join() {
    for (name, expected) in [
        ("hpcc", [283_866, 178_257]),
        ("timely", [530_373, 172_049]),
        ("dctcp", [253_091, 170_072]),
        ("dcqcn", [593_577, 389_546]),
    ] {
        let mut spec = star(3, scheme(name));
        add_flow(&mut spec, 1, 3, 2_000_000, T0);
        add_flow(&mut spec, 2, 3, 1_000_000, T0 + 4_999);
        assert_eq!(fcts(&run(spec)), expected, "{name}");
    }
}
