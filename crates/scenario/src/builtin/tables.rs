//! Tables of a scenario file and their declared keys.

use std::sync::LazyLock;

use crate::schema::declare::{Entry, Parameter, entry};
use crate::schema::{
    Adaptive, AllReduce, AllToAll, Bursts, Cc, CcDefaults, ClosedLoop, Detection, Drop, Dumbbell, Ecn,
    Endpoint, EntropyValues, Failure, FastCnp, FatTree, Flow, Flowlet, Graph, HpccFat, Incast, IncastPoisson,
    Inference, InferenceDecode, InferencePrefill, InferenceRequests, InferenceSlo, InferenceTransfer,
    InfraGraph, Irn, Isolation, Job, JobStep, Lanes, LeafSpine, LinkChange, LinkError, Llr, Messages,
    MrcValues, Network, ParkingLot, PauseStorm, Permutation, Pfc, Poisson, Rail, ReceiveBuffer, Record, Ring,
    Route, Rud, Scenario, SlowHost, Star, Tier, Trace, Watchdog, Workload,
};

const HOSTS_ABOUT: &str = "Named sets of hosts. A set of hosts, here and elsewhere, is a host number, a list of numbers and texts, or a text. A text has parts separated by commas. Each part is a number, a range (\"0..127\" or \"0-127\", both ends included; \"0..127 step 8\"), \"all\", a part of the network (\"leaf 0-3\", \"leaf 0..7 step 2\", \"pod 2\", \"rail 1\", \"server 5\", counted from 0), or a name of this table. `except` excludes hosts (\"all except leaf 0, storage\"). The order is preserved. A leaf is a switch with hosts; a pod is the part below the core of a three-tier network; `topology.rail` has rails and servers. Other keys take the number or the name of a node, as results show it (\"host 12\", \"leaf 1\", \"spine 3\", \"rail 2\", \"server 2\").";
const SWEEP_ABOUT: &str = "The grid of `paceline sweep`: all combinations of the values, each with the same seeds. Keys are paths, as in --set: \"cc.scheme\" = [\"hpcc\", \"dcqcn\"].";
const FILE_ABOUT: &str = "A topology file of HPCC's ns-3 simulator or one of its relatives, a fat tree of htsim (.topo), or an infrastructure of InfraGraph (.yaml, .json): `topology.file = \"topology.txt\"`.";
const FLOWS_ABOUT: &str = "A flow file of HPCC's ns-3 simulator or one of its relatives, or a connection matrix of htsim (.cm): `file = \"flow.txt\"`.";
const ALL_GATHER_ABOUT: &str =
    "Every host gets 1/n of the data from each other host: n-1 steps around a ring.";

/// Describes a parameter whose name the user chooses.
const fn named(name: &'static str, default: &'static str, help: &'static str) -> Parameter {
    Parameter {
        name,
        unit: "",
        default,
        help,
        when: &[],
        written: default,
    }
}

const HOSTS: &[Parameter] = &[named(
    "a-name",
    "",
    "the hosts of the set; sets of this table cannot refer to each other",
)];
const SWEEP: &[Parameter] = &[
    named(
        "path.to.key",
        "",
        "its values: a list, or { from, to, steps } for numbers, both ends included",
    ),
    named(
        "path.to.key, path.to.other",
        "",
        "keys that vary in step: a list of lists, each with a value for every key",
    ),
    named(
        "case",
        "",
        "named cases, [[sweep.case]]: the keys that each sets, and its `label` in tables and figures (default: the values)",
    ),
    named(
        "repeats",
        "1",
        "number of consecutive seeds per point, from the scenario's on",
    ),
];

/// Describes a table whose keys the user chooses.
const fn free(name: &'static str, summary: &'static str, parameters: &'static [Parameter]) -> Entry {
    Entry {
        name,
        summary,
        parameters,
        when: &[],
    }
}

/// Returns the sections by table name; the first is the top level. Blocks of schemes, topologies and workloads have
/// their own tables.
pub fn sections() -> &'static [Entry] {
    static SECTIONS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let own = vec![
            entry::<Scenario>(""),
            free("hosts", HOSTS_ABOUT, HOSTS),
            entry::<Workload>("workload"),
            entry::<Job>("job"),
            entry::<JobStep>("job.step"),
            entry::<crate::schema::SendStep>("job.step.send"),
            entry::<crate::schema::PipelineStep>("job.step.pipeline"),
            entry::<crate::schema::LocalPrices>("job.local"),
            entry::<crate::schema::TraceRules>("job.rules"),
            entry::<crate::schema::Architecture>("job.model"),
            entry::<crate::schema::Parallelism>("job.parallel"),
            entry::<crate::schema::ModelTraining>("job.training"),
            entry::<crate::schema::ModelTimes>("job.training.times"),
            entry::<Inference>("inference"),
            entry::<InferenceRequests>("inference.requests"),
            entry::<InferencePrefill>("inference.prefill"),
            entry::<InferenceDecode>("inference.decode"),
            entry::<InferenceTransfer>("inference.transfer"),
            entry::<InferenceSlo>("inference.slo"),
            entry::<Network>("network"),
            entry::<Tier>("network.tier"),
            entry::<Irn>("network.irn"),
            entry::<Rud>("network.rud"),
            entry::<Drop>("network.drop"),
            entry::<Pfc>("network.pfc"),
            entry::<Watchdog>("network.pfc.watchdog"),
            entry::<Ecn>("network.ecn"),
            entry::<Detection>("network.detection"),
            entry::<FastCnp>("network.fast-cnp"),
            entry::<Isolation>("network.isolation"),
            entry::<Lanes>("network.credit"),
            entry::<Endpoint>("network.endpoint"),
            entry::<ReceiveBuffer>("network.receive-buffer"),
            entry::<Flowlet>("network.flowlet"),
            entry::<EntropyValues>("network.entropy"),
            entry::<MrcValues>("network.mrc"),
            entry::<Adaptive>("network.adaptive"),
            entry::<Failure>("network.failure"),
            entry::<LinkChange>("network.link-change"),
            entry::<LinkError>("network.link-error"),
            entry::<Llr>("network.llr"),
            entry::<SlowHost>("network.slow-host"),
            entry::<PauseStorm>("network.pause-storm"),
            entry::<Route>("network.route"),
            entry::<Cc>("cc"),
            entry::<CcDefaults>("cc.defaults"),
            entry::<Record>("record"),
            free("sweep", SWEEP_ABOUT, SWEEP),
        ];
        let at = own.iter().position(|entry| entry.name == "network.credit");
        let (before, behind) = own.split_at(at.unwrap_or_default());
        [before, &crate::schema::table_rows(), behind].concat()
    });
    &SECTIONS
}

