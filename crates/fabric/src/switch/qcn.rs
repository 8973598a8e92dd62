//! QCN in switches: a congestion point for every queue of a port that takes part, and the messages
//! that go to the senders of sampled frames.

use paceline_congestion::SwitchPart;
use paceline_congestion::assist::QcnPart;
use paceline_congestion::qcn::{CongestionPoint, PointRules};
use paceline_kernel::rng::{Purpose, Rng};

use crate::core::Core;
use crate::core::packet::Packet;
use crate::core::port::{Port, STRICT};
use crate::outcome::PacketKind;
use crate::spec::{AssistPorts, RunSpec, SchemeSpec};
use crate::switch::Switches;
use crate::world::World;
use crate::world::check::BuildError;

/// What switches of a run with QCN know.
#[derive(Clone, Debug)]
pub(crate) struct QcnSwitches {
    rules: PointRules,
    /// One for each (port, class).
    points: Vec<CongestionPoint>,
    /// A stream for each port.
    rng: Vec<Rng>,
}

/// What the run's QCN flows ask of switches.
fn asked(spec: &RunSpec) -> Result<Option<QcnPart>, BuildError> {
    let mut found = None;
    for scheme in &spec.schemes {
        let Some(SwitchPart::Qcn(part)) = scheme.config.switch_part() else {
            continue;
        };
        if found.is_some_and(|first| first != part) {
            let why = "switches run QCN with one set of `q-eq`, `w`, `sample-max`, `sample-min` and `jitter`, \
                       and there are several";
            return Err(BuildError::BadSchemes(why.into()));
        }
        found = Some(part);
    }
    Ok(found)
}

/// Whether switches can do what the run's schemes ask of them.
pub(crate) fn check(spec: &RunSpec) -> Result<(), BuildError> {
    let samples = asked(spec)?.is_some();
    let spares = |scheme: &SchemeSpec| scheme.config.switch_part() == Some(SwitchPart::NonPausedEcn);
    let why = match spec.switch.assist {
        Some(_) => return Ok(()),
        None if samples => "QCN needs switches that sample their queues, and these do not assist",
        None if spec.schemes.iter().any(spares) => {
            "PCN needs switches whose marks spare paused packets, and these do not assist"
        }
        None => return Ok(()),
    };
    Err(BuildError::BadSchemes(why.into()))
}

/// Whether a port does what schemes ask of switches.
pub(crate) fn takes_part(assist: Option<AssistPorts>, port: &Port, ports: &[Port]) -> bool {
    let between = !ports[port.peer as usize].is_host;
    match assist {
        None => false,
        Some(AssistPorts::Switches) => !port.is_host,
        Some(AssistPorts::BetweenSwitches) => !port.is_host && between,
    }
}

impl QcnSwitches {
    /// Of a run that was checked; `None` where no flow uses QCN.
    pub(crate) fn of(spec: &RunSpec, ports: &[Port], class_count: usize) -> Option<Self> {
        let rules = PointRules::new(&asked(spec).ok().flatten()?);
        let mut rng: Vec<Rng> = (0..ports.len() as u64)
            .map(|port| Rng::stream(spec.seed, Purpose::Qcn, port))
            .collect();
        let mut points = Vec::with_capacity(ports.len() * class_count);
        for (port, rng) in ports.iter().zip(&mut rng) {
            let part = takes_part(spec.switch.assist, port, ports);
            points.extend((0..class_count).map(|_| match part {
                true => CongestionPoint::new(&rules, rng),
                false => CongestionPoint::OFF,
            }));
        }
        Some(Self { rules, points, rng })
    }
}

impl Switches {
    /// A packet came in that will leave through `egress`: the switches' halves of schemes.
    #[inline(never)]
    pub(crate) fn assist(&mut self, world: &World, core: &mut Core, ingress: u32, egress: u32, id: u32) {
        if self.bolt.is_some() {
            self.bolt_ingress(world, core, ingress, egress, id);
        }
        if self.qcn.is_some() {
            self.qcn_arrival(world, core, ingress, egress, id);
        }
    }

    /// A packet joins a queue: perhaps a sample, and perhaps its sender is told.
    fn qcn_arrival(&mut self, world: &World, core: &mut Core, ingress: u32, egress: u32, id: u32) {
        let Some(qcn) = &mut self.qcn else { return };
        let packet = core.packets.get(id);
        if packet.kind != PacketKind::Data {
            return;
        }
        let size = u32::from(packet.wire);
        let place = egress as usize * core.class_count + usize::from(packet.class);
        let queue = core.queues[place].bytes + size;
        let rng = &mut qcn.rng[egress as usize];
        if let Some(fb) = qcn.points[place].arrival(&qcn.rules, queue, size, rng) {
            self.send_cnm(world, core, ingress, egress, id, fb);
        }
    }

    /// A congestion notification message to the sender of a frame, out of the port by which that came.
    #[inline(never)]
    fn send_cnm(&mut self, world: &World, core: &mut Core, ingress: u32, egress: u32, id: u32, fb: u8) {
        let packet = core.packets.get(id);
        let cnm = Packet {
            kind: PacketKind::Cnm,
            flow: packet.flow,
            qp: packet.qp,
            seq: packet.seq,
            sent_at: packet.sent_at,
            wire: world.spec.packet.cnp.get() as u16,
            // Rare enough to be looked up at every switch.
            epoch: world.old_epoch(),
            class: STRICT,
            note: u32::from(fb),
            ..Packet::EMPTY
        };
        core.counters.notices += 1;
        let cnm = core.packets.insert(cnm);
        if core.watch.closeups.on() {
            core.look_at_notice(cnm, egress);
        }
        self.enqueue(world, core, ingress, STRICT, cnm);
    }
}
