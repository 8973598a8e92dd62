//! Topology files of ns-3 programs.

use std::ops::Range;

use paceline_fabric::spec::{LinkSpec, NodeId, NodeKind};
use paceline_kernel::BitRate;
use paceline_kernel::sorted::SortedMap;

use crate::diagnostics::{Diagnostics, Problem, Problems, Source};
use crate::schema::Fidelity;
use crate::topology::Net;
use crate::warning::{Warning, WarningKind};

use super::quantities;
use super::tokens::{Token, Tokens};

/// Upper limit that only a typing error exceeds; more nodes would exhaust memory.
const MOST_NODES: u32 = 10_000_000;
/// Number of faulty lines reported per file: a file of another kind has a problem in each line.
pub(crate) const MOST_PROBLEMS: usize = 20;

/// Format of a topology's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// Counts `nodes switches links`, of HPCC's ns-3 and most of its relatives.
    Three,
    /// Counts `nodes switches ToRs links`, optionally with two capacities: ns3-datacenter.
    Tors,
    /// Counts `nodes gpus-per-server nvswitches switches links gpu-type`, optionally with one more number: SimAI.
    Gpus,
}

impl Header {
    /// Determines the format from the number and type of the words in the first line.
    pub(crate) fn of(source: &Source) -> Self {
        let mut lines = source.text().lines().map(str::split_whitespace);
        let first: Vec<&str> = lines
            .by_ref()
            .map(Iterator::collect)
            .find(|words: &Vec<&str>| !words.is_empty())
            .unwrap_or_default();
        let second = lines.next().map_or(0, Iterator::count);
        let numbers: Vec<Option<usize>> = first.iter().map(|word| word.parse().ok()).collect();
        match numbers[..] {
            [Some(_), Some(_), Some(_), Some(_), Some(_), None, ..] if first.len() <= 7 => Self::Gpus,
            // After three counts, the switches may be on the same line; the next line is then a link.
            [Some(_), Some(switches), Some(tors), Some(_)]
                if tors <= switches && (second != 5 || switches == 5) =>
            {
                Self::Tors
            }
            [Some(_), Some(switches), Some(tors), Some(_), Some(_), Some(_)]
                if tors <= switches && second == switches =>
            {
                Self::Tors
            }
            _ => Self::Three,
        }
    }

    const fn columns(self) -> &'static str {
        match self {
            Self::Three => "nodes switches links",
            Self::Tors => "nodes switches ToRs links",
            Self::Gpus => "nodes gpus-per-server nvswitches switches links gpu-type",
        }
    }
}

/// Counts in the first line.
struct Counts {
    /// Format of the line.
    header: Header,
    nodes: u32,
    gpus_per_server: u32,
    nvswitches: u32,
    switches: u32,
    links: u32,
}

/// Returns true if a link leads from a node to itself.
pub(crate) fn has_loops(source: &Source) -> bool {
    let mut links = source
        .text()
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    // A line of switches may have five words, too.
    links.any(|words| words.len() == 5 && words[0] == words[1] && words[0].parse::<u32>().is_ok())
}

/// Reads a topology: a line of counts, the switches, and a line per link.
pub(crate) fn read(
    source: &Source,
    fidelity: Fidelity,
    warnings: &mut Vec<Warning>,
) -> Result<Net, Diagnostics> {
    let mut tokens = Tokens::new(source);
    let header = Header::of(source);
    let counts = counts(&mut tokens, header)?;
    if header == Header::Tors {
        let location = source.at(0..source.text().lines().next().unwrap_or_default().len());
        warnings.push(
            Warning::new(
                WarningKind::Reading,
                format!(
                    "the first line has four numbers and is read as \
         ns3-datacenter's ({}); the third is unused",
                    header.columns()
                ),
            )
            .at(&location),
        );
    }
    let mut problems = Problems::default();
    let mut kinds = vec![NodeKind::Host; counts.nodes as usize];
    let all = counts.nvswitches.saturating_add(counts.switches);
    let mut inner = Vec::new();
    for i in 0..all {
        let token = tokens.word(&format!("switch {} of {all}", i + 1))?;
        let Some(id) = problems.take(node(&tokens, &token, counts.nodes)) else {
            if problems.len() >= MOST_PROBLEMS {
                break;
            }
            continue;
        };
        kinds[id as usize] = NodeKind::Switch;
        if i < counts.nvswitches {
            inner.push(NodeId(id));
        }
    }
    let mut net = Net::default();
    for i in 0..counts.links {
        let first = tokens.word(&format!("the first node of link {} of {}", i + 1, counts.links));
        let Some(first) = problems.take(first) else { break };
        match link(&mut tokens, &first, &counts, i, fidelity) {
            Ok((link, token)) if link.a == link.b => {
                let text = format!("the link from node {} to itself is left out", link.a.0);
                warnings.push(Warning::new(WarningKind::LeftOut, text).at(&tokens.place(&token)));
            }
            Ok((link, token)) => {
                net.topology.links.push(link);
                net.locations.push(tokens.place(&token));
            }
            Err(problem) => {
                problems.push(problem);
                if problems.len() >= MOST_PROBLEMS {
                    break;
                }
                tokens.finish_line(&first);
            }
        }
    }
    // After an error, the position where the links end is uncertain.
    if problems.len() == 0
        && let Some(extra) = tokens.next()
    {
        let location = tokens.place(&extra);
        let text = format!("what follows the {} announced links is ignored", counts.links);
        let warning = Warning::new(WarningKind::LeftOut, text).at(&location);
        net.note = Some(warning.to_string());
        warnings.push(warning);
    }
    net.topology.nodes = kinds;
    inner.sort_unstable();
    inner.dedup();
    net.topology.inner = inner;
    if counts.gpus_per_server > 0 {
        servers(&mut net, counts.gpus_per_server);
    }
    problems.or(net)
}

