//! ASTRA-sim's system file, which determines the execution of collectives (astra-sim/astra-sim@518bd51).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{Options, Roofline, read};
use crate::check::check;
use crate::collective::{Algorithm, CollectiveRules, Delays, Processing};
use crate::trouble::{Caution, Trouble, several_dimensions, unknown};

/// Kinds of collectives that have an algorithm.
const KINDS: [&str; 4] = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"];

/// Keys that are read.
const KEYS: [&str; 7] = [
    "preferred-dataset-splits",
    "active-chunks-per-dimension",
    "local-mem-bw",
    "endpoint-delay",
    "roofline-enabled",
    "peak-perf",
    "replay-only",
];

/// Keys without effect on the supported cases: one collective at a time, and networks of one dimension.
const WITHOUT_EFFECT: [&str; 16] = [
    "scheduling-policy",
    "collective-optimization",
    "intra-dimension-scheduling",
    "inter-dimension-scheduling",
    "boost-mode",
    "local-reduction-delay",
    "trace-enabled",
    "seprate-log",
    "track-local-mem",
    "local-mem-trace-filename",
    "model-shared-bus",
    "L",
    "o",
    "g",
    "G",
    "logging-folder",
];

/// Settings of a system file.
#[derive(Clone, Debug)]
pub struct System {
    /// Rules for executing collectives.
    pub collectives: CollectiveRules,
    /// Rates of a GPU (`peak-perf`, `local-mem-bw`), if they determine the duration of all kernels
    /// (`roofline-enabled`).
    pub roofline: Option<Roofline>,
}

/// Reads a system file, and the traces of custom collectives that it names.
///
/// # Errors
/// If a file is invalid, with the key.
pub fn read_system(path: &Path) -> Result<(System, Vec<Caution>), Trouble> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|e| Trouble::at(&name, format!("cannot be read: {e}")))?;
    parse(&name, path.parent().unwrap_or(Path::new(".")), &text)
}

