//! Checks every key of a scenario with values outside of its range, at both ends: each is refused with its position.
//! A value that is accepted can be built and run.

use paceline_congestion::registry::SCHEMES;
use paceline_fabric::Simulation;
use paceline_scenario::{Overrides, builtin, load_text};

/// Scenario in which the keys of a section have an effect, and the path to these keys.
struct KeyPosition {
    text: String,
    path: String,
}

const TOPOLOGY: &str = "[topology.star]\nhosts = 4\n";
const WORKLOAD: &str = "[[workload]]\nincast = { fan-in = 2, receiver = 3, size = \"10KB\" }\n";

const MODEL: &str = "[[job]]\n[job.model]\nlayers = 2\nhidden = 8\nheads = 2\nvocabulary = 9\nexperts = 2\ntop-k = 1\n\
                     expert-ffn = 8\n[job.parallel]\npipeline = 2\nexpert = 2\n[job.training]\nglobal-batch = 2\n\
                     sequence = 8\noverlap = true\n[job.local]\nrate = \"900Gbps\"\n\
                     [job.rules]\ngpus-per-server = 2\n";

fn scenario(topology: &str, workload: &str, rest: &str) -> String {
    format!("duration = \"1ms\"\n{topology}{workload}[cc]\nscheme = \"dcqcn\"\n{rest}")
}

fn section(name: &str) -> KeyPosition {
    let rest = match name {
        "network.irn" => "[network]\nrecovery = \"irn\"\n",
        "network.flowlet" => "[network]\nload-balancing = \"flowlet\"\n",
        "network.adaptive" => "[network]\nload-balancing = \"adaptive\"\n",
        "network.drop" => {
            "[network]\nflow-control = \"none\"\ndrop = { policy = \"dynamic\", trim = true }\n"
        }
        "network.pfc" => "[network.pfc]\nmode = \"quanta\"\n",
        "network.headroom.per-link" => "[network.headroom.per-link]\nfactor = 3.0\nextra = \"2KB\"\n",
        "network.failure" => "[[network.failure]]\nlink = 0\nat = \"1us\"\n",
        "network.pause-storm" => "[[network.pause-storm]]\nnode = 1\nat = \"1us\"\n",
        "network.link-change" => "[[network.link-change]]\nlink = 0\nat = \"1us\"\nrate = \"1Gbps\"\n",
        "network.link-error" => "[[network.link-error]]\nbits = 1e-6\nburst-bits = 1e-3\nfec = \"kp4\"\n",
        "network.llr" => "[network.llr]\nlinks = [\"all\"]\n",
        "network.slow-host" => "[[network.slow-host]]\nhosts = 1\nat = \"1us\"\nreceive-rate = \"1Gbps\"\n",
        "network.receive-buffer" => {
            "[network.endpoint]\nrate = \"10Gbps\"\n[network.receive-buffer]\nsize = \"100KB\"\n"
        }
        "network.pfc.watchdog" => "[network.pfc.watchdog]\ndetection = \"100us\"\n",
        "network.route" => "[[network.route]]\nnode = 0\nto = [1]\nvia = 1\n",
        "parity.bolt-ns3" => "[parity.bolt-ns3]\n",
        _ => "",
    };
    let is_model = [
        "job.local",
        "job.model",
        "job.parallel",
        "job.training",
        "job.training.times",
    ]
    .contains(&name);
    let text = scenario(TOPOLOGY, if is_model { MODEL } else { WORKLOAD }, rest);
    let path = match name {
        "network.tier" => "network.tier.leaf.".to_string(),
        _ if is_model => format!("{}.", name.replacen("job", "job.0", 1)),
        "workload"
        | "network.failure"
        | "network.link-change"
        | "network.link-error"
        | "network.slow-host"
        | "network.pause-storm"
        | "network.route" => format!("{name}.0."),
        "" => String::new(),
        name => format!("{name}."),
    };
    match name {
        "parity.bolt-ns3" => KeyPosition {
            text: format!(
                "fidelity = \"bolt-ns3\"\n{}",
                text.replace("\"dcqcn\"", "\"bolt\"")
            ),
            path,
        },
        _ => KeyPosition { text, path },
    }
}

