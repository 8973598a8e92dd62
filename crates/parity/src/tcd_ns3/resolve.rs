//! Resolution of `[parity.tcd-ns3]`, defaults of its networks, and checks for unsupported features.

use paceline_congestion::registry::AnyParams;
use paceline_fabric::spec::{
    Accounted, EcmpHash, FlowControl, FlowSpec, LinkSpec, Model, NodeId, NodeKind, PfcMode, Quirks, Recovery,
    RunSpec,
};
use paceline_kernel::rng::Ns3Streams;
use paceline_kernel::{Bytes, Span, Time};
use paceline_scenario::Fidelity;
use paceline_scenario::guest::{
    AckClass, Around, Clock, Config, Cx, Formula, Guest, Net, OwnTable, Parity, Problem, Profile, REPRODUCED,
    Simulator, SwitchDefaults, TableRow, above_zero, fill_at,
};
use toml::Spanned;

use super::keys::{FixedRate, Keys};
use super::spec::TcdNs3Spec;
use crate::filled;

/// Returns the simulator's quirks that apply to other networks: its clock, and its ideal completion times.
pub fn quirks() -> Quirks {
    Quirks {
        truncate_to_ns: true,
        ideal_by_formula: true,
        ..Quirks::default()
    }
}

/// Returns the fidelity's registration.
pub(crate) fn guest() -> Guest {
    Guest {
        profile: PROFILE,
        table: TableRow::of::<Keys>("tcd-ns3", "settings of the simulator of TCD's authors"),
        simulator: &Steps,
    }
}

const PROFILE: Profile = Profile {
    name: "tcd-ns3",
    // Bytes that the application receives at 40 Gbit/s, plus 8, 16 or 24 us for the path, depending on the hosts'
    // numbers.
    formula: Some(Formula {
        name: "tcd-formula",
        author: "the formula of TCD's authors",
    }),
    own_network: true,
    quirks,
    clock: Clock::Cut,
    pfc_frame: 31,
    cnp: 30,
    headers: (20, 30, 0),
    scheme_headers: false,
    ack_class: AckClass(Some(ACKS)),
    ecmp_hash: EcmpHash::Shared,
    only_hash: Some("hashes alike at all switches, and has no salt"),
    switch: Some(SwitchDefaults {
        buffer: 18_000_000,
        headroom: 0,
        reserve: 0,
        pause: Span::from_us(5),
        xoff: 320 * CELL,
        xon: 318 * CELL,
    }),
    has_tiers: false,
    marks_anyway: true,
    keeps_order: true,
    states_of_tcd: true,
    ..REPRODUCED
};

/// The simulator's cell, bytes.
const CELL: u64 = 1030;
/// Priority of acknowledgements, which flows may not use.
const ACKS: u8 = 1;
/// Priority of notifications and pauses, which flows may not use.
const NOTIFICATIONS: u8 = 7;
/// Minimum size of a flow: a packet's sequence number, time stamp and spare bytes.
const SMALLEST: Bytes = Bytes::new(24);
/// Number of receivers' ports, each used once.
const PORTS: usize = 40_000;
/// Source port before a host's first one.
const SOURCE_PORT: u32 = 49_152;
/// Random streams consumed by the set-up, per node (`OF_NODE`) and per error model (`OF_ERRORS`).
const OF_NODE: u64 = 6;
const OF_ERRORS: u64 = 2;
/// Maximum number of ports of a switch.
const MOST_PORTS: usize = 1 << 12;

/// The simulator's steps of resolution.
pub(crate) struct Steps;

impl Simulator for Steps {
    fn name(&self) -> &'static str {
        "tcd-ns3"
    }

    fn of_configuration(&self, config: &Config) -> Result<Option<Box<dyn OwnTable>>, Problem> {
        Ok(Some(Box::new(of_configuration(config)?)))
    }

    fn model(
        &self,
        cx: &mut Cx<'_>,
        parity: &mut Parity,
        around: Around<'_>,
    ) -> Result<Option<Model>, Problem> {
        settings(cx, parity, around).map(|spec| Some(Model::new(spec)))
    }

    fn check(&self, _cx: &Cx<'_>, run: &RunSpec) -> Result<(), Problem> {
        check(run)
    }
}

