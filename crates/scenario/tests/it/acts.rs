//! Checks that every key and every parameter has an effect. Each is set alone to values other than its default, in a
//! scenario of each kind: the run changes, or the value is refused, or a warning says that it has no effect. Keys
//! that are said to have no effect must have none.

use std::sync::Arc;

use paceline_congestion::registry::SCHEMES;
use paceline_fabric::{Outcome, Simulation};
use paceline_scenario::{Overrides, Resolved, WarningKind, builtin, load_text};
use paceline_testkit::is_long;

/// Scenarios for each fidelity, each kind of flow control, single switches and several tiers.
const KINDS: &[(&str, &str)] = &[
    ("schemes", include_str!("acts/schemes.toml")),
    ("pfc", include_str!("acts/pfc.toml")),
    ("lossy", include_str!("acts/lossy.toml")),
    ("credits", include_str!("acts/credits.toml")),
    ("isolation", include_str!("acts/isolation.toml")),
    ("cbfc", include_str!("acts/cbfc.toml")),
    ("job", include_str!("acts/job.toml")),
    ("trace", include_str!("acts/trace.toml")),
    ("model", include_str!("acts/model.toml")),
    ("inference", include_str!("acts/inference.toml")),
    ("inference-push", include_str!("acts/inference-push.toml")),
    ("ns3-hpcc", include_str!("acts/ns3-hpcc.toml")),
    ("bolt-ns3", include_str!("acts/bolt-ns3.toml")),
    ("bolt-ns3-swift", include_str!("acts/bolt-ns3-swift.toml")),
    ("ib-omnet", include_str!("acts/ib-omnet.toml")),
    ("ib-omnet-ibcc", include_str!("acts/ib-omnet-ibcc.toml")),
    ("tcd-ns3", include_str!("acts/tcd-ns3.toml")),
    ("uet-htsim", include_str!("acts/uet-htsim.toml")),
    ("spread", include_str!("acts/spread.toml")),
    ("retry", include_str!("acts/retry.toml")),
    ("mrc", include_str!("acts/mrc.toml")),
];

/// Keys that do not affect the simulation, each with its purpose.
const OF_THE_LABORATORY: &[(&str, &str)] = &[
    ("label", "in the results"),
    ("share-hosts", "allows what is refused without it"),
    ("format", "numbers the file's format"),
    ("name", "in the results' folder"),
    ("description", "in the results"),
    ("input-format", "says where a scenario came from"),
    ("decisions", "names a file"),
    ("check", "asserts"),
    ("threads", "never changes results"),
    ("pcap", "a file of what is traced"),
    ("measures", "computed from the outcome"),
    ("ttft", "a limit for results"),
    ("tpot", "a limit for results"),
    ("of", "written by runs"),
    ("keys", "written by runs"),
    ("seed", "runs that do not depend on it say so when they end"),
];

/// Keys whose effect is too small or too rare in the scenario of a kind, each with a test that shows it.
const SELDOM: &[(&str, &str, &str)] = &[
    (
        "bolt-ns3",
        "sm-drift",
        "a byte of each packet: runs of the reference",
    ),
    (
        "bolt-ns3",
        "src-drain-time",
        "fractions of a nanosecond: runs of the reference",
    ),
    (
        "bolt-ns3-swift",
        "swift-beta-sign",
        "4 us of the target: runs of the reference",
    ),
    (
        "ib-omnet",
        "host-queue",
        "hosts have no queue there: the other scenario of that fidelity",
    ),
];

