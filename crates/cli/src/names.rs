//! Names and order of curves, rows and runs, as options ask for them.

use crate::failure::Failure;
use crate::text;

/// Returns the indices of `known` in the order that `--order` asks for; those that it leaves out follow.
///
/// # Errors
/// A name that is not known.
pub(crate) fn arranged(order: &[String], known: &[String]) -> Result<Vec<usize>, Failure> {
    let mut arranged = Vec::new();
    let mut rest = order;
    while let Some(name) = rest.first() {
        // Names may have commas, so the longest that fits counts.
        let found = (1..=rest.len()).rev().find_map(|words| {
            let name = rest[..words].join(",");
            let at = (0..known.len()).find(|at| known[*at] == name && !arranged.contains(at))?;
            Some((words, at))
        });
        let (words, at) = found.ok_or_else(|| unknown("--order", name, known))?;
        arranged.push(at);
        rest = &rest[words..];
    }
    arranged.extend(
        (0..known.len())
            .filter(|at| !arranged.contains(at))
            .collect::<Vec<_>>(),
    );
    Ok(arranged)
}

/// Returns `known` with the names that `--names` gives: by those that they have (`hpcc=HPCC`), or all by position,
/// which is printed.
///
/// # Errors
/// A name that is not known, or another number of names.
pub(crate) fn renamed(names: &[String], known: &[String]) -> Result<Vec<String>, Failure> {
    if names.is_empty() {
        return Ok(known.to_vec());
    }
    if let Some(renamed) = renamed_by_key(names, known)? {
        return Ok(renamed);
    }
    if names.len() != known.len() {
        let first = known.first().map_or("KEY", String::as_str);
        return Err(Failure::arguments(format!(
            "--names: {} names for {}: {}; or write {first}=NAME",
            names.len(),
            known.len(),
            known.join(", ")
        )));
    }
    let pairs = known.iter().zip(names).map(|(old, new)| format!("{old}={new}"));
    say!("--names by position: {}", pairs.collect::<Vec<_>>().join(","));
    Ok(names.to_vec())
}

/// Returns `known` with the names that are given by key; `None` if no name is.
///
/// # Errors
/// A key that is not known, if another one is.
pub(crate) fn renamed_by_key(names: &[String], known: &[String]) -> Result<Option<Vec<String>>, Failure> {
    // Names may have equals signs, too, so the longest that fits counts.
    let split = |text: &String| {
        let of = |(position, name): (usize, &String)| {
            let rest = text.strip_prefix(name.as_str())?.strip_prefix('=')?;
            Some((name.len(), position, rest.to_string()))
        };
        known.iter().enumerate().filter_map(of).max()
    };
    if !names.iter().any(|name| split(name).is_some()) {
        return Ok(None);
    }
    let mut renamed = known.to_vec();
    let mut last = None;
    for text in names {
        let of_last = last.filter(|_| !text.contains('='));
        match (split(text), of_last) {
            (Some((_, position, name)), _) => {
                renamed[position] = name;
                last = Some(position);
            }
            // A comma inside a name.
            (None, Some(position)) => {
                renamed[position] += ",";
                renamed[position] += text;
            }
            (None, None) => {
                let key = text.split('=').next().unwrap_or_default();
                return Err(unknown("--names", key, known));
            }
        }
    }
    Ok(Some(renamed))
}

fn unknown(option: &str, name: &str, known: &[String]) -> Failure {
    let near = text::nearest(name, known.iter().map(String::as_str));
    let hint = near.map_or_else(
        || format!("expected {}", known.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Failure::arguments(format!("{option}: there is no `{name}`: {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_with_equals_signs_are_keys_too() {
        let known = texts(&["dcqcn", "dcqcn:g=0.1"]);
        let named = |names: &[&str]| renamed(&texts(names), &known).map_err(|failure| failure.to_string());
        assert_eq!(
            named(&["dcqcn:g=0.1=g is 0.1"]).unwrap(),
            texts(&["dcqcn", "g is 0.1"])
        );
        assert_eq!(named(&["a = b", "c"]).unwrap(), texts(&["a = b", "c"]));
        assert_eq!(
            named(&["dcqcn=A", "dctcp=B"]).unwrap_err(),
            "--names: there is no `dctcp`: did you mean `dcqcn`?"
        );
        assert!(
            named(&["a"])
                .unwrap_err()
                .starts_with("--names: 1 names for 2: dcqcn, dcqcn:g=0.1")
        );
    }

    #[test]
    fn an_order_may_leave_names_out() {
        let known = texts(&["a", "b", "c"]);
        assert_eq!(arranged(&texts(&["c", "a"]), &known).unwrap(), [2, 0, 1]);
        assert!(arranged(&texts(&["c", "c"]), &known).is_err());
        let known = texts(&["a", "a, b", "b"]);
        assert_eq!(arranged(&texts(&["a", " b", "b"]), &known).unwrap(), [1, 2, 0]);
    }
}
