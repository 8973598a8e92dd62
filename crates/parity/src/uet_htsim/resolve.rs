//! `[parity.uet-htsim]`: the simulator's options, and its files of connections and topology.
//!
//! Such a scenario has little in common with others: switches, transport and traffic are the simulator's. The engine
//! still needs nodes, links and flows, which are described as for any other scenario.

use std::ops::Range;

use paceline_fabric::spec::Model;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use paceline_scenario::guest::{
    Cx, Flow, FlowControlKind, Given, Guest, Location, Matrix as Inputs, Net, OwnRun, Parity, Problem,
    Profile, REPRODUCED, Simulator, Source, TableRow, Wiring, suggestion,
};
use toml::Spanned;

use super::arguments::Command;
use super::derived::Derived;
use super::input::InputError;
use super::keys::{OversubscribedCc, UetHtsim as Table};
use super::model::UetModel;
use super::spec::{Matrix, Options, SenderControl, Start, Strategy, Tree, UetSpec};
use crate::filled;

/// Returns the fidelity's registration.
pub(crate) fn guest() -> Guest {
    Guest {
        profile: PROFILE,
        table: TableRow::of::<Table>(
            "uet-htsim",
            "settings of the simulator of Ultra Ethernet's transport",
        ),
        simulator: &Steps,
    }
}

const PROFILE: Profile = Profile {
    name: "uet-htsim",
    own_network: true,
    own_transport: true,
    seed: 13,
    duration: Span::from_us(1000),
    mtu: 4086,
    headers: (64, 64, 0),
    scheme_headers: false,
    flow_control: FlowControlKind::None,
    has_tiers: false,
    has_detectors: false,
    ..REPRODUCED
};

/// Keys outside its own table that such a scenario may set.
const KEYS: [&str; 12] = [
    "format",
    "name",
    "description",
    "seed",
    "duration",
    "fidelity",
    "check",
    "threads",
    "parity",
    "sweep",
    "input-format",
    "record.measures",
];
/// Tables that a resolved scenario always has, empty here.
const EMPTY: [&str; 4] = ["network", "cc", "record", "quirks"];
/// Duration of a run without an end, us: a day.
const DAY: u64 = 86_400_000_000;
const US: u64 = 1_000_000;

fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// Converts an input error to a problem that points into the text.
fn problem(error: &InputError, location: &Location) -> Problem {
    let found = Problem::new(error.message.clone())
        .at(location)
        .label(error.expected.clone());
    match error.names.is_empty() {
        true => found,
        false => found.help(suggestion(location.text(), error.names.iter().copied())),
    }
}

/// The simulator's steps of resolution.
pub(crate) struct Steps;

impl Simulator for Steps {
    fn name(&self) -> &'static str {
        "uet-htsim"
    }

    fn check_unused(&self, cx: &Cx<'_>, parity: &Parity) -> Result<(), Problem> {
        match parity.get::<Table>("uet-htsim") {
            Some(table) => take_keys(table, cx).map(|_| ()),
            None => Ok(()),
        }
    }

    fn prepare(&self, cx: &Cx<'_>, given: Given<'_>) -> Result<(), Problem> {
        prepare(cx, given)
    }

    fn own_run(
        &self,
        cx: &mut Cx<'_>,
        parity: &mut Parity,
        duration: Option<&Spanned<Span>>,
    ) -> Result<Option<OwnRun>, Problem> {
        let (_, table) = parity.table("uet-htsim");
        own_run(cx, table, duration).map(Some)
    }
}

