//! Resolving: from a scenario as written to the run to build, with every default filled in and everything checked.
//!
//! Both kinds of input, TOML and ns-3, are resolved here, so they share all checks. Resolving changes the scenario in
//! place until nothing is absent: written out again, it is the resolved scenario, which resolves to the same run.

mod assist;
mod balancing;
mod changes;
mod context;
mod delay;
mod detection;
mod ecn;
mod endpoint;
mod fill;
mod hosts;
mod idle;
mod inherited;
mod inputs;
mod isolation;
mod lanes;
mod links;
mod listed;
mod loss;
mod models;
mod network;
mod notices;
mod numbers;
mod offered;
mod paths;
mod planes;
mod rate_factors;
mod reach;
mod record;
mod recovery;
mod room;
mod rounding;
mod scheduling;
mod schemes;
mod simulator;
mod thresholds;
mod tiers;
mod time_constants;
mod topology;
mod unresolved;
mod workload;

use std::sync::Arc;

use paceline_fabric::spec::{FlowControl, LinkSpec, RunSpec, SwitchSpec, TieOrder};
use paceline_kernel::format::FileFormat;
use paceline_kernel::sorted::SortedSet;
use paceline_kernel::{Span, Time};
use toml::Spanned;

use crate::decisions::{Decisions, EXTERNAL};
use crate::diagnostics::{Diagnostics, Problem, Source};
use crate::document::{Places, Texts};
use crate::files::Files;
use crate::groups;
use crate::link_tiers::LinkTiers;
use crate::names::NodeNames;
use crate::ns3::flows::Columns;
use crate::resolved::{Origin, Resolved};
use crate::schema::{self, EXACT, Network, Nodes, Scenario, Ties};
use crate::topology::Net;
use crate::warning::{Warning, WarningKind};

pub use context::Cx;
use fill::{fill, filled};
pub use fill::{fill_at, fill_declared, fill_value};
pub use hosts::hosts;
pub use listed::Collective;
pub use numbers::{above_zero, check_within, probability, within};
pub use simulator::{Around, Given, OwnRun, Simulator, one_way};
pub(crate) use simulator::{add as add_simulators, of as simulator_of};
pub use workload::{Inference, Job, Local};

/// Scenario and its files before resolving.
pub(crate) struct Input {
    pub(crate) scenario: Scenario,
    pub(crate) texts: Texts,
    pub(crate) files: Files,
    /// Name of the run if the scenario has none.
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) streams: bool,
    pub(crate) decided_outside: bool,
    /// Iteration whose critical path is kept; `None` for the slowest.
    pub(crate) path_of: Option<u32>,
    pub(crate) memoise: crate::Memoise,
    /// Columns of its flow file, if a configuration determines them.
    pub(crate) columns: Option<Columns>,
    /// Positions of the keys.
    pub(crate) locations: Places,
}

