//! Every recorder with every kind of traffic, scheme, flow control and fidelity: each pair runs, writes its folder
//! and is read back to the same page, or is rejected before the run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use paceline_lab::files::{RunData, Writing};
use paceline_lab::measures::SETS;
use paceline_lab::run::{Control, execute};
use paceline_report::write_run;
use paceline_scenario::{Overrides, builtin, load};

/// Networks: fidelity, topology, flow control, recovery, scheme.
const NETWORKS: &[(&str, &str)] = &[
    ("pfc dcqcn", "topology.star.hosts = 5\ncc.scheme = 'dcqcn'\n"),
    (
        "pfc hpcc tcd",
        "topology.star.hosts = 5\ncc.scheme = 'hpcc'\nnetwork.detection.kind = 'tcd'\n",
    ),
    (
        "lossy irn timely",
        "topology.star.hosts = 5\ncc.scheme = 'timely'\n[network]\nflow-control = 'none'\nrecovery = 'irn'\nbuffer = '60KB'\n",
    ),
    (
        "credits dcqcn",
        "topology.star.hosts = 5\ncc.scheme = 'dcqcn'\nnetwork.flow-control = 'credits'\n",
    ),
    (
        "rud nscc-rccc",
        "topology.star.hosts = 5\ncc.scheme = 'nscc-rccc'\n[network]\nflow-control = 'none'\nrecovery = 'rud'\nbuffer = '90KB'\n\
         [network.entropy]\nvalues = 4\n",
    ),
    ("bolt", "topology.star.hosts = 5\ncc.scheme = 'bolt'\n"),
    (
        "ns3-hpcc dcqcn",
        "fidelity = 'ns3-hpcc'\ntopology.star.hosts = 5\ncc.scheme = 'dcqcn'\n",
    ),
    (
        "simai dcqcn",
        "fidelity = 'simai'\ntopology.star.hosts = 5\ncc.scheme = 'dcqcn'\n",
    ),
    (
        "bolt-ns3",
        "fidelity = 'bolt-ns3'\ntopology.star.hosts = 5\ncc.scheme = 'bolt'\n",
    ),
    (
        "tcd-ns3",
        "fidelity = 'tcd-ns3'\ncc.scheme = 'dcqcn-paper'\nnetwork.detection.kind = 'tcd'\n\
         topology.star = { hosts = 5, rate = '40Gbps', delay = '4us' }\n",
    ),
    (
        "ib-omnet ibcc",
        "fidelity = 'ib-omnet'\ncc.scheme = 'none'\nparity.ib-omnet.control = 'ibcc'\n\
         topology.star = { hosts = 5, rate = '16Gbps', delay = '0s' }\n",
    ),
    (
        "uet-htsim",
        "fidelity = 'uet-htsim'\n[parity.uet-htsim]\nconnections = 'c.cm'\ntopology = 't.topo'\nsender-cc = true\n",
    ),
];

/// Kinds of traffic between hosts 1 to 4.
const TRAFFIC: &[(&str, &str)] = &[
    (
        "flows",
        "[[workload]]\nflows = [{ src = 1, dst = 2, size = '20KB' }, { src = 3, dst = 2, size = '9KB', start = '1us' }]\n",
    ),
    (
        "incast",
        "[[workload]]\nincast = { receiver = 4, senders = '1-3', size = '20KB' }\n",
    ),
    (
        "poisson",
        "[[workload]]\nlabel = 'random'\npoisson = { sizes = 'google-rpc', load = 0.3, to = '20us' }\n",
    ),
    (
        "closed-loop",
        "[[workload]]\nclosed-loop = { senders = [1, 2], receivers = [3, 4], messages = 4, size = '5KB', think-time = '1us' }\n",
    ),
    (
        "persistent",
        "[[workload]]\nclosed-loop = { senders = [1, 2], receivers = [3, 4], messages = 4, size = '5KB', connections = 'persistent' }\n",
    ),
    (
        "messages",
        "[[workload]]\nmessages = { senders = '1-3', receivers = 4, messages = 3, size = '4KB', gap = '1us' }\n",
    ),
    ("table", "[[workload]]\ntrace = { file = 'f.csv' }\n"),
    (
        "collective",
        "[[workload]]\nall-reduce = { size = '20KB', hosts = '1-4' }\n",
    ),
    (
        "steps",
        "[[job]]\nhosts = '1-4'\niterations = 2\n[[job.step]]\ncompute = '2us'\nall-to-all = { size = '8KB' }\n",
    ),
    (
        "goal",
        "[[job]]\nhosts = [1, 2]\ngoal = 'g.goal'\niterations = 2\n",
    ),
    (
        "loggops",
        "[[job]]\nhosts = [1, 2]\ngoal = 'g.goal'\nnetwork = 'loggops'\n",
    ),
    ("chakra", "[[job]]\nhosts = '1-4'\nchakra = 'b'\n"),
    (
        "simai",
        "[[job]]\nhosts = '1-4'\nsimai = 'w.txt'\nrules = { gpus-per-server = 2 }\n",
    ),
    (
        "flows and goal",
        "[[workload]]\nincast = { receiver = 3, senders = [1, 2], size = '9KB' }\n[[job]]\nhosts = [1, 2]\ngoal = 'g.goal'\n",
    ),
    ("its own", ""),
];