/// Reads the simulator's settings, and assigns ports to flows.
fn settings(cx: &Cx<'_>, parity: &mut Parity, around: Around<'_>) -> Result<TcdNs3Spec, Problem> {
    let Around {
        net,
        links,
        flows,
        written,
        stops,
        ..
    } = around;
    let setup_streams = give_ports(cx, net, links, flows, written)?;
    let (_, table) = parity.table::<Keys>("tcd-ns3");
    let chunk = filled!(table.ack_chunk: Keys);
    if *chunk.get_ref() == 0 {
        let message = "ack-chunk is 0, which makes that simulator divide by zero";
        return Err(Problem::new(message).at(&cx.place(&chunk)));
    }
    let host = |written: &Spanned<u32>| match net.topology.is_host(NodeId(*written.get_ref())) {
        true => Ok(NodeId(*written.get_ref())),
        false => Err(Problem::new(format!("node {} is no host", written.get_ref()))
            .at(&cx.place(written))
            .label("expected a host")),
    };
    let unmanaged = filled!(table.unmanaged: Keys);
    let fixed = filled!(table.fixed_rate: Keys);
    let end = cx.stop();
    let placed = |order: &[u32], stops: &[Time]| order.iter().map(|&i| stops[i as usize]).collect();
    Ok(TcdNs3Spec {
        dynamic_pfc: filled!(table.dynamic_pfc: Keys),
        flow_ecmp: filled!(table.flow_ecmp: Keys),
        clamp_after_timer: filled!(table.clamp_after_timer: Keys),
        ack_interval: filled!(table.ack_interval: Keys),
        ack_chunk: chunk.into_inner(),
        unmanaged: unmanaged.iter().map(host).collect::<Result<_, _>>()?,
        fixed_rate: fixed
            .iter()
            .map(|written| fixed_rate(cx, written, host))
            .collect::<Result<_, _>>()?,
        listen_until: fill_at(&mut table.listen_until, end).into_inner(),
        stops: match stops.len() == flows.len() {
            true => placed(written, stops),
            false => Vec::new(),
        },
        setup_streams,
        flow_slots: above_zero(
            cx,
            &filled!(table.flow_slots: Keys),
            "the number of slots for flows",
        )?,
        log: filled!(table.log: Keys),
    })
}

fn fixed_rate(
    cx: &Cx<'_>,
    written: &Spanned<FixedRate>,
    host: impl Fn(&Spanned<u32>) -> Result<NodeId, Problem>,
) -> Result<(NodeId, f64), Problem> {
    let location = cx.place(written);
    let missing = |what: &str| Problem::new(format!("the fixed rate has no `{what}`")).at(&location);
    let node = written.get_ref().host.as_ref().ok_or_else(|| missing("host"))?;
    let factor = written
        .get_ref()
        .factor
        .as_ref()
        .ok_or_else(|| missing("factor"))?;
    // Nothing is pushed at intervals of 5 us or more.
    let most = 5.0 / 0.815;
    if *factor.get_ref() > 0.0 && *factor.get_ref() < most {
        return Ok((host(node)?, *factor.get_ref()));
    }
    let message = format!(
        "the factor of a fixed rate is {}: expected more than 0 and less than {most:.2}, from which on nothing is sent",
        factor.get_ref()
    );
    Err(Problem::new(message).at(&cx.place(factor)))
}

