//! Axis labels with units, for keys and for numbers of a summary.

/// Suffixes of names that stand for units, and their symbols.
const UNITS: [(&str, &str); 8] = [
    ("_us", "µs"),
    ("_ms", "ms"),
    ("_ps", "ps"),
    ("_gbps", "Gbit/s"),
    ("_bytes", "B"),
    ("_pct", "%"),
    ("_s", "s"),
    ("_ns", "ns"),
];

/// Abbreviations in names, and their full forms.
const WORDS: [(&str, &str); 10] = [
    ("fct", "FCT"),
    ("rtt", "RTT"),
    ("pfc", "PFC"),
    ("ecn", "ECN"),
    ("cnp", "CNP"),
    ("int", "INT"),
    ("cc", "congestion control"),
    ("max", "maximum"),
    ("min", "minimum"),
    ("p50", "median"),
];

/// Returns the label of a number in a summary: `fct_slowdown.p99` is "FCT slowdown, 99th percentile", and
/// `jobs.llm.iteration_us.mean` is "iteration of llm, mean".
pub(crate) fn of_metric(name: &str) -> String {
    match of_named(name) {
        Some((label, quantity, unit)) => {
            let (first, rest) = quantity.split_once(", ").unwrap_or((&quantity, ""));
            let rest = if rest.is_empty() {
                String::new()
            } else {
                format!(", {rest}")
            };
            with_unit(format!("{first} of {label}{rest}"), unit)
        }
        None => {
            let (text, unit) = in_words(name);
            with_unit(text, unit)
        }
    }
}

/// Quantities of jobs and collectives whose names need an explanation.
const OF_NAMED: [(&str, &str); 11] = [
    ("ttft_us", "time to first token"),
    ("tpot_us", "time per later token"),
    ("kv_us", "transfer of a cache"),
    ("kv_share", "share of transfers in the time to first token"),
    ("requests_per_s", "requests per second"),
    ("goodput_per_s", "requests per second within limits"),
    ("within_slo", "share of requests within limits"),
    ("exposed_us", "exposed communication"),
    ("communication", "share of exposed communication"),
    ("time_us", "time"),
    ("busbw_gbps", "bus bandwidth"),
];

/// Splits the name of a job's or collective's number into label, quantity and unit. Labels may contain dots,
/// quantities at most one.
fn of_named(name: &str) -> Option<(&str, String, &'static str)> {
    let rest = name
        .strip_prefix("jobs.")
        .or_else(|| name.strip_prefix("services."))
        .or_else(|| name.strip_prefix("collectives."))?;
    let (before, last) = rest.rsplit_once('.')?;
    let (label, quantity) = match before.rsplit_once('.') {
        Some((label, first))
            if [
                "iteration_us",
                "time_us",
                "iterations",
                "ttft_us",
                "tpot_us",
                "kv_us",
                "parts_us",
                "requests",
            ]
            .contains(&first) =>
        {
            (label, &rest[label.len() + 1..])
        }
        _ => (before, last),
    };
    let (text, unit) = in_words(quantity);
    let first = quantity.split('.').next().unwrap_or(quantity);
    let known = OF_NAMED.iter().find(|(short, _)| *short == first);
    let text = match (known, text.split_once(", ")) {
        (Some((_, words)), Some((_, rest))) => format!("{words}, {rest}"),
        (Some((_, words)), None) => (*words).to_string(),
        (None, _) => text,
    };
    Some((label, text, unit))
}

fn with_unit(text: String, unit: &str) -> String {
    match unit {
        "" => text,
        unit => format!("{text} ({unit})"),
    }
}

/// Returns the words of a path, and its unit.
fn in_words(name: &str) -> (String, &'static str) {
    let mut unit = "";
    let mut parts: Vec<String> = Vec::new();
    for part in name.split('.') {
        let found = UNITS.iter().find(|(end, _)| part.ends_with(end));
        let part = match found {
            Some((end, words)) => {
                unit = words;
                &part[..part.len() - end.len()]
            }
            None => part,
        };
        let words: Vec<String> = part.split(['_', '-']).map(word).collect();
        parts.push(words.join(" "));
    }
    (parts.join(", "), unit)
}

/// Returns the label of a scenario's key: `topology.star.rate` in Gbps is "link rate (Gbit/s)", `cc.hpcc.eta` is "eta
/// of hpcc".
pub(super) fn of_key(key: &str, unit: &str) -> String {
    let parts: Vec<&str> = key.split('.').collect();
    let last = parts.last().copied().unwrap_or(key);
    let words: Vec<String> = last.split(['-', '_']).map(word).collect();
    let name = match parts.as_slice() {
        ["cc", "scheme"] => "scheme".to_string(),
        ["topology", .., "rate"] => "link rate".to_string(),
        ["cc", scheme, _] => format!("{} of {scheme}", words.join(" ")),
        ["network", "ecn", _] => format!("ECN {}", words.join(" ")),
        ["workload", .., label, _, _] if label.parse::<usize>().is_err() => {
            format!("{} of {label}", words.join(" "))
        }
        _ => words.join(" "),
    };
    let unit = match unit {
        "Gbps" => "Gbit/s",
        "Mbps" => "Mbit/s",
        "us" => "µs",
        unit => unit,
    };
    match unit {
        "" => name,
        unit => format!("{name} ({unit})"),
    }
}

/// Expands an abbreviation, or a percentile such as `p99`.
fn word(part: &str) -> String {
    if let Some((_, words)) = WORDS.iter().find(|(short, _)| *short == part) {
        return (*words).to_string();
    }
    match part.strip_prefix('p').filter(|rest| rest.parse::<u32>().is_ok()) {
        Some(number) if number.len() > 2 => format!("{}.{}th percentile", &number[..2], &number[2..]),
        Some(number) => format!("{number}th percentile"),
        None => part.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        for (name, words) in [
            ("fct_slowdown.p99", "FCT slowdown, 99th percentile"),
            ("fct_slowdown.p999", "FCT slowdown, 99.9th percentile"),
            ("rtt_per_ack_us.mean", "RTT per ack, mean (µs)"),
            ("pfc.pauses", "PFC, pauses"),
            ("pfc.paused_us", "PFC, paused (µs)"),
            ("jobs.llm.iteration_us.mean", "iteration of llm, mean (µs)"),
            (
                "jobs.v1.5.iteration_us.p99",
                "iteration of v1.5, 99th percentile (µs)",
            ),
            ("jobs.llm.exposed_us", "exposed communication of llm (µs)"),
            ("jobs.llm.communication", "share of exposed communication of llm"),
            (
                "collectives.llm/all-reduce.time_us.mean",
                "time of llm/all-reduce, mean (µs)",
            ),
            (
                "collectives.llm/all-reduce.busbw_gbps",
                "bus bandwidth of llm/all-reduce (Gbit/s)",
            ),
        ] {
            assert_eq!(of_metric(name), words);
        }
        for (key, unit, words) in [
            ("topology.star.rate", "Gbps", "link rate (Gbit/s)"),
            ("cc.dcqcn.rate-ai", "Mbps", "rate ai of dcqcn (Mbit/s)"),
            ("cc.scheme", "", "scheme"),
            ("network.ecn.kmin", "KB", "ECN kmin (KB)"),
            ("workload.background.poisson.load", "", "load of background"),
            ("workload.0.incast.size", "KB", "size (KB)"),
        ] {
            assert_eq!(of_key(key, unit), words);
        }
    }
}
