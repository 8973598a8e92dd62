//! Settings without effect in this run, reported at their positions with the cause.
//!
//! A setting's declaration includes the conditions for its effect ([`When`]): other settings, or facts about the run.
//! A setting that equals its default is not reported, since the scenario in a run's folder has a value for
//! everything.

use std::sync::LazyLock;

use paceline_congestion::params::{Condition, When};
use paceline_congestion::registry::variant::Variant;
use paceline_congestion::registry::{SchemeConfig, SchemeParams};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::sorted::{SortedMap, SortedSet};

use crate::builtin::{Parameter, sections, topologies, workloads};
use crate::document;
use crate::schema::{Scenario, fact};
use crate::warning::WarningKind;

use super::Cx;

/// Paths of keys, with their values as a run writes them.
pub(super) type Settings = SortedMap<String, String>;

/// Returns the settings of a scenario: before defaults are filled in, only those that the user wrote; afterwards,
/// all.
pub(super) fn settings(scenario: &Scenario) -> Settings {
    document::paths(scenario).into_iter().collect()
}

/// Declared key, and the conditions of its table.
type Declared = (&'static Parameter, When);

/// Returns the declaration of a key by its path without list indices.
fn declared(path: &str) -> Option<Declared> {
    static KEYS: LazyLock<SortedMap<String, Declared>> = LazyLock::new(|| {
        let of = |prefix: &str, entries: &'static [crate::builtin::Entry]| {
            let keys = entries.iter().flat_map(|entry| {
                let table = match (prefix, entry.name) {
                    ("", "") => String::new(),
                    (prefix, name) => format!("{prefix}{name}."),
                };
                let key = move |key: &'static Parameter| (format!("{table}{}", key.name), (key, entry.when));
                entry.parameters.iter().map(key)
            });
            keys.collect::<Vec<_>>()
        };
        let mut keys = of("", sections());
        keys.extend(of("topology.", topologies()));
        keys.extend(of("workload.", workloads()));
        keys.extend(of("job.step.", workloads()));
        keys.into_iter().collect()
    });
    KEYS.get(path).copied()
}

/// Returns the path as declarations have it, without list indices and names of tiers.
fn declared_path(path: &str) -> String {
    let mut words: Vec<&str> = path.split('.').collect();
    if words.starts_with(&["network", "tier"]) && words.len() > 2 {
        words.remove(2);
    }
    words.retain(|word| word.parse::<usize>().is_err());
    words.join(".")
}

/// Returns the path of the key in a condition on a setting of `table`.
fn path_of(key: &str, table: &str) -> String {
    match key.strip_prefix('.') {
        Some(key) if table.is_empty() => key.to_string(),
        Some(key) => format!("{table}.{key}"),
        None => key.to_string(),
    }
}

/// Properties of a run that the effect of settings depends on.
pub(super) struct Circumstances<'a> {
    /// All settings with their values.
    pub(super) settings: &'a Settings,
    pub(super) run: &'a RunSpec,
}

impl Circumstances<'_> {
    /// Returns the reason why a setting of `table` has no effect, if it has none.
    pub(super) fn why_idle(&self, when: When, table: &str) -> Option<String> {
        // If no case holds, the reason is that of the case nearest to holding, which takes the user the fewest
        // changes.
        let unmet = when.iter().map(|case| {
            let met = case
                .iter()
                .take_while(|condition| self.holds(condition, table))
                .count();
            (met, case.get(met))
        });
        let mut nearest: Option<(usize, &Condition)> = None;
        for (met, condition) in unmet {
            let condition = condition?;
            if nearest.is_none_or(|(most, _)| met > most) {
                nearest = Some((met, condition));
            }
        }
        nearest.map(|(_, condition)| self.why_not(condition, table))
    }

    fn value(&self, key: &str, table: &str) -> &str {
        self.settings.get(&path_of(key, table)).map_or("", String::as_str)
    }

    fn holds(&self, condition: &Condition, table: &str) -> bool {
        match fact(condition.key) {
            Some(fact) => (fact.holds)(self.run),
            None => condition.values.contains(&self.value(condition.key, table)) != condition.except,
        }
    }

    fn why_not(&self, condition: &Condition, table: &str) -> String {
        let key = path_of(condition.key, table);
        let values: Vec<String> = condition
            .values
            .iter()
            .map(|value| format!("`{value}`"))
            .collect();
        match (fact(condition.key), self.value(condition.key, table)) {
            (Some(fact), _) => fact.idle.to_string(),
            (None, "") => format!("{key} is not set"),
            (None, value) if table.starts_with("cc.") && !condition.except => {
                format!(
                    "{key} is `{value}`, and it acts with {} only",
                    values.join(" or ")
                )
            }
            (None, value) => format!("{key} is `{value}`"),
        }
    }
}

/// Warns of each setting of `written`, and each parameter of a scheme, that has no effect in the resolved run.
pub(super) fn tell(
    cx: &mut Cx<'_>,
    written: &Settings,
    scenario: &Scenario,
    run: &RunSpec,
    names: &[String],
) {
    let settings = settings(scenario);
    let around = Circumstances {
        settings: &settings,
        run,
    };
    of_keys(cx, written, &around);
    of_parameters(cx, &settings, run);
    of_variants(cx, &settings, run, names);
}

