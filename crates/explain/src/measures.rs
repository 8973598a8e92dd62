//! Measures and their sets.

use paceline_lab::layout;
use paceline_lab::measures::{Measure, MeasureSet, SETS, SUMMARY, find_set};

use crate::list::Item;

/// Returns the measures of every summary, then those of the sets.
pub fn items() -> Vec<Item> {
    let of_summary = SUMMARY.iter().map(|one| item(one.name.to_string(), one));
    let of_sets = SETS.iter().flat_map(|set| {
        let all = set.values.iter().chain(set.series);
        all.map(move |one| item(format!("{}.{}", set.name, one.name), one))
    });
    of_summary.chain(of_sets).collect()
}

fn item(name: String, measure: &Measure) -> Item {
    Item::new(name, described(measure)).with("unit", &*measure.unit)
}

/// Returns the description with the unit.
fn described(measure: &Measure) -> String {
    match &*measure.unit {
        "" => measure.what.to_string(),
        unit => format!("{}, {unit}", measure.what),
    }
}

/// Returns the page of a set, of a measure in a set (`by-size.long_mean`), or of a measure of every summary.
pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    if let Some(set) = find_set(name) {
        return Some(set_page(set, width));
    }
    if let Some(one) = SUMMARY.iter().find(|one| one.name == name) {
        return Some(format!(
            "{name} - {}\n\nA number of every run's summary.json; a column of a sweep's results.csv; in an experiment: \
             \"{name}\".\n",
            described(one)
        ));
    }
    let (set, measure) = name.split_once('.')?;
    let set = find_set(set)?;
    let (measure, curve) = set.find(measure)?;
    let kind = if curve { "A curve" } else { "A number" };
    Some(format!(
        "{name} - {}\n\n{kind} of the set `{}`:\n\n{}",
        described(measure),
        set.name,
        set_page(set, width)
    ))
}

fn set_page(set: &MeasureSet, width: usize) -> String {
    let mut page = format!("{} - a set of measures\n\n", set.name);
    page.push_str(&layout::paragraph(set.about, width));
    let row = |one: &Measure| vec![format!("  {}", one.name), described(one)];
    for (title, all) in [("Numbers", set.values), ("Curves", set.series)] {
        if !all.is_empty() {
            page.push_str(&format!("\n{title}:\n"));
            page.push_str(&layout::columns(&all.iter().map(row).collect::<Vec<_>>(), width));
        }
    }
    page.push_str(&format!(
        "\nIn a scenario: [record] measures = [\"{0}\"]: the numbers are then in summary.json, as measures.{0}.NAME.\n\
         In an experiment: [runs] measures = \"{0}\".\n\nExample:\n  paceline run incast-16 --set \"record.measures=['{0}']\"\n",
        set.name
    ));
    page
}
