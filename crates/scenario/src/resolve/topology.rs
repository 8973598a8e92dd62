//! Conversion of `[topology]` to nodes and links.

mod tiers;

use std::ops::RangeInclusive;

use paceline_fabric::spec::NodeKind;
use paceline_kernel::{BitRate, Span};
use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::htsim;
use crate::schema;
use crate::topology::{self, FatTreeRates, Net, Topology, ends};
use crate::warning::WarningKind;

use super::Cx;
use super::fill::{fill, fill_at, fill_value, only_block};
use super::inputs::NetFile;

const BLOCKS: &str = "star, dumbbell, parking-lot, leaf-spine, rail, fat-tree, hpcc-fat, graph, infragraph";

/// Creates the network. The file of a network is stored as `topology.txt` next to the resolved scenario.
pub(super) fn resolve(cx: &mut Cx<'_>, slot: &mut Option<Spanned<schema::Topology>>) -> Result<Net, Problem> {
    let Some(spanned) = slot else {
        return Err(Problem::new("the scenario has no topology")
            .at(&cx.texts.main().end())
            .help(format!(
                "add a table such as `[topology.star]`: one of {BLOCKS}, or `topology.file`"
            )));
    };
    let location = cx.texts.of_value(spanned);
    let written = spanned.get_mut();
    let present = [
        ("file", written.file.is_some()),
        ("star", written.star.is_some()),
        ("dumbbell", written.dumbbell.is_some()),
        ("parking-lot", written.parking_lot.is_some()),
        ("leaf-spine", written.leaf_spine.is_some()),
        ("rail", written.rail.is_some()),
        ("fat-tree", written.fat_tree.is_some()),
        ("hpcc-fat", written.hpcc_fat.is_some()),
        ("graph", written.graph.is_some()),
        ("infragraph", written.infragraph.is_some()),
    ];
    let name = only_block(&present, "a topology").map_err(|problem| {
        problem
            .at(&location)
            .help(format!("the blocks are {BLOCKS}; or `file`"))
    })?;
    // ns-3 files may have parallel links, and the original simulator does not refuse them.
    fill(&mut written.parallel, cx.ns3_source);
    let net = match name {
        "file" => file(cx, written),
        "infragraph" => infragraph(cx, written, &location)?,
        "graph" => graph(cx, written.graph.as_mut().expect("it is present"))?,
        "rail" => tiers::rail(cx, written.rail.as_mut().expect("it is present"))?,
        _ => Net {
            topology: generated(cx, written)?,
            ..Net::default()
        },
    };
    let parallel = fill(&mut written.parallel, false) || net.parallel;
    check_links(cx, &net, parallel)?;
    Ok(net)
}

/// Returns the network of the file, which was read in advance.
fn file(cx: &mut Cx<'_>, written: &mut schema::Topology) -> Net {
    let NetFile { source, net } = cx.inputs.net.take().expect("files are read first");
    let extension = match htsim::is_topology(&source) {
        true => "topo",
        false => "txt",
    };
    if net.parallel && extension == "txt" {
        written.parallel = Some(true);
    }
    let path = written.file.as_mut().expect("it is present");
    *path.get_mut() = cx.keep("topology", extension, &source);
    net
}

/// Returns the network of an infrastructure. From here on the scenario has it as a file of nodes and links.
fn infragraph(cx: &mut Cx<'_>, written: &mut schema::Topology, location: &Location) -> Result<Net, Problem> {
    let block = written.infragraph.take().expect("it is present");
    if block.file.is_none() {
        return Err(Problem::new("`topology.infragraph` has no `file`").at(location));
    }
    written.file = block.file;
    Ok(file(cx, written))
}

/// Returns a count within bounds; without them a typing error could exhaust memory.
fn count(
    cx: &Cx<'_>,
    slot: &mut Option<Spanned<u32>>,
    default: u32,
    what: &str,
    range: RangeInclusive<u32>,
) -> Result<u32, Problem> {
    let value = fill_at(slot, default);
    if range.contains(value.get_ref()) {
        return Ok(value.into_inner());
    }
    let expected = format!("expected {} to {}", range.start(), range.end());
    Err(Problem::new(format!("{} {what}: {expected}", value.get_ref()))
        .at(&cx.texts.of_value(&value))
        .label(expected))
}

fn rate(cx: &Cx<'_>, slot: &mut Option<Spanned<BitRate>>, default: BitRate) -> Result<BitRate, Problem> {
    let value = fill_at(slot, default);
    if value.get_ref().as_bps() == 0 {
        return Err(Problem::new("a link with a rate of zero carries nothing")
            .at(&cx.texts.of_value(&value))
            .label("expected a rate above zero"));
    }
    Ok(value.into_inner())
}

const G100: BitRate = BitRate::from_gbps(100);
const US: Span = Span::from_us(1);

fn generated(cx: &Cx<'_>, written: &mut schema::Topology) -> Result<Topology, Problem> {
    if let Some(t) = &mut written.star {
        let hosts = count(cx, &mut t.hosts, 16, "hosts", 1..=10_000)?;
        return Ok(topology::star(
            hosts,
            rate(cx, &mut t.rate, G100)?,
            fill_value(&mut t.delay, US),
        ));
    }
    if let Some(t) = &mut written.dumbbell {
        let left = count(cx, &mut t.left, 2, "hosts", 1..=10_000)?;
        let right = count(cx, &mut t.right, 2, "hosts", 1..=10_000)?;
        let host = (rate(cx, &mut t.rate, G100)?, fill_value(&mut t.delay, US));
        let bottleneck = (
            rate(cx, &mut t.bottleneck_rate, host.0)?,
            fill_value(&mut t.bottleneck_delay, host.1),
        );
        return Ok(topology::dumbbell(left, right, host, bottleneck));
    }
    if let Some(t) = &mut written.parking_lot {
        let hops = count(cx, &mut t.hops, 3, "hops", 1..=1000)?;
        return Ok(topology::parking_lot(
            hops,
            rate(cx, &mut t.rate, G100)?,
            fill_value(&mut t.delay, US),
        ));
    }
    if let Some(t) = &mut written.leaf_spine {
        return tiers::leaf_spine(cx, t);
    }
    if let Some(t) = &mut written.fat_tree {
        return fat_tree(cx, t);
    }
    let t = written.hpcc_fat.as_mut().expect("one of the blocks is present");
    let host = rate(cx, &mut t.rate, G100)?;
    let fabric = rate(cx, &mut t.fabric_rate, BitRate::from_gbps(400))?;
    Ok(topology::hpcc_fat(host, fabric, fill_value(&mut t.delay, US)))
}

