//! Conversion of `[record]` to recorders.

use std::cell::LazyCell;

use paceline_fabric::spec::{Accounted, Blame, Detection, FlowControl, NodeId, RecordSpec, SwitchSpec};
use paceline_kernel::{Span, Time};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, Accounts, AutoTime, Ends, Nodes, OrOff};
use crate::topology::{Net, Topology, ends};

use super::Cx;
use super::fill::{fill_at, filled};
use super::hosts::{self, Holds};

/// Records that only some networks allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recordable {
    /// True if ports have congestion states.
    states: bool,
    credits: bool,
    /// True if queues are at the inputs of switches, in virtual lanes.
    lanes: bool,
    /// True if all flows come from traces and some of these run many times. Records tied to points in time would keep
    /// the engine from reusing earlier phases.
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

/// Returns the records to keep, and whether to write traced packets as a capture file.
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
    // A capture file without traced nodes or ports would be empty.
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

/// Returns the single ports to trace, each the end of a link.
fn trace_ports(
    cx: &Cx<'_>,
    record: &mut schema::Record,
    topology: &Topology,
) -> Result<Vec<(NodeId, NodeId)>, Problem> {
    let links = LazyCell::new(|| topology.links_by_ends());
    let port = |written: &Spanned<Ends>| {
        let (node, peer) = hosts::ends(cx, written)?;
        if links.contains_key(&ends(node, peer)) {
            return Ok((node, peer));
        }
        let [node, peer] = [node, peer].map(|node| cx.names.numbered(node.0));
        Err(
            Problem::new(format!("there is no link from {node} to {peer} to trace"))
                .at(&cx.texts.of_value(written)),
        )
    };
    let ports = record.trace_ports.get_or_insert_default();
    ports.iter().map(port).collect()
}

/// Returns the interval in which packets are traced.
fn trace_window(cx: &Cx<'_>, record: &mut schema::Record) -> Result<(Time, Time), Problem> {
    let from = filled!(record.trace_from: Record).into_inner();
    let to = fill_at(&mut record.trace_to, cx.stop);
    if from <= *to.get_ref() {
        return Ok((from, to.into_inner()));
    }
    let message = format!("tracing ends at {}, before it begins ({from})", to.get_ref());
    Err(Problem::new(message).at(&cx.texts.of_value(&to)))
}

/// Width of the first bins of `ports = "auto"`: a quarter of a round trip over typical links of 1 us.
const PORT_BIN: Span = Span::from_us(1);

/// Returns the width of the ports' first bins. Off by default under the reference's fidelity, which has no such
/// record.
fn port_bin(
    cx: &Cx<'_>,
    slot: &mut Option<Spanned<AutoTime>>,
    ports: usize,
    repeats: bool,
) -> Result<Option<Span>, Problem> {
    let default = match ports <= cx.profile().port_bins_up_to && !cx.ns3_source && !repeats {
        true => AutoTime::Auto,
        false => AutoTime::Off,
    };
    let bins = fill_at(slot, default);
    width(cx, &bins, "ports", "bin width")
}

/// Largest number of ports for which credits are sampled by default.
const PORTS_SAMPLED: usize = 64;

/// Returns the interval between samples of credits, in networks that have them.
fn credit_every(
    cx: &mut Cx<'_>,
    slot: &mut Option<Spanned<AutoTime>>,
    ports: usize,
    has_credits: bool,
) -> Result<Option<Span>, Problem> {
    let default = match ports <= PORTS_SAMPLED {
        true => AutoTime::Auto,
        false => AutoTime::Off,
    };
    let period = fill_at(slot, default);
    let every = width(cx, &period, "credits", "period")?;
    Ok(every.filter(|_| has_credits))
}

/// Returns true if latencies are recorded; only hosts of some fidelities can.
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

/// Rejects a record that needs the engine's ports in a network of another simulator.
fn check_probe<T>(cx: &Cx<'_>, written: &Spanned<T>, key: &str) -> Result<(), Problem> {
    if !cx.profile().own_network {
        return Ok(());
    }
    let problem = Problem::new(format!("`{key}` with `fidelity = \"{}\"`", cx.fidelity.name()));
    Err(problem
        .at(&cx.texts.of_value(written))
        .help("it is recorded with `fidelity = \"exact\"`, `\"ns3-hpcc\"` and `\"simai\"`"))
}

/// Returns the detail in which waits are attributed; only networks with the engine's output queues support it.
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

/// Returns true if each lost packet is recorded.
fn drops(cx: &Cx<'_>, record: &mut schema::Record) -> Result<bool, Problem> {
    let written = filled!(record.drops: Record);
    let drops = *written.get_ref();
    if drops {
        check_probe(cx, &written, "drops")?;
    }
    Ok(drops)
}

/// Returns the interval between samples of the ports' states, if there is a detector.
fn state_every(
    cx: &mut Cx<'_>,
    slot: &mut Option<Spanned<AutoTime>>,
    detects: bool,
) -> Result<Option<Span>, Problem> {
    let period = fill_at(slot, AutoTime::Auto);
    let every = width(cx, &period, "states", "period")?;
    Ok(every.filter(|_| detects))
}

/// Returns the bin width that a setting means, or `None` if it is off.
fn width(cx: &Cx<'_>, of: &Spanned<AutoTime>, key: &str, what: &str) -> Result<Option<Span>, Problem> {
    match *of.get_ref() {
        AutoTime::Auto => Ok(Some(PORT_BIN)),
        AutoTime::Off => Ok(None),
        AutoTime::Of(width) => checked(width, key, what)
            .map(Some)
            .map_err(|problem| problem.at(&cx.texts.of_value(of))),
    }
}

/// Returns the flows, out of `flows`, whose time is accounted for.
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

/// Returns a period, which must be positive, or `None` if it is off.
fn period(cx: &Cx<'_>, slot: &mut Option<Spanned<OrOff<Span>>>, key: &str) -> Result<Option<Span>, Problem> {
    let period = fill_at(slot, OrOff(None));
    let checked = (period.get_ref().0).map(|span| checked(span, key, "period"));
    checked
        .transpose()
        .map_err(|problem| problem.at(&cx.texts.of_value(&period)))
}

/// Shortest period. Nothing changes faster at a port, and a run sampled in picoseconds would not end.
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

/// Largest number of histograms in memory: one for each switch port and dump, each a few kilobytes.
const HISTOGRAMS_MAX: u64 = 1 << 22;

/// Rejects queue dumps that would not fit in memory.
fn check_dumps(cx: &Cx<'_>, record: &schema::Record, spec: &RecordSpec, ports: usize) -> Result<(), Problem> {
    let (Some(samples), Some(dumps)) = (spec.queue_every, spec.queue_dump_every) else {
        return Ok(());
    };
    let (from, to) = spec.queue_window;
    // A dump needs new samples, so the longer interval decides.
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
