//! Construction of a network's switches.

use paceline_congestion::registry::ActiveScheme;
use paceline_kernel::Span;
use paceline_kernel::ids::List;
use paceline_kernel::rng::Purpose;

use crate::core::port::Ports;
use crate::core::random::PortStreams;
use crate::ids::SwitchId;
use crate::switch::Switches;
use crate::switch::assist::Assists;
use crate::switch::isolated_flows::Isolated;
use crate::switch::notice_table::Notices;
use crate::switch::pint::PintPorts;
use crate::switch::shared_buffer::{BufferRules, SwitchBuffer};
use crate::switch::spread::Spreading;
use crate::switch::telemetry::Telemetry;
use crate::switch::ties::TieWatch;
use crate::switch::watchdog::Watchdog;
use crate::world::classes::{Classes, STRICT};
use crate::world::links::Profiles;
use paceline_run::spec::{FlowControl, NodeId, NodeKind, RunSpec};

impl Switches {
    /// Creates the switches of a run that was checked. `rtt` is the network's longest round trip, and `traced` is true
    /// if every packet is traced.
    pub(crate) fn new(
        spec: &RunSpec,
        schemes: &[ActiveScheme],
        ports: &Ports,
        profiles: &Profiles,
        classes: &Classes,
        rtt: Span,
        traced: bool,
    ) -> Self {
        let (seed, quirks) = (spec.seed, &spec.quirks);
        let int = schemes.iter().any(|scheme| scheme.needs().int);
        let multi = quirks.int_wire_precision.then_some(spec.int_multi);
        let code = spec.schemes.iter().find_map(|scheme| scheme.config.pint_code());
        let pint =
            code.map(|code| PintPorts::new(code, ports.len(), rtt, quirks.pint_approximate_logs, seed));
        let assists = Assists::of(spec, schemes, ports, profiles, classes);
        let rules = BufferRules::new(&spec.switch, classes, quirks.wrapping_threshold);
        let lossy = (STRICT + 1..classes.count() as u8).any(|class| rules.is_lossy(class));
        // Only lossy classes have a loser among simultaneous arrivals, and credits lose nothing.
        let ties =
            (lossy && spec.switch.flow_control != FlowControl::Credits).then(|| TieWatch::new(ports.len()));
        let watchdog = Watchdog::of(spec, ports, classes.count());
        let hears_arrivals =
            assists.arrivals || ties.is_some() || !spec.reconvergence.is_zero() || watchdog.is_some();
        let buffers = buffers(spec, ports, profiles);
        let notices = Notices::new(spec.switch.fast_cnp.as_ref(), ports, buffers.len());
        let answers = (notices.as_ref()).is_some_and(|notices| notices.looks_at_departures());
        let isolation = spec.switch.isolation.as_ref();
        let isolation = isolation.map(|own| Box::new(Isolated::new(own, classes, buffers.len())));
        let straight = rules.alike && pint.is_none() && !traced && !answers && isolation.is_none();
        let marks = profiles.iter().any(|profile| profile.red.is_on());
        let marking = if marks { ports.len() } else { 0 };
        Self {
            rules,
            buffers,
            spreading: Spreading::new(spec),
            telemetry: Telemetry::new(int, multi, pint),
            straight,
            plain: straight && !assists.looks_at_packets() && !hears_arrivals,
            hears_arrivals,
            ties,
            watchdog,
            notices,
            isolation,
            assists,
            mark_rng: PortStreams::new(seed, Purpose::Mark, marking),
        }
    }
}

/// Returns the shared pool of each switch: the buffer, less headroom and reserve of all ports if they are part of it.
fn buffers(spec: &RunSpec, ports: &Ports, profiles: &Profiles) -> List<SwitchId, SwitchBuffer> {
    let whole = |number: u16| {
        let tier = spec.switch.tier(number);
        SwitchBuffer {
            shared_used: 0,
            pool: tier.map_or(spec.switch.buffer, |tier| tier.buffer).get() as i64,
            is_silent: tier.is_some_and(|tier| !tier.pauses),
        }
    };
    let tier_of = spec.switch.tier_of(spec.nodes.len());
    let mut by_node: List<NodeId, SwitchBuffer> = tier_of.iter().map(|&number| whole(number)).collect();
    let on_top = |number: u16| match spec.switch.tier(number) {
        Some(tier) => tier.headroom_on_top,
        None => spec.switch.headroom_on_top,
    };
    for port in ports {
        if on_top(tier_of[port.node.0 as usize]) {
            continue;
        }
        let kept = u64::from(profiles[port.profile].headroom) + spec.switch.reserve.get();
        by_node[port.node].pool -= kept as i64;
    }
    let buffers = by_node.into_iter().zip(&spec.nodes);
    buffers
        .filter(|&(_, &kind)| kind == NodeKind::Switch)
        .map(|(buffer, _)| buffer)
        .collect()
}
