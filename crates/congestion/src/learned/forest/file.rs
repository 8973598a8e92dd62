//! Forest files: JSON with one line per tree and a SHA-256 of everything that affects decisions.
//!
//! Errors name the entry, the value found and the value expected.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{
    Claim, Feature, LAST, MAX_DEPTH, MAX_FEATURES, MAX_FRACTION, MAX_LEAVES, Parts, Scale, Split, Tree, Trend,
};
use crate::learned::hash::sha256;

/// Version of the format.
pub const FORMAT: u64 = 1;
/// Value of the entry `kind`.
const KIND: &str = "forest";

/// Reason for which a forest is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForestError {
    /// The file is not JSON.
    #[error("it is not a forest's file: {0}")]
    Json(String),
    /// An entry has a value that is not allowed.
    #[error("{location} is {found}; expected {expected}")]
    Entry {
        /// Path of the entry.
        location: String,
        /// Value in the file.
        found: String,
        /// Values that this version supports.
        expected: String,
    },
    /// The file was changed after it was written.
    #[error("the forest was changed or damaged: its SHA-256 is {found}; the file says {expected}")]
    Hash {
        /// SHA-256 of the contents.
        found: String,
        /// SHA-256 that the file states.
        expected: String,
    },
}

impl ForestError {
    /// Creates the error for an entry with a value that is not allowed.
    pub fn entry(location: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Entry {
            location: location.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }
}

type Result<T> = std::result::Result<T, ForestError>;

/// Checks that the parts are consistent and within their limits.
pub(super) fn check(parts: &Parts) -> Result<()> {
    within("features", parts.features.len(), 1, MAX_FEATURES)?;
    for (k, feature) in parts.features.iter().enumerate() {
        if let Some(twin) = parts.features[..k]
            .iter()
            .position(|other| other.name == feature.name)
        {
            return Err(ForestError::entry(
                format!("features[{k}].name"),
                format!("\"{}\", as that of features[{twin}]", feature.name),
                "another name for each",
            ));
        }
        if let Scale::Fixed(fraction) = feature.scale {
            let location = format!("features[{k}].fraction");
            within(&location, fraction, 0, Scale::MAX_FRACTION)?;
        }
    }
    within("output.fraction", parts.fraction, 0, MAX_FRACTION)?;
    within("output.start", parts.start, -(1 << 40), 1 << 40)?;
    if let Some([low, high]) = parts.limits
        && low > high
    {
        let found = format!("from {low} to {high}");
        return Err(ForestError::entry("output.limits", found, "the lower one first"));
    }
    for (k, tree) in parts.trees.iter().enumerate() {
        check_tree(k, tree, &parts.features)?;
    }
    let deepest = parts.trees.iter().map(|tree| tree.splits.len()).max();
    let leaves = parts.trees.len().saturating_mul(1 << deepest.unwrap_or(0));
    within("the number of leaves", leaves, 0, MAX_LEAVES)?;
    parts
        .claims
        .iter()
        .enumerate()
        .try_for_each(|(k, claim)| check_claim(k, claim))
}

fn check_tree(k: usize, tree: &Tree, features: &[Feature]) -> Result<()> {
    let depth = tree.splits.len();
    within(
        &format!("the number of splits of trees[{k}]"),
        depth,
        0,
        MAX_DEPTH,
    )?;
    if tree.leaves.len() != 1 << depth {
        return Err(ForestError::entry(
            format!("the number of leaves of trees[{k}]"),
            format!("{}, with {depth} splits", tree.leaves.len()),
            format!("{} of an oblivious tree", 1u32 << depth),
        ));
    }
    for (s, split) in tree.splits.iter().enumerate() {
        let location = || format!("trees[{k}].splits[{s}]");
        let Some(feature) = features.get(split.feature) else {
            return Err(ForestError::entry(
                format!("the feature of {}", location()),
                split.feature.to_string(),
                format!("0 to {}", features.len() - 1),
            ));
        };
        if feature.scale != Scale::Float {
            within(
                &format!("the threshold of {}", location()),
                split.above,
                -LAST,
                LAST - 1,
            )?;
        }
    }
    Ok(())
}

fn check_claim(k: usize, claim: &Claim) -> Result<()> {
    let ranges = claim
        .within
        .iter()
        .map(|(_, [low, high])| [f64::from(*low), f64::from(*high)]);
    for [low, high] in ranges.chain([claim.output]) {
        if low.is_nan() || high.is_nan() || low > high {
            return Err(ForestError::entry(
                format!("a range of claims[{k}]"),
                format!("from {low} to {high}"),
                "two numbers, the lower one first",
            ));
        }
    }
    Ok(())
}

fn within<T: PartialOrd + std::fmt::Display>(location: &str, found: T, low: T, high: T) -> Result<()> {
    if found >= low && found <= high {
        return Ok(());
    }
    Err(ForestError::entry(
        location,
        found.to_string(),
        format!("{low} to {high}"),
    ))
}

/// Returns the SHA-256 of everything that affects decisions, and of the names that give it meaning.
pub(super) fn hash(parts: &Parts) -> String {
    let mut bytes = Vec::new();
    let mut put = |number: i64| bytes.extend(number.to_le_bytes());
    for feature in &parts.features {
        put(feature.name.len() as i64);
        feature.name.bytes().for_each(|byte| put(byte.into()));
        put(match feature.scale {
            Scale::Fixed(fraction) => fraction.into(),
            Scale::Float => -1,
        });
    }
    put(parts.output.len() as i64);
    parts.output.bytes().for_each(|byte| put(byte.into()));
    put(parts.fraction.into());
    put(parts.start);
    let limits = parts.limits.unwrap_or([i64::MIN, i64::MAX]);
    limits.into_iter().for_each(&mut put);
    for tree in &parts.trees {
        put(tree.splits.len() as i64);
        for split in &tree.splits {
            put(split.feature as i64);
            put(split.above.into());
        }
        tree.leaves.iter().for_each(|leaf| put((*leaf).into()));
    }
    sha256(&bytes)
}

pub(super) fn write(parts: &Parts, sha256: &str) -> String {
    let feature = |feature: &Feature| {
        let mut entry = json!({ "name": feature.name });
        entry["fraction"] = match feature.scale {
            Scale::Fixed(fraction) => fraction.into(),
            Scale::Float => Value::Null,
        };
        if let Some(trend) = feature.trend {
            entry["trend"] = trend.name().into();
        }
        entry
    };
    let claim = |claim: &Claim| {
        let within = claim.within.iter();
        let within: Map<_, _> = within
            .map(|(name, range)| (name.clone(), json!(range.map(bound))))
            .collect();
        json!({ "what": claim.what, "within": within, "output": claim.output })
    };
    let head = [
        ("format", json!(FORMAT)),
        ("kind", json!(KIND)),
        ("name", json!(parts.name)),
        ("features", parts.features.iter().map(feature).collect()),
        (
            "output",
            json!({
                "name": parts.output,
                "fraction": parts.fraction,
                "start": parts.start,
                "limits": parts.limits,
            }),
        ),
        ("claims", parts.claims.iter().map(claim).collect()),
        ("about", Value::Object(parts.about.clone())),
        ("sha256", json!(sha256)),
    ];
    let mut text = String::from("{\n");
    // One line for each field and each tree, so that versions of a forest can be compared line by line.
    for (key, value) in head {
        let _ = writeln!(text, "  \"{key}\": {value},");
    }
    text.push_str("  \"trees\": [\n");
    for (k, tree) in parts.trees.iter().enumerate() {
        let split = |split: &Split| match parts.features[split.feature].scale {
            Scale::Fixed(_) => json!([split.feature, split.above]),
            scale => json!([split.feature, f64::from(scale.number(split.above))]),
        };
        let splits: Value = tree.splits.iter().map(split).collect();
        let leaves = json!(tree.leaves);
        let comma = if k + 1 < parts.trees.len() { "," } else { "" };
        let _ = writeln!(
            text,
            "    {{ \"splits\": {splits}, \"leaves\": {leaves} }}{comma}"
        );
    }
    text.push_str("  ]\n}\n");
    text
}

/// Converts through text: keeps the shortest digits instead of those of the nearest double.
fn bound(x: f32) -> f64 {
    x.to_string().parse().unwrap_or_else(|_| f64::from(x))
}

/// Value at a path of the file.
struct At<'a> {
    location: String,
    value: &'a Value,
}