fn parse(file: &str, folder: &Path, text: &str) -> Result<(System, Vec<Caution>), Trouble> {
    let value: Value = serde_json::from_str(text)
        .map_err(|e| Trouble::at(format!("{file}:{}", e.line()), format!("is not JSON: {e}")))?;
    let Value::Object(keys) = value else {
        return Err(Trouble::at(file, "expected an object of keys and values"));
    };
    let number = |key: &str| -> Result<Option<f64>, Trouble> {
        match keys.get(key) {
            None => Ok(None),
            Some(value) => match value.as_f64().filter(|n| n.is_finite() && *n >= 0.0) {
                Some(n) => Ok(Some(n)),
                None => Err(Trouble::at(
                    file,
                    format!("{key} is {value}, expected a number of at least 0"),
                )),
            },
        }
    };
    let count = |key: &str| -> Result<u32, Trouble> {
        let value = number(key)?.unwrap_or(1.0);
        if value.fract() != 0.0 || !(1.0..=f64::from(u32::MAX)).contains(&value) {
            return Err(Trouble::at(
                file,
                format!("{key} is {value}, expected a whole number of at least 1"),
            ));
        }
        Ok(value as u32)
    };
    let mut cautions = Vec::new();
    // Rings of ASTRA-sim take 10 ns per step, regardless of `endpoint-delay`.
    let mut rules = CollectiveRules {
        splits: u64::from(count("preferred-dataset-splits")?),
        active: count("active-chunks-per-dimension")?,
        delays: Delays {
            first_ns: 10,
            next_ns: 10,
            last_ns: 10,
            latency_ns: 0,
            processing: Processing::None,
        },
        gather_size_is_part: true,
        until_sent: false,
        ..CollectiveRules::default()
    };
    match number("local-mem-bw")? {
        Some(bytes_per_ns) if bytes_per_ns > 0.0 => {
            rules.delays.processing = Processing::Memory { bytes_per_ns };
        }
        Some(_) => {
            return Err(Trouble::at(file, "local-mem-bw is 0, expected GB/s"));
        }
        None => cautions.push(Caution {
            text: format!("{file} has no local-mem-bw: reductions take no time."),
        }),
    }
    if let Some(delay) = number("endpoint-delay")?.filter(|d| *d != 10.0) {
        cautions.push(Caution {
            text: format!("endpoint-delay = {delay} of {file} has no effect: it is 10 ns in rings."),
        });
    }
    // Refused, not ignored: every time of the run would be another one.
    if number("replay-only")?.is_some_and(|on| on != 0.0) {
        return Err(Trouble::at(
            file,
            "replay-only is not 0: messages and collectives would last as long as they were recorded, and not use the network",
        )
        .help("Leave it out: kernels last as long as the trace says without it"));
    }
    let roofline = match number("roofline-enabled")?.is_some_and(|on| on != 0.0) {
        false => None,
        true => Some(Roofline {
            flops: Some(rate(file, "peak-perf", "TFLOP/s", number("peak-perf")?)? * 1e12),
            memory: Some(rate(file, "local-mem-bw", "GB/s", number("local-mem-bw")?)? * 1e9),
        }),
    };
    for (key, value) in &keys {
        if let Some(kind) = key.strip_suffix("-implementation").filter(|k| KINDS.contains(k)) {
            *algorithm(&mut rules, kind) = plain(file, key, value)?;
            continue;
        }
        let custom = key.strip_suffix("-implementation-custom");
        let known = custom.is_some_and(|kind| KINDS.contains(&kind))
            || KEYS.contains(&key.as_str())
            || WITHOUT_EFFECT.contains(&key.as_str());
        if !known {
            let mut known: Vec<String> = KEYS
                .iter()
                .chain(&WITHOUT_EFFECT)
                .map(ToString::to_string)
                .collect();
            known.extend(KINDS.iter().map(|k| format!("{k}-implementation")));
            known.extend(KINDS.iter().map(|k| format!("{k}-implementation-custom")));
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(unknown(file, "key", key, &known));
        }
    }
    // Custom implementations have precedence, regardless of the order of keys.
    for kind in KINDS {
        let key = format!("{kind}-implementation-custom");
        if let Some(value) = keys.get(&key) {
            let name = only(file, &key, value)?;
            let prefix = find(folder, Path::new(name)).ok_or_else(|| {
                Trouble::at(
                    file,
                    format!("{key}: there is no {name}.0.et, as seen from here or from this file"),
                )
            })?;
            let options = Options {
                is_algorithm: true,
                ..Options::default()
            };
            let (graph, mut found) = read(&prefix, &options)?;
            cautions.append(&mut found);
            // A faulty algorithm would otherwise show as a deadlock of the whole job.
            check(&graph, u64::MAX).into_result()?;
            *algorithm(&mut rules, kind) = Algorithm::Custom(Arc::new(graph));
        }
    }
    let system = System {
        collectives: rules,
        roofline,
    };
    Ok((system, cautions))
}

/// Returns a rate that the roofline needs, or an error if it is missing or 0.
fn rate(file: &str, key: &str, unit: &str, value: Option<f64>) -> Result<f64, Trouble> {
    value.filter(|rate| *rate > 0.0).ok_or_else(|| {
        let what = if value.is_some() { "is 0" } else { "is missing" };
        Trouble::at(
            file,
            format!("{key} {what}, and roofline-enabled needs it: expected {unit}"),
        )
    })
}

fn algorithm<'a>(rules: &'a mut CollectiveRules, kind: &str) -> &'a mut Algorithm {
    match kind {
        "all-reduce" => &mut rules.all_reduce,
        "all-gather" => &mut rules.all_gather,
        "reduce-scatter" => &mut rules.reduce_scatter,
        _ => &mut rules.all_to_all,
    }
}