/// Resolves a scenario, reporting all problems found in its files together.
pub(crate) fn resolve(input: Input) -> Result<Resolved, Diagnostics> {
    let Input {
        mut scenario,
        texts,
        files,
        name,
        origin,
        warnings,
        streams,
        decided_outside,
        path_of,
        memoise,
        columns,
        locations,
    } = input;
    if decided_outside {
        scenario.decisions = None;
    }
    if scenario.name.is_empty() {
        scenario.name = name;
    }
    check_name(&scenario.name)?;
    let fidelity = fill(&mut scenario.fidelity, EXACT);
    let mut cx = Cx {
        texts: &texts,
        files: &files,
        locations: &locations,
        fidelity,
        // Seed and stop are set below: the table of a simulator may change both.
        seed: 0,
        stop: Time::ZERO,
        streams: streams && may_stream(&scenario),
        hosts_keep_connections: keeps_connections(&scenario),
        ns3_source: origin == Origin::Ns3Config,
        warnings,
        kept: Vec::new(),
        columns,
        inputs: inputs::Inputs::default(),
        stops: Vec::new(),
        operations: scenario.record.operations.unwrap_or(false),
        path_of,
        slow_hosts: Vec::new(),
        hosts_by_nic: SortedSet::new(),
        names: NodeNames::default(),
    };
    // Before defaults are filled in: the table of a simulator may set seed and duration.
    let simulator = prepare(&cx, &mut scenario)?;
    let duration = fill_at(&mut scenario.duration, fidelity.profile().duration);
    if *duration.get_ref() == Span::ZERO {
        return Err(Problem::new("the duration is zero")
            .at(&texts.of_value(&duration))
            .label("expected more than zero")
            .into());
    }
    let seed = fill(&mut scenario.seed, fidelity.profile().seed);
    // The resolved scenario could not hold a larger seed: integers in TOML are signed.
    if i64::try_from(seed).is_err() {
        return Err(Problem::new(format!(
            "the seed {seed} is too large: expected at most {}",
            i64::MAX
        ))
        .into());
    }
    cx.seed = seed;
    cx.stop = Time::from_ps(duration.get_ref().as_ps());
    changes::refuse_in_models(&cx, &scenario.network)?;
    // All files are read first, so that one error reports the problems of all.
    inputs::read(&mut cx, &scenario)?;
    // Before defaults are filled in: only settings that the user wrote are worth a warning.
    let written = idle::settings(&scenario);
    idle::tell_late(&mut cx, &scenario.network);
    let Described {
        run,
        schemes,
        collectives,
        jobs,
        services,
        link_tiers,
    } = match own_run(&mut cx, &mut scenario, simulator)? {
        Some(own) => describe_own(&mut cx, &scenario, own)?,
        None => describe(&mut cx, &mut scenario)?,
    };
    let decisions = decisions(&mut cx, &mut scenario, &run)?;
    let configs = run.schemes.iter().map(|scheme| &scheme.config);
    let named: Vec<_> = schemes.iter().map(String::as_str).zip(configs).collect();
    if !fidelity.has_own_transport() {
        scenario.cc.explicit = crate::cc::explicit(&named)?;
    }
    idle::tell(&mut cx, &written, &scenario, &run, &schemes);
    let Cx {
        warnings,
        kept,
        names,
        ..
    } = cx;
    scenario.format = Some(FileFormat);
    // Every step has filled in its defaults by now.
    let toml = crate::document::write(&scenario)
        .map_err(|error| Problem::new(format!("the resolved scenario cannot be written: {error}")))?;
    Ok(Resolved {
        name: scenario.name,
        description: scenario.description,
        scheme: schemes[0].clone(),
        schemes,
        seed,
        fidelity: scenario.fidelity.unwrap_or_default(),
        threads: scenario.threads.map_or(1, |threads| threads.get() as usize),
        memoise,
        pcap: scenario.record.pcap.unwrap_or(false),
        measures: scenario.record.measures.clone().unwrap_or_default(),
        toml: format!(
            "# Paceline {}: everything in this run has its value here.\n{toml}",
            env!("CARGO_PKG_VERSION")
        ),
        files: kept,
        named: files.named(),
        decisions,
        warnings,
        origin,
        input_format: scenario.input_format,
        sweep: scenario.sweep,
        collectives,
        jobs,
        services,
        link_tiers,
        names,
        run: run.into(),
    })
}