impl<'a> At<'a> {
    fn is_not<T>(&self, expected: &str) -> Result<T> {
        let mut found = self.value.to_string();
        if found.len() > 60 {
            found = match self.value {
                Value::Array(list) => format!("a list of {}", list.len()),
                _ => format!("{}..", found.chars().take(56).collect::<String>()),
            };
        }
        Err(ForestError::entry(&self.location, found, expected))
    }

    fn get(&self, key: &str) -> Self {
        let location = match &*self.location {
            "" => key.to_string(),
            location => format!("{location}.{key}"),
        };
        let value = self.value.get(key).unwrap_or(&Value::Null);
        Self { location, value }
    }

    fn each(&self) -> Result<Vec<Self>> {
        let Value::Array(list) = self.value else {
            return self.is_not("a list");
        };
        let location = |k: usize| format!("{}[{k}]", self.location);
        let at = |(k, value)| Self {
            location: location(k),
            value,
        };
        Ok(list.iter().enumerate().map(at).collect())
    }

    fn pair(&self) -> Result<[Self; 2]> {
        match self.each()?.try_into() {
            Ok(pair) => Ok(pair),
            Err(_) => self.is_not("two numbers"),
        }
    }

    fn text(&self) -> Result<String> {
        match self.value.as_str() {
            Some(text) => Ok(text.to_string()),
            None => self.is_not("a text"),
        }
    }