/// Reads the options, and turns those of `arguments` into keys.
fn prepare(cx: &Cx<'_>, given: Given<'_>) -> Result<(), Problem> {
    refuse_others(cx)?;
    let (_, table) = given.parity.table::<Table>("uet-htsim");
    if let Some(text) = table.arguments.take() {
        let location = cx.place(&text);
        let command = Command::read(text.get_ref())
            .map_err(|error| problem(&error, &location.part(error.span.clone())))?;
        take_arguments(table, &command, &text.span());
        given.seed.get_or_insert(command.options.seed.into());
        let us = if command.options.end == 0 {
            DAY
        } else {
            command.options.end
        };
        given
            .duration
            .get_or_insert_with(|| unplaced(Span::from_ps(us * US)));
    }
    // After the arguments have become keys, so that contradictions between both are found.
    refuse_both(table, cx)?;
    // Read here for its errors and the number of paths; the run reads the keys once more.
    let command = take_keys(table, cx)?;
    // The strategy may have changed the number of paths.
    table.paths.get_or_insert_with(|| unplaced(command.options.paths));
    fill(table);
    Ok(())
}

/// Rejects keys of the engine's own networks and traffic, which would have no effect.
fn refuse_others(cx: &Cx<'_>) -> Result<(), Problem> {
    let is_known = |path: &str| {
        EMPTY.contains(&path)
            || KEYS.iter().any(|known| {
                path == *known
                    || path.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'))
                    || known.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
            })
    };
    let Some((path, span)) = cx.written().iter().find(|(path, _)| !is_known(path)) else {
        return Ok(());
    };
    let message = format!("`{path}` in uet-htsim fidelity: that simulator has options and files of its own");
    Err(Problem::new(message)
        .at(&cx.place_at(span.clone()))
        .label("expected only `[parity.uet-htsim]`")
        .help("`paceline explain parity.uet-htsim` lists the keys"))
}

/// Rejects keys that another key leaves without effect.
fn refuse_both(table: &Table, cx: &Cx<'_>) -> Result<(), Problem> {
    macro_rules! refuse {
        ($($key:ident by $other:ident: $why:literal;)*) => { $(
            if let (Some(value), Some(other)) = (&table.$key, &table.$other) {
                return Err(Problem::new($why)
                    .at(&cx.place(value))
                    .label("expected one of both")
                    .see(&cx.place(other), "the other one"));
            }
        )* };
    }
    refuse! {
        tiers by topology: "a topology file has its own number of tiers";
        hop_latency by topology: "a topology file has its own latencies";
        switch_latency by topology: "a topology file has its own latencies";
        queue_bdp_factor by queue: "a queue by packets and by bandwidth-delay products";
    }
    Ok(())
}

/// Copies options from `arguments` to keys that are not set.
fn take_arguments(table: &mut Table, command: &Command, at: &Range<usize>) {
    // Later errors in these keys then point at the arguments.
    let (own, usual) = (&command.options, &Options::default());
    macro_rules! take {
        ($($key:ident: $given:expr, $value:expr;)*) => { $(
            if table.$key.is_none() && $given {
                table.$key = Some(Spanned::new(at.clone(), $value));
            }
        )* };
    }
    let chooses = own.strategy != Strategy::EcmpHost;
    let plain = Command::default();
    let us = |ps: u64| ps as f64 / 1e6;
    if let Some(file) = &command.connections {
        table
            .connections
            .get_or_insert_with(|| Spanned::new(at.clone(), file.clone()));
    }
    if let Some(file) = &command.topology {
        table
            .topology
            .get_or_insert_with(|| Spanned::new(at.clone(), file.clone()));
    }
    // Without effect next to a topology file.
    let is_plain = table.topology.is_none();
    take! {
        tiers: is_plain && command.tiers != plain.tiers, command.tiers;
        hop_latency: is_plain && command.hop != plain.hop, us(command.hop);
        switch_latency: is_plain && command.switch != plain.switch, us(command.switch);
        linkspeed: own.linkspeed != usual.linkspeed, own.linkspeed;
        mtu: own.mtu != usual.mtu, own.mtu.into();
        sender_cc: own.sender_chosen || !own.sender_cc, own.sender_cc;
        receiver_cc: own.receiver_cc, true;
        sender_cc_algo: own.sender_algorithm != usual.sender_algorithm, own.sender_algorithm.name().to_string();
        load_balancing: own.balancing != usual.balancing, own.balancing.name().to_string();
        strategy: chooses, own.strategy.name().to_string();
        paths: chooses || own.paths != usual.paths, own.paths;
        cwnd: own.cwnd != usual.cwnd, own.cwnd;
        queue: own.queue.is_some(), own.queue.unwrap_or_default();
        queue_bdp_factor: own.queue_factor.is_some() && own.queue.is_none(), own.queue_factor.unwrap_or_default();
        ecn: own.ecn.is_some(), own.ecn.map(|(low, high)| vec![low, high]).unwrap_or_default();
        trim: !own.trims, false;
        trim_size: own.trim_size != usual.trim_size, own.trim_size.into();
        sack_threshold: own.sack_threshold != usual.sack_threshold, own.sack_threshold;
        target_delay: own.target_delay.is_some(), own.target_delay.unwrap_or_default();
        qa_gate: own.quick_gate != usual.quick_gate, own.quick_gate;
        accurate_base_rtt: own.accurate_base, true;
        base_rtt_on_nack: !own.base_on_nack, false;
        sleek: own.sleek, true;
        failed: own.failed != usual.failed, own.failed;
        oversubscribed_cc: own.oversubscribed, OversubscribedCc::On;
        oversubscribed_cc: own.never_oversubscribed, OversubscribedCc::Off;
        additive_increase: own.additive != usual.additive, own.additive;
        multiplicative_decrease: own.multiplicative != usual.multiplicative, own.multiplicative;
        alpha: own.averaging != usual.averaging, own.averaging;
        messages: own.messages, true;
    }
}

