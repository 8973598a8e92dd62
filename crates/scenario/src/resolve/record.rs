//! From `[record]` to what is recorded.

use std::cell::LazyCell;

use paceline_fabric::spec::{Accounted, Blame, Detection, FlowControl, NodeId, RecordSpec, SwitchSpec};
use paceline_kernel::{Span, Time};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, Accounts, Nodes, OrOff, PortBins};
use crate::topology::{Net, Topology, ends};

use super::Cx;
use super::fill::{fill_at, filled};
use super::hosts::{self, Holds};

/// What there is to record in some networks only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recordable {
    /// States of ports.
    states: bool,
    credits: bool,
    /// Whether queues are at the inputs of switches, in virtual lanes.
    lanes: bool,
    /// Whether all flows are of traces and some of these are run many times: what is written down of certain times keeps the
    /// engine from taking phases from memory.
    repeats: bool,
}

impl Recordable {
    pub(super) fn of(cx: &Cx<'_>, switch: &SwitchSpec, repeats: bool) -> Self {
        Self {
            // Under NP-ECN the ports of that simulator have no states.
            states: match cx.profile().states_of_tcd {
                true => matches!(switch.detection, Detection::Tcd(_)),
                false => !switch.detectors().is_empty(),
            },
            lanes: switch.flow_control == FlowControl::Credits,
            credits: cx.profile().paced_messages || switch.flow_control == FlowControl::Credits,
            repeats,
        }
    }
}

/// What to record, and whether to write traced packets as a capture file.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    record: &mut schema::Record,
    net: &Net,
    flows: usize,
    there: Recordable,
) -> Result<(RecordSpec, bool), Problem> {
    let from = filled!(record.queue_from: Record).into_inner();
    let to = fill_at(&mut record.queue_to, cx.stop);
    if from > *to.get_ref() {
        let message = format!(
            "queue sampling ends at {}, before it begins ({from})",
            to.get_ref()
        );
        return Err(Problem::new(message).at(&cx.texts.of_value(&to)));
    }
    let ports = 2 * net.topology.links.len();
    let pcap = filled!(record.pcap: Record);
    // A capture file without anything to trace would be empty.
    let some_ports = record.trace_ports.as_ref().is_some_and(|ports| !ports.is_empty());
    let default = if pcap && !some_ports {
        Nodes::all()
    } else {
        Nodes::list([])
    };
    let trace_nodes = hosts::set(cx, net, &fill_at(&mut record.trace, default), Holds::Nodes)?;
    let trace_ports = trace_ports(cx, record, &net.topology)?;
    let trace_window = trace_window(cx, record)?;
    let spec = RecordSpec {
        queue_every: period(cx, &mut record.queue, "queue")?,
        queue_window: (from, to.into_inner()),
        queue_dump_every: period(cx, &mut record.queue_dump, "queue-dump")?,
        port_bin: port_bin(cx, &mut record.ports, ports, there.repeats)?,
        state_every: state_every(cx, &mut record.states, there.states)?,
        credit_every: credit_every(cx, &mut record.credits, ports, there.credits)?,
        rate_every: period(cx, &mut record.rates, "rates")?,
        flow_every: period(cx, &mut record.flows, "flows")?,
        flows_max: filled!(record.flows_max: Record),
        omit_pfc: !filled!(record.pfc: Record),
        trace_nodes,
        trace_ports,
        trace_window: Some(trace_window),
        rtt_samples: filled!(record.rtt_samples: Record),
        latency: latency(cx, record)?,
        halves: filled!(record.halves: Record),
        accounts: accounts(cx, record, flows, there.repeats)?,
        flow_probes: Vec::new(),
        blame: blame(cx, record, there.lanes)?,
        drops: drops(cx, record)?,
    };
    filled!(record.operations: Record);
    check_dumps(cx, record, &spec, ports)?;
    Ok((spec, pcap))
}

/// The single ports that are traced: each the end of a link.
fn trace_ports(
    cx: &Cx<'_>,
    record: &mut schema::Record,
    topology: &Topology,
) -> Result<Vec<(NodeId, NodeId)>, Problem> {
    let links = LazyCell::new(|| topology.links_by_ends());
    let port = |written: &Spanned<(u32, u32)>| {
        let (node, peer) = *written.get_ref();
        if links.contains_key(&ends(NodeId(node), NodeId(peer))) {
            return Ok((NodeId(node), NodeId(peer)));
        }
        Err(Problem::new(format!(
            "there is no link from node {node} to node {peer} to trace"
        ))
        .at(&cx.texts.of_value(written)))
    };
    let ports = record.trace_ports.get_or_insert_default();
    ports.iter().map(port).collect()
}

