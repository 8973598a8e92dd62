//! Runs of the simulator of TCD's authors that the project carries with it (`validation/tcd-ns3`), and what they gave.

use crate::reference::Reference;

/// run, metric, value.
const VALUES: &str = include_str!("../../../../validation/tcd-ns3/values.tsv");

/// A number of a reference run.
pub(super) fn value(run: &str, metric: &str) -> Option<f64> {
    let mut rows = VALUES.lines().map(|line| line.split('\t'));
    rows.find_map(|mut row| {
        (row.next() == Some(run) && row.next() == Some(metric)).then(|| row.next()?.parse().ok())?
    })
}

macro_rules! reference {
    ($name:ident: $scenario:literal, $($mode:literal)*) => {
        pub(super) static $name: Reference = Reference {
            name: $scenario,
            configs: &[$((
                $mode,
                include_str!(concat!(
                    "../../../../validation/tcd-ns3/runs/", $scenario, "/", $mode, "/config.txt"
                )),
            )),*],
            files: &[
                (
                    concat!("scenarios/", $scenario, "/topology.txt"),
                    include_bytes!(concat!(
                        "../../../../validation/tcd-ns3/scenarios/", $scenario, "/topology.txt.gz"
                    )),
                ),
                (
                    concat!("scenarios/", $scenario, "/flow.txt"),
                    include_bytes!(concat!(
                        "../../../../validation/tcd-ns3/scenarios/", $scenario, "/flow.txt.gz"
                    )),
                ),
            ],
        };
    };
}

reference!(SINGLE: "s1_single", "ecn" "npecn" "tcd" "tcd_T48" "tcd_T20");
reference!(MULTI: "s2_multi", "ecn" "tcd");
reference!(MULTI_UNCONTROLLED: "s2_multi_150us", "ecn_nocc" "npecn_nocc" "tcd_nocc");
reference!(VICTIM_64K: "s3_victim_64k", "ecn" "npecn" "tcd");
reference!(VICTIM_256K: "s3_victim_256k", "ecn" "npecn");
reference!(BURSTS_4: "b_burstflow_4x30us", "ecn" "npecn" "tcd");
reference!(BURSTS_15: "b_burstflow_f_15x150us", "ecn" "npecn" "tcd");
reference!(ADVERSARIAL: "b_adversarial_64k", "ecn" "tcd");
reference!(CONFIG_BURST: "b_configburst_64k", "ecn" "tcd");
reference!(AS_SHIPPED: "b_configburst_as_shipped", "ecn");
reference!(MANY_TO_ONE: "b_testflow_17to1", "ecn" "tcd");
