//! Groups of ranks, from a file or from METADATA nodes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::program::Rank;
use crate::trouble::Trouble;

/// Groups by name, each with its ranks.
pub(super) type Groups = BTreeMap<String, Vec<Rank>>;

/// Parses a JSON list of distinct ranks below `ranks`.
fn members(at: &str, name: &str, list: &[Value], ranks: Rank) -> Result<Vec<Rank>, Trouble> {
    let mut members = Vec::new();
    for item in list {
        let rank = item.as_u64().and_then(|n| Rank::try_from(n).ok());
        let rank = rank.filter(|&r| r < ranks).ok_or_else(|| {
            Trouble::at(
                at,
                format!(
                    "group `{name}` has {item}, but the ranks are 0 to {}",
                    ranks.max(1) - 1
                ),
            )
        })?;
        members.push(rank);
    }
    // The order of members counts, so only a copy is sorted.
    let mut sorted = members.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|p| p[0] == p[1]) {
        return Err(Trouble::at(
            at,
            format!("group `{name}` has rank {} twice", pair[0]),
        ));
    }
    if members.is_empty() {
        members = (0..ranks).collect();
    }
    Ok(members)
}

/// Parses a file of groups: `{"1": [0, 1], "2": [2, 3]}`.
pub(super) fn parse(file: &str, text: &str, ranks: Rank) -> Result<Groups, Trouble> {
    let value: Value = serde_json::from_str(text)
        .map_err(|e| Trouble::at(format!("{file}:{}", e.line()), format!("is not JSON: {e}")))?;
    let Value::Object(object) = value else {
        return Err(Trouble::at(
            file,
            "expected an object of groups: {\"1\": [0, 1], \"2\": [2, 3]}",
        ));
    };
    let mut groups = Groups::new();
    for (name, list) in &object {
        let Value::Array(list) = list else {
            return Err(Trouble::at(
                file,
                format!("group `{name}` is {list}, expected a list of ranks"),
            ));
        };
        groups.insert(name.clone(), members(file, name, list, ranks)?);
    }
    Ok(groups)
}

/// Parses the groups of a METADATA node, if it has any: a list of `{"pg_name": ..., "ranks": [...]}`.
pub(super) fn of_metadata(at: &str, text: &str, ranks: Rank, into: &mut Groups) -> Result<(), Trouble> {
    // Other texts are no groups, and not an error.
    let Ok(Value::Array(list)) = serde_json::from_str::<Value>(text) else {
        return Ok(());
    };
    // Values of inputs are often a list of one string.
    if let [Value::String(inner)] = &list[..] {
        return of_metadata(at, inner, ranks, into);
    }
    for item in &list {
        let name = match item.get("pg_name") {
            Some(Value::String(name)) => name.clone(),
            Some(Value::Number(name)) => name.to_string(),
            _ => continue,
        };
        let list = match item.get("ranks") {
            Some(Value::Array(list)) => &list[..],
            None | Some(Value::Null) => &[],
            Some(other) => {
                return Err(Trouble::at(
                    at,
                    format!("group `{name}` has ranks {other}, expected a list"),
                ));
            }
        };
        into.insert(name.clone(), members(at, &name, list, ranks)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_in_their_order_and_mistakes_are_named() {
        let groups = parse("g.json", r#"{"1": [3, 0], "2": []}"#, 4).unwrap();
        assert_eq!(groups["1"], [3, 0]);
        assert_eq!(groups["2"], [0, 1, 2, 3]);
        for (text, part) in [
            (r#"{"1": [4]}"#, "group `1` has 4"),
            (r#"{"1": [0, 0]}"#, "rank 0 twice"),
            (r#"{"1": 3}"#, "expected a list"),
            ("[1]", "expected an object"),
            ("{", "g.json:1"),
        ] {
            let trouble = parse("g.json", text, 4).unwrap_err().to_string();
            assert!(trouble.contains(part), "{trouble}");
        }
    }

    #[test]
    fn metadata_tells_of_groups() {
        let mut groups = Groups::new();
        let text = r#"[{"pg_name": "7", "ranks": [1, 2]}, {"pg_name": "all"}]"#;
        of_metadata("m", text, 3, &mut groups).unwrap();
        assert_eq!(groups["7"], [1, 2]);
        assert_eq!(groups["all"], [0, 1, 2]);
        of_metadata("m", "something else", 3, &mut groups).unwrap();
    }
}