/// From when to when packets are traced.
fn trace_window(cx: &Cx<'_>, record: &mut schema::Record) -> Result<(Time, Time), Problem> {
    let from = filled!(record.trace_from: Record).into_inner();
    let to = fill_at(&mut record.trace_to, cx.stop);
    if from <= *to.get_ref() {
        return Ok((from, to.into_inner()));
    }
    let message = format!("tracing ends at {}, before it begins ({from})", to.get_ref());
    Err(Problem::new(message).at(&cx.texts.of_value(&to)))
}

/// The first bins of `ports = "auto"`: a quarter of a round trip over the usual links of 1 us.
const PORT_BIN: Span = Span::from_us(1);

/// The width of the ports' first bins. The reference records no such thing, and neither do runs in
/// its manner unless asked.
fn port_bin(
    cx: &Cx<'_>,
    slot: &mut Option<Spanned<PortBins>>,
    ports: usize,
    repeats: bool,
) -> Result<Option<Span>, Problem> {
    let default = match ports <= cx.profile().port_bins_up_to && !cx.ns3_source && !repeats {
        true => PortBins::Auto,
        false => PortBins::Off,
    };
    let bins = fill_at(slot, default);
    width(cx, &bins, ("ports", "bin width"))
}

/// Up to so many ports a network under credits has samples of its credits unless told otherwise.
const PORTS_SAMPLED: usize = 64;

/// How often credits are sampled where there are any.
fn credit_every(
    cx: &mut Cx<'_>,
    slot: &mut Option<Spanned<PortBins>>,
    ports: usize,
    has_credits: bool,
) -> Result<Option<Span>, Problem> {
    let default = match ports <= PORTS_SAMPLED {
        true => PortBins::Auto,
        false => PortBins::Off,
    };
    let period = fill_at(slot, default);
    let every = width(cx, &period, ("credits", "period"))?;
    Ok(every.filter(|_| has_credits))
}

/// Whether latencies are recorded: by hosts of this make.
fn latency(cx: &Cx<'_>, record: &mut schema::Record) -> Result<bool, Problem> {
    let written = filled!(record.latency: Record);
    if !written.get_ref() || cx.profile().latency {
        return Ok(*written.get_ref());
    }
    let message = format!("`latency` with `fidelity = \"{}\"`", cx.fidelity.name());
    Err(Problem::new(message)
        .at(&cx.texts.of_value(&written))
        .help("latencies are recorded with `fidelity = \"exact\"` and `\"ns3-hpcc\"`"))
}

/// Refuses a record that probes of the engine's ports make, in a network of another simulator.
fn check_probe<T>(cx: &Cx<'_>, written: &Spanned<T>, key: &str) -> Result<(), Problem> {
    if !cx.profile().own_network {
        return Ok(());
    }
    let problem = Problem::new(format!("`{key}` with `fidelity = \"{}\"`", cx.fidelity.name()));
    Err(problem
        .at(&cx.texts.of_value(written))
        .help("it is recorded with `fidelity = \"exact\"`, `\"ns3-hpcc\"` and `\"simai\"`"))
}

/// Between whom waits are accounted for: in networks whose queues are the engine's, at outputs.
fn blame(cx: &Cx<'_>, record: &mut schema::Record, lanes: bool) -> Result<Blame, Problem> {
    let written = filled!(record.blame: Record);
    let blame = *written.get_ref();
    if blame == Blame::Off {
        return Ok(blame);
    }
    check_probe(cx, &written, "blame")?;
    if lanes {
        let problem = Problem::new("`blame` with `flow-control = \"credits\"`".to_string());
        return Err(problem.at(&cx.texts.of_value(&written)).help(
            "waits are accounted for in queues at outputs; under credits switches have theirs at inputs. `paceline why` \
             tells for one flow how long it waited for credits",
        ));
    }
    Ok(blame)
}

