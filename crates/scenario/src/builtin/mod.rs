//! Built-in topologies, workloads and scenarios: the tables behind `list` and `explain`.

mod extents;
mod tables;

use crate::traffic::DISTRIBUTIONS;

pub use crate::schema::declare::{Entry, Parameter};
pub use extents::{GROUPS, Group, ScenarioSize};
pub use tables::{sections, topologies, workloads};

/// Built-in scenario with its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Name under which Paceline loads the scenario.
    pub name: &'static str,
    /// Text of the whole file, in TOML.
    pub text: &'static str,
    /// Files that the scenario names: path as written in the scenario, and text.
    pub files: &'static [(&'static str, &'static str)],
}

impl Shipped {
    /// Returns the purpose and the origin of the scenario: the comment at the head of the file.
    pub fn about(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix('#'));
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    }
    /// Returns the one-line description, without quotes.
    pub fn description(&self) -> &'static str {
        let line = self
            .text
            .lines()
            .find_map(|line| line.strip_prefix("description = "));
        line.unwrap_or_default().trim_matches('"')
    }
}

/// Returns the built-in distributions of flow sizes: name and source.
pub fn distributions() -> impl Iterator<Item = (&'static str, &'static str)> {
    DISTRIBUTIONS.iter().map(|&(name, _, source)| (name, source))
}

macro_rules! shipped {
    ($($name:literal $(in $path:literal $(with $file:literal)? $(beside $messages:literal)? $(joins $matrix:literal)?)?),* $(,)?) => {
        [$(shipped!(@one $name $($path $($file)? $(beside $messages)? $(joins $matrix)?)?),)*]
    };
    (@one $name:literal $path:literal beside $file:literal) => {
        shipped!(@text $name, $path, &[(
            concat!("messages/", $file),
            include_str!(concat!("../../scenarios/infiniband/messages/", $file)),
        )])
    };
    (@one $name:literal $path:literal joins $file:literal) => {
        shipped!(@text $name, $path, &[(
            concat!("connections/", $file),
            include_str!(concat!("../../scenarios/uet/connections/", $file)),
        )])
    };
    (@one $name:literal) => { shipped!(@text $name, concat!($name, ".toml"), &[]) };
    (@one $name:literal $path:literal) => { shipped!(@text $name, $path, &[]) };
    (@one $name:literal $path:literal $file:literal) => {
        shipped!(@text $name, $path, &[(
            concat!("flows/", $file),
            include_str!(concat!("../../scenarios/bolt/flows/", $file)),
        )])
    };
    (@text $name:literal, $path:expr, $files:expr) => {
        Shipped { name: $name, text: include_str!(concat!("../../scenarios/", $path)), files: $files }
    };
}

/// Returns all built-in scenarios, in the order of `list`.
pub fn scenarios() -> &'static [Shipped] {
    &SCENARIOS
}

