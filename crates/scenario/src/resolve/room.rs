//! Check that headroom and reserve leave some of a switch's buffer to share.

use paceline_fabric::spec::{Headroom, NodeId};
use paceline_kernel::{Bytes, Span};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema;
use crate::topology::Net;
use crate::warning::WarningKind;

use super::Cx;

/// Parts of a switch's memory, with their positions.
pub(super) struct Room<'a> {
    pub(super) buffer: &'a Spanned<schema::Buffer>,
    pub(super) headroom: &'a Spanned<schema::Headroom>,
    pub(super) reserve: Bytes,
    /// Longest reaction time of a port to a pause.
    pub(super) response: Span,
}

/// Checks that headroom and reserve of every switch leave some of its buffer.
pub(super) fn check_buffer(
    cx: &mut Cx<'_>,
    room: &Room<'_>,
    each: Headroom,
    switches: impl Iterator<Item = NodeId>,
    net: &Net,
) -> Result<(), Problem> {
    let &Room {
        buffer,
        headroom,
        reserve,
        response,
    } = room;
    // Headroom on top of a shared pool always fits.
    if buffer.get_ref().is_shared() {
        return Ok(());
    }
    let mut taken = vec![(0u64, 0u64); net.topology.nodes.len()];
    // Largest headroom of a link at each node, and that link.
    let mut most = vec![(0u64, 0usize); net.topology.nodes.len()];
    for (i, link) in net.topology.links.iter().enumerate() {
        let room = match each {
            Headroom::Fixed(bytes) => bytes.get(),
            Headroom::PerLink { factor, extra } => {
                let unheeded = link.rate.bytes_in(response).get();
                (factor * link.rate.bytes_in(link.delay).get() as f64) as u64 + extra.get() + unheeded
            }
        };
        for end in [link.a, link.b] {
            let (rooms, ports) = &mut taken[end.0 as usize];
            *rooms = rooms.saturating_add(room);
            *ports += 1;
            let most = &mut most[end.0 as usize];
            *most = (*most).max((room, i));
        }
    }
    let total = |&(rooms, ports): &(u64, u64)| rooms.saturating_add(ports.saturating_mul(reserve.get()));
    let Some(worst) = switches.max_by_key(|s| total(&taken[s.0 as usize])) else {
        return Ok(());
    };
    let (rooms, ports) = taken[worst.0 as usize];
    if total(&(rooms, ports)) < buffer.get_ref().bytes().get() {
        return Ok(());
    }
    let message = format!(
        "headroom ({}) and reserve ({}) of the {ports} ports of {} do not fit in its buffer of {}",
        about(rooms),
        about(ports.saturating_mul(reserve.get())),
        cx.names.numbered(worst.0),
        buffer.get_ref()
    );
    let written = [buffer.span(), headroom.span()]
        .into_iter()
        .find(|span| !span.is_empty());
    let (room, link) = most[worst.0 as usize];
    // If no buffer setting is written, the error points at the link that needs the headroom.
    let of_topology = || {
        let keys = ["delay", "rate"].into_iter();
        let ends =
            |key: &str, path: &str| path.starts_with("topology.") && path.rsplit('.').next() == Some(key);
        let mut written = keys.filter_map(|key| cx.locations.iter().find(|(path, _)| ends(key, path)));
        let topology = || cx.locations.iter().find(|(path, _)| path == "topology");
        let span = written.next().or_else(topology).map(|(_, span)| span.clone());
        span.map_or_else(|| cx.texts.main().end(), |span| cx.texts.at(span))
    };
    let of_link = || net.locations.get(link).cloned().unwrap_or_else(of_topology);
    let location = written.map_or_else(of_link, |span| cx.texts.at(span));
    if cx.profile().thresholds_wrap {
        let text = format!("{message}: thresholds wrap, as in the original simulator");
        cx.warn(WarningKind::BufferSplit, &location, text);
        return Ok(());
    }
    let problem = Problem::new(message).at(&location);
    Err(if buffer.span().is_empty() {
        let link = &net.topology.links[link];
        problem
            .label(format!(
                "a port of {} and {} needs a headroom of {}",
                link.rate,
                link.delay,
                about(room)
            ))
            .help("make `network.buffer` larger, or `network.headroom` smaller")
    } else if headroom.span().is_empty() {
        problem
            .label("the buffer")
            .help("make the buffer larger, or set `network.headroom`")
    } else {
        problem
            .label("the buffer")
            .see(&cx.texts.of_value(headroom), "the headroom is here")
    })
}

/// Returns a byte count rounded to a readable text.
fn about(bytes: u64) -> String {
    /// Longest text for an exact number.
    const LONG: usize = 10;
    let exact = Bytes::new(bytes).to_string();
    let units = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
    ];
    match units.into_iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) if exact.len() > LONG => format!("{:.1}{unit}", bytes as f64 / size as f64),
        _ => exact,
    }
}