/// Returns the string in a list of one.
fn only<'a>(file: &str, key: &str, value: &'a Value) -> Result<&'a str, Trouble> {
    let text = match value {
        Value::Array(list) if list.len() == 1 => list[0].as_str(),
        Value::String(text) => Some(text.as_str()),
        _ => None,
    };
    text.ok_or_else(|| match value {
        Value::Array(list) if list.len() > 1 => several_dimensions(file, key, list.len()),
        _ => Trouble::at(file, format!("{key} is {value}, expected a list of one text")),
    })
}

fn plain(file: &str, key: &str, value: &Value) -> Result<Algorithm, Trouble> {
    match only(file, key, value)? {
        "ring" | "oneRing" => Ok(Algorithm::Ring),
        "direct" | "oneDirect" => Ok(Algorithm::Direct),
        "doubleBinaryTree" => Ok(Algorithm::DoubleBinary),
        name => Err(unknown(
            file,
            key,
            name,
            &["ring", "direct", "doubleBinaryTree", "oneRing", "oneDirect"],
        )),
    }
}

/// Returns an existing prefix: as given, or its last components relative to the system file's folder or the folder
/// above.
fn find(folder: &Path, prefix: &Path) -> Option<PathBuf> {
    let is_there = |path: &Path| super::files(path).is_ok();
    if is_there(prefix) {
        return Some(prefix.to_path_buf());
    }
    // The path was right on the machine that wrote the file; elsewhere only its end may match.
    let parts: Vec<_> = prefix.components().collect();
    let above = folder.join("..");
    for from in 0..parts.len() {
        let rest: PathBuf = parts[from..].iter().collect();
        for base in [folder, &above] {
            let path = base.join(&rest);
            if is_there(&path) {
                return Some(path);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<(System, Vec<Caution>), Trouble> {
        parse("s.json", Path::new("."), text)
    }

    #[test]
    fn mistakes_in_a_system_file_are_named() {
        for (text, part) in [
            (r#"{"local-mem-bv": 3}"#, "local-mem-bv"),
            (r#"{"preferred-dataset-splits": 0}"#, "at least 1"),
            (r#"{"preferred-dataset-splits": 1.5}"#, "whole number"),
            (
                r#"{"all-reduce-implementation": ["ring", "ring"]}"#,
                "2 dimensions",
            ),
            (r#"{"all-reduce-implementation": ["rinf"]}"#, "rinf"),
            (
                r#"{"all-reduce-implementation-custom": ["nowhere"]}"#,
                "nowhere.0.et",
            ),
            (r#"{"all-redux-implementation-custom": ["nowhere"]}"#, "all-redux"),
            (r#"{"roofline-enabled": 1}"#, "peak-perf is missing"),
            (
                r#"{"roofline-enabled": 1, "peak-perf": 900}"#,
                "local-mem-bw is missing",
            ),
            (r#"{"replay-only": 1}"#, "not use the network"),
            (r#"{"local-mem-bw": "x"}"#, "local-mem-bw"),
            ("[]", "object"),
            ("{", "s.json:1"),
        ] {
            let trouble = read_text(text).unwrap_err().to_string();
            assert!(trouble.contains(part), "{trouble}");
        }
    }

    #[test]
    fn a_roofline_is_read() {
        let text = r#"{"roofline-enabled": 1, "peak-perf": 700, "local-mem-bw": 3350}"#;
        let expected = Roofline {
            flops: Some(700e12),
            memory: Some(3350e9),
        };
        assert_eq!(read_text(text).unwrap().0.roofline, Some(expected));
        let off = text.replace("enabled\": 1", "enabled\": 0");
        assert_eq!(read_text(&off).unwrap().0.roofline, None);
    }

    #[test]
    fn what_has_no_effect_is_told() {
        let (system, cautions) = read_text(r#"{"endpoint-delay": 20}"#).unwrap();
        assert_eq!((system.collectives.splits, system.collectives.active), (1, 1));
        assert_eq!(cautions.len(), 2);
    }
}