/// Returns values for keys that the general rule does not cover.
fn own_values(path: &str) -> &'static [&'static str] {
    match path.rsplit_once(".0.").map_or(path, |(_, key)| key) {
        "shuffle-ties" => &["5"],
        "wait" => &["\"nothing\""],
        "goal" | "chakra" | "simai" | "rules.system" | "rules.groups" | "rules.links" => &["\"nothing\""],
        "model" => &["\"llama-3-8b\"", "\"deepseek-v3\""],
        "requests.prompt" | "requests.output" => &["77", "3"],
        "requests.rate" => &["20000.0", "300000.0"],
        "prefill.room" | "decode.room" => &["100000"],
        "prefill.rate" => &["20000000", "3000000"],
        "prefill.instance" | "decode.instance" => &["4"],
        "rules.eager" => &["\"1B\""],
        "rules.gap" => &["\"50us\""],
        "model.preset" => &["\"gpt-13\""],
        "model.layers" | "model.heads" | "model.experts" => &["8"],
        "model.hidden" | "model.ffn" | "model.vocabulary" | "training.sequence" => &["128"],
        "training.global-batch" => &["32"],
        "training.schedule" => &["\"gpipe\""],
        "training.stages" => &["[1, 3]"],
        "training.bucket" => &["\"10KB\""],
        "training.like" => &["\"aicb\""],
        "training.flops" => &["\"1T\""],
        "training.memory" => &["\"1GB/s\""],
        "parallel.tensor" | "parallel.pipeline" | "parallel.data" | "parallel.expert"
        | "parallel.context" => &["3", "1"],
        "topology.leaf-spine.oversubscription" => &["8"],
        "topology.star.delay" => &["\"1us\"", "\"3us\""],
        "network.detection.kind" => &["\"np-ecn\"", "\"tcd\""],
        "cc.qcn.gd" => &["0.002"],
        "scheme" | "cc.scheme" => &["\"timely\""],
        "cc.windows" => &["{ dcqcn = \"fixed\" }"],
        "network.flow-control" => &["\"none\"", "\"credits\"", "\"pfc\""],
        "network.lossless" => &["[1, 2]"],
        "network.ack" => &["{ every-packets = 4 }", "{ every-bytes = \"9KB\" }"],
        "network.headroom" | "network.tier.leaf.headroom" => &["{ fixed = \"7KB\" }", "{ fixed = \"0B\" }"],
        "network.drop.trim" => &["true", "false"],
        "network.credit.high" | "network.credit.low" => {
            &["[[1, 9]]", "[[0, 3], [1, 90]]", "[[0, 90], [1, 3]]"]
        }
        "network.detection.priority" | "hosts-per-leaf" => &["2"],
        "network.error-rate" => &["0.01"],
        "links" | "network.llr.links" => &["[\"all\"]", "[\"leaf-spine\"]"],
        "network.llr.outstanding-frames" => &["3"],
        "switches" | "network.fast-cnp.switches" => &["[\"leaf\"]", "[\"spine\"]"],
        "towards" => &["8", "0"],
        "bits" => &["1e-3"],
        "burst-bits" => &["1e-2"],
        "network.rate-factor" => &["{ host = 0.5 }"],
        "network.ecn.curves" => &["[]"],
        "parity.ib-omnet.marking-rate" => &["\"2\"", "\"7\""],
        "parity.ib-omnet.weights" => &["[7, 20]"],
        "parity.uet-htsim.arguments" => &["\"-cwnd 5\""],
        "parity.uet-htsim.connections" | "parity.uet-htsim.topology" => &["\"nothing\""],
        "parity.uet-htsim.ecn" => &["[2, 9]"],
        "parity.tcd-ns3.fixed-rate" => &["[{ host = 1, factor = 2.0 }]"],
        "record.trace-ports" => &["[[5, 9]]", "[[5, 10]]", "[[1, 6]]", "[[1, 16]]"],
        "record.accounts" => &["\"off\"", "\"all\""],
        "nodes" => &["[0, 8]", "[0, 20]"],
        "node" | "via" => &["9", "11", "3"],
        _ => &[],
    }
}

/// Returns values to try for a key, based on its unit and on values named in its documentation.
fn candidates(key: &Key) -> Vec<String> {
    let own = own_values(&key.path);
    if !own.is_empty() {
        return own.iter().map(ToString::to_string).collect();
    }
    let named = key.help.split('`').skip(1).step_by(2);
    let by_unit: &[&str] = match key.unit {
        unit if unit.contains("bps") => &["\"7Gbps\"", "\"900Gbps\"", "\"1Gbps\"", "\"30Mbps\""],
        unit if unit.contains("us") => &[
            "\"1100ns\"",
            "\"17us\"",
            "\"130us\"",
            "\"300ns\"",
            "\"900us\"",
            "\"0s\"",
        ],
        unit if unit.contains('B') => &["\"333B\"", "\"7100B\"", "\"70KB\"", "\"11MB\"", "\"0B\""],
        _ => &[
            "true", "false", "2", "3", "4", "5", "6", "0", "1", "40", "3000", "0.3", "0.03", "0.9", "1.7",
            "[1]", "[0]", "[2, 5]",
        ],
    };
    let named = named.map(|word| format!("\"{word}\""));
    named.chain(by_unit.iter().map(ToString::to_string)).collect()
}

fn load(kind: &str, text: &str, set: &[String]) -> Result<Resolved, String> {
    let overrides = Overrides {
        set: set.to_vec(),
        ..Overrides::default()
    };
    load_text(&format!("{kind}.toml"), text, &overrides).map_err(|error| error.to_string())
}

