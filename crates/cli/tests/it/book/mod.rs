//! The book's reference agrees with the program: schemes, scenario keys and commands. `UPDATE_BOOK=1 cargo test -p
//! paceline --test it book` rewrites its pages, and the figures of every scheme.

mod copies;
mod figures;
mod infiniband;
mod links;
mod ordinary;
mod overview;
pub(crate) mod plain;
mod printed;
mod records;
mod scale;
mod single_point;
mod speed;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use paceline_congestion::params::{When, only_with};
use paceline_congestion::registry::{self, SCHEMES, Scheme, WindowMode};
use paceline_scenario::WarningKind;
use paceline_scenario::builtin::{self, Entry, Parameter};
use paceline_scenario::vendor::{Vendor, vendors};
use paceline_scenario::warning::Subject;

/// Pages by their path in the book.
type Pages = BTreeMap<String, String>;

const GENERATED: &str = "<!-- Written by `UPDATE_BOOK=1 cargo test -p paceline --test it book`. -->\n\n";

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src")
}

/// Compares a file of the book, or rewrites it if `UPDATE_BOOK` is set.
fn keep(name: &str, text: &str) {
    let path = book().join(name);
    if std::env::var_os("UPDATE_BOOK").is_some() {
        return fs::write(&path, text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "book/src/{name} is out of date: UPDATE_BOOK=1 cargo test -p paceline --test it book writes it"
    );
}

/// Formats a table cell: one line without column separators.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("`{}`", cell(text))
}

/// Returns the table of a vendor's keys with their counterparts.
fn vendor_table(vendor: &Vendor) -> String {
    let mut table = "| there | here | values |\n|---|---|---|\n".to_string();
    for key in &vendor.keys {
        let ours = key.ours.as_deref().map_or("not modelled".to_string(), code);
        let names: Vec<String> = std::iter::once(key.path())
            .chain(key.also.clone())
            .map(|name| code(&name))
            .collect();
        let _ = writeln!(
            table,
            "| {} | {ours} | {} |",
            names.join(", "),
            cell(&key.words())
        );
    }
    table
}

fn vendor_keys() -> String {
    let mut page = format!(
        "# Keys of vendors\n\n{GENERATED}Look up the counterpart of a vendor's parameter. `paceline explain NAME` shows \
         the same, and [Use a vendor's configuration](../guide/vendors.md) shows how a scenario takes them.\n"
    );
    for vendor in vendors() {
        let _ = write!(
            page,
            "\n## {}\n\n`[vendor.{}]`. Source: {}.\n\n",
            vendor.title, vendor.name, vendor.source
        );
        page.push_str(&vendor_table(vendor));
    }
    page
}

/// Moves headings one level down, and turns links into the code to plain code.
fn body(page: &str) -> String {
    let mut fenced = false;
    let mut out = String::new();
    for line in page.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if line.starts_with('#') && !fenced {
            out.push('#');
        }
        let line = if fenced {
            line.to_string()
        } else {
            line.replace("[`", "`").replace("`]", "`")
        };
        let _ = writeln!(out, "{line}");
    }
    out
}