fn topology(name: &str) -> KeyPosition {
    let block = match name {
        "graph" => {
            "[topology.graph]\nnodes = 3\nswitches = [2]\nlinks = [{ a = 0, b = 2, rate = \"1Gbps\", delay = \"1us\" }, { a = 1, b = 2, rate = \"1Gbps\", delay = \"1us\" }]\n"
        }
        "infragraph" => {
            concat!(
                "[topology.infragraph]\nfile = \"",
                env!("CARGO_MANIFEST_DIR"),
                "/tests/data/infragraph/box.yaml\"\n"
            )
        }
        _ => "",
    };
    let workload = "[[workload]]\npermutation = { size = \"10KB\" }\n";
    let head = if block.is_empty() {
        format!("[topology.{name}]\n")
    } else {
        block.to_string()
    };
    KeyPosition {
        text: scenario(&head, workload, ""),
        path: format!("topology.{name}."),
    }
}

fn workload(name: &str) -> KeyPosition {
    let block = match name {
        "incast" => "{ fan-in = 2, receiver = 3, rounds = 2, period = \"10us\" }",
        "poisson" => "{ sizes = \"websearch\", load = 0.1 }",
        "closed-loop" => "{ messages = 2 }",
        "incast-poisson" => "{ fan-in = 2 }",
        "bursts" => "{ load = 0.1, senders = 2, bursts = 2, duration = \"1us\", to = \"20us\" }",
        "flows" => "[{ src = 2, dst = 1, size = \"1KB\" }]",
        _ => "{}",
    };
    let text = match name {
        // Only networks with credits send such messages.
        "messages" => {
            "fidelity = \"ib-omnet\"\nduration = \"1ms\"\n[topology.star]\nhosts = 4\ndelay = \"0s\"\n[[workload]]\n\
             messages = { senders = 1, receivers = 2, size = \"4KB\", gap = \"1us\" }\n[cc]\nscheme = \"none\"\n"
                .to_string()
        }
        name => scenario(TOPOLOGY, &format!("[[workload]]\n{name} = {block}\n"), ""),
    };
    let path = match name {
        "flows" => "workload.0.flows.0.".to_string(),
        name => format!("workload.0.{name}."),
    };
    KeyPosition { text, path }
}

/// Returns the kind of values with a unit.
fn kind(unit: &str) -> &'static str {
    match unit {
        unit if unit.contains("bps") => "rate",
        unit if unit.contains("us") || unit.contains("time") => "time",
        unit if unit.contains('B') => "size",
        _ => "",
    }
}

/// Returns values outside of the range of any key with this unit.
fn beyond(unit: &str) -> &'static [&'static str] {
    match kind(unit) {
        "time" => &[
            "\"-1s\"",
            "\"86401s\"",
            "\"9223372036854775807ps\"",
            "\"18446744073709551616ps\"",
        ],
        "size" => &["\"-1B\"", "\"1001TB\"", "\"18446744073709551615B\""],
        "rate" => &["\"-1bps\"", "\"1001Tbps\"", "\"18446744073709551615bps\""],
        _ => &[
            "-1",
            "9223372036854775807",
            "4294967296",
            "1e300",
            "-1e300",
            "nan",
            "inf",
        ],
    }
}

/// Returns values that only some keys accept: the smallest and the largest that can be read.
fn extreme(unit: &str) -> &'static [&'static str] {
    match kind(unit) {
        "time" => &["\"0s\"", "\"1ps\"", "\"86400s\""],
        "size" => &["\"0B\"", "\"1B\"", "\"1000TB\""],
        "rate" => &["\"0bps\"", "\"1bps\"", "\"1000Tbps\""],
        _ => &[
            "0",
            "1",
            "64",
            "255",
            "65535",
            "2147483647",
            "4294967295",
            "1e-300",
        ],
    }
}

/// Returns true if a key has no upper limit.
fn may_be(path: &str, value: &str) -> bool {
    let whole = !value.contains(['e', 'n', 'i', '-', '"']);
    // A threshold may be above the free buffer.
    let above = path == "network.pfc.dynamic.shift" && value == "-1";
    // Packets may count for less than their size.
    let above = above || path == "network.credit.packet-overhead" && value == "-1";
    above || matches!(path, "seed" | "shuffle-ties") && whole
}

/// Loads the scenario with one value changed; returns the error if that is refused.
fn load(place: &KeyPosition, key: &str, value: &str) -> Result<(), String> {
    let overrides = Overrides {
        set: vec![format!("{}{key}={value}", place.path)],
        ..Overrides::default()
    };
    let loaded = load_text("walk.toml", &place.text, &overrides).map_err(|error| error.to_string())?;
    let mut run = loaded.run;
    let spec = std::sync::Arc::make_mut(&mut run);
    spec.check = true;
    if let Ok(mut simulation) = Simulation::new(spec.clone()) {
        simulation.advance(2_000);
        simulation.finish();
    }
    Ok(())
}