/// Returns everything that the run produces.
fn outcome(resolved: &Resolved) -> Result<Outcome, String> {
    let mut simulation = Simulation::new(Arc::clone(&resolved.run)).map_err(|error| error.to_string())?;
    // A run that takes much longer than the scenario's counts as different too.
    for _ in 0..30 {
        if simulation.advance(20_000).done {
            break;
        }
    }
    Ok(simulation.finish())
}

/// Returns true if a warning says that the key, or its table, has no effect.
fn is_told(resolved: &Resolved, base: &Resolved, path: &str) -> bool {
    let kinds = [
        WarningKind::UnusedSetting,
        WarningKind::UnusedScheme,
        WarningKind::OverruledParameter,
    ];
    let new = resolved
        .warnings
        .iter()
        .filter(|warning| !base.warnings.contains(warning));
    new.filter(|warning| kinds.contains(&warning.id)).any(|warning| {
        let ends = [" has no effect", " is not used", " = "];
        let end = ends.iter().filter_map(|end| warning.text.find(end)).min();
        let what = warning.text[..end.unwrap_or(0)].trim_matches(['[', ']', '`']);
        !what.is_empty()
            && (path == what
                || path.starts_with(&format!("{what}."))
                || what.starts_with(&format!("{path}.")))
    })
}

struct Key {
    path: String,
    unit: &'static str,
    default: String,
    help: String,
}

impl Key {
    /// Returns true if the key need not change the run.
    fn is_excused(&self, kind: &str) -> bool {
        let name = self.path.rsplit('.').next();
        let seldom = SELDOM
            .iter()
            .filter(|(of, ..)| *of == kind)
            .map(|(_, name, _)| *name);
        let laboratory = OF_THE_LABORATORY.iter().map(|(name, _)| *name);
        laboratory.chain(seldom).any(|known| Some(known) == name)
    }
}

/// Returns the keys of a scenario; unless `whole`, only those of its topology and jobs.
fn keys_of(text: &str, whole: bool) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut add = |entries: &'static [builtin::Entry], prefix: &dyn Fn(&str) -> Option<String>| {
        for entry in entries {
            let Some(prefix) = prefix(entry.name) else {
                continue;
            };
            keys.extend(entry.parameters.iter().map(|parameter| Key {
                path: format!("{prefix}{}", parameter.name),
                unit: parameter.unit,
                default: parameter.default.to_string(),
                help: parameter.help.to_string(),
            }));
        }
    };
    add(builtin::sections(), &|name| match name {
        "sweep" | "hosts" | "parity" => None,
        "job"
        | "workload"
        | "network.failure"
        | "network.link-change"
        | "network.link-error"
        | "network.slow-host"
        | "network.pause-storm"
        | "network.route" => text
            .contains(&format!("[[{name}]]"))
            .then(|| format!("{name}.0.")),
        "inference" => text.contains("[[inference]]").then(|| "inference.0.".to_string()),
        name if name.starts_with("inference.") => {
            let table = name.replace("inference.", "inference.0.");
            text.contains("[[inference]]").then(|| format!("{table}."))
        }
        "job.rules" => {
            (text.contains("goal =") || text.contains("[job.model]")).then(|| "job.0.rules.".to_string())
        }
        "job.local" => text.contains("[job.local]").then(|| "job.0.local.".to_string()),
        "job.model" | "job.parallel" | "job.training" | "job.training.times" => text
            .contains("[job.model]")
            .then(|| format!("{}.", name.replacen("job", "job.0", 1))),
        "job.step" => text.contains("[[job.step]]").then(|| "job.0.step.0.".to_string()),
        "job.step.send" => text.contains("send =").then(|| "job.0.step.2.send.".to_string()),
        "job.step.pipeline" => text
            .contains("pipeline = {")
            .then(|| "job.0.step.3.pipeline.".to_string()),
        _ if !whole => None,
        "" => Some(String::new()),
        "network.tier" => Some("network.tier.leaf.".to_string()),
        name => Some(format!("{name}.")),
    });
    // Collectives of jobs: only those of the first two steps.
    add(builtin::workloads(), &|name| match name {
        "all-to-all" if text.contains("[[job.step]]") => Some("job.0.step.0.all-to-all.".to_string()),
        "all-reduce" if text.contains("[[job.step]]") => Some("job.0.step.1.all-reduce.".to_string()),
        _ => None,
    });
    add(builtin::topologies(), &|name| {
        text.contains(&format!("[topology.{name}]"))
            .then(|| format!("topology.{name}."))
    });
    keys
}

