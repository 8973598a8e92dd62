//! `[parity.tcd-ns3]`, what networks of that simulator begin with, and what they do not have.

use paceline_congestion::registry::AnyParams;
use paceline_fabric::spec::{
    Accounted, FlowControl, FlowSpec, LinkSpec, Model, NodeId, NodeKind, PfcMode, Recovery, RunSpec,
};
use paceline_kernel::rng::Ns3Streams;
use paceline_kernel::{Bytes, Time};
use paceline_parity::tcd_ns3::TcdNs3Spec;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema;
use crate::topology::Net;

use super::Cx;
use super::fill::{fill_at, filled};
use super::numbers::above_zero;
use super::simulator::{Around, Simulator};
use super::workload::Traffic;

/// The priority of acknowledgements: no flow's.
const ACKS: u8 = 1;
/// The priority of notifications and pauses: no flow's.
const NOTIFICATIONS: u8 = 7;
/// The smallest flow: what a packet's sequence number, time stamp and spare bytes take.
const SMALLEST: Bytes = Bytes::new(24);
/// Ports of receivers are below this, each given once.
const PORTS: usize = 40_000;
/// The source port before a host's first.
const SOURCE_PORT: u32 = 49_152;
/// Random streams that its set-up takes for each node, and for each model of errors.
const OF_NODE: u64 = 6;
const OF_ERRORS: u64 = 2;
/// Ports that a switch may have.
const MOST_PORTS: usize = 1 << 12;

/// The simulator of TCD's authors.
pub(super) struct TcdNs3;

impl Simulator for TcdNs3 {
    fn name(&self) -> &'static str {
        "tcd-ns3"
    }

    fn model(
        &self,
        cx: &mut Cx<'_>,
        parity: &mut schema::Parity,
        around: Around<'_>,
    ) -> Result<Option<Model>, Problem> {
        settings(cx, parity, around).map(|spec| Some(Model::new(spec)))
    }

    fn check(&self, _cx: &Cx<'_>, run: &RunSpec) -> Result<(), Problem> {
        check(run)
    }
}

/// What the simulator is told. Flows get their ports.
fn settings(cx: &Cx<'_>, parity: &mut schema::Parity, around: Around<'_>) -> Result<TcdNs3Spec, Problem> {
    let Around {
        net, links, traffic, ..
    } = around;
    let setup_streams = give_ports(cx, net, links, traffic)?;
    let table = parity
        .tcd_ns3
        .get_or_insert_with(|| Spanned::new(0..0, schema::TcdNs3::default()))
        .get_mut();
    let chunk = filled!(table.ack_chunk: TcdNs3);
    if *chunk.get_ref() == 0 {
        let message = "ack-chunk is 0, which makes that simulator divide by zero";
        return Err(Problem::new(message).at(&cx.texts.of_value(&chunk)));
    }
    let host = |written: &Spanned<u32>| match net.topology.is_host(NodeId(*written.get_ref())) {
        true => Ok(NodeId(*written.get_ref())),
        false => Err(Problem::new(format!("node {} is no host", written.get_ref()))
            .at(&cx.texts.of_value(written))
            .label("expected a host")),
    };
    let unmanaged = filled!(table.unmanaged: TcdNs3);
    let fixed = filled!(table.fixed_rate: TcdNs3);
    let end = cx.stop;
    let placed = |order: &[u32], stops: &[Time]| order.iter().map(|&i| stops[i as usize]).collect();
    Ok(TcdNs3Spec {
        dynamic_pfc: filled!(table.dynamic_pfc: TcdNs3),
        flow_ecmp: filled!(table.flow_ecmp: TcdNs3),
        clamp_after_timer: filled!(table.clamp_after_timer: TcdNs3),
        ack_interval: filled!(table.ack_interval: TcdNs3),
        ack_chunk: chunk.into_inner(),
        unmanaged: unmanaged.iter().map(host).collect::<Result<_, _>>()?,
        fixed_rate: fixed
            .iter()
            .map(|written| fixed_rate(cx, written, host))
            .collect::<Result<_, _>>()?,
        listen_until: fill_at(&mut table.listen_until, end).into_inner(),
        stops: match cx.stops.len() == traffic.flows.len() {
            true => placed(&traffic.written, &cx.stops),
            false => Vec::new(),
        },
        setup_streams,
        flow_slots: above_zero(
            cx,
            &filled!(table.flow_slots: TcdNs3),
            "the number of slots for flows",
        )?,
        log: filled!(table.log: TcdNs3),
    })
}

fn fixed_rate(
    cx: &Cx<'_>,
    written: &Spanned<schema::FixedRate>,
    host: impl Fn(&Spanned<u32>) -> Result<NodeId, Problem>,
) -> Result<(NodeId, f64), Problem> {
    let place = cx.texts.of_value(written);
    let missing = |what: &str| Problem::new(format!("the fixed rate has no `{what}`")).at(&place);
    let node = written.get_ref().host.as_ref().ok_or_else(|| missing("host"))?;
    let factor = written
        .get_ref()
        .factor
        .as_ref()
        .ok_or_else(|| missing("factor"))?;
    // From 5 us on nothing is pushed.
    let most = 5.0 / 0.815;
    if *factor.get_ref() > 0.0 && *factor.get_ref() < most {
        return Ok((host(node)?, *factor.get_ref()));
    }
    let message = format!(
        "the factor of a fixed rate is {}: expected more than 0 and less than {most:.2}, from which on nothing is sent",
        factor.get_ref()
    );
    Err(Problem::new(message).at(&cx.texts.of_value(factor)))
}