/// Applies all keys as if they were options, and returns the command line.
fn take_keys(table: &Table, cx: &Cx<'_>) -> Result<Command, Problem> {
    let mut command = Command::default();
    macro_rules! take {
        ($($key:ident: $flag:literal;)*) => { $(
            if let Some(value) = &table.$key {
                let text = value.get_ref().to_string();
                let taken = command.take($flag, &text);
                taken.map_err(|error| problem(&error, &cx.place(value)))?;
            }
        )* };
    }
    take! {
        tiers: "-tiers";
        hop_latency: "-hop_latency";
        switch_latency: "-switch_latency";
        linkspeed: "-linkspeed";
        mtu: "-mtu";
        sender_cc_algo: "-sender_cc_algo";
        load_balancing: "-load_balancing_algo";
        strategy: "-strat";
        paths: "-paths";
        cwnd: "-cwnd";
        queue: "-q";
        queue_bdp_factor: "-queue_size_bdp_factor";
        trim_size: "-trimsize";
        sack_threshold: "-sack_threshold";
        target_delay: "-target_q_delay";
        qa_gate: "-qa_gate";
        failed: "-failed";
        additive_increase: "-Ai";
        multiplicative_decrease: "-Md";
        alpha: "-alpha";
    }
    if let Some(value) = &table.ecn {
        let location = cx.place(value);
        let [low, high] = value.get_ref()[..] else {
            return Err(Problem::new("`ecn` has not two thresholds")
                .at(&location)
                .label("expected a list of two"));
        };
        let taken = command.take("-ecn", &format!("{low} {high}"));
        taken.map_err(|error| problem(&error, &location))?;
    }
    let is =
        |value: &Option<Spanned<bool>>, usual: bool| value.as_ref().map_or(usual, |value| *value.get_ref());
    // An option of the command line cannot be taken back, so these are set directly.
    let options = &mut command.options;
    options.sender_cc = is(&table.sender_cc, true);
    options.sender_chosen =
        options.sender_cc && (table.sender_cc.is_some() || table.sender_cc_algo.is_some());
    options.receiver_cc = is(&table.receiver_cc, false);
    options.trims = is(&table.trim, true);
    options.accurate_base = is(&table.accurate_base_rtt, false);
    options.base_on_nack = is(&table.base_rtt_on_nack, true);
    options.sleek = is(&table.sleek, false);
    options.messages = is(&table.messages, false);
    match table.oversubscribed_cc.as_ref().map(Spanned::get_ref) {
        None | Some(OversubscribedCc::Auto) => {}
        Some(OversubscribedCc::On) => options.oversubscribed = true,
        Some(OversubscribedCc::Off) => options.never_oversubscribed = true,
    }
    Ok(command)
}