fn scheme_page(scheme: &Scheme) -> String {
    let mut page = format!("# {}\n\n*{}*\n\n", scheme.title, scheme.paper);
    let header = scheme.page();
    // The first line of the header repeats the title.
    let (_, rest) = header.split_once("\n\n").unwrap_or_default();
    let _ = writeln!(
        page,
        "`{}`: {}\n\n{}",
        scheme.name,
        scheme.summary,
        ordinary::of_scheme(scheme)
    );
    let rest = body(rest);
    let (what, rest) = rest.split_at(rest.find("\n## Signal").unwrap_or(rest.len()));
    page.push_str(what);
    let _ = writeln!(page, "{}", figures::markdown(scheme));
    page.push_str(rest);
    let docs = (scheme.params)();
    if !docs.is_empty() {
        let _ = writeln!(
            page,
            "\n## Parameters, one by one\n\nIn a scenario: `[cc.{}]`.\n",
            scheme.name
        );
        page.push_str("| parameter | default | unit | range | what | source |\n|---|---|---|---|---|---|\n");
        for doc in &docs {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} |",
                code(&doc.name),
                cell(&doc.default),
                cell(doc.unit),
                cell(&doc.range),
                cell(&with_condition(&doc.help, doc.when)),
                cell(doc.source)
            );
        }
    }
    if scheme.name == "dcqcn" {
        page.push_str("\n## Names on NVIDIA's ConnectX NICs\n\n");
        page.push_str(&vendor_table(&vendors()[0]));
    }
    let window = match scheme.default_window {
        WindowMode::Off => "off",
        WindowMode::Fixed => "fixed",
        WindowMode::Variable => "variable",
    };
    let _ = writeln!(
        page,
        "\nThe window, unless `cc.window` says otherwise: `{window}`."
    );
    if !scheme.aliases.is_empty() {
        page.push_str("\n## Variants with names of their own\n\n");
        for alias in scheme.aliases {
            let _ = writeln!(page, "* `{}`: {}", alias.name, alias.help);
        }
    }
    page
}

/// Returns the help of a parameter with the condition under which it acts.
fn with_condition(help: &str, when: When) -> String {
    match only_with(when) {
        Some(when) if help.ends_with('.') => format!("{help} Acts {when}."),
        Some(when) => format!("{help}; {when}"),
        None => help.to_string(),
    }
}

fn parameter_table(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let mut table = "| key | default | unit | what |\n|---|---|---|---|\n".to_string();
    for p in parameters {
        let default = if p.default.is_empty() { "" } else { p.default };
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            p.name,
            cell(default),
            cell(p.unit),
            cell(&with_condition(p.help, p.when))
        );
    }
    table + "\n"
}

fn entries(page: &mut String, entries: &[Entry], place: impl Fn(&str) -> String) {
    for entry in entries {
        let about = only_with(entry.when).map_or(String::new(), |when| format!(" Acts {when}."));
        let _ = writeln!(page, "### {}\n\n{}{about}\n", place(entry.name), entry.summary);
        page.push_str(&parameter_table(entry.parameters));
    }
}

fn scenario_reference() -> String {
    let mut page = "# Scenario keys\n\n\
        Quantities are texts with units (`\"100Gbps\"`, `\"1us\"`, `\"64KiB\"`, `\"500KB\"`; KB is 1000 bytes). An\n\
        unknown key is an error that names the nearest known one. A key without a default has to be given, or\n\
        stands for a table of its own.\n\n"
        .to_string();
    page.push_str("## Sections\n\n");
    entries(&mut page, builtin::sections(), |name| match name {
        "" => "Top level".to_string(),
        "workload" => "`[[workload]]`".to_string(),
        name => format!("`[{name}]`"),
    });
    page.push_str("## Topologies\n\n");
    entries(&mut page, builtin::topologies(), |name| {
        format!("`[topology.{name}]`")
    });
    page.push_str("## Workloads\n\nEach `[[workload]]` has one of these blocks.\n\n");
    entries(&mut page, builtin::workloads(), |name| format!("`{name}`"));
    page.push_str("## Distributions of flow sizes\n\n| name | from |\n|---|---|\n");
    for (name, source) in builtin::distributions() {
        let _ = writeln!(page, "| `{name}` | {} |", cell(source));
    }
    page
}

/// Returns the text after a key up to one of the characters in `end`.
fn after<'a>(text: &'a str, key: &str, end: &[char]) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split(end).next()
}

