//! Index of all names by group, and search in their pages.

use std::fmt::Write as _;

use paceline_congestion::learned::shipped::SHIPPED;
use paceline_congestion::registry::schemes;
use paceline_lab::layout;
use paceline_lab::measures::SETS;
use paceline_scenario::builtin::{self, Entry};
use paceline_scenario::guest::left_out;

use crate::page::page;
use crate::{learning, mechanisms, terms, vendor};

/// Names of one kind, with a short description of each.
struct Group {
    title: &'static str,
    rows: Vec<(&'static str, String)>,
}

/// Page width for searching, at which no phrase is broken.
const UNBROKEN: usize = 2000;
/// Largest number of search results.
const FOUND_MAX: usize = 6;

fn groups() -> Vec<Group> {
    let group = |title, rows| Group { title, rows };
    let aliases = schemes().flat_map(|scheme| {
        let row = |alias: &paceline_congestion::registry::Alias| {
            (alias.name, format!("{}: {}", scheme.name, alias.help))
        };
        scheme.aliases.iter().map(row)
    });
    let entries = |entries: &'static [Entry]| entries.iter().map(|e| (e.name, first_sentence(e.summary)));
    let titles = schemes().map(|scheme| (scheme.name, scheme.title.to_string()));
    let sizes = builtin::distributions().map(|(name, source)| (name, source.to_string()));
    let sections = builtin::sections()
        .iter()
        .filter(|section| !section.name.is_empty());
    let scenarios = builtin::scenarios().iter();
    vec![
        group("Schemes", titles.collect()),
        group("Variants of schemes", aliases.collect()),
        group("Topologies", entries(builtin::topologies()).collect()),
        group("Workloads", entries(builtin::workloads()).collect()),
        group("Distributions of flow sizes", sizes.collect()),
        group("Mechanisms of the network", mechanisms::list().collect()),
        group("Parameters of NICs", vendor::list().collect()),
        group(
            "Sections of a scenario",
            sections.map(|s| (s.name, first_sentence(s.summary))).collect(),
        ),
        group(
            "Scenarios",
            scenarios.map(|s| (s.name, s.description().to_string())).collect(),
        ),
        group(
            "Models",
            SHIPPED
                .iter()
                .map(|model| (model.name, kind_of_model(model.name).to_string()))
                .collect(),
        ),
        group(
            "Sets of measures",
            SETS.iter()
                .map(|set| (set.name, first_sentence(set.about)))
                .collect(),
        ),
        group(
            "Environments for learning",
            learning::PAGES
                .iter()
                .map(|(name, what)| (*name, (*what).to_string()))
                .collect(),
        ),
    ]
}

fn kind_of_model(name: &str) -> &'static str {
    if name.starts_with("rtt-") {
        "a trained predictor"
    } else {
        "a trained policy"
    }
}

fn first_sentence(text: &str) -> String {
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    text[..end].to_string()
}

/// Returns all names, including aliases of mechanisms.
fn names() -> Vec<&'static str> {
    let groups = groups();
    let known = groups.iter().flat_map(|group| group.rows.iter().map(|row| row.0));
    let mut names: Vec<&str> = known.chain(mechanisms::names()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns all keys of a scenario in dotted form, including parameters of schemes.
fn keys() -> Vec<String> {
    let sections = builtin::sections()
        .iter()
        .filter(|section| !section.name.is_empty());
    let of_section = |section: &'static Entry| {
        let keys = section.parameters.iter();
        keys.map(move |key| format!("{}.{}", section.name, key.name))
    };
    let of_scheme = |scheme: &paceline_congestion::registry::Scheme| {
        let keys = (scheme.params)().into_iter();
        keys.map(|key| format!("{}.{}", scheme.name, key.name))
            .collect::<Vec<_>>()
    };
    let sections = sections.flat_map(of_section);
    sections.chain(schemes().flat_map(of_scheme)).collect()
}

/// Returns the page that lists all names.
pub fn index(width: usize) -> String {
    let mut text = String::new();
    for group in groups() {
        let _ = writeln!(text, "{}", group.title);
        let row = |(name, about): &(&str, String)| vec![name.to_string(), about.clone()];
        let rows: Vec<_> = group.rows.iter().map(row).collect();
        for line in layout::columns(&rows, width.saturating_sub(2)).lines() {
            let _ = writeln!(text, "  {line}");
        }
        text.push('\n');
    }
    text.push_str(
        "paceline explain NAME, a term of the field (PXN, PortXmitWait), or a word that you look for\n",
    );
    text
}

