//! Runs of HPCC's ns-3 simulator (`validation/hpcc-ns3`) and of that of TCD's authors (`validation/tcd-ns3`), built
//! into the program.

use std::io::Read as _;

use flate2::read::GzDecoder;
use paceline_scenario::{Diagnostics, Fidelity, Overrides, Problem, Resolved};

/// Scenario of the reference runs, with its configurations.
#[derive(Debug, PartialEq, Eq)]
pub struct Reference {
    /// Name of its folder.
    pub name: &'static str,
    /// Schemes with their `config.txt`.
    pub(super) configs: &'static [(&'static str, &'static str)],
    /// Files that these name: path as written there, and content, which may be compressed.
    pub(super) files: &'static [(&'static str, &'static [u8])],
}

macro_rules! packed {
    ($path:literal) => {
        include_bytes!(concat!("../validation/hpcc-ns3/", $path))
    };
}

macro_rules! configs {
    ($scenario:literal: $($scheme:literal)*) => {
        &[$((
            $scheme,
            include_str!(concat!("../validation/hpcc-ns3/", $scenario, "/", $scheme, "/config.txt")),
        )),*]
    };
}

const TRACE: (&str, &[u8]) = (
    "../../scenarios/trace_none.txt",
    packed!("scenarios/trace_none.txt"),
);

/// Incast of twenty hosts to one.
pub(super) static INCAST_20: Reference = Reference {
    name: "b_incast20",
    configs: configs!("b_incast20": "hpcc" "timely" "dctcp"),
    files: &[
        (
            "../../scenarios/b_incast20/topology.txt",
            packed!("scenarios/b_incast20/topology.txt"),
        ),
        (
            "../../scenarios/b_incast20/flow.txt",
            packed!("scenarios/b_incast20/flow.txt"),
        ),
        TRACE,
    ],
};

/// 320 hosts with Hadoop flows and incasts that arrive during 2 ms.
static FAT_2MS: Reference = Reference {
    name: "e_fat_2ms",
    configs: configs!("e_fat_2ms": "hpcc" "dcqcn" "timely" "dctcp"),
    files: &[
        (
            "../../scenarios/e_fat_2ms/topology.txt",
            packed!("scenarios/e_fat_2ms/topology.txt"),
        ),
        (
            "../../scenarios/e_fat_2ms/flow.txt",
            packed!("scenarios/e_fat_2ms/flow.txt.gz"),
        ),
        TRACE,
    ],
};

/// Defines a scenario of the runs of the simulator of TCD's authors.
macro_rules! reference {
    ($name:ident: $scenario:literal, $($mode:literal)*) => {
        static $name: Reference = Reference {
            name: $scenario,
            configs: &[$((
                $mode,
                include_str!(concat!(
                    "../validation/tcd-ns3/runs/", $scenario, "/", $mode, "/config.txt"
                )),
            )),*],
            files: &[
                (
                    concat!("scenarios/", $scenario, "/topology.txt"),
                    include_bytes!(concat!(
                        "../validation/tcd-ns3/scenarios/", $scenario, "/topology.txt.gz"
                    )),
                ),
                (
                    concat!("scenarios/", $scenario, "/flow.txt"),
                    include_bytes!(concat!(
                        "../validation/tcd-ns3/scenarios/", $scenario, "/flow.txt.gz"
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

/// Returns every scenario of reference runs.
pub(super) fn all() -> impl Iterator<Item = &'static Reference> {
    let all = [
        &INCAST_20,
        &FAT_2MS,
        &SINGLE,
        &MULTI,
        &MULTI_UNCONTROLLED,
        &VICTIM_64K,
        &VICTIM_256K,
        &BURSTS_4,
        &BURSTS_15,
        &ADVERSARIAL,
        &CONFIG_BURST,
        &AS_SHIPPED,
        &MANY_TO_ONE,
    ];
    all.into_iter()
}

impl Reference {
    /// Returns true if it has a configuration for a scheme.
    pub(super) fn has(&self, scheme: &str) -> bool {
        self.configs.iter().any(|(name, _)| *name == scheme)
    }

    /// Returns the run under one of its schemes, or its network and flows under another scheme with that scheme's
    /// defaults.
    pub(super) fn load(
        &self,
        scheme: &str,
        fidelity: Fidelity,
        settings: &[String],
    ) -> Result<Resolved, Diagnostics> {
        let own = self.configs.iter().find(|(name, _)| *name == scheme);
        let (_, config) = own
            .or_else(|| self.configs.first())
            .ok_or_else(|| Problem::new(format!("the reference runs have no {}", self.name)))?;
        let overrides = Overrides {
            scheme: own.is_none().then(|| scheme.to_string()),
            fidelity: Some(fidelity),
            set: settings.to_vec(),
            ..Overrides::default()
        };
        let unpacked = |&(path, content): &(&str, &[u8])| Some((path.to_string(), text(content)?));
        let files: Option<Vec<_>> = self.files.iter().map(unpacked).collect();
        let files = files.ok_or_else(|| Problem::new(format!("the files of {} are damaged", self.name)))?;
        paceline_scenario::load_config_text(self.name, config, &files, &overrides)
    }
}

/// Returns the content as text, decompressed if it is a gzip file.
fn text(content: &[u8]) -> Option<String> {
    // The magic number of RFC 1952.
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut text = String::new();
    if content.starts_with(&GZIP) {
        GzDecoder::new(content).read_to_string(&mut text).ok()?;
    } else {
        text.push_str(std::str::from_utf8(content).ok()?);
    }
    Some(text)
}