/// Settings of the recorders, in bundles that a run can combine; each with the settings it needs to have an effect.
const RECORDERS: &[&[(&str, &str)]] = &[
    &[
        ("queue", "queue = '1us'"),
        ("queue-from", "queue-from = '2us'"),
        ("queue-to", "queue-to = '9us'"),
        ("ports", "ports = '2us'"),
        ("flows", "flows = '1us'"),
        ("flows-max", "flows-max = 1"),
        ("rates", "rates = '2us'"),
        ("rtt-samples", "rtt-samples = true"),
        ("accounts", "accounts = 'all'"),
        ("blame", "blame = 'labels'"),
        ("operations", "operations = true"),
        ("trace", "trace = 'all'"),
    ],
    &[
        ("queue", "queue = '2us'"),
        ("queue-dump", "queue-dump = '5us'"),
        ("states", "states = '1us'"),
        ("credits", "credits = '1us'"),
        ("pfc", "pfc = false"),
        ("flows", "flows = '3us'"),
        ("rtt-samples", "rtt-samples = true"),
        ("latency", "latency = true"),
        ("halves", "halves = true"),
        ("accounts", "accounts = [0]"),
        ("blame", "blame = 'hosts'"),
    ],
    &[
        ("ports", "ports = 'off'"),
        ("pcap", "pcap = true"),
        ("drops", "drops = true"),
        ("trace", "trace = [1]"),
        ("trace-ports", "trace-ports = [[1, 0]]"),
        ("trace-from", "trace-from = '2us'"),
        ("trace-to", "trace-to = '9us'"),
        ("accounts", "accounts = 'off'"),
        ("latency", "latency = true"),
    ],
];

/// Every key of `[record]` is in one of the bundles.
#[test]
fn every_recorder_is_tried() {
    let keys = builtin::sections().iter().find(|entry| entry.name == "record");
    for key in keys.expect("there is [record]").parameters {
        let mut tried = RECORDERS.iter().copied().flatten();
        let is_tried = tried.any(|(name, _)| *name == key.name) || key.name == "measures";
        assert!(is_tried, "record.{} is not tried", key.name);
    }
}

fn fill(folder: &Path) {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write(
        "g.goal",
        "num_ranks 2\nrank 0 {\nc: calc 500\ns: send 8000b to 1 tag 0\ns requires c\n}\nrank 1 {\nr: recv 8000b from 0 tag 0\n}\n",
    );
    write(
        "f.csv",
        "src,dst,size_bytes,start_us,label\n1,2,9000,0,a\n3,2,9000,1,b\n",
    );
    write(
        "w.txt",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 4 checkpoints: 0 \
         checkpoint_initiates: 0\n1\nlayer0\t-1\t100\tALLREDUCE\t8192\t1\tNONE\t0\t1\tNONE\t0\t100\n",
    );
    write(
        "c.cm",
        "Nodes 4\nConnections 2\n0->1 start 0 size 20000\n2->1 start 0 size 20000\n",
    );
    let tier = "Downlink_speed_Gbps 100\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\nRadix_Down 2\n";
    let topology = format!("Nodes 4\nTiers 2\nPodsize 4\nTier 0\n{tier}Radix_Up 2\nTier 1\n{tier}");
    write("t.topo", &topology);
    let chakra = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data/chakra/broadcast_4");
    for rank in 0..4 {
        let name = format!("b.{rank}.et");
        fs::copy(chakra.join(&name), folder.join(&name)).unwrap();
    }
}

