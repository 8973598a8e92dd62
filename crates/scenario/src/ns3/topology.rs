//! Topology files.

use paceline_fabric::spec::{LinkSpec, NodeId, NodeKind};
use paceline_kernel::{BitRate, Span};

use crate::diagnostics::{Problem, Source};
use crate::schema::Fidelity;
use crate::topology::Net;
use crate::warning::{Warning, WarningKind};

use super::quantities;
use super::tokens::{Token, Tokens};

/// More would be a slip of the pen, and exhaust memory.
const MOST_NODES: u32 = 10_000_000;

/// Reads a topology: `nodes switches links`, the switches, and a line per link.
pub(crate) fn read(source: &Source, fidelity: Fidelity, warnings: &mut Vec<Warning>) -> Result<Net, Problem> {
    let mut tokens = Tokens::new(source);
    let count = tokens.word("the number of nodes")?;
    let nodes: u32 = tokens.read(&count, "the number of nodes")?;
    if nodes > MOST_NODES {
        return Err(
            Problem::new(format!("{nodes} nodes: expected at most {MOST_NODES}")).at(&tokens.place(&count)),
        );
    }
    let switches: u32 = tokens.value("the number of switches")?;
    let links: u32 = tokens.value("the number of links")?;
    let mut kinds = vec![NodeKind::Host; nodes as usize];
    for i in 0..switches {
        let token = tokens.word(&format!("switch {} of {switches}", i + 1))?;
        let id = node(&tokens, &token, nodes)?;
        kinds[id as usize] = NodeKind::Switch;
    }
    let mut net = Net::default();
    for i in 0..links {
        let (link, token) = link(&mut tokens, nodes, i, links, fidelity)?;
        net.topology.links.push(link);
        net.places.push(tokens.place(&token));
    }
    if let Some(extra) = tokens.next() {
        let place = tokens.place(&extra);
        let text = format!("what follows the {links} announced links is ignored");
        let warning = Warning::new(WarningKind::LeftOut, text).at(&place);
        net.note = Some(warning.to_string());
        warnings.push(warning);
    }
    net.topology.nodes = kinds;
    Ok(net)
}

fn link<'a>(
    tokens: &mut Tokens<'a>,
    nodes: u32,
    i: u32,
    links: u32,
    fidelity: Fidelity,
) -> Result<(LinkSpec, Token<'a>), Problem> {
    let of = format!("of link {} of {links}", i + 1);
    let first = tokens.word(&format!("the first node {of}"))?;
    let a = node(tokens, &first, nodes)?;
    let second = tokens.word(&format!("the second node {of}"))?;
    let b = node(tokens, &second, nodes)?;
    let rate: BitRate = tokens.value(&format!("the rate {of}"))?;
    let delay = tokens.word(&format!("the delay {of}"))?;
    let delay = span(tokens, &delay, fidelity)?;
    let error = tokens.word(&format!("the error rate {of}"))?;
    let error_rate: f64 = tokens.read(&error, "an error rate")?;
    if error_rate > 1.0 {
        return Err(
            Problem::new(format!("the error rate {} is more than 1", error.text)).at(&tokens.place(&error)),
        );
    }
    let whole = Token {
        text: "",
        span: first.span.start..error.span.end,
    };
    let spec = LinkSpec {
        a: NodeId(a),
        b: NodeId(b),
        rate,
        delay,
        error_rate,
    };
    Ok((spec, whole))
}

fn node(tokens: &Tokens<'_>, token: &Token<'_>, nodes: u32) -> Result<u32, Problem> {
    let id: u32 = tokens.read(token, "a node")?;
    if id >= nodes {
        let range = if nodes == 0 {
            "none".to_string()
        } else {
            format!("0 to {}", nodes - 1)
        };
        return Err(Problem::new(format!("there is no node {id}: nodes are {range}"))
            .at(&tokens.place(token))
            .label("not a node"));
    }
    Ok(id)
}

fn span(tokens: &Tokens<'_>, token: &Token<'_>, fidelity: Fidelity) -> Result<Span, Problem> {
    quantities::span(token.text, fidelity).ok_or_else(|| {
        Problem::new(format!(
            "`{}` is not a delay: expected a time, such as 1000ns or 0.001ms",
            token.text
        ))
        .at(&tokens.place(token))
        .label("expected a time, such as 1000ns")
    })
}