/// Returns the simulator that models the network instead of the engine, if any, after applying its table to the
/// scenario. Tables of other simulators are checked too, wherever they are.
fn prepare(cx: &Cx<'_>, scenario: &mut Scenario) -> Result<Option<&'static dyn Simulator>, Problem> {
    let own = simulator::of(cx.fidelity);
    for other in simulator::simulators() {
        if other.name() != cx.fidelity.name() {
            other.check_unused(cx, &scenario.parity)?;
        }
    }
    if let Some(own) = own {
        let given = Given {
            seed: &mut scenario.seed,
            duration: &mut scenario.duration,
            parity: &mut scenario.parity,
        };
        own.prepare(cx, given)?;
    }
    Ok(own)
}

/// Returns the run of a simulator with its own transport.
fn own_run(
    cx: &mut Cx<'_>,
    scenario: &mut Scenario,
    simulator: Option<&dyn Simulator>,
) -> Result<Option<OwnRun>, Problem> {
    let own = simulator.map(|own| own.own_run(cx, &mut scenario.parity, scenario.duration.as_ref()));
    own.transpose().map(Option::flatten)
}

/// Returns true if flows may be streamed, as far as that does not depend on the flows. Other simulators keep all
/// flows, a partitioned run shares a list, and records of single packets name flows that have ended.
fn may_stream(scenario: &Scenario) -> bool {
    let record = &scenario.record;
    let some_nodes = |nodes: &Nodes| !matches!(nodes, Nodes::List(list) if list.is_empty());
    let of_packets = record.pcap == Some(true)
        || record.measures.as_ref().is_some_and(|sets| !sets.is_empty())
        || record.rtt_samples == Some(true)
        || (record.trace.as_ref()).is_some_and(|nodes| some_nodes(nodes.get_ref()))
        || record.trace_ports.as_ref().is_some_and(|ports| !ports.is_empty());
    let alone = scenario.threads.is_none_or(|threads| threads.get() == 1);
    let own = scenario.fidelity.unwrap_or_default().profile();
    own.is_exact && alone && !of_packets && scenario.decisions.is_none()
}

/// Reads the decisions that the scenario names, if a flow uses them.
fn decisions(
    cx: &mut Cx<'_>,
    scenario: &mut Scenario,
    run: &RunSpec,
) -> Result<Option<Arc<Decisions>>, Problem> {
    let Some(path) = &mut scenario.decisions else {
        return Ok(None);
    };
    let location = cx.texts.of_value(path);
    if run.schemes.iter().all(|scheme| scheme.config.name() != EXTERNAL) {
        scenario.decisions = None;
        let text = format!("`decisions` is not used: no flow runs under {EXTERNAL}");
        cx.warn(WarningKind::UnusedSetting, &location, text);
        return Ok(None);
    }
    let source = cx
        .files
        .read(path.get_ref(), "the file of decisions", &location)?;
    let decisions = Decisions::read(&source)?;
    *path.get_mut() = cx.keep("decisions", "csv", &source);
    Ok(Some(Arc::new(decisions)))
}

/// Returns true if the scenario's hosts can have persistent connections. Hosts of other simulators cannot, nor can
/// those that count in bytes or have features which rule connections out; `check_connections` of the fabric lists all
/// of these.
fn keeps_connections(scenario: &Scenario) -> bool {
    let quirks = &scenario.quirks;
    let of_others = [
        quirks.lazy_qp_removal,
        quirks.wakeup_suppression,
        quirks.receiver_forgets,
        quirks.ack_threshold,
        quirks.ignore_duplicates,
        quirks.unsigned_in_flight,
        quirks.hpcc_divides_by_window,
    ];
    let chunk = scenario.network.back_to_chunk.as_ref();
    scenario.fidelity.unwrap_or_default().profile().is_exact
        && chunk.is_none_or(|chunk| chunk.get_ref().0.is_none())
        && !of_others.contains(&Some(true))
}

/// Checks that a name can be part of a folder's name.
fn check_name(name: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    if name.chars().all(plain) && !name.starts_with('.') {
        return Ok(());
    }
    Err(
        Problem::new(format!("the name `{name}` cannot be part of a folder's name"))
            .help("use letters, digits, `-`, `_`, `.` and `+`"),
    )
}

/// Describes a run whose network, flows and transport belong to another simulator: for the engine it is a scenario
/// that names files with these nodes, links and flows.
fn describe_own(cx: &mut Cx<'_>, scenario: &Scenario, own: OwnRun) -> Result<Described, Problem> {
    let mut inner = Scenario {
        name: scenario.name.clone(),
        seed: scenario.seed,
        duration: scenario.duration.clone(),
        fidelity: scenario.fidelity,
        check: scenario.check,
        topology: Some(at_nothing(schema::Topology {
            file: Some(at_nothing("topology".to_string())),
            ..schema::Topology::default()
        })),
        workload: vec![at_nothing(schema::Workload {
            file: Some(at_nothing("connections".to_string())),
            ..schema::Workload::default()
        })],
        ..Scenario::default()
    };
    inner.cc.scheme = Some(at_nothing("none".to_string()));
    cx.inputs.net = Some(inputs::NetFile {
        source: Source::new("topology", ""),
        net: own.net,
    });
    cx.inputs.flows.push_back(inputs::FlowFile {
        source: own.connections,
        flows: inputs::Flows::Matrix(own.flows),
    });
    // The files that the scenario names are the simulator's, so copies made for the inner scenario are dropped.
    let kept = std::mem::take(&mut cx.kept);
    let mut described = describe(cx, &mut inner)?;
    cx.kept = kept;
    described.run.model = Some(own.model);
    described.schemes = vec![own.scheme.to_string()];
    Ok(described)
}

/// Wraps a value that has no position in a text.
fn at_nothing<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// Run, with its labels, collectives and jobs.
struct Described {
    run: RunSpec,
    schemes: Vec<String>,
    collectives: Vec<Collective>,
    jobs: Vec<Job>,
    services: Vec<Inference>,
    link_tiers: LinkTiers,
}

/// Returns true if switches may drop packets of flows for lack of buffer. The order of simultaneous arrivals then
/// decides which packets.
fn loses(switch: &SwitchSpec, classes: &SortedSet<u8>) -> bool {
    match switch.flow_control {
        FlowControl::None => true,
        FlowControl::Credits => false,
        FlowControl::Pfc(_) => classes.iter().any(|class| switch.loss.lossless >> class & 1 == 0),
    }
}

/// Largest factor of telemetry's units, at which a unit is 128 MB.
const INT_MULTI_MAX: u32 = 1_000_000;

/// Returns the order of simultaneous events.
fn ties(cx: &Cx<'_>, scenario: &mut Scenario, loses: bool) -> TieOrder {
    let usual = match cx.profile().by_insertion {
        true => Ties::Insertion,
        false if loses => Ties::Drawn,
        false => Ties::Structural,
    };
    match (fill(&mut scenario.ties, usual), scenario.shuffle_ties) {
        (_, Some(seed)) => TieOrder::Shuffled(seed),
        (Ties::Structural, None) => TieOrder::Structural,
        (Ties::Drawn, None) => TieOrder::Drawn,
        (Ties::Insertion, None) => TieOrder::Insertion,
    }
}

/// Returns the network's links, each with the share of packets that it loses.
fn links(cx: &Cx<'_>, n: &mut Network, net: &Net) -> Result<Vec<LinkSpec>, Problem> {
    let error_rate = filled!(n.error_rate: Network);
    let error_rate = numbers::probability(cx, &error_rate, "the error rate")?;
    let mut links = net.topology.links.clone();
    // A link's own rate has precedence, as in the original simulator.
    for link in links.iter_mut().filter(|link| link.error_rate == 0.0) {
        link.error_rate = error_rate;
    }
    Ok(links)
}

/// Returns the factor of telemetry's units.
fn int_multi(cx: &Cx<'_>, n: &mut Network) -> Result<u32, Problem> {
    let factor = filled!(n.int_multi: Network);
    let message = match *factor.get_ref() {
        0 => "int-multi is zero".to_string(),
        factor if factor > INT_MULTI_MAX => {
            format!("int-multi is {factor}: expected {INT_MULTI_MAX} at most")
        }
        factor => return Ok(factor),
    };
    Err(Problem::new(message).at(&cx.texts.of_value(&factor)))
}

/// Returns the run that the scenario describes. Each step fills in the part of the scenario that it reads.
fn describe(cx: &mut Cx<'_>, scenario: &mut Scenario) -> Result<Described, Problem> {
    let quirks = scenario.quirks.fill((cx.profile().quirks)());
    let mut net = topology::resolve(cx, &mut scenario.topology)?;
    planes::apply(
        cx,
        &mut scenario.network,
        scenario.topology.as_ref().map(toml::Spanned::get_ref),
        &mut net,
    )?;
    // Before anything that depends on the rates of links.
    rate_factors::apply(cx, scenario.network.rate_factor.as_ref(), &mut net)?;
    let tiers = groups::named_tiers(&net.topology);
    let link_tiers = LinkTiers::with_tiers(&net.topology, &tiers);
    cx.names = NodeNames::with_tiers(&net.topology, &tiers);
    hosts::name(cx, scenario, &mut net)?;
    // Variants become blocks, which may have models of their own.
    schemes::variants(cx, scenario)?;
    models::attach(cx, &mut scenario.cc_blocks)?;
    // Before the workload: slow hosts stretch the computations of jobs.
    cx.slow_hosts = changes::slow_hosts(cx, &scenario.network, &net)?;
    // Afterwards, defaults of schemes look like settings of the user.
    let unsaid = inherited::Unsaid::of(scenario);
    let mut schemes = schemes::Schemes::of(cx, &mut scenario.cc, &scenario.cc_blocks)?;
    let written = workload::Written {
        workloads: &mut scenario.workload,
        jobs: &mut scenario.job,
        services: &mut scenario.inference,
    };
    let mut traffic = workload::resolve(cx, written, &net, &mut schemes)?;
    // Jobs with a cost model, and services with a simple one, send nothing through the network.
    let is_priced = |job: &Job| job.trace.is_some_and(|trace| trace.is_priced);
    if traffic.count() == 0 && traffic.services.is_empty() && !traffic.jobs.iter().any(is_priced) {
        cx.warn(WarningKind::NoFlows, None, "the scenario has no flows");
    }
    // Loss, recovery and detection depend on the classes that flows use.
    let classes = traffic.classes();
    let written = &mut scenario.network;
    let lanes = lanes::resolve(cx, written)?;
    let packet = network::packet(cx, written)?;
    let nic = network::nic(cx, written, &packet)?;
    let mut switch = network::switch(cx, written, &net, &packet, schemes.first())?;
    let failures = changes::failures(cx, written, &net)?;
    let link_changes = changes::links(cx, written, &net)?;
    let reconvergence = changes::reconvergence(
        written,
        &failures,
        lanes.is_some() || quirks.gentle_failures || cx.profile().own_network,
    );
    switch.watchdog = changes::watchdog(cx, written)?;
    let storms = paths::storms(cx, written, &net)?;
    switch.loss = loss::loss(cx, written, &packet, &classes)?;
    recovery::warn_of_silence(cx, written, &switch, &classes);
    let credits = lanes.as_ref().map(|lanes| {
        let needs = schemes.all().map(|scheme| scheme.needs());
        detection::Credits {
            binding: lanes.binding,
            full: packet.longest(needs, lanes.first_header),
        }
    });
    // Detectors replace the marking curves that the switch has from `[network.ecn]`.
    let around = detection::Around {
        net: &net,
        packet: &packet,
        classes: &classes,
        credits,
    };
    detection::resolve(cx, written, around, &mut switch)?;
    // After the rest of `[network]`, which determines what the network offers to schemes.
    switch.assist = assist::resolve(cx, written, schemes.all(), &switch)?;
    switch.fast_cnp = notices::resolve(cx, written, &net, &tiers, (switch.flow_control, schemes.all()))?;
    let used: Vec<u8> = classes.iter().copied().chain(nic.ack_class).collect();
    switch.isolation = isolation::resolve(cx, written, switch.flow_control, &used)?;
    if let Some(own) = &switch.isolation {
        // Isolated packets are lost no more than watched ones.
        switch.loss.lossless |= (switch.loss.lossless >> own.from & 1) << own.to;
    }
    let unmarked = ecn::unmarked(cx, written, &switch, schemes.all());
    cx.warnings.extend(unmarked);
    let routes = paths::routes(cx, written, &net)?;
    let links = links(cx, written, &net)?;
    let noise = links::errors(cx, written, &links, &link_tiers)?;
    offered::warn(cx, &net.topology, &packet, &traffic.drawn);
    let int_multi = int_multi(cx, written)?;
    let got = record::Recordable::of(cx, &switch, repeats_traces(scenario));
    let (record, pcap) = record::resolve(cx, &mut scenario.record, &net, traffic.count(), got)?;
    scenario.record.pcap = Some(pcap);
    // After the workload, which may be the only user of a block.
    schemes.warn_of_unused(cx)?;
    schemes.warn_of_overruled(cx);
    let (schemes, names) = schemes.finish(&mut scenario.cc);
    schemes::warn_of_unheeded(cx, &schemes, &nic);
    planes::check(cx, &scenario.network, &schemes)?;
    let (load_balancing, entropy) = balancing::resolve(cx, &mut scenario.network, &schemes, nic.recovery)?;
    let simulator = simulator::of(cx.fidelity);
    let stops = std::mem::take(&mut cx.stops);
    let around = Around {
        net: &net,
        links: &links,
        packet: &packet,
        flows: &mut traffic.flows,
        written: &traffic.written,
        stops: &stops,
        sources: std::mem::take(&mut traffic.sources),
    };
    let model = simulator.map(|own| own.model(cx, &mut scenario.parity, around));
    let model = model.transpose()?.flatten();
    let mut run = RunSpec {
        nodes: net.topology.nodes,
        links,
        failures,
        storms,
        reconvergence,
        link_changes,
        noise,
        retries: Vec::new(),
        host_changes: std::mem::take(&mut cx.slow_hosts),
        routes,
        load_balancing,
        entropy,
        ecmp_hash: network::ecmp_hash(cx, &mut scenario.network)?,
        nic,
        packet,
        int_multi,
        schemes,
        labels: traffic.labels,
        one_path: traffic.one_path,
        flows: traffic.flows,
        arrivals: traffic.arrivals,
        programs: traffic.programs,
        dependencies: traffic.dependencies,
        stop: cx.stop,
        seed: cx.seed,
        quirks,
        model,
        lanes: lanes.map(Box::new),
        ties: ties(cx, scenario, loses(&switch, &classes)),
        switch,
        record,
        check: scenario.check.unwrap_or(false),
    };
    // Buffers of lanes depend on the longest packet that any scheme sends.
    lanes::finish(cx, &mut scenario.network, &mut run)?;
    links::retry(cx, &mut scenario.network, &mut run, &link_tiers)?;
    // Round trips depend on the whole run.
    time_constants::finish(cx, &mut scenario.network, &mut run);
    unsaid.name(scenario);
    simulator.map_or(Ok(()), |own| own.check(cx, &run))?;
    delay::warn(cx, &run);
    rounding::warn(cx, &run);
    let network = &scenario.network;
    let written = [
        network.ecn.as_ref().map(toml::Spanned::span),
        network.headroom.as_ref().map(toml::Spanned::span),
    ];
    thresholds::warn(cx, &run, written);
    Ok(Described {
        run,
        schemes: names,
        collectives: traffic.collectives,
        jobs: traffic.jobs,
        services: traffic.services,
        link_tiers,
    })
}

/// Number of iterations from which reusing earlier results pays off.
const MANY_ITERATIONS: u32 = 10;

/// Returns true if all traffic is trace-driven jobs, some of which run many iterations.
fn repeats_traces(scenario: &crate::schema::Scenario) -> bool {
    let mut jobs = scenario.job.iter().map(toml::Spanned::get_ref);
    let is_by_trace = |job: &crate::schema::Job| {
        job.goal.is_some() || job.chakra.is_some() || job.simai.is_some() || job.model.is_some()
    };
    let repeats = |job: &crate::schema::Job| {
        let count = job.iterations.as_ref().map_or(1, |count| *count.get_ref());
        count >= MANY_ITERATIONS
    };
    let is_alone = scenario.workload.is_empty() && scenario.inference.is_empty();
    is_alone && jobs.clone().all(is_by_trace) && jobs.any(repeats)
}