fn scenarios() -> String {
    let mut page = "# Built-in scenarios\n\n\
                    Start from one of these. `paceline run NAME` runs it, `paceline explain NAME > mine.toml` saves its text, and\n\
                    `paceline explain NAME` prints where it comes from.\n\n\
                    | scenario | what it is | topology | scheme |\n|---|---|---|---|\n"
        .to_string();
    for shipped in builtin::scenarios() {
        if shipped.text.contains("fidelity = \"uet-htsim\"") {
            // Network and schemes are the simulator's.
            let _ = writeln!(
                page,
                "| `{}` | {} | [of the simulator](../validation/uet-htsim.md) | [of the simulator](../validation/uet-htsim.md) |",
                shipped.name,
                cell(shipped.description()),
            );
            continue;
        }
        let topology = after(shipped.text, "[topology.", &[']', '.']).unwrap_or_default();
        let (_, control) = shipped.text.split_once("\n[cc]\n").unwrap_or_default();
        let scheme = after(control, "scheme = \"", &['"']).unwrap_or_default();
        let (known, _) =
            registry::find(scheme).unwrap_or_else(|_| panic!("{}: no scheme `{scheme}`", shipped.name));
        assert!(
            builtin::topologies().iter().any(|entry| entry.name == topology),
            "{}: no topology `{topology}`",
            shipped.name
        );
        let _ = writeln!(
            page,
            "| `{}` | {} | [{topology}](scenario.md#topology{topology}) | [{scheme}](schemes/{}.md) |",
            shipped.name,
            cell(shipped.description()),
            known.name,
        );
    }
    page
}

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(arguments)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{arguments:?}");
    let text = String::from_utf8(output.stdout).expect("help is UTF-8");
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// Lists the commands of a help page, in order.
fn commands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let named = list.take_while(|line| !line.is_empty());
    named
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_string)
        .collect()
}

fn command_line() -> String {
    let top = help(&[]);
    let mut page = format!("# Commands\n\n```text\n{top}```\n");
    let names = commands(&top);
    assert!(names.len() > 8, "the help lists {names:?}");
    for name in names {
        add_command(&mut page, &[&name]);
    }
    page
}

/// Adds the help of a command and of its subcommands, which are one heading lower.
fn add_command(page: &mut String, path: &[&str]) {
    let text = help(path);
    let heading = "#".repeat(path.len() + 1);
    let _ = write!(
        page,
        "\n{heading} paceline {}\n\n```text\n{text}```\n",
        path.join(" ")
    );
    for sub in commands(&text) {
        add_command(page, &[path, &[&sub]].concat());
    }
}

fn warnings() -> String {
    let mut page = "# Warnings\n\nPaceline warns of settings that do nothing, of inputs that can be misread, and of results \
                    that need care. Each\nwarning has an id and a sentence; on the terminal, those about the input have their place.\n\n\
                    Warnings about inputs are printed before a run, the others after it. All of them are in \
                    `summary.json` as\n`{ id, about, text }`, on the report page, in `comparison.json`, in the rows of \
                    sweeps, and in `Run.warnings`\nof Python. `--quiet` changes only the terminal. A comparison or sweep keeps \
                    `unused-setting` and `unused-scheme`\nonly if they hold for all of its runs.\n\n\
                    Notes tell how the input was read: there is nothing to check. They are printed and written like \
                    warnings, with\nthe prefix `note:`, and pages show them apart.\n"
        .to_string();
    for (subject, title) in [
        (Subject::Input, "About the input"),
        (Subject::Run, "About the run"),
        (Subject::Note, "Notes"),
    ] {
        let _ = writeln!(page, "\n## {title}\n\n| id | meaning |\n|---|---|");
        for (kind, meaning) in WarningKind::ALL {
            if kind.subject() == subject {
                let id = serde_json::to_value(kind).unwrap();
                let _ = writeln!(
                    page,
                    "| {} | {} |",
                    code(id.as_str().unwrap()),
                    cell(meaning.trim())
                );
            }
        }
    }
    page
}

fn glossary() -> String {
    let mut page =
        "# Glossary\n\nLook up a term of the field, a counter of a NIC or switch, or a word of AI networks. \
                    `paceline explain TERM` shows the\nsame.\n\n| term | meaning |\n|---|---|\n"
            .to_string();
    for term in paceline_explain::terms() {
        let _ = writeln!(
            page,
            "| {} | {} |",
            cell(&term.names.join(", ")),
            cell(term.about)
        );
    }
    page
}