/// Fills unset keys with their defaults, so that the resolved scenario shows them.
fn fill(table: &mut Table) {
    macro_rules! fill {
        ($($key:ident)*) => { $( filled!(table.$key: Table); )* };
    }
    // A topology file has its own tiers and latencies.
    if table.topology.is_none() {
        fill!(tiers hop_latency switch_latency);
    }
    fill! {
        linkspeed mtu receiver_cc load_balancing strategy cwnd trim sack_threshold accurate_base_rtt
        base_rtt_on_nack failed oversubscribed_cc messages
    }
}

/// Builds the run that the options describe.
fn own_run(cx: &mut Cx<'_>, table: &mut Table, duration: Option<&Spanned<Span>>) -> Result<OwnRun, Problem> {
    let mut command = take_keys(table, cx)?;
    let ends = cx.stop().as_ps();
    if !ends.is_multiple_of(US) {
        let location = duration.map(|duration| cx.place(duration));
        let message = format!(
            "the duration is {}: that simulator has whole microseconds",
            Span::from_ps(ends)
        );
        let found = Problem::new(message);
        return Err(location.map_or_else(|| found.clone(), |location| found.clone().at(&location)));
    }
    command.options.end = ends / US;
    command.options.seed = u32::try_from(cx.seed()).map_err(|_| {
        Problem::new(format!(
            "the seed {} is too large: expected at most {}",
            cx.seed(),
            u32::MAX
        ))
    })?;
    let (connections, matrix) = connections(cx, table, &command)?;
    // After the connections, whose number of hosts determines the tree that is generated without a file.
    let (topology, tree) = tree(cx, table, &command, &matrix, &connections)?;
    let options = command.options;
    let whole = cx.end();
    let set = Derived::new(&options, &tree).map_err(|misfit| {
        let location = match misfit.flag {
            "-ecn" => table.ecn.as_ref().map(|value| cx.place(value)),
            "-cwnd" => table.cwnd.as_ref().map(|value| cx.place(value)),
            "-trimsize" => table.trim_size.as_ref().map(|value| cx.place(value)),
            _ => table.queue_bdp_factor.as_ref().map(|value| cx.place(value)),
        };
        Problem::new(misfit.message)
            .at(&location.unwrap_or(whole))
            .label(misfit.expected)
    })?;
    if options.end == DAY && set.oversubscribed.is_some() {
        let message =
            "pacers that adapt to an oversubscribed network never come to rest: the run has to have an end";
        return Err(Problem::new(message).help("set `duration`"));
    }
    let scheme = name(&options);
    let net = network(&tree);
    let (order, flows) = flows(&matrix);
    if let Some(topology) = topology {
        let file = cx.keep("topology", "topo", &topology);
        table.topology = Some(unplaced(file));
    }
    table.connections = Some(unplaced(cx.keep("connections", "cm", &connections)));
    let spec = UetSpec {
        options,
        matrix,
        tree,
    };
    Ok(OwnRun {
        net,
        flows,
        connections,
        model: Model::new(UetModel { spec, flows: order }),
        scheme,
    })
}

/// Returns the name of the congestion control for the results table.
fn name(options: &Options) -> &'static str {
    match (options.sender_cc, options.receiver_cc, options.sender_algorithm) {
        (false, true, _) => "rccc",
        (false, false, _) => "none",
        (true, true, SenderControl::Nscc) => "nscc-rccc",
        (true, true, SenderControl::Dctcp) => "dctcp-rccc",
        (true, true, SenderControl::Constant) => "constant-rccc",
        (true, false, SenderControl::Nscc) => "nscc",
        (true, false, SenderControl::Dctcp) => "dctcp",
        (true, false, SenderControl::Constant) => "constant",
    }
}

