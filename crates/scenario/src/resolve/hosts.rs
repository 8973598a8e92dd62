//! Conversion of host sets, in all their notations, to nodes.

mod text;

use paceline_fabric::spec::NodeId;
use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::groups;
use crate::names::switch_sets;
use crate::schema::{Ends, NodeItem, Nodes, Scenario};
use crate::topology::Net;

use super::Cx;
use super::unresolved::not_a_host;
use text::Wrong;

/// Nodes that a set may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Hosts, none more than once.
    Hosts,
    /// Hosts, which may be repeated.
    Repeats,
    /// Hosts and switches, possibly repeated.
    Nodes,
}

/// Returns the nodes of a set, in the order in which it names them.
pub(super) fn set(
    cx: &Cx<'_>,
    net: &Net,
    written: &Spanned<Nodes>,
    holds: Holds,
) -> Result<Vec<NodeId>, Problem> {
    let location = cx.texts.of_value(written);
    let found = match written.get_ref() {
        Nodes::One(item) => of_item(cx, net, item, &location, holds)?,
        Nodes::List(items) => {
            let mut all = Vec::with_capacity(items.len());
            for item in items {
                all.extend(of_item(cx, net, item.get_ref(), &cx.texts.of_value(item), holds)?);
            }
            all
        }
    };
    if found.is_empty() && holds != Holds::Nodes {
        return Err(Problem::new("there are no hosts here")
            .at(&location)
            .label("expected at least one, or \"all\""));
    }
    if holds == Holds::Hosts {
        each_once(net, &found, &location)?;
    }
    Ok(found)
}

/// Returns the distinct hosts of a set, in the order in which it names them.
///
/// # Errors
/// If a name or number is no host, or is repeated.
pub fn hosts(cx: &Cx<'_>, net: &Net, written: &Spanned<Nodes>) -> Result<Vec<NodeId>, Problem> {
    set(cx, net, written, Holds::Hosts)
}

/// Returns the only host of a set, or an error if there are several.
pub(super) fn one(cx: &Cx<'_>, net: &Net, written: &Spanned<Nodes>) -> Result<NodeId, Problem> {
    let found = set(cx, net, written, Holds::Hosts)?;
    match found[..] {
        [host] => Ok(host),
        _ => Err(
            Problem::new(format!("these are {} hosts: expected one", found.len()))
                .at(&cx.texts.of_value(written))
                .label("expected one host"),
        ),
    }
}

/// Resolves the scenario's names for sets of hosts.
pub(super) fn name(cx: &Cx<'_>, scenario: &Scenario, net: &mut Net) -> Result<(), Problem> {
    let mut names = Vec::with_capacity(scenario.hosts.len());
    for (name, written) in &scenario.hosts {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fits = name.starts_with(char::is_alphabetic) && name.chars().all(plain);
        if !fits || text::is_word(name) {
            let message = format!("hosts cannot be called `{name}`");
            let expected =
                "letters, digits, `-`, `_` and `.`, a letter first, and no word of the language of hosts";
            return Err(Problem::new(message)
                .at(&cx.texts.of_value(written))
                .help(format!("a name is made of {expected} ({})", text::words())));
        }
        // Names are added only after all are resolved, so that none can refer to another.
        names.push((name.clone(), set(cx, net, written, Holds::Hosts)?));
    }
    net.names = names;
    Ok(())
}

/// Returns the only node that a number or name means.
///
/// # Errors
/// If the network has no such node.
pub(super) fn node(cx: &Cx<'_>, item: &NodeItem, location: &Location) -> Result<NodeId, Problem> {
    match item {
        NodeItem::Number(number) if *number < cx.names.len() => Ok(NodeId(*number)),
        NodeItem::Number(number) => Err(Problem::new(no_node(*number, cx.names.len() as usize))
            .at(location)
            .label("not a node")),
        NodeItem::Text(text) => cx.names.node(text).ok_or_else(|| {
            let help = cx.names.nearest(text).map_or_else(
                || {
                    "a node is named by its number, or as results name it: \"leaf 1\", \"host 12\""
                        .to_string()
                },
                |near| format!("did you mean `{near}`?"),
            );
            let problem = Problem::new(format!("this network has no node `{text}`"));
            problem.at(location).help(help)
        }),
    }
}

/// Returns the two nodes that the ends of a link or port mean.
///
/// # Errors
/// If the network lacks one of them.
pub(super) fn ends(cx: &Cx<'_>, written: &Spanned<Ends>) -> Result<(NodeId, NodeId), Problem> {
    let location = cx.texts.of_value(written);
    let Ends(a, b) = written.get_ref();
    Ok((node(cx, a, &location)?, node(cx, b, &location)?))
}

fn no_node(number: u32, count: usize) -> String {
    format!("there is no node {number}: nodes are 0 to {}", count.max(1) - 1)
}

fn of_item(
    cx: &Cx<'_>,
    net: &Net,
    item: &NodeItem,
    location: &Location,
    holds: Holds,
) -> Result<Vec<NodeId>, Problem> {
    let known = |number: u32| is_allowed(net, NodeId(number), holds);
    match item {
        NodeItem::Number(number) => {
            let label = if holds == Holds::Nodes {
                "not a node"
            } else {
                "not a host"
            };
            known(*number).map_err(|message| Problem::new(message).at(location).label(label))?;
            Ok(vec![NodeId(*number)])
        }
        NodeItem::Text(written) => {
            let network = text::Network {
                all: &|| match holds {
                    Holds::Nodes => (0..net.topology.nodes.len() as u32).map(NodeId).collect(),
                    _ => net.topology.hosts().collect(),
                },
                known: &known,
                groups: &|kind| groups::sets(&net.topology, kind),
                // Elsewhere `leaf 1` means the hosts at that switch.
                switches: &|word| {
                    (holds == Holds::Nodes)
                        .then(|| switch_sets(&net.topology, word))
                        .flatten()
                },
                nearest: &|text| (holds == Holds::Nodes).then(|| cx.names.nearest(text)).flatten(),
                switch: &|name| (holds == Holds::Nodes).then(|| cx.names.node(name)).flatten(),
                names: &net.names,
            };
            text::read(written, &network).map_err(|wrong| problem(wrong, written, location))
        }
    }
}

fn problem(wrong: Wrong, written: &str, location: &Location) -> Problem {
    // A text with escapes differs in length from what the file has, so its parts have no exact position.
    let exact = location.text().trim_matches(['"', '\'']) == written;
    let location = if exact {
        location.part(wrong.at)
    } else {
        location.clone()
    };
    let problem = Problem::new(wrong.message).at(&location);
    match wrong.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

/// Returns an error if a set may not hold `node`.
fn is_allowed(net: &Net, node: NodeId, holds: Holds) -> Result<(), String> {
    let count = net.topology.nodes.len();
    let wrong = match holds {
        Holds::Nodes if (node.0 as usize) < count => None,
        Holds::Nodes => Some(no_node(node.0, count)),
        _ => not_a_host(node, net),
    };
    wrong.map_or(Ok(()), Err)
}

fn each_once(net: &Net, hosts: &[NodeId], location: &Location) -> Result<(), Problem> {
    let mut seen = vec![false; net.topology.nodes.len()];
    for host in hosts {
        if std::mem::replace(&mut seen[host.0 as usize], true) {
            return Err(Problem::new(format!("host {} is named twice", host.0))
                .at(location)
                .label("expected each host once"));
        }
    }
    Ok(())
}