/// Returns the message about an unknown name: similar names, and pages that contain the word.
pub(crate) fn missing(name: &str) -> String {
    // Of a key, the table may be left out: `parity.ib-omnet.log`.
    if let Some(why) = name.split('.').find_map(left_out) {
        return format!("`{name}`: {why}");
    }
    let names = names();
    let keys = keys();
    let mut known: Vec<&str> = names.clone();
    known.extend(keys.iter().map(String::as_str));
    for term in terms::names() {
        if !known.iter().any(|name| name.eq_ignore_ascii_case(term)) {
            known.push(term);
        }
    }
    let near: Vec<String> = layout::nearest_few(name, known.iter().copied(), 3)
        .into_iter()
        .map(|near| format!("`{near}`"))
        .collect();
    let mut message = format!("there is nothing called `{name}`");
    if let Some((last, others)) = near.split_last() {
        let others = if others.is_empty() {
            String::new()
        } else {
            format!("{} or ", others.join(", "))
        };
        let _ = write!(message, ": did you mean {others}{last}?");
    }
    // The search renders every page, so it is done for unknown names only.
    let searched: Vec<&str> = names.iter().copied().chain(terms::names()).collect();
    let found = pages_with(name, &searched);
    if !found.is_empty() {
        let shown = found
            .iter()
            .take(FOUND_MAX)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        let more = match found.len().saturating_sub(FOUND_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = write!(message, "\n  `{name}` stands in the pages of {shown}{more}");
    } else if near.is_empty() {
        message.push_str("; paceline explain, without a name, lists everything");
    }
    message
}

/// Returns the names whose pages contain the word or phrase, ignoring case: names that contain it come first, then by
/// the number of occurrences.
fn pages_with(word: &str, names: &[&'static str]) -> Vec<&'static str> {
    let word = word.to_lowercase();
    // A letter or two would match everywhere.
    if word.chars().count() < 3 {
        return Vec::new();
    }
    let times = |name: &&'static str| {
        // A phrase must not be missed because a line breaks within it.
        let page = page(name, UNBROKEN)
            .or_else(|| vendor::page(name, UNBROKEN))
            .or_else(|| terms::page(name, UNBROKEN))?
            .to_lowercase();
        let times = page.matches(&word).count();
        (times > 0).then(|| {
            (
                !name.to_lowercase().contains(&word),
                std::cmp::Reverse(times),
                *name,
            )
        })
    };
    let mut found: Vec<_> = names.iter().filter_map(times).collect();
    found.sort_unstable();
    found.into_iter().map(|(.., name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_names_three_and_searches() {
        let said = missing("pcf");
        assert!(said.contains("`pfc`") && said.matches('`').count() == 8, "{said}");
        let said = missing("congestion point");
        assert!(said.contains("qcn"), "{said}");
        assert!(missing("zzzzzzzzzz").contains("lists everything"));
    }

    #[test]
    fn parts_of_names_and_keys_have_pages() {
        let of = |name: &str| crate::explain(name, 100).unwrap();
        // This is the mechanism, whose page names the section's keys.
        assert_eq!(of("credit"), of("credits"));
        assert!(of("credit").contains("network.credit.buffer"));
        assert!(of("tier").ends_with(&of("network.tier")));
        let buffer = of("buffer");
        assert!(
            buffer.contains("network.buffer") && buffer.contains("network.tier.buffer"),
            "{buffer}"
        );
        assert!(of("network.ecn.pmax").contains("0.2"));
        assert!(of("seed").contains("seed"));
        assert!(
            of("cc.dcqcn.g").starts_with("dcqcn.g\n\nparameter"),
            "{}",
            of("cc.dcqcn.g")
        );
        assert_eq!(
            of("cc.dcqcn.rate-ai"),
            of("dcqcn.rate_ai").replace("rate_ai", "rate-ai")
        );
        let both = of("g");
        assert!(
            both.contains("cc.dcqcn.g ") && both.contains("cc.dctcp.g "),
            "{both}"
        );
        assert!(of("min-rate").contains("cc.hpcc.min-rate"));
        assert!(crate::explain("dcqcn.eta", 100).is_err());
        let near = |name: &str| crate::explain(name, 100).unwrap_err();
        assert!(near("network.ecn.kminn").contains("did you mean `network.ecn.kmin`"));
        assert!(near("cc.dcqcn.rate-aii").contains("`dcqcn.rate-ai`"));
        // Names that contain the word come first.
        assert!(pages_with("credits", &names())[0].contains("credits"));
    }

    #[test]
    fn everything_in_the_index_has_a_page() {
        for group in groups() {
            assert!(!group.rows.is_empty(), "{}", group.title);
            for (name, about) in group.rows {
                assert!(crate::explain(name, 100).is_ok(), "{name}");
                assert!(!about.is_empty(), "{name}");
            }
        }
    }
}