/// Returns a value of a resolved scenario in TOML notation.
fn resolved_value(resolved: &toml::Value, path: &str) -> Option<String> {
    let step = |value: &toml::Value, key: &str| match value {
        toml::Value::Array(list) => list.get(key.parse::<usize>().ok()?).cloned(),
        value => value.get(key).cloned(),
    };
    let found = path
        .split('.')
        .try_fold(resolved.clone(), |value, key| step(&value, key));
    found.map(|value| value.to_string())
}

/// Returns true if both are the same number.
fn is_number(value: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    number(value).is_some() && number(value) == number(other)
}

/// Unchanged scenario, with the outcome of its run and all of its values.
struct Base {
    resolved: Resolved,
    outcome: Outcome,
    /// Values as the run writes them.
    values: toml::Value,
}

impl Base {
    fn of(kind: &str, text: &str) -> Result<Self, String> {
        let resolved = load(kind, text, &[])?;
        let outcome = outcome(&resolved)?;
        // A number that is none would make all outcomes differ.
        assert!(
            outcome == outcome.clone(),
            "{kind}: the outcome has a number that is none"
        );
        let values = toml::Value::Table(resolved.toml.parse().expect("what a run writes is TOML"));
        Ok(Self {
            resolved,
            outcome,
            values,
        })
    }
}

/// Returns the faults of a key: values that silently had no effect, or that had one despite a warning.
fn faults(kind: &str, text: &str, base: &Base, key: &Key) -> Vec<String> {
    let (mut acts, mut is_refused, mut tried, mut told_so) = (false, false, 0, 0);
    let (mut silent, mut faults, mut refusal) = (Vec::new(), Vec::new(), String::new());
    let own = resolved_value(&base.values, &key.path);
    let default = key.default.split(" (").next().unwrap_or_default();
    let is_default = |value: &str| value.trim_matches('"') == default || is_number(value, default);
    let is_own = |value: &str| match own.as_deref() {
        Some(own) => own == value || (own, value) == ("\"0ps\"", "\"0s\"") || is_number(own, value),
        None => is_default(value),
    };
    // These values mean no specific setting.
    let is_open = |value: &str| {
        value == "\"auto\""
            || value == "\"off\"" && ["record.states", "record.credits"].contains(&key.path.as_str())
    };
    for value in candidates(key) {
        if is_own(&value) || is_open(&value) {
            continue;
        }
        let resolved = match load(kind, text, &[format!("{}={value}", key.path)]) {
            Ok(resolved) => resolved,
            Err(error) => {
                let of_type = [", found ", "as a text", "unknown value", "invalid"];
                is_refused |= !of_type.iter().any(|what| error.contains(what));
                refusal = error;
                continue;
            }
        };
        let told = is_told(&resolved, &base.resolved, &key.path);
        // One value is enough to check the warning, which saves time.
        told_so += u32::from(told);
        if told && told_so > 1 {
            continue;
        }
        let Ok(outcome) = outcome(&resolved) else {
            is_refused = true;
            continue;
        };
        tried += 1;
        if outcome != base.outcome {
            if told {
                faults.push(format!("{kind}: {} = {value} acts, and is said not to", key.path));
            }
            acts = true;
            break;
        }
        if !told {
            silent.push(value);
        }
    }
    if !acts && !silent.is_empty() {
        let values = silent.join(" or ");
        faults.push(format!(
            "{kind}: {} = {values} does nothing, without a word",
            key.path
        ));
    }
    // The keys of a table are tried one by one.
    let is_table = ["expected a table", "`sweep` is a list"]
        .iter()
        .any(|what| refusal.contains(what));
    if tried == 0 && !is_table && !is_refused {
        let why = refusal.lines().next().unwrap_or_default();
        faults.push(format!("{kind}: {}: no value was tried: {why}", key.path));
    }
    faults
}

/// Runs independent checks on two threads.
fn on_threads<T: Sync>(all: &[T], check: impl Fn(&T) -> Vec<String> + Sync) -> Vec<String> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let take = || {
        let mut found = Vec::new();
        while let Some(one) = all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            found.extend(check(one));
        }
        found
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(take);
        let mut found = take();
        found.extend(other.join().expect("the other thread ends"));
        found
    })
}

/// Returns true if this part of a long test should run; all of them do if long tests are enabled.
fn is_chosen(variable: &str, name: &str, index: usize) -> bool {
    match std::env::var(variable) {
        Ok(only) => only == name,
        Err(_) => is_long() || index.is_multiple_of(4),
    }
}