/// Warns of idle parameters in the blocks of a run's schemes.
fn of_parameters(cx: &mut Cx<'_>, settings: &Settings, run: &RunSpec) {
    let names: SortedSet<&str> = run.schemes.iter().map(|spec| spec.config.name()).collect();
    for name in names {
        let table = format!("cc.{name}");
        let defaults = SchemeParams::default()
            .configure(name)
            .map(|config| config.values())
            .unwrap_or_default();
        // The scheme may run under several of its names, so the parameter may have an effect under another.
        let configs = run
            .schemes
            .iter()
            .map(|spec| &spec.config)
            .filter(|config| config.name() == name);
        let configs: Vec<(&SchemeConfig, Settings)> = configs
            .map(|config| {
                let own = config.values().into_iter();
                let own = own.map(|(key, value)| (format!("{table}.{key}"), value));
                (config, settings.clone().into_iter().chain(own).collect())
            })
            .collect();
        for doc in (configs[0].0.scheme().params)() {
            let Some(span) = cx
                .place_of(&format!("{table}.{}", doc.name))
                .filter(|_| !doc.when.is_empty())
            else {
                continue;
            };
            let default = defaults.iter().find(|(key, _)| *key == doc.name);
            let why = configs.iter().map(|(config, settings)| {
                let is_default = default.is_some_and(|default| config.values().contains(default));
                let around = Circumstances { settings, run };
                around.why_idle(doc.when, &table).filter(|_| !is_default)
            });
            if let Some(Some(why)) = why.collect::<Option<Vec<_>>>().map(|all| all.into_iter().next()) {
                cx.idle(Some(span), &format!("{table}.{}", doc.name), &why);
            }
        }
    }
}

/// Warns of idle parameters in the names of variants.
fn of_variants(cx: &mut Cx<'_>, settings: &Settings, run: &RunSpec, names: &[String]) {
    for (name, spec) in names.iter().zip(&run.schemes) {
        let Ok(variant) = Variant::parse(name) else {
            continue;
        };
        let table = format!("cc.{}", variant.scheme.name);
        let own = spec.config.values().into_iter();
        let own = own.map(|(key, value)| (format!("{table}.{key}"), value));
        let settings = settings.clone().into_iter().chain(own).collect();
        let around = Circumstances {
            settings: &settings,
            run,
        };
        for doc in (variant.scheme.params)() {
            let is_set = variant.settings.iter().any(|(key, _)| *key == doc.name);
            if let Some(why) = around.why_idle(doc.when, &table).filter(|_| is_set) {
                let text = format!("`{name}`: {} has no effect: {why}", doc.name);
                cx.warn(WarningKind::UnusedVariant, None, text);
            }
        }
    }
}

fn of_keys(cx: &mut Cx<'_>, written: &Settings, around: &Circumstances<'_>) {
    // A table without effect is one warning, not one per key.
    let mut told = SortedSet::new();
    // Keys that a run wrote for its scheme by itself: not the user's.
    let own: Vec<&str> = written
        .get("cc.defaults.keys")
        .map_or("", String::as_str)
        .trim_matches(['[', ']'])
        .split(", ")
        .collect();
    let defaults = cx.profile().defaults(&around.run.packet);
    for (path, value) in written {
        let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
        let Some((key, of_table)) = declared(&declared_path(path)) else {
            continue;
        };
        // This is an element of a list.
        if name.parse::<usize>().is_ok() {
            continue;
        }
        let is_own = own
            .iter()
            .any(|own| path == own || path.starts_with(&format!("{own}.")));
        if is_own || is_default(key, value, path, &defaults, around) {
            continue;
        }
        if let Some(why) = around.why_idle(of_table, table) {
            if told.insert(table) {
                cx.idle(cx.place_of(path), &format!("[{table}]"), &why);
            }
        } else if let Some(why) = around.why_idle(key.when, table) {
            cx.idle(cx.place_of(path), path, &why);
        }
    }
}

/// Returns true if the value is the key's default.
fn is_default(
    key: &Parameter,
    value: &str,
    path: &str,
    of_profile: &[(&str, String)],
    around: &Circumstances<'_>,
) -> bool {
    match of_profile.iter().find(|(known, _)| *known == path) {
        Some((_, default)) => default == value,
        // The value only says that nothing is recorded.
        None if path.starts_with("record.") && value == "off" => true,
        // Zero stands for an absent time in files that need a value.
        None if matches!(key.written, "" | "-") && value == "0ps" => true,
        None if key.written == "the duration" => around.value("duration", "") == value,
        // A default that depends on something else is declared with its usual value first.
        None => key.written == value || key.written.split(" (").next() == Some(value),
    }
}

/// Warns of changes that happen only after the end of the run.
pub(super) fn tell_late(cx: &mut Cx<'_>, network: &crate::schema::Network) {
    let failures = network.failure.iter().flatten();
    let failures = failures.map(|one| ("the failure", &one.get_ref().at));
    let storms = network.pause_storm.iter().flatten();
    let storms = storms.map(|one| ("the pause storm", &one.get_ref().at));
    let changes = network.link_change.iter().flatten();
    let changes = changes.map(|one| ("the change of a link", &one.get_ref().at));
    let slow = network.slow_host.iter().flatten();
    let slow = slow.map(|one| ("the slow host", &one.get_ref().at));
    let errors = network.link_error.iter().flatten();
    let errors = errors.map(|one| ("the errors of links", &one.get_ref().at));
    let late: Vec<_> = failures
        .chain(storms)
        .chain(changes)
        .chain(errors)
        .chain(slow)
        .filter_map(|(what, at)| Some((what, at.as_ref()?)))
        .filter(|(_, at)| *at.get_ref() >= cx.stop)
        .map(|(what, at)| (format!("{what} at {}", at.get_ref()), at.span()))
        .collect();
    let why = format!("the run ends at {}", cx.stop);
    for (what, span) in late {
        cx.idle(Some(span), &what, &why);
    }
}
