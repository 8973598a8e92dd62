//! Import of CatBoost forests (`save_model(.., format="json")`) with oblivious trees and numeric features.
//!
//! By default features stay 32-bit floating-point numbers, and predictions differ from CatBoost's only by the
//! rounding of leaves to 32 bits. With a fixed-point grid thresholds are exact for numbers on the grid, to
//! which features are rounded first.

use paceline_congestion::learned::forest::{Feature, Forest, ForestError, LAST, Parts, Scale, Split, Tree};
use serde_json::{Map, Value};

/// Bits of a leaf's and of the initial sum's absolute value.
const LEAF_BITS: i32 = 31;
const START_BITS: i32 = 40;
/// Upper limit of a leaf's fractional bits.
const MAX_FRACTION: i32 = 40;

type Result<T> = std::result::Result<T, ForestError>;

/// Reads a CatBoost forest. With `fraction` features get this number of fractional bits.
///
/// # Errors
/// The file is not such a model, or the model has properties that a forest cannot represent.
pub fn read(json: &[u8], name: &str, fraction: Option<u8>) -> Result<Forest> {
    let model: Value = serde_json::from_slice(json).map_err(|error| ForestError::Json(error.to_string()))?;
    let Some(trees) = model["oblivious_trees"].as_array() else {
        if model["trees"].is_array() {
            let expected = "`oblivious_trees`: train with grow_policy=\"SymmetricTree\"";
            return Err(ForestError::entry("its list of trees", "`trees`", expected));
        }
        let expected = "what CatBoost saves with format=\"json\", with `oblivious_trees`";
        return Err(ForestError::entry("the file", "something else", expected));
    };
    let features = features(&model, fraction)?;
    let (scale, bias) = scale_and_bias(&model["scale_and_bias"])?;
    let trees: Vec<(Vec<Split>, Vec<f64>)> = trees
        .iter()
        .enumerate()
        .map(|(k, tree)| read_tree(&format!("oblivious_trees[{k}]"), tree, &features))
        .collect::<Result<_>>()?;
    let largest = trees.iter().flat_map(|(_, leaves)| leaves);
    let largest = largest.fold(0.0f64, |most, leaf| most.max((leaf * scale).abs()));
    let room = |bits: i32, value: f64| bits - 1 - value.abs().max(1e-300).log2().floor() as i32;
    // As many fractional bits as fit, to keep the rounding of leaves small.
    let fraction = room(LEAF_BITS, largest)
        .min(room(START_BITS, bias))
        .min(MAX_FRACTION);
    // Leaves without fractional bits would overflow the sums, and there are no negative numbers of bits.
    if fraction < 0 {
        let found = format!("up to {largest}, from {bias} on");
        return Err(ForestError::entry(
            "the sum of leaves",
            found,
            "less than 2^31 each",
        ));
    }
    let units = (1u64 << fraction) as f64;
    let tree = |(splits, leaves): (Vec<Split>, Vec<f64>)| Tree {
        splits,
        leaves: leaves
            .iter()
            .map(|leaf| (leaf * scale * units).round() as i32)
            .collect(),
    };
    Forest::new(Parts {
        name: name.into(),
        features,
        output: "prediction".into(),
        fraction: fraction as u8,
        start: (bias * units).round() as i64,
        limits: None,
        trees: trees.into_iter().map(tree).collect(),
        claims: Vec::new(),
        about: Map::from_iter([("trained by".to_string(), Value::from("CatBoost"))]),
    })
}