// A constant would be embedded once for each part of the program that asks for it.
static SCENARIOS: [Shipped; 107] = shipped![
    "incast-20",
    "incast-16",
    "two-flow-join",
    "fairness-4",
    "long-flows-short-flows",
    "many-to-one-16",
    "many-to-one-512",
    "many-to-one-2048",
    "many-to-one-8192",
    "all-to-all-1",
    "all-to-all-4",
    "all-to-all-16",
    "all-to-all-broadcast-1",
    "all-to-all-broadcast-4",
    "all-to-all-broadcast-16",
    "permutation-k8",
    "ring-all-reduce",
    "hierarchical-all-reduce",
    "ai-cluster",
    "llm-3d",
    "llm-by-name",
    "inference-kv",
    "all-to-all-linear",
    "all-to-all-pairwise",
    "fat320-websearch30",
    "fat320-websearch30-incast",
    "fat320-websearch50",
    "fat320-websearch50-incast",
    "fat320-hadoop30",
    "fat320-hadoop30-2ms",
    "fat320-hadoop30-10ms",
    "fat320-hadoop50",
    "fat320-hadoop50-incast",
    "leaf-spine-failure",
    "link-flap",
    "flapping-optic",
    "degraded-link",
    "recovery-loss",
    "hpcc-recovery",
    "swift-incast",
    "swift-target-scaling",
    "pfc-storm",
    "pfc-watchdog",
    "slow-receiver",
    "pfc-deadlock",
    "load-balancing",
    "pcn-head-of-line",
    "tcd-single-point",
    "acc-drain",
    "acc-join",
    "acc-parking-lot",
    "acc-victims",
    "acc-shared-class",
    "acc-fat250-hadoop60",
    "acc-fat250-websearch60",
    "tcd-fat-tree",
    "tcd-fairness",
    "tcd-victims",
    "tcd-testbed",
    "qcn-incast",
    "swift-many-flows",
    "swift-long-flows",
    "decision-latency" in "learned/decision-latency.toml",
    "decisions-in-service" in "learned/decisions-in-service.toml",
    "prediction-value" in "learned/prediction-value.toml",
    "lstm-pid-rates" in "learned/lstm-pid-rates.toml",
    "lstm-pid-senders" in "learned/lstm-pid-senders.toml",
    "lstm-pid-rtts" in "learned/lstm-pid-rtts.toml",
    "lstm-pid-leaf-spine" in "learned/lstm-pid-leaf-spine.toml",
    "rl-cc" in "learned/rl-cc.toml",
    "rl-cc-all-to-all" in "learned/rl-cc-all-to-all.toml",
    "rl-cc-long-short" in "learned/rl-cc-long-short.toml",
    "bolt-single" in "bolt/single.toml",
    "bolt-join100" in "bolt/join100.toml",
    "bolt-join1000" in "bolt/join1000.toml",
    "bolt-leave200" in "bolt/leave200.toml",
    "bolt-leave4000" in "bolt/leave4000.toml",
    "bolt-down400" in "bolt/down400.toml",
    "bolt-fair5" in "bolt/fair5.toml",
    "bolt-star5-1500" in "bolt/star5-1500.toml",
    "bolt-star5-5000" in "bolt/star5-5000.toml",
    "bolt-util60" in "bolt/util60.toml" with "util60.csv",
    "bolt-incast50x100" in "bolt/incast50x100.toml",
    "bolt-star16-fb" in "bolt/star16-fb.toml" with "star16-fb.csv",
    "bolt-fat32-fb" in "bolt/fat32-fb.toml" with "fat32-fb.csv",
    "bolt-solo-star16" in "bolt/solo-star16.toml" with "solo-star16.csv",
    "bolt-solo-fat32" in "bolt/solo-fat32.toml" with "solo-fat32.csv",
    "bolt-lab80" in "bolt/lab80.toml" with "lab80.csv",
    "bolt-fat256-100" in "bolt/fat256-100.toml",
    "bolt-fat256-400" in "bolt/fat256-400.toml",
    "infiniband-demo" in "infiniband/demo.toml",
    "infiniband-unfairness" in "infiniband/unfairness.toml",
    "infiniband-row" in "infiniband/row.toml",
    "infiniband-join" in "infiniband/join.toml",
    "infiniband-fat-tree-128" in "infiniband/fat-tree-128.toml" beside "fat-tree-128.csv",
    "infiniband-fat-tree-1024" in "infiniband/fat-tree-1024.toml" beside "fat-tree-1024.csv",
    "tcd-credits" in "credits/tcd.toml",
    "tcd-credits-victims" in "credits/victims.toml",
    "infiniband-service-level" in "credits/service-level.toml",
    "infiniband-osu" in "credits/osu.toml",
    "infiniband-all-to-all" in "credits/all-to-all.toml",
    "credits-cable" in "credits/cable.toml",
    "infiniband-mpi-io" in "credits/mpi-io.toml",
    "uec-incast",
    "uec-permutation",
    "uet-incast-15" in "uet/incast-15.toml" joins "incast-15.cm",
    "uet-permutation-1024" in "uet/permutation-1024.toml" joins "permutation-1024.cm",
];

/// Returns a scenario with the 20-to-1 incast whose flows are `scale` times as large.
///
/// # Panics
/// If `scale` is not positive and finite.
pub fn demo(scale: f64) -> String {
    assert!(scale > 0.0 && scale.is_finite(), "a scale is above zero");
    let bytes = |megabytes: f64| paceline_kernel::Bytes::new(((megabytes * 1e6 * scale) as u64).max(1));
    let (large, medium, small) = (bytes(200.0), bytes(150.0), bytes(5.0));
    format!(
        r#"# The 20-to-1 incast: three large flows and seventeen small ones meet at one link.
name = "demo"
description = "20-to-1 incast, sizes times {scale}"
duration = "1s"

[topology.star]
hosts = 21
rate = "100Gbps"
delay = "1us"

[[workload]]
label = "large"
incast = {{ senders = [1, 2, 3], receiver = 21, sizes = ["{large}", "{large}", "{medium}"] }}

[[workload]]
label = "small"
incast = {{ senders = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], receiver = 21, size = "{small}" }}

[cc]
scheme = "hpcc"

[record]
queue = "1us"
rates = "10us"
"#
    )
}