/// Runs a scenario, writes its folder with its page and reads it back; or returns the reason for its rejection before
/// the run.
fn attempt(folder: &Path, text: &str) -> Result<(), String> {
    let input = folder.join("s.toml");
    fs::write(&input, text).unwrap();
    let input = load(input.to_str().unwrap(), &Overrides::default()).map_err(|error| error.to_string())?;
    let mut has_begun = false;
    let finished = execute(&input, &mut |_| {
        has_begun = true;
        Control::Continue
    });
    let finished = finished.map_err(|error| {
        assert!(!has_begun, "refused after it began: {error}\n{text}");
        error.to_string()
    })?;
    let out = folder.join("out");
    let how = Writing {
        force: true,
        ..Writing::default()
    };
    write_run(&out, &input, &finished, how).unwrap_or_else(|error| panic!("{error}\n{text}"));
    RunData::read(&out).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Ok(())
}

/// Tries recorders alone or together, on a network with a kind of traffic. Returns the names of those that ran, and
/// the messages about the others.
fn with_recorders(
    folder: &Path,
    base: &str,
    bundle: &[(&'static str, &'static str)],
    sets: &str,
) -> Vec<(&'static str, Option<String>)> {
    let lines = |all: &[(&str, &str)]| {
        all.iter()
            .map(|(_, line)| format!("{line}\n"))
            .collect::<String>()
    };
    let text = |lines: &str| format!("{base}[record]\nmeasures = [{sets}]\n{lines}");
    if attempt(folder, &text(&lines(bundle))).is_ok() {
        return bundle.iter().map(|(name, _)| (*name, None)).collect();
    }
    // At least one of them is rejected here, so each is tried alone with the setting it belongs to.
    let attempt_alone = |&(alone, line): &(&'static str, &'static str)| {
        let owner = alone.split_once('-').map_or("", |(owner, _)| owner);
        let owner = bundle
            .iter()
            .find(|(name, _)| *name == owner || *name == "latency" && alone == "halves");
        let owner = owner.map_or("", |(_, line)| line);
        (alone, attempt(folder, &text(&format!("{owner}\n{line}\n"))).err())
    };
    bundle.iter().map(attempt_alone).collect()
}

/// Tries each pair of a recorder and a kind of traffic, of a recorder and a network, and of a network and a kind of
/// traffic, with every set of measures.
#[test]
fn pairs_run_or_are_refused_before() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(folder);
    let sets: Vec<String> = SETS.iter().map(|set| format!("'{}'", set.name)).collect();
    let sets = sets.join(", ");
    let (mut ran, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for (t, (traffic, lines)) in TRAFFIC.iter().enumerate() {
        for (n, (network, rest)) in NETWORKS.iter().enumerate() {
            let base = format!("duration = '30us'\n{rest}\n{lines}\n");
            let measured = attempt(folder, &format!("{base}[record]\nmeasures = [{sets}]\n"));
            let measured = measured.or_else(|_| attempt(folder, &base));
            if let Err(words) = measured {
                refused.insert((*network, *traffic, words));
                continue;
            }
            ran.insert((*network, *traffic));
            let bundles = RECORDERS.iter().enumerate();
            for (_, bundle) in bundles.filter(|(b, _)| (t + n) % RECORDERS.len() == *b) {
                for (name, words) in with_recorders(folder, &base, bundle, &sets) {
                    match words {
                        None => {
                            ran.extend([(name, *traffic), (name, *network)]);
                        }
                        Some(words) => {
                            refused.insert((name, *network, words));
                        }
                    }
                }
            }
        }
    }
    for (one, other, words) in &refused {
        assert!(
            words.len() > 20 && !words.contains("panic"),
            "{one} with {other}: {words}"
        );
    }
    // A recorder that is rejected somewhere runs elsewhere, if many networks support the traffic.
    let recorders: BTreeSet<&str> = RECORDERS
        .iter()
        .copied()
        .flatten()
        .map(|(name, _)| *name)
        .collect();
    for (traffic, _) in TRAFFIC {
        let takes = |(network, _): &&(&str, &str)| ran.contains(&(*network, *traffic));
        if NETWORKS.iter().filter(takes).count() <= RECORDERS.len() {
            continue;
        }
        let missing: Vec<_> = recorders
            .iter()
            .filter(|name| !ran.contains(&(**name, *traffic)))
            .collect();
        assert!(missing.is_empty(), "{traffic}: {missing:?} ran on no network");
    }
}
