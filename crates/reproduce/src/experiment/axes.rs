//! Axes of an experiment as those of a sweep.

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedSet;
use paceline_scenario::sweep::{Axis, AxisValue};
use toml::Value;

use super::schema::Case;

/// Name of the axis of `[[case]]`.
pub(super) const CASE: &str = "case";
/// Key of an axis of schemes.
pub(super) const SCHEME: &str = "cc.scheme";

/// Returns an axis as a sweep has it: that of a key if every case sets the same one to its name, and else one of labels.
pub(super) fn swept(name: &str, cases: &[Case]) -> Axis {
    let settings: Vec<Vec<(String, AxisValue)>> = cases.iter().map(settings).collect();
    let keys = |set: &[(String, AxisValue)]| set.iter().map(|(key, _)| key.clone()).collect::<Vec<String>>();
    let first = settings.first().map_or_else(Vec::new, |set| keys(set));
    let is_alike = settings.iter().all(|set| keys(set) == first);
    let is_named = |(case, set): (&Case, &Vec<(String, AxisValue)>)| set[0].1.to_string() == case.name;
    match &first[..] {
        [key] if is_alike && name != CASE && cases.iter().zip(&settings).all(is_named) => {
            Axis::of_key(key.clone(), settings.iter().map(|set| set[0].1.clone()).collect())
        }
        _ => {
            let distinct: SortedSet<&String> = first.iter().collect();
            let in_step = is_alike && name != CASE && distinct.len() > 1;
            // The axis's name has the last parts of its keys in their order.
            let mut sorted: Vec<&String> = distinct.into_iter().collect();
            let position = |key: &str| name.find(key.rsplit('.').next().unwrap_or(key));
            sorted.order_by(|a, b| position(a).cmp(&position(b)));
            let joined: Vec<&str> = sorted.iter().map(|key| key.as_str()).collect();
            Axis {
                key: if in_step {
                    joined.join(",")
                } else {
                    name.to_string()
                },
                values: cases.iter().map(|case| label(&case.name)).collect(),
                settings,
            }
        }
    }
}

fn settings(case: &Case) -> Vec<(String, AxisValue)> {
    let scheme = case.scheme.iter().map(|scheme| {
        let name = AxisValue::Text(scheme.get_ref().clone());
        (SCHEME.to_string(), name)
    });
    let set = case.set.iter().map(|(key, value)| {
        let value = match value {
            Value::Boolean(is) => AxisValue::Bool(*is),
            Value::Integer(number) => AxisValue::Int(*number),
            Value::Float(number) => AxisValue::Real(*number),
            Value::String(text) => AxisValue::Text(text.clone()),
            other => AxisValue::Text(other.to_string()),
        };
        (key.clone(), value)
    });
    scheme.chain(set).collect()
}

/// Returns the name of a case as a value: a number if it is one.
fn label(name: &str) -> AxisValue {
    let whole = name.parse::<i64>().map(AxisValue::Int);
    whole
        .or_else(|_| name.parse::<f64>().map(AxisValue::Real))
        .unwrap_or_else(|_| AxisValue::Text(name.to_string()))
}