fn tables() -> String {
    let mut page = "# Tables of a run\n\nLook up a column. `paceline query RUN` [asks these tables in SQL](../guide/query.md). Python has the recorded ones as\n\
                    `Run.tables`, and each has a file `NAME.csv` in the run's folder. Times are in ps from the start of the run.\n"
        .to_string();
    for table in paceline_query::TABLES.iter() {
        let needs = match table.needs {
            "" => String::new(),
            needs if needs.contains(' ') => format!(" Needs {needs}."),
            needs => format!(" Needs `{needs}`."),
        };
        let _ = writeln!(
            page,
            "\n## {}\n\nA row is {}.{needs}\n\n| column | type | meaning |\n|---|---|---|",
            code(table.name),
            table.about
        );
        for column in table.columns {
            let _ = writeln!(
                page,
                "| {} | {} | {} |",
                code(column.name),
                column.kind.name(),
                cell(column.meaning)
            );
        }
    }
    page
}

fn pages() -> Pages {
    let mut pages = Pages::new();
    for scheme in SCHEMES {
        pages.insert(
            format!("reference/schemes/{}.md", scheme.name),
            scheme_page(scheme),
        );
    }
    pages.insert("reference/schemes.md".into(), overview::markdown());
    pages.insert("reference/papers.md".into(), overview::papers());
    pages.insert("reference/scenario.md".into(), scenario_reference());
    pages.insert("reference/scenarios.md".into(), scenarios());
    pages.insert("reference/commands.md".into(), command_line());
    pages.insert("reference/tables.md".into(), tables());
    pages.insert("reference/warnings.md".into(), warnings());
    pages.insert("reference/vendors.md".into(), vendor_keys());
    pages.insert("reference/glossary.md".into(), glossary());
    pages
}

#[cfg(all(feature = "parity", feature = "training"))]
#[test]
fn the_reference_is_what_the_program_knows() {
    let summary = fs::read_to_string(book().join("SUMMARY.md")).unwrap();
    for (name, page) in pages() {
        assert!(
            summary.contains(&format!("({name})")),
            "SUMMARY.md does not list {name}"
        );
        keep(&name, &format!("{GENERATED}{page}"));
    }
}

#[test]
fn nothing_of_a_scheme_outlives_it() {
    for (folder, suffix) in [("reference/schemes", ".md"), ("images/schemes", ".svg")] {
        for file in fs::read_dir(book().join(folder)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let known = name
                .strip_suffix(suffix)
                .is_some_and(|name| SCHEMES.iter().any(|s| s.name == name));
            assert!(known, "there is no scheme of {folder}/{name}");
        }
    }
}

/// All public members of the Python package's classes and functions are in the reference.
#[test]
fn the_python_reference_has_every_public_name() {
    let package = book().join("../../python/package/paceline/_native.pyi");
    let stub = fs::read_to_string(package).unwrap();
    let page = fs::read_to_string(book().join("reference/python.md")).unwrap();
    // A class whose name starts with `_` is the package's own, with all its methods.
    let mut is_private = false;
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for line in stub.lines() {
        let class = line.strip_prefix("class ");
        let function = line.trim_start().strip_prefix("def ");
        let Some(name) = class.or(function).and_then(|rest| rest.split(['(', ':']).next()) else {
            continue;
        };
        if !line.starts_with(' ') {
            is_private = name.starts_with('_');
        }
        if !is_private && !name.starts_with('_') {
            names.insert(name);
        }
    }
    assert!(names.len() > 40, "{names:?}");
    let known: BTreeSet<&str> = page.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let missing: Vec<_> = names.difference(&known).collect();
    assert!(
        missing.is_empty(),
        "book/src/reference/python.md lacks {missing:?}"
    );
}