    fn whole<T: TryFrom<i64>>(&self, expected: &str) -> Result<T> {
        let number = self.value.as_i64().and_then(|number| T::try_from(number).ok());
        number.map_or_else(|| self.is_not(expected), Ok)
    }

    fn number(&self) -> Result<f64> {
        self.value.as_f64().map_or_else(|| self.is_not("a number"), Ok)
    }
}

/// Parses the parts, and the hash that the file states.
pub(super) fn parse(json: &[u8]) -> Result<(Parts, String)> {
    let value: Value = serde_json::from_slice(json).map_err(|error| ForestError::Json(error.to_string()))?;
    let file = At {
        location: String::new(),
        value: &value,
    };
    if !value.is_object() {
        return Err(ForestError::Json("expected an object".into()));
    }
    // Kind and format come first: errors about fields of another kind of file would mislead.
    let kind = file.get("kind");
    if kind.value != KIND {
        return kind.is_not("\"forest\"");
    }
    let format = file.get("format");
    if format.value != FORMAT {
        return format.is_not(&FORMAT.to_string());
    }
    let features: Vec<Feature> = file
        .get("features")
        .each()?
        .iter()
        .map(feature)
        .collect::<Result<_>>()?;
    // Thresholds are read in the units of their features, which are therefore known before the trees.
    let tree = |at: At<'_>| tree(&at, &features);
    let trees = file
        .get("trees")
        .each()?
        .into_iter()
        .map(tree)
        .collect::<Result<_>>()?;
    let output = file.get("output");
    let limits = output.get("limits");
    let whole = |at: &At<'_>| at.whole("a whole number");
    let about = file.get("about");
    let parts = Parts {
        name: file.get("name").text()?,
        trees,
        output: output.get("name").text()?,
        fraction: output.get("fraction").whole("a whole number from 0 to 40")?,
        start: whole(&output.get("start"))?,
        limits: match limits.value {
            Value::Null => None,
            _ => {
                let [low, high] = limits.pair()?;
                Some([whole(&low)?, whole(&high)?])
            }
        },
        claims: match file.get("claims") {
            none if none.value.is_null() => Vec::new(),
            claims => claims.each()?.iter().map(claim).collect::<Result<_>>()?,
        },
        about: match about.value {
            Value::Object(about) => about.clone(),
            Value::Null => Map::new(),
            _ => return about.is_not("an object"),
        },
        features,
    };
    Ok((parts, file.get("sha256").text()?))
}

fn feature(at: &At<'_>) -> Result<Feature> {
    let (fraction, trend) = (at.get("fraction"), at.get("trend"));
    Ok(Feature {
        name: at.get("name").text()?,
        scale: match fraction.value {
            Value::Null => Scale::Float,
            _ => Scale::Fixed(fraction.whole("a whole number from 0 to 15, or null")?),
        },
        trend: match trend.value.as_str().map(Trend::of) {
            Some(Some(trend)) => Some(trend),
            None if trend.value.is_null() => None,
            _ => return trend.is_not("\"rising\" or \"falling\""),
        },
    })
}

fn tree(at: &At<'_>, features: &[Feature]) -> Result<Tree> {
    let split = |at: At<'_>| {
        let [number, above] = at.pair()?;
        let number: usize = number.whole("the number of a feature")?;
        Ok(Split {
            feature: number,
            above: match features.get(number).map(|feature| feature.scale) {
                Some(Scale::Float) => border(&above)?,
                _ => above.whole("a whole number of 16 bits")?,
            },
        })
    };
    let leaf = |at: At<'_>| at.whole("a whole number of 32 bits");
    let each = |key: &str| at.get(key).each();
    Ok(Tree {
        splits: each("splits")?.into_iter().map(split).collect::<Result<_>>()?,
        leaves: each("leaves")?.into_iter().map(leaf).collect::<Result<_>>()?,
    })
}

/// Reads a floating-point threshold.
fn border(at: &At<'_>) -> Result<i32> {
    let number = at.number()? as f32;
    if !number.is_finite() {
        return at.is_not("a finite number of 32 bits");
    }
    Ok(Scale::Float.position(number))
}

fn claim(at: &At<'_>) -> Result<Claim> {
    let range = |at: At<'_>| -> Result<[f64; 2]> {
        let [low, high] = at.pair()?;
        Ok([low.number()?, high.number()?])
    };
    let within = at.get("within");
    let Value::Object(names) = within.value else {
        return within.is_not("an object of features and their ranges");
    };
    Ok(Claim {
        what: at.get("what").text()?,
        within: names
            .keys()
            .map(|name| Ok((name.clone(), range(within.get(name))?.map(|x| x as f32))))
            .collect::<Result<_>>()?,
        output: range(at.get("output"))?,
    })
}
