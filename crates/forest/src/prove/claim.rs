//! Parsing and interpretation of claims.

use paceline_congestion::learned::forest::{Claim, Feature, Forest};

/// Returns the ranges of positions to which a claim applies: the full range for features it does not name.
///
/// # Errors
/// The claim names an unknown feature, or an empty range.
pub fn domain(forest: &Forest, claim: &Claim) -> Result<Vec<[i32; 2]>, String> {
    let features = &forest.parts().features;
    let mut ranges: Vec<[i32; 2]> = features.iter().map(|feature| feature.scale.range()).collect();
    for (name, [low, high]) in &claim.within {
        for number in named(forest, name)? {
            let [first, last] = ranges[number];
            let end = |x: f32| features[number].scale.position(x).clamp(first, last);
            ranges[number] = [end(*low), end(*high)];
        }
        if low > high {
            return Err(format!(
                "the range of `{name}` is {low}..{high}: the lower end comes first"
            ));
        }
    }
    Ok(ranges)
}

/// Returns the features with this full name, or with this name before `[`.
///
/// # Errors
/// There is no such feature.
pub fn named(forest: &Forest, name: &str) -> Result<Vec<usize>, String> {
    let features = &forest.parts().features;
    let is_named = |k: &usize| features[*k].name == name || base(&features[*k].name) == name;
    let named: Vec<usize> = (0..features.len()).filter(is_named).collect();
    match named.is_empty() {
        true => Err(unknown(features, name)),
        false => Ok(named),
    }
}

fn base(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

/// Returns the error text for an unknown feature, with the most similar name.
fn unknown(features: &[Feature], name: &str) -> String {
    let names = features.iter().map(|feature| &*feature.name);
    let mut all: Vec<&str> = names.flat_map(|name| [name, base(name)]).collect();
    all.sort_unstable();
    all.dedup();
    let near = all
        .iter()
        .min_by_key(|near| strsim::damerau_levenshtein(near, name));
    let near = near.filter(|near| strsim::damerau_levenshtein(near, name) * 2 <= name.len());
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
    let names: Vec<&str> = features.iter().map(|feature| &*feature.name).collect();
    format!(
        "the forest reads no feature `{name}`{hint}; it reads {}",
        names.join(", ")
    )
}

/// Parses a claim `FEATURE=RANGE, .. => RANGE`, or a range alone, which applies to all features. A range is
/// `LOW..HIGH`, where an end may be missing, or a number.
///
/// # Errors
/// The text does not have this form.
pub fn parse(text: &str) -> Result<Claim, String> {
    let (within, output) = match text.split_once("=>") {
        Some((within, output)) => (within.trim(), output),
        None => ("", text),
    };
    let feature = |part: &str| {
        let pair = part.rsplit_once('=').filter(|(name, _)| !name.trim().is_empty());
        let (name, text) =
            pair.ok_or_else(|| format!("`{part}` is no feature's range: expected FEATURE=LOW..HIGH"))?;
        Ok((name.trim().to_string(), range(text)?.map(|end| end as f32)))
    };
    let parts = within.split(',').filter(|part| !part.trim().is_empty());
    Ok(Claim {
        what: text.trim().to_string(),
        within: parts
            .map(|part| feature(part.trim()))
            .collect::<Result<_, String>>()?,
        output: range(output)?,
    })
}

fn range(text: &str) -> Result<[f64; 2], String> {
    let text = text.trim();
    let expected = || {
        format!("`{text}` is no range: expected LOW..HIGH, LOW.., ..HIGH or a number, the lower end first")
    };
    let end = |text: &str, none: f64| match text.trim() {
        "" => Ok(none),
        text => text
            .parse()
            .ok()
            .filter(|x: &f64| x.is_finite())
            .ok_or_else(expected),
    };
    let [low, high] = match text.split_once("..") {
        Some((low, high)) => [end(low, f64::NEG_INFINITY)?, end(high, f64::INFINITY)?],
        None if text.is_empty() => return Err(expected()),
        None => [end(text, 0.0)?; 2],
    };
    match low <= high {
        true => Ok([low, high]),
        false => Err(expected()),
    }
}