#[test]
fn every_key_acts_or_is_said_not_to() {
    let kinds = (0..)
        .zip(KINDS)
        .filter(|(index, (kind, _))| is_chosen("KIND", kind, *index));
    let kinds: Vec<_> = kinds.map(|(_, kind)| kind).collect();
    let all = on_threads(&kinds, |(kind, text)| {
        let base = Base::of(kind, text).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let keys = keys_of(
            text,
            !["job", "trace", "model", "schemes", "inference", "inference-push"].contains(kind),
        );
        let keys = keys.iter().filter(|key| !key.is_excused(kind));
        keys.flat_map(|key| faults(kind, text, &base, key)).collect()
    });
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

/// Scenarios to run schemes in, and keys whose effect depends on the scheme.
const UNDER_SCHEMES: [&str; 5] = ["schemes", "pfc", "lossy", "credits", "spread"];
const BY_SCHEME: [&str; 4] = ["network.pacing", "network.global-rtt", "network.cnp", "cc.window"];

/// Every parameter has an effect in at least one scenario, or a warning in all of them.
#[test]
fn every_parameter_acts_or_is_said_not_to() {
    // `external` has no controller here.
    let schemes = SCHEMES.iter().filter(|scheme| scheme.name != "external");
    let schemes = (0..)
        .zip(schemes)
        .filter(|(index, scheme)| is_chosen("SCHEME", scheme.name, *index));
    let schemes: Vec<_> = schemes.map(|(_, scheme)| scheme).collect();
    let all = on_threads(&schemes, |scheme| {
        let (mut always, mut found) = (None::<Vec<String>>, Vec::new());
        for (kind, text) in KINDS.iter().filter(|(kind, _)| UNDER_SCHEMES.contains(kind)) {
            let own = text
                .lines()
                .find(|line| line.starts_with("scheme = "))
                .expect("a scheme");
            let text = &text.replace(own, &format!("scheme = \"{}\"", scheme.name));
            let Ok(base) = Base::of(kind, text) else { continue };
            let mut keys: Vec<Key> = keys_of(text, true);
            keys.retain(|key| BY_SCHEME.contains(&key.path.as_str()));
            keys.extend((scheme.params)().into_iter().map(|doc| Key {
                path: format!("cc.{}.{}", scheme.name, doc.name),
                unit: doc.unit,
                default: doc.default,
                help: doc.range.replace("one of ", "`").replace(", ", "` `") + "`",
            }));
            let faults = keys.iter().flat_map(|key| faults(scheme.name, text, &base, key));
            let (silent, wrong) = faults.partition(|fault| fault.ends_with("without a word"));
            let (silent, wrong): (Vec<String>, Vec<String>) = (silent, wrong);
            found.extend(wrong);
            let known = always.get_or_insert_with(|| silent.clone());
            let key_of = |fault: &str| fault.split(" = ").next().map(ToString::to_string);
            known.retain(|fault| silent.iter().any(|other| key_of(other) == key_of(fault)));
        }
        found.extend(always.unwrap_or_default());
        found
    });
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

/// Keys whose default is replaced by another setting of these scenarios, and keys whose documented default is not a
/// value.
const OTHERWISE: [&str; 7] = [
    "label",
    // InfiniBand has another default.
    "mtu",
    "data-header",
    "ack-header",
    "ack-min",
    // The default applies only if the number of spines is not given.
    "oversubscription",
    "spines",
];

/// Setting a key to its documented default changes nothing.
#[test]
fn documented_defaults_are_filled_in() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (kind, text) in KINDS.iter().filter(|(_, text)| !text.contains("fidelity")) {
        let base = load(kind, text, &[]).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let written = toml::Value::Table(text.parse().expect("the scenario is TOML"));
        for key in keys_of(text, true) {
            let name = key.path.rsplit('.').next().unwrap_or_default();
            let is_other = OTHERWISE.contains(&name) && ["credits", "job"].contains(kind) || name == "label";
            if key.default.is_empty() || is_other || resolved_value(&written, &key.path).is_some() {
                continue;
            }
            // A default that depends on other settings is a description, which is refused.
            let Ok(set) = load(kind, text, &[format!("{}={}", key.path, key.default)]) else {
                continue;
            };
            tried += 1;
            if set.run != base.run {
                wrong.push(format!("{kind}: {} = {}", key.path, key.default));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 300, "{tried} defaults were tried");
}