/// Returns every numeric key with its scenario, name and unit.
fn keys() -> Vec<(KeyPosition, &'static str, &'static str)> {
    let mut keys = Vec::new();
    for (name, key, unit) in [
        ("network.pfc.dynamic", "shift", ""),
        ("network.pfc.dynamic", "reference-rate", "bps"),
        ("network.pfc.static", "xoff", "B"),
        ("network.pfc.static", "xon", "B"),
        ("network.headroom", "fixed", "B"),
        ("network.headroom.per-link", "factor", ""),
        ("network.headroom.per-link", "extra", "B"),
        ("network.ack", "every-packets", ""),
        ("network.ack", "every-bytes", "B"),
        ("cc.windows", "dcqcn", ""),
    ] {
        keys.push((section(name), key, unit));
    }
    let mut add =
        |entries: &'static [builtin::Entry], skipped: &[&str], place: &dyn Fn(&str) -> KeyPosition| {
            for entry in entries.iter().filter(|entry| !skipped.contains(&entry.name)) {
                for parameter in entry.parameters {
                    keys.push((place(entry.name), parameter.name, parameter.unit));
                }
            }
        };
    add(builtin::sections(), &["sweep", "quirks"], &section);
    add(builtin::topologies(), &["file"], &topology);
    add(builtin::workloads(), &["file", "trace"], &workload);
    keys
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_default()
}

fn tried(place: &KeyPosition, key: &str, value: &str) -> Result<Result<(), String>, String> {
    let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| load(place, key, value)));
    attempt.map_err(|panic| message(panic.as_ref()))
}

/// Otherwise the next test would test nothing.
#[test]
fn what_is_walked_through_is_right_but_for_one_value() {
    for (place, key, _) in keys() {
        let loaded = load_text("walk.toml", &place.text, &Overrides::default());
        assert!(loaded.is_ok(), "{}{key}: {}", place.path, loaded.unwrap_err());
    }
}

#[test]
fn what_is_beyond_the_range_of_a_key_is_refused_at_its_place() {
    let mut wrong = Vec::new();
    for (place, key, unit) in keys() {
        let path = format!("{}{key}", place.path);
        for value in beyond(unit) {
            match tried(&place, key, value) {
                _ if may_be(&path, value) => {}
                Ok(Err(error)) if error.contains("--set:1:") => {}
                // This table is read as a whole, so the error has the position of the table.
                Ok(Err(error)) if path.contains("per-link") && error.contains("walk.toml:8:10:") => {}
                Ok(Err(error)) => wrong.push(format!("{path} = {value}: elsewhere: {error}")),
                Ok(Ok(())) => wrong.push(format!("{path} = {value}: accepted")),
                Err(panic) => wrong.push(format!("{path} = {value}: panic: {panic}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_ends_of_ranges_are_refused_or_run() {
    let mut wrong = Vec::new();
    for (place, key, unit) in keys() {
        for value in extreme(unit) {
            if let Err(panic) = tried(&place, key, value) {
                wrong.push(format!("{}{key} = {value}: {panic}", place.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parameters_of_schemes_have_ranges() {
    let mut wrong = Vec::new();
    for scheme in SCHEMES {
        let place = KeyPosition {
            text: scenario(TOPOLOGY, WORKLOAD, "").replace("\"dcqcn\"", &format!("\"{}\"", scheme.name)),
            path: format!("cc.{}.", scheme.name),
        };
        for parameter in (scheme.params)() {
            for value in beyond(parameter.unit) {
                if parameter.range == "any" && value == &"-1" {
                    continue;
                }
                match tried(&place, &parameter.name, value) {
                    Ok(Err(_)) => {}
                    Ok(Ok(())) => wrong.push(format!("{}{} = {value}: accepted", place.path, parameter.name)),
                    Err(panic) => wrong.push(format!("{}{} = {value}: {panic}", place.path, parameter.name)),
                }
            }
            for value in extreme(parameter.unit) {
                if let Err(panic) = tried(&place, &parameter.name, value) {
                    wrong.push(format!("{}{} = {value}: {panic}", place.path, parameter.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