/// Ports as that program gives them: receivers' at random, in the order of its flow file, senders' by count, in the order
/// in which flows start. Returns how many random streams its set-up has taken then.
fn give_ports(cx: &Cx<'_>, net: &Net, links: &[LinkSpec], traffic: &mut Traffic) -> Result<u64, Problem> {
    let count = traffic.flows.len();
    if count > PORTS {
        let message = format!("{count} flows in tcd-ns3 fidelity: that simulator has ports for {PORTS}");
        return Err(Problem::new(message).help("write `fidelity = \"exact\"`, or fewer flows"));
    }
    let seed = match u32::try_from(cx.seed) {
        Ok(seed) if seed > 0 => seed,
        _ => {
            let message = format!(
                "the seed {} in tcd-ns3 fidelity: ns-3 takes 1 to {}",
                cx.seed,
                u32::MAX
            );
            return Err(Problem::new(message));
        }
    };
    let switches = net.topology.switches().count();
    let lossy = links.iter().filter(|link| link.error_rate > 0.0).count();
    let models = 1 + lossy as u64;
    let mut taken = OF_NODE * net.topology.nodes.len() as u64 + switches as u64 + OF_ERRORS * models;
    let mut streams = Ns3Streams::of_seed(seed, taken);
    let mut used = vec![false; PORTS];
    let mut places = vec![0; count];
    for (place, &written) in (0u32..).zip(&traffic.written) {
        places[written as usize] = place;
    }
    for place in places {
        let port = loop {
            taken += 1;
            let port = (streams.next_f64() * PORTS as f64) as usize;
            if !std::mem::replace(&mut used[port], true) {
                break port;
            }
        };
        traffic.flows[place as usize].dport = port as u16;
        // Another goes into the jitter of its sender.
        streams.skip();
        taken += 1;
    }
    let mut counts = std::collections::BTreeMap::<NodeId, u32>::new();
    for flow in &mut traffic.flows {
        let count = counts.entry(flow.src).or_default();
        *count += 1;
        flow.sport = (SOURCE_PORT + *count) as u16;
    }
    Ok(taken)
}

/// What the simulator has not is refused.
fn check(run: &RunSpec) -> Result<(), Problem> {
    let refuse = |what: &str, help: &str| {
        let message = format!("{what} in tcd-ns3 fidelity: that simulator has none here");
        Err(Problem::new(message).help(format!("write {help}, or `fidelity = \"exact\"`")))
    };
    for scheme in &run.schemes {
        match scheme.config.params() {
            AnyParams::Dcqcn(params) if params.flavour == paceline_congestion::dcqcn::Flavour::Paper => {}
            AnyParams::None(_) => {}
            _ => {
                let message = format!(
                    "`{}` in tcd-ns3 fidelity: that simulator has `dcqcn-paper`, `dcqcn-tcd` and `none` only",
                    scheme.config.name()
                );
                return Err(Problem::new(message));
            }
        }
    }
    let FlowControl::Pfc(pfc) = run.switch.flow_control else {
        return refuse("a network without PFC", "`flow-control = \"pfc\"`");
    };
    if !matches!(pfc.mode, PfcMode::Quanta { .. }) {
        return refuse(
            "pauses without an end of their own",
            "`network.pfc.mode = \"quanta\"`",
        );
    }
    if run.nic.recovery != Recovery::GoBackN {
        return refuse("selective repeat", "`recovery = \"go-back-n\"`");
    }
    if run.nic.endpoint.is_some() {
        return refuse("hosts that take time", "no `[network.endpoint]`");
    }
    if !run.has_one_way_per_flow() {
        return refuse("load balancing but ECMP", "`load-balancing = \"ecmp\"`");
    }
    if !(run.failures.is_empty() && run.storms.is_empty() && run.routes.is_empty()) {
        return refuse("failures, pause storms or given routes", "none of these");
    }
    if run.links.iter().any(|link| link.error_rate > 0.0) {
        return refuse("links that lose packets", "error rates of 0");
    }
    if !run.dependencies.is_empty() {
        return refuse("flows that wait for others", "flows with start times");
    }
    if run.record.accounts != Accounted::None {
        return refuse("accounts of flows' time", "`accounts = \"off\"`");
    }
    check_network(run)?;
    run.flows.iter().try_for_each(check_flow)
}

fn check_network(run: &RunSpec) -> Result<(), Problem> {
    let mut degrees = vec![0; run.nodes.len()];
    for link in &run.links {
        for end in [link.a, link.b] {
            degrees[end.0 as usize] += 1;
        }
    }
    for (node, (kind, &links)) in run.nodes.iter().zip(&degrees).enumerate() {
        let most = match kind {
            NodeKind::Host => 1,
            NodeKind::Switch => MOST_PORTS,
        };
        if links > most {
            let message =
                format!("node {node} has {links} links: in tcd-ns3 fidelity expected {most} at most");
            return Err(Problem::new(message));
        }
    }
    Ok(())
}

fn check_flow(flow: &FlowSpec) -> Result<(), Problem> {
    let of = format!("a flow from {} to {} in tcd-ns3 fidelity", flow.src.0, flow.dst.0);
    if [ACKS, NOTIFICATIONS].contains(&flow.class) {
        let message = format!(
            "{of} has priority {}: {ACKS} and {NOTIFICATIONS} are those of what answers",
            flow.class
        );
        return Err(Problem::new(message).help("expected 2 to 6"));
    }
    if flow.size < SMALLEST {
        let message = format!(
            "{of} has {}: expected {SMALLEST} or more, which are headers",
            flow.size
        );
        return Err(Problem::new(message));
    }
    Ok(())
}