fn features(model: &Value, fraction: Option<u8>) -> Result<Vec<Feature>> {
    let info = &model["features_info"];
    let empty = Vec::new();
    for other in ["categorical_features", "text_features", "embedding_features"] {
        let count = info[other].as_array().map_or(0, Vec::len);
        if count > 0 {
            let location = format!("the number of features_info.{other}");
            return Err(ForestError::entry(location, count.to_string(), "0: numbers only"));
        }
    }
    let list = info["float_features"].as_array().unwrap_or(&empty);
    let feature = |(k, feature): (usize, &Value)| {
        let treatment = feature["nan_value_treatment"].as_str().unwrap_or("AsIs");
        if treatment == "AsTrue" {
            let location = format!("features_info.float_features[{k}].nan_value_treatment");
            let expected = "\"AsFalse\" or \"AsIs\": what is no number counts as the lowest";
            return Err(ForestError::entry(location, "\"AsTrue\"", expected));
        }
        let id = feature["feature_id"]
            .as_str()
            .or(feature["feature_name"].as_str());
        Ok(Feature {
            name: match id {
                Some(id) if !id.is_empty() => id.to_string(),
                _ => format!("f{k}"),
            },
            scale: fraction.map_or(Scale::Float, Scale::Fixed),
            trend: None,
        })
    };
    list.iter().enumerate().map(feature).collect()
}

/// Reads `[scale, [bias]]`, or the older form with a plain number as bias.
fn scale_and_bias(value: &Value) -> Result<(f64, f64)> {
    if value.is_null() {
        return Ok((1.0, 0.0));
    }
    let bias = match &value[1] {
        Value::Array(list) if list.len() == 1 => &list[0],
        other => other,
    };
    match (value[0].as_f64(), bias.as_f64()) {
        (Some(scale), Some(bias)) => Ok((scale, bias)),
        _ => Err(ForestError::entry(
            "scale_and_bias",
            value.to_string(),
            "[scale, [bias]] of one output",
        )),
    }
}

fn read_tree(location: &str, tree: &Value, features: &[Feature]) -> Result<(Vec<Split>, Vec<f64>)> {
    let empty = Vec::new();
    let list = |key: &str| tree[key].as_array().unwrap_or(&empty);
    let split = |(s, split): (usize, &Value)| read_split(&format!("{location}.splits[{s}]"), split, features);
    let splits: Vec<Split> = list("splits")
        .iter()
        .enumerate()
        .map(split)
        .collect::<Result<_>>()?;
    let leaf = |(l, value): (usize, &Value)| {
        let location = format!("{location}.leaf_values[{l}]");
        value
            .as_f64()
            .ok_or_else(|| ForestError::entry(location, value.to_string(), "a number"))
    };
    let leaves: Vec<f64> = list("leaf_values")
        .iter()
        .enumerate()
        .map(leaf)
        .collect::<Result<_>>()?;
    if splits.len() > 30 || leaves.len() != 1 << splits.len() {
        return Err(ForestError::entry(
            format!("the number of {location}.leaf_values"),
            format!("{}, with {} splits", leaves.len(), splits.len()),
            "two to the power of splits: an oblivious tree of one output",
        ));
    }
    Ok((splits, leaves))
}

fn read_split(location: &str, split: &Value, features: &[Feature]) -> Result<Split> {
    let kind = split["split_type"].as_str().unwrap_or("FloatFeature");
    if kind != "FloatFeature" {
        let location = format!("{location}.split_type");
        return Err(ForestError::entry(
            location,
            format!("\"{kind}\""),
            "\"FloatFeature\"",
        ));
    }
    let feature = split["float_feature_index"].as_u64().map(|index| index as usize);
    let Some((number, feature)) = feature.and_then(|number| Some((number, features.get(number)?))) else {
        let found = split["float_feature_index"].to_string();
        let expected = format!("the number of one of {} features", features.len());
        return Err(ForestError::entry(
            format!("{location}.float_feature_index"),
            found,
            expected,
        ));
    };
    let refuse = |expected: String| {
        ForestError::entry(
            format!("{location}.border"),
            split["border"].to_string(),
            expected,
        )
    };
    let border = split["border"]
        .as_f64()
        .filter(|border| (*border as f32).is_finite());
    let border = border.ok_or_else(|| refuse("a finite number".into()))?;
    let above = match feature.scale {
        Scale::Float => feature.scale.position(border as f32),
        Scale::Fixed(fraction) => {
            // CatBoost asks for x > border. A whole number is above the border if it is above the whole number below it.
            let above = (border * (1u32 << fraction) as f64).floor();
            let last = f64::from(LAST);
            if !(-last..last).contains(&above) {
                let end = last / (1u32 << fraction) as f64;
                return Err(refuse(format!(
                    "-{end} to {end}, as far as 16 bits go with {fraction} of them behind the point"
                )));
            }
            above as i32
        }
    };
    Ok(Split {
        feature: number,
        above,
    })
}

