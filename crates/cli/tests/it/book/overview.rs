//! The table of all schemes, and the table of all publications.

use std::fmt::Write as _;

use paceline_congestion::papers;
use paceline_congestion::registry::{SCHEMES, SchemeConfig, SchemeParams, WindowMode};
use paceline_congestion::testkit::star_path;
use paceline_kernel::Bytes;

use super::cell;

/// By scheme: the signal that its sender uses, and the simulator with which results were compared.
const FACTS: &[(&str, &str, &str)] = &[
    ("none", "none", "HPCC's ns-3"),
    ("fixed", "none", ""),
    (
        "dcqcn",
        "ECN marks, as CNPs or echoed in ACKs",
        "HPCC's ns-3, TCD's ns-3",
    ),
    ("dctcp", "ECN marks, echoed in ACKs", "HPCC's ns-3"),
    ("timely", "RTT and its gradient", "HPCC's ns-3"),
    ("hpcc", "telemetry (INT) of every hop", "HPCC's ns-3"),
    ("hpcc-pint", "telemetry (PINT) of the busiest hop", "HPCC's ns-3"),
    (
        "swift",
        "RTT, and the receiver host's delay; as `mswift` the median of RTTs",
        "Bolt's ns-3",
    ),
    (
        "nscc",
        "ECN marks, RTT, trimmed packets; as `mnscc` the median of RTTs",
        "",
    ),
    (
        "rccc",
        "grants from receivers; as `nscc-rccc` also marks and RTT",
        "",
    ),
    ("dx", "RTT, precise to a fraction of a packet", ""),
    ("powertcp", "telemetry (INT); as `powertcp-theta` RTT", ""),
    ("qcn", "notifications (CNMs) from switches", ""),
    ("pcn", "ECN marks that spare paused packets; CNPs with a rate", ""),
    (
        "acc",
        "congested and undetermined marks; arrival rate of ACKs",
        "",
    ),
    (
        "ibcc",
        "marks (FECN) of ports under credits, echoed in ACKs",
        "RRCC's author's model",
    ),
    (
        "rrcc",
        "marks of ports under credits; notifications (BECN) with a rate",
        "RRCC's author's model",
    ),
    ("bolt", "messages (SRC) and tokens from switches", "Bolt's ns-3"),
    ("lstm-pid", "RTT, predicted by a neural network", ""),
    (
        "external",
        "RTT; on request marks, telemetry, answers of switches",
        "",
    ),
    ("adpg", "RTT", ""),
    ("aurora", "RTT, delivered bytes", ""),
    ("spine", "RTT, delivered and lost bytes", ""),
    ("decc", "RTT, delivered and lost bytes", ""),
    (
        "policy",
        "what its card names: RTT, marks, telemetry, answers of switches",
        "",
    ),
];

const HEAD: &str = "# All schemes at a glance

Use this table to choose a scheme or to compare designs. Each name links to a page with equations, parameters (unit,
default, range, source), and differences from the paper or from public code. `paceline explain NAME` prints the same page.

*Signal* is what the sender reacts to. *Sets* is what the scheme controls: the sending rate or the window (bytes in
flight). \"(BDP)\" means that by default the bytes in flight are also bounded by the bandwidth-delay product:
[`cc.window`](../model/hosts.md#windows). *Parts* are where the scheme has code in addition to the sender: receiver R,
switch S, in brackets if only a variant has it. *Compared with* names the simulator whose results it reproduces ([Validation](../validation/index.md)); the
others are checked by their own tests and by [published experiments](../guide/reproductions.md). Full citations are in
[Papers](papers.md).

| scheme | signal | sets | parts | compared with | source |
|---|---|---|---|---|---|
";

const TAIL: &str = "
## Variants

A variant is a scheme with some parameters set. Where the literature has a name for one, that name is an alias.

| variant | of | difference |
|---|---|---|
";

const LAST: &str = "
The settings of an alias win over a parameter block: `cc.dcqcn.tcd = \"aggressive\"` has no effect under `dcqcn-tcd`, which
is `dcqcn` with `tcd = \"hold\"`. A warning says so. Under `dcqcn` it has an effect.
";

/// Returns the quantity that the scheme controls with its default parameters.
fn sets(config: &SchemeConfig) -> String {
    let own_window = config.build(&star_path()).limits().window != Bytes::MAX;
    let what = match config.name() {
        "none" => "nothing",
        _ if own_window => "window",
        _ => "rate",
    };
    match config.default_window() {
        WindowMode::Off => what.to_string(),
        WindowMode::Fixed | WindowMode::Variable => format!("{what} (BDP)"),
    }
}

/// Returns authors and venue of a citation, or a short name.
fn brief(citation: &str) -> String {
    match (citation.split_once(" et al., "), citation.rsplit_once(", ")) {
        (Some((authors, _)), Some((_, venue))) if !authors.contains([',', ';']) => {
            format!("{authors} et al., {venue}")
        }
        _ => {
            let known = papers::ALL.iter().find(|paper| paper.citation == citation);
            known.map_or(citation, |paper| paper.short).to_string()
        }
    }
}

/// Returns the name of a part if the scheme has it, in brackets if only a variant does.
fn part(
    name: &str,
    config: &SchemeConfig,
    variants: &[SchemeConfig],
    has: impl Fn(&SchemeConfig) -> bool,
) -> Option<String> {
    if has(config) {
        return Some(name.to_string());
    }
    variants.iter().any(has).then(|| format!("({name})"))
}

/// Returns the page, with a row per scheme and then one per variant.
pub(crate) fn markdown() -> String {
    let mut page = HEAD.to_string();
    let mut variants = String::new();
    let defaults = SchemeParams::default();
    for scheme in SCHEMES {
        let facts = FACTS.iter().find(|facts| facts.0 == scheme.name);
        let (name, signal, compared) = facts.unwrap_or_else(|| panic!("no facts on {}", scheme.name));
        let config = defaults.configure(name).expect("it is registered");
        let aliases = scheme.aliases.iter().map(|alias| alias.name);
        let variants_too: Vec<SchemeConfig> =
            aliases.filter_map(|name| defaults.configure(name).ok()).collect();
        let parts = [
            part("R", &config, &variants_too, |config| {
                config.receiver_half().is_some()
            }),
            part("S", &config, &variants_too, |config| {
                config.switch_part().is_some()
            }),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let _ = writeln!(
            page,
            "| [{name}](schemes/{name}.md) | {signal} | {} | {} | {compared} | {} |",
            sets(&config),
            parts.join(", "),
            cell(&brief(scheme.paper)),
        );
        for alias in scheme.aliases {
            let _ = writeln!(variants, "| `{}` | `{name}` | {} |", alias.name, cell(alias.help));
        }
    }
    page + TAIL + &variants + LAST + &super::ordinary::matrix()
}

/// Returns the page of publications, with their short names.
pub(crate) fn papers() -> String {
    let mut page = "# Papers\n\nPublications that schemes and reproductions cite, with the short names that lists and tables use.\n\n\
                    | short name | citation |\n|---|---|\n"
        .to_string();
    for paper in papers::ALL {
        let note = if paper.note.is_empty() {
            String::new()
        } else {
            format!(". {}", paper.note)
        };
        let _ = writeln!(page, "| {} | {}{note} |", paper.short, cell(paper.citation));
    }
    page
}