fn connections(cx: &mut Cx<'_>, table: &Table, command: &Command) -> Result<(Source, Matrix), Problem> {
    let Some(path) = &table.connections else {
        return Err(Problem::new("the scenario has no connection matrix")
            .at(&cx.end())
            .help("set `connections = \"file.cm\"` in `[parity.uet-htsim]`, or `-tm file.cm` in its `arguments`"));
    };
    let source = cx.read(path, "the connection matrix")?;
    let matrix = Matrix::read(source.text(), command.options.messages)
        .map_err(|error| problem(&error, &source.at(error.span.clone())))?;
    Ok((source, matrix))
}

fn tree(
    cx: &mut Cx<'_>,
    table: &Table,
    command: &Command,
    matrix: &Matrix,
    connections: &Source,
) -> Result<(Option<Source>, Tree), Problem> {
    let Some(path) = &table.topology else {
        let tree = command.plain_tree(matrix.hosts).map_err(|next| {
            Problem::new(format!(
                "no fat tree of {} tiers has {} hosts",
                command.tiers, matrix.hosts
            ))
            .at(&connections.at(0..0))
            .label(format!("expected {next} nodes, or a topology file"))
        })?;
        return Ok((None, tree));
    };
    let source = cx.read(path, "the topology")?;
    let tree = Tree::read(source.text()).map_err(|error| problem(&error, &source.at(error.span.clone())))?;
    if tree.hosts != matrix.hosts {
        let message = format!(
            "the topology has {} hosts, the connection matrix {}",
            tree.hosts, matrix.hosts
        );
        return Err(Problem::new(message)
            .at(&connections.at(0..0))
            .label(format!("expected `Nodes {}`", tree.hosts)));
    }
    Ok((Some(source), tree))
}

/// Builds the engine's nodes and links.
fn network(tree: &Tree) -> Net {
    let wiring = Wiring {
        hosts: tree.hosts,
        hosts_per_tor: tree.hosts_per_tor,
        tors_per_pod: tree.tors_per_pod,
        pods: tree.pods,
        aggs_per_pod: tree.aggs_per_pod,
        cores_per_agg: tree.cores_per_agg,
        bundles: tree.bundles,
        rates: tree.rates.map(BitRate::from_bps),
        links: tree.links.map(Span::from_ps),
        switches: tree.switches.map(Span::from_ps),
    };
    wiring.net()
}

/// Returns the flows sorted by start time, and the index of each connection's flow among them.
fn flows(matrix: &Matrix) -> (Vec<u32>, Inputs) {
    let mut list: Vec<Flow> = Vec::new();
    let mut by_id = std::collections::BTreeMap::new();
    for line in &matrix.connections {
        let size = u64::from(line.size);
        // The engine has one flow per connection, so further messages add to its size.
        if line.is_message {
            let first: usize = by_id[&line.id];
            list[first].size += Bytes::new(size);
            continue;
        }
        by_id.entry(line.id).or_insert(list.len());
        let us = match line.start {
            Start::At(us) => us,
            Start::Trigger(_) => 0,
        };
        list.push(Flow {
            src: line.src,
            dst: line.dst,
            size: Bytes::new(size),
            start: Time::from_ps(us * US),
            span: 0..0,
        });
    }
    for flow in &mut list {
        // The engine has no empty flows; one byte stands for a flow without data.
        flow.size = flow.size.max(Bytes::new(1));
    }
    let mut sorted: Vec<usize> = (0..list.len()).collect();
    // The sort is stable: flows of equal start keep the order of the connections.
    sorted.sort_by_key(|&i| list[i].start);
    let mut order = vec![0; list.len()];
    for (index, &i) in (0..).zip(&sorted) {
        order[i] = index;
    }
    let flows = Inputs {
        hosts: matrix.hosts,
        flows: list,
        dependencies: Vec::new(),
    };
    (order, flows)
}
