//! Page of a name.

use paceline_congestion::misfits::Misfit;
use paceline_congestion::params::{ParamDoc, only_with};
use paceline_congestion::registry::variant;
use paceline_congestion::registry::{Alias, Scheme, SchemeParams, WindowMode, schemes};
use paceline_lab::layout;
use paceline_scenario::builtin::{self, Entry, Parameter};

use crate::{example, index, learning, measures, mechanisms, models, terms, vendor};

/// Returns the page about `name`: a built-in entry, or a model's file.
///
/// # Errors
/// If the name is unknown, with suggestions, or the file is damaged.
pub fn explain(name: &str, width: usize) -> Result<String, String> {
    // Scenarios write `cc.hpcc.eta`, and pages are found by `hpcc.eta`.
    let name = name.trim().trim_start_matches("cc.");
    if let Some(page) = page(name, width) {
        return Ok(page);
    }
    // A key may belong to the scenario, to schemes, and to a vendor at the same time.
    let keys = mechanisms::part(name, width);
    let head = if keys.is_none() {
        format!("{name}\n\n")
    } else {
        String::new()
    };
    let parameters = parameters_called(name, width).map(|parameters| head + &parameters);
    let all: Vec<String> = [keys, parameters, vendor::page(name, width)]
        .into_iter()
        .flatten()
        .collect();
    // A term of the field has precedence over keys with the same name.
    let term = terms::page(name, width);
    if !all.is_empty() {
        return Ok(term.into_iter().chain(all).collect::<Vec<_>>().join("\n"));
    }
    // Names are in lower case with dashes, but people also write `Fat Tree`.
    let lower = name.to_lowercase();
    let others = [lower.replace([' ', '_'], "-"), lower];
    let page = others.iter().find_map(|other| page(other, width));
    let all: Vec<String> = term.into_iter().chain(page).collect();
    if !all.is_empty() {
        return Ok(all.join("\n"));
    }
    // Last, since it looks for a file.
    models::page_of_file(name, width)?.ok_or_else(|| index::missing(name))
}

pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    if let Ok((scheme, alias)) = paceline_congestion::registry::find(variant::base(name)) {
        return Some(scheme_page(scheme, alias, width));
    }
    let named = |entries: &'static [Entry]| entries.iter().find(|entry| entry.name == name);
    if let Some(entry) = named(builtin::topologies()) {
        let page = entry_page(entry, &format!("[topology.{name}]"), &[], width);
        return Some(page + &example::shown(&example::topology(name)));
    }
    if let Some(entry) = named(builtin::workloads()) {
        let shared = builtin::sections()
            .iter()
            .find(|section| section.name == "workload");
        let shared = shared.map_or(&[][..], |section| section.parameters);
        let location = format!("[[workload]]\n  {name} = {{ .. }}");
        let page = entry_page(entry, &location, shared, width);
        return Some(page + &example::shown(&example::workload(name)));
    }
    if let Some((_, source)) = builtin::distributions().find(|(known, _)| *known == name) {
        return Some(distribution_page(name, source, width));
    }
    if let Some(shipped) = builtin::scenarios().iter().find(|shipped| shipped.name == name) {
        return Some(shipped.text.to_string());
    }
    mechanisms::page(name, width)
        .or_else(|| measures::page(name, width))
        .or_else(|| learning::page(name, width))
        .or_else(|| Some(models::page(name, width)? + &example::shown(&example::model(name))))
}

fn scheme_page(scheme: &Scheme, alias: Option<&Alias>, width: usize) -> String {
    let mut page = format!("{} - {}\n{}\n\n", scheme.name, scheme.title, scheme.paper);
    if let Some(alias) = alias {
        let settings: Vec<String> = alias
            .settings
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        let about = format!(
            "`{}` is `{}`: {} {}",
            alias.name,
            scheme.name,
            alias.help,
            settings.join(", ")
        );
        page.push_str(&layout::paragraph(&about, width));
        page.push('\n');
    }
    page.push_str(&layout::paragraph(scheme.summary, width));
    page.push_str(&layout::paragraph(&format!("For {}", scheme.scope), width));
    let name = alias.map_or(scheme.name, |alias| alias.name);
    for found in Misfit::all().filter(|found| found.scheme == name) {
        page.push_str(&layout::paragraph(&format!("Beware: {found}."), width));
    }
    page.push('\n');
    page.push_str(&parameter_table(scheme, width));
    page.push_str(&format!(
        "\nIn a scenario: [cc.{0}], or --set cc.{0}.<parameter>=<value>.\n",
        scheme.name
    ));
    page.push_str(&window_of(scheme, width));
    page.push_str(&example::shown(&example::scheme(scheme, alias)));
    if !scheme.aliases.is_empty() {
        page.push_str("\nVariants with names of their own:\n");
        let row = |alias: &Alias| vec![format!("  {}", alias.name), alias.help.to_string()];
        let rows: Vec<_> = scheme.aliases.iter().map(row).collect();
        page.push_str(&layout::columns(&rows, width));
    }
    page.push_str(&vendor::of_scheme(scheme, width));
    page.push_str(&models::of_scheme(scheme, width));
    page.push('\n');
    page.push_str(&scheme.page());
    page
}

