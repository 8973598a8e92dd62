//! Example commands for schemes and other entries. Each works and has an effect.

use paceline_congestion::params::ParamDoc;
use paceline_congestion::registry::{Alias, Scheme};
use paceline_scenario::Overrides;

/// Returns the example at the end of a page.
pub(crate) fn shown(command: &str) -> String {
    format!("\nExample:\n  {command}\n")
}

/// Returns a run under a scheme with a changed parameter, or under a variant.
pub(crate) fn scheme(scheme: &Scheme, alias: Option<&Alias>) -> String {
    let name = alias.map_or(scheme.name, |alias| alias.name);
    let set = setting(scheme).filter(|_| alias.is_none());
    let set = set.map_or_else(String::new, |set| format!(" --set {set}"));
    format!("paceline run incast-16 --scheme {name}{set}")
}

/// Returns a command with a topology.
pub(crate) fn topology(name: &str) -> String {
    let parameters = match name {
        // A list of nodes and links, or a file: the first is in a scenario, the second is made here.
        "graph" => return "paceline run pfc-deadlock".to_string(),
        "file" => return "paceline generate topology star hosts=16 -o topology.txt".to_string(),
        "infragraph" => return "paceline generate topology leaf-spine -o leaf-spine.yaml".to_string(),
        "star" => " hosts=16 rate=400Gbps",
        "dumbbell" => " left=4 right=4 bottleneck-rate=25Gbps",
        "parking-lot" => " hops=3",
        "leaf-spine" => " leaves=4 spines=2 hosts-per-leaf=8",
        "fat-tree" => " k=8",
        _ => "",
    };
    format!("paceline generate topology {name}{parameters} -o {name}.txt")
}

/// Returns a command with a workload.
pub(crate) fn workload(name: &str) -> String {
    let parameters = match name {
        "flows" => return "paceline run two-flow-join".to_string(),
        "trace" => return "paceline generate flows incast-16 -o trace.csv".to_string(),
        "messages" => return "paceline run infiniband-demo --duration 11ms".to_string(),
        "incast" => "receiver=16 fan-in=15 size=1MB",
        "poisson" => "sizes=websearch load=0.5 to=1ms",
        "incast-poisson" => "fan-in=8 to=1ms",
        "bursts" => "load=0.3 to=1ms",
        "closed-loop" => "messages=10 outstanding=4",
        _ => "size=8MB",
    };
    format!("paceline generate flows {name} {parameters} --topology star,hosts=16 -o {name}.csv")
}

/// Returns a command that generates flows from a size distribution.
pub(crate) fn distribution(name: &str) -> String {
    format!(
        "paceline generate flows poisson sizes={name} load=0.5 to=1ms --topology star,hosts=16 -o {name}.csv"
    )
}

/// Returns a run with a built-in model.
pub(crate) fn model(name: &str) -> String {
    let Some(predictor) = name.strip_prefix("rtt-") else {
        let scheme = name.split('-').next().unwrap_or(name);
        return format!("paceline run rl-cc --scheme {scheme} --set cc.{scheme}.model={name}");
    };
    format!("paceline run incast-16 --scheme lstm-pid --set cc.lstm-pid.predictor={predictor}")
}

/// Returns an option that sets a parameter of the scheme to a value other than its default; `None` if it has no
/// parameter.
pub fn setting(scheme: &Scheme) -> Option<String> {
    let docs = (scheme.params)();
    // The parameter for a bound rarely has an effect in a small run, so it comes last.
    let is_bound = |doc: &&ParamDoc| doc.name.starts_with("min-");
    let bounds = docs.iter().filter(is_bound).flat_map(with_numbers);
    let numbers = docs.iter().filter(|doc| !is_bound(doc)).flat_map(with_numbers);
    let names = docs
        .iter()
        .flat_map(|doc| names(doc).map(move |value| (doc, value)));
    let zeros = docs.iter().filter_map(|doc| match doc.default.as_str() {
        "0" => Some((doc, "8".to_string())),
        "0ps" => Some((doc, "8us".to_string())),
        "auto" if doc.unit.starts_with("s, ") => Some((doc, "8us".to_string())),
        _ => None,
    });
    numbers
        .chain(names)
        .chain(zeros)
        .chain(bounds)
        .map(|(doc, value)| format!("cc.{}.{}={value}", scheme.name, doc.name))
        .find(|set| fits(scheme, set))
}

fn with_numbers(doc: &ParamDoc) -> impl Iterator<Item = (&ParamDoc, String)> {
    numbers(doc).map(move |value| (doc, value))
}

/// Returns true if a run accepts the setting.
fn fits(scheme: &Scheme, set: &str) -> bool {
    let overrides = Overrides {
        scheme: Some(scheme.name.to_string()),
        set: vec![set.to_string()],
        ..Overrides::default()
    };
    paceline_scenario::load_text("example.toml", &paceline_scenario::demo(1.0), &overrides).is_ok()
}

/// Returns other values of a numeric parameter, with its unit: round ones near the default. A default of zero often
/// stands for another mode, so it is tried last.
fn numbers(doc: &ParamDoc) -> impl Iterator<Item = String> {
    let end = doc.default.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = doc.default.split_at(end.unwrap_or(doc.default.len()));
    let whole = !number.contains('.');
    let default: f64 = number.parse().unwrap_or(0.0);
    let unit = unit.to_string();
    let is_unit = unit.chars().all(char::is_alphabetic);
    let values = [0.9, 0.5, 2.0]
        .into_iter()
        .map(move |factor| rounded(default * factor));
    values
        .filter(move |&value| is_unit && value > 0.0 && value != default && (!whole || value.fract() == 0.0))
        .map(move |value| format!("{value}{unit}"))
}

/// Returns the nearest number with one significant digit.
fn rounded(value: f64) -> f64 {
    format!("{value:.0e}").parse().unwrap_or(value)
}

/// Returns the other values of a parameter that is one of several words.
fn names(doc: &ParamDoc) -> impl Iterator<Item = String> {
    let words = doc.range.strip_prefix("one of ").unwrap_or_default().split(", ");
    let default = doc.default.clone();
    words
        .filter(move |word| !word.is_empty() && *word != default)
        .map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_congestion::registry::{self, SCHEMES};

    #[test]
    fn examples_change_a_value() {
        let of = |name| setting(registry::find(name).unwrap().0);
        assert_eq!(of("hpcc").as_deref(), Some("cc.hpcc.eta=0.9"));
        assert_eq!(of("none"), None);
        for scheme in SCHEMES.iter().filter(|scheme| !(scheme.params)().is_empty()) {
            let set = setting(scheme).unwrap_or_else(|| panic!("no example of {}", scheme.name));
            let same = (scheme.params)()
                .iter()
                .any(|doc| set == format!("cc.{}.{}={}", scheme.name, doc.name, doc.default));
            assert!(!same, "{set} is the default");
        }
    }
}