#[cfg(test)]
mod tests {
    use paceline_congestion::learned::forest::Trend;

    use super::*;
    use crate::prove::{Verdict, prove_trend};

    const MODEL: &str = include_str!("../tests/catboost/model.json");
    const PREDICTIONS: &str = include_str!("../tests/catboost/predictions.json");
    const DEPTHWISE: &str = include_str!("../tests/catboost/depthwise.json");

    fn probes() -> Vec<(Vec<f32>, f64)> {
        let got: Value = serde_json::from_str(PREDICTIONS).unwrap();
        let number = |value: &Value| value.as_f64().unwrap();
        let rows = got["rows"].as_array().unwrap().iter();
        let predictions = got["predictions"].as_array().unwrap();
        rows.zip(predictions)
            .map(|(row, answer)| {
                let row = row.as_array().unwrap().iter().map(|value| number(value) as f32);
                (row.collect(), number(answer))
            })
            .collect()
    }

    #[test]
    fn predictions_are_catboosts() {
        let forest = read(MODEL.as_bytes(), "mine", None).unwrap();
        let again = Forest::parse(forest.to_json().as_bytes()).unwrap();
        let probes = probes();
        assert_eq!(probes.len(), 60);
        for (row, answer) in &probes {
            assert!((forest.value(forest.sum(row)) - answer).abs() < 1e-7, "{row:?}");
            assert!((f64::from(forest.decide(row)) - answer).abs() < 1e-6, "{row:?}");
            assert_eq!(again.sum(row), forest.sum(row));
        }
    }

    #[test]
    fn on_a_grid_they_are_those_of_what_lies_on_it() {
        let exact = read(MODEL.as_bytes(), "mine", None).unwrap();
        let grid = read(MODEL.as_bytes(), "mine", Some(12)).unwrap();
        for (row, _) in probes() {
            let scale = Scale::Fixed(12);
            let on: Vec<f32> = row.iter().map(|x| scale.number(scale.position(*x))).collect();
            assert_eq!(grid.sum(&row), exact.sum(&on));
        }
    }

    /// The model was trained with a monotone constraint on the latency only.
    #[test]
    fn its_constraints_are_proved() {
        for fraction in [None, Some(12)] {
            let forest = read(MODEL.as_bytes(), "mine", fraction).unwrap();
            let falling = |feature| prove_trend(&forest, feature, Trend::Falling, 10_000).verdict;
            assert_eq!(falling(0), Verdict::Holds);
            assert!(matches!(falling(3), Verdict::Refuted(_)));
        }
    }

    #[test]
    fn what_is_no_forest_is_refused() {
        let got = |from: &str, to: &str| {
            assert!(MODEL.contains(from), "{from}");
            let changed = MODEL.replacen(from, to, 1);
            let error = read(changed.as_bytes(), "mine", None).expect_err(to);
            format!("{to}: {error}")
        };
        let all = [
            format!(
                "depthwise: {}",
                read(DEPTHWISE.as_bytes(), "mine", None).unwrap_err()
            ),
            format!(
                "grid: {}",
                read(MODEL.as_bytes(), "mine", Some(15)).map_or_else(|e| e.to_string(), |_| "taken".into())
            ),
            got("oblivious_trees", "pears"),
            got("\"split_type\":\"FloatFeature\"", "\"split_type\":\"OnlineCtr\""),
            got("\"float_feature_index\":0", "\"float_feature_index\":9"),
            got("\"border\":", "\"border\":\"x\",\"was\":"),
            got("\"border\":", "\"border\":1e300,\"was\":"),
            got("\"leaf_values\":[", "\"leaf_values\":[0,"),
            got("\"leaf_values\":[", "\"leaf_values\":[null,"),
            got("\"AsIs\"", "\"AsTrue\""),
            got("\"scale_and_bias\":[1,[", "\"scale_and_bias\":[1,[0,"),
            got(
                "\"float_features\":",
                "\"categorical_features\":[1],\"float_features\":",
            ),
            got("{", "<"),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}