fn fat_tree(cx: &Cx<'_>, t: &mut schema::FatTree) -> Result<Topology, Problem> {
    let k = count(cx, &mut t.k, 4, "ports (k)", 2..=64)?;
    if k % 2 == 1 {
        let written = fill_at(&mut t.k, k);
        return Err(Problem::new(format!("a fat tree's k is even, this is {k}"))
            .at(&cx.texts.of_value(&written))
            .label("expected an even number"));
    }
    let ratio = fill_at(&mut t.oversubscription, schema::Ratio::to_one(1));
    let schema::Ratio { of, to } = *ratio.get_ref();
    if of % to != 0 || of / to > 16 {
        return Err(
            Problem::new(format!("{}: expected 1 to 16 to 1", ratio.get_ref()))
                .at(&cx.texts.of_value(&ratio))
                .label("expected 1 to 16"),
        );
    }
    let host = rate(cx, &mut t.rate, G100)?;
    let aggregation = rate(cx, &mut t.aggregation_rate, host)?;
    let rates = FatTreeRates {
        host,
        aggregation,
        core: rate(cx, &mut t.core_rate, aggregation)?,
    };
    Ok(topology::fat_tree(
        k,
        of / to,
        rates,
        fill_value(&mut t.delay, US),
    ))
}

fn graph(cx: &Cx<'_>, graph: &mut schema::Graph) -> Result<Net, Problem> {
    let nodes = count(cx, &mut graph.nodes, 0, "nodes", 1..=1_000_000)?;
    let mut net = Net::default();
    net.topology.nodes = vec![NodeKind::Host; nodes as usize];
    let node = |id: &Spanned<u32>| {
        if *id.get_ref() < nodes {
            return Ok(*id.get_ref());
        }
        Err(Problem::new(format!(
            "there is no node {}: nodes are 0 to {}",
            id.get_ref(),
            nodes - 1
        ))
        .at(&cx.texts.of_value(id))
        .label("not a node"))
    };
    for switch in fill(&mut graph.switches, Vec::new()) {
        net.topology.nodes[node(&switch)? as usize] = NodeKind::Switch;
    }
    for spanned in graph.links.get_or_insert_default() {
        let location = cx.texts.of_value(spanned);
        let link = spanned.get_mut();
        let missing = |end: &str| Problem::new(format!("the link has no `{end}`")).at(&location);
        let a = node(link.a.as_ref().ok_or_else(|| missing("a"))?)?;
        let b = node(link.b.as_ref().ok_or_else(|| missing("b"))?)?;
        net.topology.link(
            a,
            b,
            rate(cx, &mut link.rate, G100)?,
            fill_value(&mut link.delay, US),
        );
        let error_rate = fill_at(&mut link.error_rate, 0.0);
        super::numbers::probability(cx, &error_rate, "the error rate")?;
        if let Some(last) = net.topology.links.last_mut() {
            last.error_rate = error_rate.into_inner();
        }
        net.locations.push(location);
    }
    Ok(net)
}

/// Rejects links without a rate, from a node to itself, or (unless allowed) in parallel.
fn check_links(cx: &mut Cx<'_>, net: &Net, parallel: bool) -> Result<(), Problem> {
    let links = net.topology.links.iter().enumerate();
    let mut by_ends: Vec<_> = links.map(|(i, link)| (ends(link.a, link.b), i)).collect();
    by_ends.sort_unstable();
    // Map from a link to the previous link between the same nodes.
    let twice = by_ends.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let before: paceline_kernel::sorted::SortedMap<usize, usize> =
        twice.map(|pair| (pair[1].1, pair[0].1)).collect();
    for (i, link) in net.topology.links.iter().enumerate() {
        let location = || net.locations.get(i).cloned();
        let at = |problem: Problem| match location() {
            Some(location) => problem.at(&location),
            None => problem,
        };
        let ends = ends(link.a, link.b);
        if link.rate.as_bps() == 0 {
            return Err(at(Problem::new("a link with a rate of zero carries nothing")));
        }
        if ends.0 == ends.1 {
            return Err(at(Problem::new(format!(
                "the link goes from node {} to itself",
                ends.0.0
            ))));
        }
        let Some(&first) = before.get(&i) else {
            continue;
        };
        let message = format!(
            "there is a second link between nodes {} and {}",
            ends.0.0, ends.1.0
        );
        if !parallel {
            let problem = at(Problem::new(message)).help("set `topology.parallel = true` if that is meant");
            return Err(match net.locations.get(first) {
                Some(location) => problem.see(location, "the first is here"),
                None => problem,
            });
        }
        if cx.ns3_source {
            let what = if cx.profile().is_exact {
                "both are used; the original simulator uses the last only"
            } else {
                "only the last is used, as in the original simulator"
            };
            cx.warn(
                WarningKind::ParallelLinks,
                location().as_ref(),
                format!("{message}: {what}"),
            );
        }
    }
    Ok(())
}