/// Returns the table of `scheme.parameter`, or of a parameter in all schemes that have it.
fn parameters_called(name: &str, width: usize) -> Option<String> {
    let (of, parameter) = match name.rsplit_once('.') {
        Some((scheme, parameter)) => (
            Some(paceline_congestion::registry::find(scheme).ok()?.0.name),
            parameter,
        ),
        None => (None, name),
    };
    // Parameters have dashes, their papers and Python underscores.
    let parameter = parameter.replace('_', "-");
    let asked = schemes().filter(|scheme| of.is_none_or(|of| of == scheme.name));
    let mut rows = Vec::new();
    for scheme in asked {
        let docs = (scheme.params)();
        let found = docs.iter().filter(|doc| doc.name == parameter);
        rows.extend(found.flat_map(|doc| parameter_rows(doc, &format!("cc.{}.", scheme.name))));
    }
    if rows.is_empty() {
        return None;
    }
    rows.insert(0, PARAMETER_HEAD.map(str::to_string).to_vec());
    Some(layout::columns(&rows, width))
}

fn window_of(scheme: &Scheme, width: usize) -> String {
    let window = match scheme.default_window {
        WindowMode::Off => "off: bytes in flight are not bounded",
        WindowMode::Fixed => "fixed: at most a bandwidth-delay product in flight",
        WindowMode::Variable => "variable: a bandwidth-delay product times rate over line rate in flight",
    };
    let needs = SchemeParams::default()
        .configure(scheme.name)
        .map(|config| config.needs());
    let needs: Vec<&str> = needs.map_or_else(
        |_| Vec::new(),
        |needs| {
            let all = [
                (needs.ecn, "ECN marks"),
                (needs.int, "telemetry from switches (INT)"),
                (needs.pint, "probabilistic telemetry (PINT)"),
                (needs.timestamp, "time stamps in packets"),
            ];
            all.into_iter()
                .filter(|(needed, _)| *needed)
                .map(|(_, what)| what)
                .collect()
        },
    );
    let needs = if needs.is_empty() {
        "nothing".to_string()
    } else {
        needs.join(", ")
    };
    let window = format!("Window, unless cc.window says otherwise: {window}.");
    layout::paragraph(&window, width) + &layout::paragraph(&format!("Needs of the network: {needs}."), width)
}

fn parameter_table(scheme: &Scheme, width: usize) -> String {
    let docs = (scheme.params)();
    if docs.is_empty() {
        return "There are no parameters.\n".to_string();
    }
    let mut rows = vec![PARAMETER_HEAD.map(str::to_string).to_vec()];
    rows.extend(docs.iter().flat_map(|doc| parameter_rows(doc, "")));
    layout::columns(&rows, width)
}

const PARAMETER_HEAD: [&str; 3] = ["parameter", "default", "what; unit; range; source"];

/// Returns the rows for a parameter: its description, its conditions, and its values.
fn parameter_rows(doc: &ParamDoc, before: &str) -> Vec<Vec<String>> {
    let unit = if doc.unit.is_empty() {
        String::new()
    } else {
        format!("unit {}; ", doc.unit)
    };
    let mut rows = vec![vec![
        format!("{before}{}", doc.name),
        doc.default.clone(),
        doc.help.clone(),
    ]];
    if let Some(when) = only_with(doc.when) {
        rows.push(vec![String::new(), String::new(), when]);
    }
    let about = format!("{unit}{}; default from: {}", doc.range, doc.source);
    rows.push(vec![String::new(), String::new(), about]);
    rows
}

/// Returns the description of a table, with the conditions for its keys.
pub(crate) fn about(entry: &Entry) -> String {
    match only_with(entry.when) {
        Some(when) => format!("{} Acts {when}.", entry.summary),
        None => entry.summary.to_string(),
    }
}

fn entry_page(entry: &Entry, location: &str, shared: &[Parameter], width: usize) -> String {
    let summary = about(entry);
    let mut page = format!("{}\n\n{}\n", entry.name, layout::paragraph(&summary, width));
    if !entry.parameters.is_empty() {
        page.push_str(&entry_table(entry.parameters, width));
        page.push('\n');
    }
    if !shared.is_empty() {
        page.push_str("Every workload may also have:\n");
        page.push_str(&entry_table(shared, width));
        page.push('\n');
    }
    page.push_str(&format!("In a scenario:\n  {location}\n"));
    page
}

fn entry_table(parameters: &[Parameter], width: usize) -> String {
    let head = ["parameter", "default", "unit", "what"]
        .map(str::to_string)
        .to_vec();
    let row = |p: &Parameter| {
        let default = if p.default.is_empty() { "-" } else { p.default };
        let own = [p.name, default, p.unit, p.help].map(str::to_string).to_vec();
        let when = only_with(p.when).map(|when| vec![String::new(), String::new(), String::new(), when]);
        std::iter::once(own).chain(when)
    };
    let rows: Vec<_> = std::iter::once(head)
        .chain(parameters.iter().flat_map(row))
        .collect();
    layout::columns(&rows, width)
}

fn distribution_page(name: &str, source: &str, width: usize) -> String {
    let mut page = format!(
        "{name}\n\n{}\n",
        layout::paragraph(&format!("Distribution of flow sizes: {source}."), width)
    );
    if let Some(sizes) = paceline_scenario::traffic::SizeDistribution::builtin(name) {
        let row = |label: String, bytes: String| vec![label, bytes];
        let mut rows = vec![row("mean".to_string(), format!("{:.0} B", sizes.mean()))];
        for p in [1, 10, 25, 50, 75, 90, 99, 100] {
            rows.push(row(
                format!("{p} %"),
                format!("{} B", sizes.quantile(f64::from(p) / 100.0).get()),
            ));
        }
        page.push_str(&layout::columns(&rows, width));
        page.push('\n');
    }
    page.push_str(&format!(
        "In a scenario:\n  [[workload]]\n  poisson = {{ sizes = \"{name}\", load = 0.3 }}\n"
    ));
    page + &example::shown(&example::distribution(name))
}