fn counts(tokens: &mut Tokens<'_>, header: Header) -> Result<Counts, Problem> {
    let count = tokens.word("the number of nodes")?;
    let nodes: u32 = tokens.read(&count, "the number of nodes")?;
    if nodes > MOST_NODES {
        return Err(
            Problem::new(format!("{nodes} nodes: expected at most {MOST_NODES}")).at(&tokens.place(&count)),
        );
    }
    let mut counts = Counts {
        header,
        nodes,
        gpus_per_server: 0,
        nvswitches: 0,
        switches: 0,
        links: 0,
    };
    if header == Header::Gpus {
        counts.gpus_per_server = tokens.value("the number of GPUs of a server")?;
        counts.nvswitches = tokens.value("the number of NVSwitches")?;
    }
    counts.switches = tokens.value("the number of switches")?;
    if header == Header::Tors {
        tokens.word("the number of ToR switches")?;
    }
    counts.links = tokens.value("the number of links")?;
    if header != Header::Three {
        tokens.rest_of_line();
    }
    Ok(counts)
}

/// Groups the hosts into servers of `gpus` consecutive numbers, as SimAI does.
fn servers(net: &mut Net, gpus: u32) {
    let mut sets: SortedMap<u32, Vec<NodeId>> = SortedMap::new();
    for host in net.topology.hosts() {
        sets.entry(host.0 / gpus).or_default().push(host);
    }
    net.topology.groups = vec![("server", sets.into_values().collect())];
}

fn link<'a>(
    tokens: &mut Tokens<'a>,
    first: &Token<'a>,
    counts: &Counts,
    i: u32,
    fidelity: Fidelity,
) -> Result<(LinkSpec, Token<'a>), Problem> {
    let &Counts {
        header, nodes, links, ..
    } = counts;
    // Ranges of bare numbers that nobody means. In SimAI's topologies that is any: its generator writes units.
    let (slow, late) = match header {
        Header::Gpus => (f64::INFINITY, 0.0),
        Header::Three | Header::Tors => (1e6, 1.0),
    };
    let of = format!("of link {} of {links}", i + 1);
    let a = node(tokens, first, nodes)?;
    let second = tokens.word(&format!("the second node {of}"))?;
    let b = node(tokens, &second, nodes)?;
    let what = format!("the rate {of}");
    let rate = tokens.word(&what)?;
    needs_unit(tokens, &rate, 0.0..slow, "a rate with its unit, such as 100Gbps")?;
    let rate: BitRate = tokens.read(&rate, &what)?;
    let delay = tokens.word(&format!("the delay {of}"))?;
    needs_unit(
        tokens,
        &delay,
        late..f64::INFINITY,
        "a delay with its unit, such as 0.001ms",
    )?;
    let delay = quantities::span(delay.text, fidelity)
        .map_err(|why| why.problem(delay.text, "a delay", &tokens.place(&delay)))?;
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

/// Rejects numbers in this range without a unit, which ns-3 would take as bit/s or seconds.
fn needs_unit(
    tokens: &Tokens<'_>,
    token: &Token<'_>,
    wrong: Range<f64>,
    expected: &str,
) -> Result<(), Problem> {
    match token.text.parse::<f64>() {
        Ok(number) if number != 0.0 && wrong.contains(&number) => Err(Problem::new(format!(
            "`{}` has no unit: expected {expected}",
            token.text
        ))
        .at(&tokens.place(token))
        .label("no unit")),
        _ => Ok(()),
    }
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
