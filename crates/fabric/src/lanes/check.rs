//! Checks of networks under credits.

use paceline_congestion::registry::ActiveScheme;

use paceline_run::spec::{
    Binding, Blame, Cbfc, FlowControl, Forwarding, LaneSpec, MOST_LANES, Quirks, RunSpec, Scope,
};

/// Largest number of a switch's inputs: a bit each in an output's mask.
pub(super) const MOST_PORTS: usize = 64;

/// Checks a network under credits. Returns the reason if it cannot be simulated.
pub(crate) fn check(spec: &RunSpec, schemes: &[ActiveScheme]) -> Result<(), String> {
    let credits = spec.switch.flow_control == FlowControl::Credits;
    let Some(lanes) = &spec.lanes else {
        return match credits {
            true => Err("nothing is said of the credits".into()),
            false => Ok(()),
        };
    };
    if !credits {
        return Err("credits and another flow control in one network".into());
    }
    // Checked first, since the sizes below are counted in units.
    check_units(lanes)?;
    check_lanes(spec, lanes)?;
    check_ports(spec)?;
    check_rest(spec, schemes)?;
    // Every packet has to fit into a buffer and a counter, or it would wait forever.
    let longest = spec
        .packet
        .longest(schemes.iter().map(ActiveScheme::needs), lanes.first_header);
    let Ok(largest) = u16::try_from(longest.get()) else {
        return Err(format!(
            "the first packet of a message may have {longest}: expected at most {}B",
            u16::MAX
        ));
    };
    let needed = lanes.units(largest);
    // Counters limit the credits that a port knows of, however large the buffer is.
    let counted = lanes.binding.numbers() / 2;
    if counted < needed {
        return Err(format!(
            "a packet of {largest} bytes takes {needed} credits of {}, and credit counters hold at most {counted}: \
             nothing could be sent",
            lanes.unit
        ));
    }
    match lanes.buffers.iter().position(|&buffer| buffer < needed) {
        Some(lane) => Err(format!(
            "the buffer of lane {lane} has {} credits, and a packet of {largest} bytes takes {needed}: nothing could be \
             sent",
            lanes.buffers[lane]
        )),
        None => Ok(()),
    }
}

fn check_units(lanes: &LaneSpec) -> Result<(), String> {
    let sizes = [("a credit", lanes.unit), ("a flow-control packet", lanes.update)];
    if let Some((what, size)) = sizes
        .into_iter()
        .find(|(_, size)| !(1..=65_000).contains(&size.get()))
    {
        return Err(format!("{what} of {size}: expected 1B to 65000B"));
    }
    if lanes.first_header.get() > 65_000 {
        let size = lanes.first_header;
        return Err(format!(
            "a message's first packet has {size} more: expected at most 65000B"
        ));
    }
    let (Binding::Ib { period, .. } | Binding::Cbfc(Cbfc { cc_timer: period, .. })) = lanes.binding;
    if period.as_ps() == 0 {
        return Err("the period of flow-control packets is zero".into());
    }
    if let Some(cbfc) = lanes.binding.cbfc() {
        check_updates(lanes, cbfc)?;
    }
    match lanes.forwarding {
        Forwarding::CutThrough { header } if !(1..=65_000).contains(&header.get()) => Err(format!(
            "switches read {header} of a packet: expected 1B to 65000B"
        )),
        _ => Ok(()),
    }
}

fn check_updates(lanes: &LaneSpec, cbfc: &Cbfc) -> Result<(), String> {
    let (least, most) = (cbfc.cf_min, cbfc.cf_max);
    // Two updates at once would have no order.
    if least.get() < u64::from(Cbfc::CF_UPDATE) || most < least {
        return Err(format!(
            "CF_Updates at least {least} and at most {most} apart: expected {}B at least, and no more than the other",
            Cbfc::CF_UPDATE
        ));
    }
    if cbfc.scope == Scope::Port && lanes.buffers.iter().any(|&buffer| buffer != lanes.buffers[0]) {
        return Err("lanes that share a buffer have sizes of their own".into());
    }
    Ok(())
}

/// Checks that all lanes that packets use exist, and are served.
fn check_lanes(spec: &RunSpec, lanes: &LaneSpec) -> Result<(), String> {
    let count = lanes.buffers.len();
    if !(1..=usize::from(MOST_LANES)).contains(&count) {
        return Err(format!("{count} virtual lanes: expected 1 to {MOST_LANES}"));
    }
    let tables = [&lanes.arbitration.high, &lanes.arbitration.low];
    let mut entries = tables.iter().flat_map(|table| table.iter());
    if let Some((lane, _)) = entries.find(|(lane, _)| usize::from(*lane) >= count) {
        return Err(format!(
            "a table of arbitration names lane {lane}: lanes are 0 to {}",
            count - 1
        ));
    }
    for priority in spec.flow_classes().chain(spec.nic.ack_class) {
        let lane = lanes.lane_of[usize::from(priority)];
        if usize::from(lane) >= count {
            return Err(format!(
                "priority {priority} goes on lane {lane}: lanes are 0 to {}",
                count - 1
            ));
        }
        let mut entries = tables.iter().flat_map(|table| table.iter());
        if !entries.any(|&(other, weight)| other == lane && weight > 0) {
            return Err(format!(
                "no table of arbitration has a weight for lane {lane}, on which priority {priority} goes: it would never \
                 be served"
            ));
        }
    }
    Ok(())
}

fn check_ports(spec: &RunSpec) -> Result<(), String> {
    let mut degree = vec![0; spec.nodes.len()];
    for node in spec.links.iter().flat_map(|link| [link.a, link.b]) {
        degree[node.0 as usize] += 1;
    }
    match degree.iter().position(|&links| links > MOST_PORTS) {
        Some(node) => Err(format!(
            "node {node} has {} ports: under credits there may be {MOST_PORTS}",
            degree[node]
        )),
        None => Ok(()),
    }
}

/// Checks that the run has nothing that is not simulated under credits.
fn check_rest(spec: &RunSpec, schemes: &[ActiveScheme]) -> Result<(), String> {
    let bad = |why: &str| Err(why.into());
    if spec.quirks != Quirks::default() || spec.model.is_some() {
        return bad("no other simulator that Paceline is like has credits in this form");
    }
    if spec.nic.ack_class == Some(0) {
        return bad("acknowledgements in class 0, which no credits hold back: they go on a lane");
    }
    if spec.nic.endpoint.is_some() {
        return bad("hosts that take time before they answer are not simulated under credits");
    }
    if !spec.record.flow_probes.is_empty() {
        return bad("flows are not looked at closely under credits");
    }
    if spec.record.blame != Blame::Off {
        return bad(
            "who makes whom wait is accounted for in queues at outputs, and switches under credits have theirs at inputs",
        );
    }
    let asks = |scheme: &&ActiveScheme| scheme.switch_part().is_some_and(|part| part.hooks.arrivals);
    match schemes.iter().find(asks) {
        Some(scheme) => Err(format!(
            "{} has switches look at packets that arrive, which those under credits do not",
            scheme.config().scheme().title
        )),
        None => Ok(()),
    }
}
