//! Check for keys of a job that do not apply to its trace.

use std::ops::Range;

use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::resolve::Cx;
use crate::schema;

use super::found::{Format, Network};

/// Rejects rules that the format or the network does not support.
pub(super) fn refuse_others(
    cx: &Cx<'_>,
    rules: &schema::TraceRules,
    format: Format,
    network: Network,
    location: &Location,
) -> Result<(), Problem> {
    use Format::{Chakra, Goal, SimAi};
    let at = |span: Option<Range<usize>>| span.map_or_else(|| location.clone(), |span| cx.texts.at(span));
    let there = |is_there: bool| is_there.then_some(None);
    let text = |key: &Option<Spanned<String>>| key.as_ref().map(|key| Some(key.span()));
    let count = |key: &Option<Spanned<u32>>| key.as_ref().map(|key| Some(key.span()));
    // For each key: its position if it is set, and the format and network that it applies to.
    let keys = [
        ("overhead", there(rules.overhead.is_some()), Goal, None),
        ("gap", there(rules.gap.is_some()), Goal, None),
        ("eager", there(rules.eager.is_some()), Goal, None),
        ("variant", text(&rules.variant), Goal, Some(Network::LogGops)),
        (
            "latency",
            there(rules.latency.is_some()),
            Goal,
            Some(Network::LogGops),
        ),
        (
            "gap-per-byte",
            there(rules.gap_per_byte.is_some()),
            Goal,
            Some(Network::LogGops),
        ),
        (
            "overhead-per-byte",
            there(rules.overhead_per_byte.is_some()),
            Goal,
            Some(Network::LogGops),
        ),
        ("groups", text(&rules.groups), Chakra, None),
        ("control-deps", text(&rules.control_deps), Chakra, None),
        ("repair", text(&rules.repair), Chakra, None),
        ("flops", text(&rules.flops), Chakra, None),
        ("memory", text(&rules.memory), Chakra, None),
        ("kernels", text(&rules.kernels), Chakra, None),
        ("sends", text(&rules.sends), Chakra, Some(Network::Packets)),
        ("system", text(&rules.system), Chakra, None),
        ("algorithm", text(&rules.algorithm), Chakra, None),
        ("splits", count(&rules.splits), Chakra, None),
        ("active", count(&rules.active), Chakra, None),
        ("links", text(&rules.links), Chakra, Some(Network::Chunks)),
        (
            "waits",
            there(rules.waits.is_some()),
            Chakra,
            Some(Network::Chunks),
        ),
        ("send-latency", there(rules.send_latency.is_some()), SimAi, None),
        ("pxn", there(rules.pxn.is_some()), SimAi, None),
    ];
    for (key, span, of, on) in &keys {
        let Some(span) = span else { continue };
        // Collectives of a model are carried out as those of Chakra.
        let of_models = ["algorithm", "splits", "active"];
        let is_of_model = format == Format::Model && of_models.contains(key);
        let message = if *of != format && !is_of_model {
            let names = (of.name(), format.name());
            format!(
                "`{key}` is for jobs by `{}`, and this one is by `{}`",
                names.0, names.1
            )
        } else if let Some(on) = on.filter(|&on| on != network) {
            format!("`{key}` is for `network = \"{}\"`", on.name())
        } else if rules.system.is_some() && ["algorithm", "splits", "active"].contains(key) {
            format!("`{key}` beside `system`, whose file says that")
        } else {
            continue;
        };
        return Err(Problem::new(message).at(&at(span.clone())));
    }
    Ok(())
}