/// Whether each lost packet is recorded.
fn drops(cx: &Cx<'_>, record: &mut schema::Record) -> Result<bool, Problem> {
    let written = filled!(record.drops: Record);
    let drops = *written.get_ref();
    if drops {
        check_probe(cx, &written, "drops")?;
    }
    Ok(drops)
}

/// How often the ports' states are sampled where something tells them.
fn state_every(
    cx: &mut Cx<'_>,
    slot: &mut Option<Spanned<PortBins>>,
    detects: bool,
) -> Result<Option<Span>, Problem> {
    let period = fill_at(slot, PortBins::Auto);
    let every = width(cx, &period, ("states", "period"))?;
    Ok(every.filter(|_| detects))
}

/// The time that is meant.
fn width(cx: &Cx<'_>, of: &Spanned<PortBins>, (key, what): (&str, &str)) -> Result<Option<Span>, Problem> {
    match *of.get_ref() {
        PortBins::Auto => Ok(Some(PORT_BIN)),
        PortBins::Off => Ok(None),
        PortBins::Of(width) => checked(width, key, what)
            .map(Some)
            .map_err(|problem| problem.at(&cx.texts.of_value(of))),
    }
}

/// Whose time to account for, of `flows` flows.
fn accounts(
    cx: &Cx<'_>,
    record: &mut schema::Record,
    flows: usize,
    repeats: bool,
) -> Result<Accounted, Problem> {
    let default = match cx.profile().accounts_by_default && !repeats {
        true => Accounts::Auto,
        false => Accounts::Off,
    };
    let written = fill_at(&mut record.accounts, default);
    if let Accounts::List(list) = written.get_ref()
        && let Some(unknown) = list.iter().find(|&&flow| flow as usize >= flows)
    {
        let message = match flows {
            0 => format!("there is no flow {unknown} to account for: there are no flows"),
            _ => format!(
                "there is no flow {unknown} to account for: flows are 0 to {}",
                flows - 1
            ),
        };
        return Err(Problem::new(message).at(&cx.texts.of_value(&written)));
    }
    Ok(written.get_ref().of(flows))
}

/// A period, which is not zero.
fn period(cx: &Cx<'_>, slot: &mut Option<Spanned<OrOff<Span>>>, key: &str) -> Result<Option<Span>, Problem> {
    let period = fill_at(slot, OrOff(None));
    let checked = (period.get_ref().0).map(|span| checked(span, key, "period"));
    checked
        .transpose()
        .map_err(|problem| problem.at(&cx.texts.of_value(&period)))
}

/// The finest period. Nothing happens faster at a port, and a run that samples in picoseconds does not end.
const FINEST: Span = Span::from_ns(1);

fn checked(span: Span, key: &str, what: &str) -> Result<Span, Problem> {
    let help = "write \"off\" to record nothing";
    match span {
        Span::ZERO => Err(Problem::new(format!("record.{key} is a {what} of zero")).help(help)),
        span if span < FINEST => Err(Problem::new(format!(
            "record.{key} is a {what} of {span}: expected {FINEST} or more"
        ))
        .help(help)),
        span => Ok(span),
    }
}

/// Histograms that are held at most: one for each port of a switch and dump, of some kilobytes.
const HISTOGRAMS_MAX: u64 = 1 << 22;

/// Refuses dumps of queues that would not fit in memory.
fn check_dumps(cx: &Cx<'_>, record: &schema::Record, spec: &RecordSpec, ports: usize) -> Result<(), Problem> {
    let (Some(samples), Some(dumps)) = (spec.queue_every, spec.queue_dump_every) else {
        return Ok(());
    };
    let (from, to) = spec.queue_window;
    let every = samples.max(dumps);
    let count = to.saturating_since(from).as_ps() / every.as_ps();
    let histograms = count.saturating_mul(ports as u64);
    if histograms <= HISTOGRAMS_MAX {
        return Ok(());
    }
    let problem = Problem::new(format!(
        "record.queue-dump = {dumps} until {to} would hold {histograms} histograms of {ports} ports; {HISTOGRAMS_MAX} is \
         the most"
    ))
    .help("dump less often, or end sampling earlier with record.queue-to");
    Err(match &record.queue_dump {
        Some(written) => problem.at(&cx.texts.of_value(written)),
        None => problem,
    })
}