/// Assigns ports as the simulator does: receivers' ports at random, in the order of the flow file; senders' ports by
/// count, in the order of starts. Returns the number of random streams that the set-up has used.
fn give_ports(
    cx: &Cx<'_>,
    net: &Net,
    links: &[LinkSpec],
    flows: &mut [FlowSpec],
    written: &[u32],
) -> Result<u64, Problem> {
    let count = flows.len();
    if count > PORTS {
        let message = format!("{count} flows in tcd-ns3 fidelity: that simulator has ports for {PORTS}");
        return Err(Problem::new(message).help("write `fidelity = \"exact\"`, or fewer flows"));
    }
    let seed = match u32::try_from(cx.seed()) {
        Ok(seed) if seed > 0 => seed,
        _ => {
            let message = format!(
                "the seed {} in tcd-ns3 fidelity: ns-3 takes 1 to {}",
                cx.seed(),
                u32::MAX
            );
            return Err(Problem::new(message));
        }
    };
    // The set-up takes random streams for all its parts before the flows, so they are counted.
    let switches = net.topology.switches().count();
    let lossy = links.iter().filter(|link| link.error_rate > 0.0).count();
    let models = 1 + lossy as u64;
    let mut taken = OF_NODE * net.topology.nodes.len() as u64 + switches as u64 + OF_ERRORS * models;
    let mut streams = Ns3Streams::of_seed(seed, taken);
    let mut used = vec![false; PORTS];
    // Ports are drawn in the order of the file, while `flows` is sorted by start.
    let mut indices = vec![0; count];
    for (index, &written) in (0u32..).zip(written) {
        indices[written as usize] = index;
    }
    for index in indices {
        let port = loop {
            taken += 1;
            let port = (streams.next_f64() * PORTS as f64) as usize;
            if !std::mem::replace(&mut used[port], true) {
                break port;
            }
        };
        flows[index as usize].dport = port as u16;
        // The sender's jitter takes another stream.
        streams.skip();
        taken += 1;
    }
    let mut counts = std::collections::BTreeMap::<NodeId, u32>::new();
    for flow in flows {
        let count = counts.entry(flow.src).or_default();
        *count += 1;
        flow.sport = (SOURCE_PORT + *count) as u16;
    }
    Ok(taken)
}

/// Rejects features that the simulator lacks.
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

/// Converts a configuration file of the simulator to keys.
fn of_configuration(config: &Config) -> Result<Keys, Problem> {
    let fidelity = Fidelity::named(PROFILE.name).unwrap_or_default();
    let small = |key: &str, default: u64| {
        let value = config.int(key, default);
        u32::try_from(value)
            .map_err(|_| config.problem(key, format!("{key} is {value}: expected {} at most", u32::MAX)))
    };
    Ok(Keys {
        dynamic_pfc: Some(config.flag("USE_DYNAMIC_PFC_THRESHOLD", true)),
        flow_ecmp: Some(config.flag("FLOW_LEVEL_ECMP", false)),
        clamp_after_timer: Some(config.flag("CLAMP_TARGET_RATE_AFTER_TIMER", false)),
        ack_interval: Some(small("L2_ACK_INTERVAL", 0)?),
        ack_chunk: config.at("L2_CHUNK_SIZE", small("L2_CHUNK_SIZE", 0)?),
        unmanaged: Some(unmanaged(config)?),
        fixed_rate: Some(fixed_rates(config)?),
        listen_until: config.at(
            "APP_STOP_TIME",
            Time::from_ps(config.seconds("APP_STOP_TIME", "3", fidelity).as_ps()),
        ),
        flow_slots: match config.given("X_SLOTS") {
            true => config.at("X_SLOTS", small("X_SLOTS", 0)?),
            false => None,
        },
        log: None,
    })
}

/// Parses `X_NOQCN`: hosts separated by commas.
fn unmanaged(config: &Config) -> Result<Vec<Spanned<u32>>, Problem> {
    let text = config.text("X_NOQCN").unwrap_or_default();
    let node = |word: &str| word.parse().ok().and_then(|node| config.at("X_NOQCN", node));
    let list: Option<Vec<_>> = text
        .split(',')
        .filter(|word| !word.is_empty())
        .map(node)
        .collect();
    list.ok_or_else(|| {
        let message = format!("X_NOQCN is `{text}`: expected hosts with commas, such as 20,7");
        config.problem("X_NOQCN", message)
    })
}

/// Parses `X_APP`: `host:factor` pairs separated by commas.
fn fixed_rates(config: &Config) -> Result<Vec<Spanned<FixedRate>>, Problem> {
    let text = config.text("X_APP").unwrap_or_default();
    let rate = |word: &str| {
        let (host, factor) = word.split_once(':')?;
        let rate = FixedRate {
            host: config.at("X_APP", host.parse().ok()?),
            factor: config.at("X_APP", factor.parse().ok()?),
        };
        config.at("X_APP", rate)
    };
    let list: Option<Vec<_>> = text
        .split(',')
        .filter(|word| !word.is_empty())
        .map(rate)
        .collect();
    list.ok_or_else(|| {
        let message = format!("X_APP is `{text}`: expected host:factor with commas, such as 20:4,61:0.83");
        config.problem("X_APP", message)
    })
}
