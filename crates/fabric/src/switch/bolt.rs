//! Bolt in switches: tokens and reports of every egress port, and the packets that take the reports
//! back.

use crate::core::Core;
use crate::core::packet::{NO_PORT, Packet};
use crate::core::port::{LinkProfile, Port, STRICT};
use crate::outcome::PacketKind;
use crate::spec::{AssistPorts, PacketFormat, RunSpec};
use crate::switch::Switches;
use crate::world::World;
use crate::world::check::BuildError;
use paceline_congestion::SwitchPart;
use paceline_congestion::assist::BoltPart;
use paceline_congestion::bolt::{BOLT, BoltPort, BoltRules, Report};

/// What switches of a run with Bolt know.
#[derive(Clone, Debug)]
pub(crate) struct BoltSwitches {
    pub(crate) rules: BoltRules,
    /// One for each port.
    pub(crate) hops: Vec<BoltHop>,
}

/// An egress port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoltHop {
    /// Its SM token is in ps: the time for which it could have sent and had nothing.
    pub(crate) state: BoltPort,
    /// Time of a full packet, in ps; 0 where the port takes no part.
    pub(crate) full: i64,
}

/// The size of a full packet of the run's Bolt flows, and what these ask of switches.
fn asked(spec: &RunSpec) -> Result<Option<(u16, BoltPart)>, BuildError> {
    let mut found: Option<(u16, BoltPart)> = None;
    for scheme in &spec.schemes {
        let Some(SwitchPart::Bolt(part)) = scheme.config.switch_part() else {
            continue;
        };
        let full = spec.packet.mtu.get() as u16 + spec.packet.data_headers(&scheme.config.needs());
        match found {
            Some((_, first)) if first != part => {
                let why = "switches run Bolt with one set of `src`, `pru`, `sm`, `threshold`, `threshold-packets` and \
                           `pru-max`, and there are several";
                return Err(BuildError::BadSchemes(why.into()));
            }
            _ => found = Some((full, part)),
        }
    }
    Ok(found)
}

/// Whether switches can do what the run's schemes ask of them.
pub(crate) fn check(spec: &RunSpec) -> Result<(), BuildError> {
    if asked(spec)?.is_some() && spec.switch.assist.is_none() {
        let why = "Bolt needs switches that run its ingress algorithm, and these do not assist";
        return Err(BuildError::BadSchemes(why.into()));
    }
    Ok(())
}

impl BoltSwitches {
    /// Of a run that was checked; `None` where no flow uses Bolt.
    pub(crate) fn of(spec: &RunSpec, ports: &[Port], profiles: &[LinkProfile]) -> Option<Self> {
        if spec.quirks.device_fifo {
            // Ports are of another make there, Bolt's part of them too.
            return None;
        }
        let (full, part) = asked(spec).ok().flatten()?;
        let assist = spec.switch.assist?;
        let takes_part = |port: &Port| {
            let between = !ports[port.peer as usize].is_host;
            !port.is_host && (between || assist == AssistPorts::Switches)
        };
        let hop = |port: &Port| BoltHop {
            state: BoltPort::default(),
            full: if takes_part(port) {
                profiles[usize::from(port.profile)].serialise(full).tx as i64
            } else {
                0
            },
        };
        Some(Self {
            rules: BoltRules {
                threshold: part.threshold.bytes(u64::from(full)),
                src: part.src,
                pru: part.pru,
                sm: part.sm,
                pru_max: part.pru_max,
            },
            hops: ports.iter().map(hop).collect(),
        })
    }
}

/// The size of an SRC: a data packet of `data_header` bytes of headers without its payload.
pub(crate) fn src_wire(packet: &PacketFormat, data_header: u16) -> u16 {
    data_header.max(packet.ack_min.get() as u16)
}

impl Switches {
    /// A packet came in that will leave through `egress`: Bolt's ingress algorithm.
    #[inline(never)]
    pub(crate) fn bolt_ingress(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: u32,
        egress: u32,
        id: u32,
    ) {
        let Some(bolt) = &mut self.bolt else {
            return;
        };
        let hop = &mut bolt.hops[egress as usize];
        if hop.full == 0 {
            return;
        }
        let packet = core.packets.get_mut(id);
        let port = &core.ports[egress as usize];
        let profile = &world.profiles[usize::from(port.profile)];
        let gained = (core.now - hop.state.last) as i64;
        hop.state.last = core.now;
        hop.state
            .supply(gained, profile.serialise(packet.wire).tx as i64, hop.full);
        if packet.kind != PacketKind::Data || packet.tag & BOLT == 0 || packet.is_trimmed() {
            return;
        }
        let queue = port.queued;
        let verdict = hop.state.judge(&bolt.rules, queue, packet.tag, hop.full);
        packet.tag = verdict.tag;
        match verdict.report {
            Report::None => {}
            Report::Sender => self.send_src(world, core, ingress, egress, id, queue),
            Report::Packet => self.note(world, core, egress, id, queue),
        }
    }

    /// SRC: headers and what the sender has to know, back the way that the packet came.
    #[inline(never)]
    fn send_src(&mut self, world: &World, core: &mut Core, ingress: u32, egress: u32, id: u32, queue: u32) {
        let packet = *core.packets.get(id);
        let known_way = packet.epoch == world.epoch;
        let src = Packet {
            kind: PacketKind::Src,
            flow: packet.flow,
            qp: packet.qp,
            seq: packet.seq,
            sent_at: packet.sent_at,
            wire: src_wire(&world.spec.packet, packet.wire - packet.payload),
            path: world.routing.turn_back(packet.path),
            epoch: if known_way { world.epoch } else { world.old_epoch() },
            class: STRICT,
            note: queue,
            note_port: core.ports[egress as usize].profile,
            ..Packet::EMPTY
        };
        core.counters.notices += 1;
        let src = core.packets.insert(src);
        if core.watch.closeups.on() {
            core.look_at_notice(src, egress);
        }
        self.enqueue(world, core, ingress, STRICT, src);
    }

    /// Without SRC the data packet carries the report: that of the port whose queue takes longest.
    fn note(&mut self, world: &World, core: &mut Core, egress: u32, id: u32, queue: u32) {
        let number = core.ports[egress as usize].profile;
        let rate = |profile: u16| u128::from(world.profiles[usize::from(profile)].rate.as_bps());
        let packet = core.packets.get(id);
        let worse = packet.note_port == NO_PORT
            || u128::from(queue) * rate(packet.note_port) > u128::from(packet.note) * rate(number);
        if worse {
            let packet = core.packets.get_mut(id);
            (packet.note, packet.note_port) = (queue, number);
            if core.watch.closeups.on() {
                core.look_at_note(id, egress);
            }
        }
    }
}

#[cfg(test)]
#[path = "bolt/tests.rs"]
mod tests;