/// Returns the topologies, which are blocks of `[topology]`.
pub fn topologies() -> &'static [Entry] {
    static TOPOLOGIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        vec![
            entry::<Star>("star"),
            entry::<Dumbbell>("dumbbell"),
            entry::<ParkingLot>("parking-lot"),
            entry::<LeafSpine>("leaf-spine"),
            entry::<Rail>("rail"),
            entry::<FatTree>("fat-tree"),
            entry::<HpccFat>("hpcc-fat"),
            entry::<Graph>("graph"),
            entry::<InfraGraph>("infragraph"),
            free("file", FILE_ABOUT, &[]),
        ]
    });
    &TOPOLOGIES
}

/// Returns the workloads, which are blocks of `[[workload]]`.
pub fn workloads() -> &'static [Entry] {
    static WORKLOADS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        vec![
            entry::<Flow>("flows"),
            free("file", FLOWS_ABOUT, &[]),
            entry::<Trace>("trace"),
            entry::<Incast>("incast"),
            entry::<Poisson>("poisson"),
            entry::<IncastPoisson>("incast-poisson"),
            entry::<Bursts>("bursts"),
            entry::<Permutation>("permutation"),
            entry::<ClosedLoop>("closed-loop"),
            entry::<Messages>("messages"),
            entry::<AllToAll>("all-to-all"),
            entry::<AllReduce>("all-reduce"),
            entry::<Ring>("reduce-scatter"),
            Entry {
                summary: ALL_GATHER_ABOUT,
                ..entry::<Ring>("all-gather")
            },
        ]
    });
    &WORKLOADS
}

#[cfg(test)]
mod tests {
    use paceline_kernel::sorted::SortedSet;

    use crate::builtin::{self, Entry};
    use crate::{Overrides, load_text};

    /// Returns the keys that the schema accepts in a table, taken from its error about an unknown key.
    fn known(table: &str) -> SortedSet<String> {
        let error = load_text(
            "test.toml",
            &format!("{table}zzzzzzzzzzzzzzzz = 1\n"),
            &Overrides::default(),
        );
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains("unknown key `zzzzzzzzzzzzzzzz`"),
            "{table}: {message}"
        );
        message
            .split('`')
            .skip(3)
            .step_by(2)
            .map(str::to_string)
            .collect()
    }

    fn documented(entry: &Entry) -> SortedSet<String> {
        entry
            .parameters
            .iter()
            .map(|parameter| parameter.name.to_string())
            .collect()
    }

    #[test]
    fn every_key_is_documented_and_every_documented_key_is_known() {
        // Keys of a sweep are paths, and those of `hosts` are names: neither is in the schema.
        for section in builtin::sections()
            .iter()
            .filter(|section| !["sweep", "hosts"].contains(&section.name))
        {
            let table = match section.name {
                "" => String::new(),
                "job.step" => "[[job]]\n[[job.step]]\n".to_string(),
                "job.step.send" | "job.step.pipeline" => {
                    format!("[[job]]\n[[job.step]]\n[{}]\n", section.name)
                }
                "network.tier" => "[network.tier.leaf]\n".to_string(),
                "workload"
                | "job"
                | "network.failure"
                | "inference"
                | "network.link-change"
                | "network.link-error"
                | "network.slow-host"
                | "network.pause-storm"
                | "network.route" => {
                    format!("[[{}]]\n", section.name)
                }
                name => match name.split_once('.') {
                    Some((list @ ("job" | "inference"), _)) => format!("[[{list}]]\n[{name}]\n"),
                    _ => format!("[{name}]\n"),
                },
            };
            let mut known = known(&table);
            if ["workload", "job.step"].contains(&section.name) {
                known.retain(|key| !builtin::workloads().iter().any(|workload| workload.name == key));
            }
            // These are OpenSM's spellings of the keys.
            known.retain(|key| !key.starts_with("cc_") && !key.starts_with("ccti"));
            if section.name == "cc" {
                known.retain(|key| {
                    !paceline_congestion::registry::SCHEMES
                        .iter()
                        .any(|s| s.name == key)
                });
            }
            assert_eq!(documented(section), known, "{}", section.name);
        }
        for topology in builtin::topologies().iter().filter(|t| t.name != "file") {
            assert_eq!(
                documented(topology),
                known(&format!("[topology.{}]\n", topology.name)),
                "{}",
                topology.name
            );
        }
        for workload in builtin::workloads()
            .iter()
            .filter(|w| !["file", "flows"].contains(&w.name))
        {
            let table = format!("[[workload]]\n[workload.{}]\n", workload.name);
            assert_eq!(documented(workload), known(&table), "{}", workload.name);
        }
    }
}
