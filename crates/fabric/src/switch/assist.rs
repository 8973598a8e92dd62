//! Switch halves of schemes: the only code that calls their hooks and carries out their verdicts.

use std::collections::BTreeMap;

use paceline_congestion::Requirements;
use paceline_congestion::detect::PortState;
use paceline_congestion::registry::ActiveScheme;
use paceline_congestion::switch::{
    Action, Egress, EgressPort, Hooks, Marking, Notify, PacketView, PayloadKind, Queue, SwitchHalves, Verdict,
};
use paceline_kernel::ids::{Id, List};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Span, Time};

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::lost::Lost;
use crate::core::packet::Packet;
use crate::core::port::{Port, Ports};
use crate::ids::{PacketId, PortId};
use crate::switch::Switches;
use crate::world::World;
use crate::world::classes::{Classes, STRICT};
use crate::world::links::{LinkProfile, Profiles};
use crate::world::signals::Signals;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::{AssistPorts, Recovery, RunSpec};

mod telling;

use telling::note;
pub(super) use telling::signal;

/// Switch halves of all schemes and detectors of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Assists {
    /// Detectors first, then schemes in the order of their names.
    halves: Vec<Half>,
    /// Random stream of each port.
    rngs: List<PortId, Rng>,
    /// True if any half has hooks for arrivals, departures, pauses.
    pub(super) arrivals: bool,
    departures: bool,
    pauses: bool,
    /// With hooks for departures: true for ports at which some half is active.
    awake: List<PortId, bool>,
}

/// The switch half of one scheme or detector, for all ports.
#[derive(Clone, Debug)]
struct Half {
    hooks: Hooks,
    /// Bits of the classes that the half watches.
    classes: u16,
    /// Number of the half's signals (`world/signals.rs`).
    signal: u8,
    /// True if the half may have packets trimmed.
    trims: bool,
    ports: Box<dyn SwitchHalves>,
}

impl Half {
    /// Returns true if the half watches a class.
    #[inline(always)]
    fn is_about(&self, class: u8) -> bool {
        self.classes >> class & 1 == 1
    }
}

/// Bits of all classes.
const ALL: u16 = u16::MAX;

/// Checks that switches can do what the run's schemes require. Returns the reason if they cannot.
pub(crate) fn check(spec: &RunSpec, schemes: &[ActiveScheme]) -> Result<(), String> {
    for (i, scheme) in schemes.iter().enumerate() {
        let (Some(part), config) = (scheme.switch_part(), scheme.config()) else {
            continue;
        };
        let title = config.scheme().title;
        if spec.switch.assist.is_none() {
            let why = format!("{title} needs switches {}, and these do not assist", part.task);
            return Err(why);
        }
        let differs = |other: &ActiveScheme| {
            other.config().name() == config.name() && !other.config().same_in_switches(config)
        };
        if part.trims {
            understands_trims(spec, title)?;
        }
        // One half serves all flows of a scheme, so that two sets of switch parameters contradict each other.
        if schemes[..i].iter().any(differs) {
            let names: Vec<String> = part.params.iter().map(|name| format!("`{name}`")).collect();
            let (last, others) = names.split_last().expect("what differs has a name");
            let names = format!("{} and {last}", others.join(", "));
            let why = format!("switches run {title} with one set of {names}, and there are several");
            return Err(why);
        }
    }
    Ok(())
}

/// Checks that receivers understand trimmed packets.
fn understands_trims(spec: &RunSpec, title: &str) -> Result<(), String> {
    let own = match spec.nic.recovery {
        Recovery::GoBackN | Recovery::SelectiveRepeat(_) | Recovery::Rud(_) => spec.model.is_none(),
    };
    match own {
        true => Ok(()),
        false => Err(format!(
            "{title} has packets trimmed, and no receiver of this network understands that"
        )),
    }
}

/// Returns true if a port runs the switch halves of schemes.
fn takes_part(assist: Option<AssistPorts>, port: &Port, ports: &Ports) -> bool {
    let between = !ports[port.peer].is_host;
    match assist {
        None => false,
        Some(AssistPorts::Switches) => !port.is_host,
        Some(AssistPorts::BetweenSwitches) => !port.is_host && between,
    }
}

/// Returns the bytes of the buffer that a queue fills: the smallest lane's, or the switch's.
fn buffer_of_queue(spec: &RunSpec) -> u32 {
    let bytes = match &spec.lanes {
        Some(lanes) => lanes.unit.get() * u64::from(lanes.buffers.iter().copied().min().unwrap_or(0)),
        None => spec.switch.buffer.get(),
    };
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Describes an egress port whose full packets have `full` bytes.
fn egress_port(profile: &LinkProfile, full: u16, (classes, buffer): (usize, u32)) -> EgressPort {
    EgressPort {
        classes,
        full_packet: Span::from_ps(profile.serialise(full).tx),
        full_bytes: u32::from(full),
        rate: profile.rate,
        delay: Span::from_ps(profile.delay),
        red: profile.red,
        buffer,
    }
}

impl Assists {
    /// Creates the halves of a run that was checked.
    pub(super) fn of(
        spec: &RunSpec,
        schemes: &[ActiveScheme],
        ports: &Ports,
        profiles: &Profiles,
        classes: &Classes,
    ) -> Self {
        let mut assists = Self::default();
        if spec.model.is_some() {
            // Such a model has ports that run their part of schemes themselves.
            return assists;
        }
        let asking: BTreeMap<&str, &ActiveScheme> = schemes
            .iter()
            .filter(|scheme| scheme.switch_part().is_some())
            .map(|scheme| (scheme.config().name(), scheme))
            .collect();
        let detectors = spec.switch.detectors();
        if asking.is_empty() && detectors.is_empty() {
            return assists;
        }
        // Each port has its own stream, so that results do not depend on the order of ports, or on parts.
        let stream = |port| Rng::stream(spec.seed, Purpose::Switch, port);
        assists.rngs = (0..ports.len() as u64).map(stream).collect();
        // Ports that take part, with the size of full packets under the scheme's headers.
        let part = |needs: &Requirements, assist| -> Vec<Option<EgressPort>> {
            let full = spec.packet.mtu.get() as u16 + spec.packet.data_headers(needs);
            let queues = (classes.count(), buffer_of_queue(spec));
            let egress = |port: &Port| egress_port(&profiles[port.profile], full, queues);
            let part = |port| takes_part(assist, port, ports).then(|| egress(port));
            ports.iter().map(part).collect()
        };
        for (priorities, detector) in detectors {
            let part = part(&Requirements::default(), Some(AssistPorts::Switches));
            let halves = detector.halves(&part, assists.rngs.as_mut_slice());
            assists.add(Half {
                hooks: detector.hooks(),
                classes: classes.of(priorities),
                signal: Signals::NONE,
                trims: false,
                ports: halves,
            });
        }
        let signals = Signals::of(schemes);
        for (name, scheme) in asking {
            let ports = part(&scheme.needs(), spec.switch.assist);
            let ports = scheme.switch_halves(&ports, assists.rngs.as_mut_slice());
            if let (Some(part), Some(ports)) = (scheme.switch_part(), ports) {
                assists.add(Half {
                    hooks: part.hooks,
                    classes: ALL,
                    signal: signals.named(name),
                    trims: part.trims,
                    ports,
                });
            }
        }
        // Ports whose halves are all inactive skip the hooks for departures.
        if assists.departures {
            let awake = |port| assists.is_someone_awake(port, Time::ZERO);
            assists.awake = ports.ids().map(awake).collect();
        }
        assists
    }

    fn add(&mut self, half: Half) {
        self.arrivals |= half.hooks.arrivals;
        self.departures |= half.hooks.departures;
        self.pauses |= half.hooks.pauses;
        self.halves.push(half);
    }

    /// Returns true if any half looks at packets that come or go.
    pub(super) fn looks_at_packets(&self) -> bool {
        self.arrivals || self.departures
    }

    /// Returns true if some half watches the departures of a port at present.
    #[inline(always)]
    pub(super) fn is_awake(&self, port: PortId) -> bool {
        self.departures && self.awake[port]
    }

    fn is_someone_awake(&self, port: PortId, now: Time) -> bool {
        let mut halves = self.halves.iter().filter(|half| half.hooks.departures);
        halves.any(|half| !half.ports.is_inactive(port.index(), now))
    }

    /// Returns a detector's state of a class whose queue has `queue` bytes; `None` without a detector.
    pub(super) fn state(&self, port: PortId, now: Time, class: u8, queue: u32) -> Option<PortState> {
        let mut halves = self.halves.iter().filter(|half| half.is_about(class));
        halves.find_map(|half| half.ports.state(port.index(), now, class, queue))
    }

    /// Returns true if no scheme or detector has a switch half.
    pub(super) fn are_none(&self) -> bool {
        self.halves.is_empty()
    }

    /// Returns the ports' streams; empty if no scheme has a half.
    pub(super) fn rngs(&self) -> &List<PortId, Rng> {
        &self.rngs
    }

    /// Notes that the link of a port has failed and its queues are lost.
    pub(super) fn link_down(&mut self, port: PortId) {
        for half in &mut self.halves {
            half.ports.on_link_down(port.index());
        }
    }
}

/// Returns the view of a packet at an egress port whose queue has `queue` bytes without it.
#[inline(always)]
fn passing(profile: &LinkProfile, packet: &Packet, queue: u32) -> PacketView {
    PacketView {
        load: match packet.kind {
            PacketKind::Data if packet.is_trimmed() => PayloadKind::Trimmed,
            PacketKind::Data => PayloadKind::Data,
            _ => PayloadKind::Control,
        },
        class: packet.class,
        wire: u32::from(packet.wire),
        takes: Span::from_ps(profile.serialise(packet.wire).tx),
        tag: packet.tag,
        mark: packet.mark,
        queue,
    }
}

/// Returns the state of an egress port, with its random stream and its link profile.
#[inline(always)]
fn egress<'a, 'w>(
    world: &'w World,
    core: &Core,
    rngs: &'a mut List<PortId, Rng>,
    port: PortId,
) -> (Egress<'a>, &'w LinkProfile) {
    let at = &core.ports[port];
    let profile = &world.profiles[at.profile];
    let egress = Egress {
        now: Time::from_ps(core.now()),
        rate: profile.rate,
        queued: at.queued,
        rng: &mut rngs[port],
    };
    (egress, profile)
}

impl Core {
    /// Returns the number of packets in a queue.
    pub(super) fn queue_length(&self, slot: (PortId, u8)) -> u32 {
        let (mut count, mut next) = (0, self.queues[slot].head);
        while next != PacketId::NONE {
            count += 1;
            next = self.packets.get(next).next;
        }
        count
    }

    fn queue(&self, port: PortId, class: u8) -> Queue {
        let slot = (port, class);
        Queue {
            bytes: self.queues[slot].bytes,
            packets: self.queue_length(slot),
        }
    }
}

impl Switches {
    /// Shows an arriving packet, which is to leave through `egress_port`, to all halves. Returns false if one of them
    /// dropped it.
    #[inline(never)]
    pub(super) fn arriving(
        &mut self,
        cx: &mut Cx<'_>,
        ingress: PortId,
        egress_port: PortId,
        id: PacketId,
    ) -> bool {
        for i in 0..self.assists.halves.len() {
            let Assists { halves, rngs, .. } = &mut self.assists;
            let half = &mut halves[i];
            if !half.hooks.arrivals {
                continue;
            }
            // Read again for each half, since the one before may have changed the packet.
            let packet = cx.core.packets.get(id);
            let queue = &cx.core.queues[(egress_port, packet.class)];
            let (mut at, profile) = egress(cx.world, cx.core, rngs, egress_port);
            let packet = passing(profile, packet, queue.bytes);
            let verdict = half.ports.on_arrival(egress_port.index(), &mut at, &packet);
            if verdict != Verdict::pass(&packet)
                && !self.carry_out(cx, (ingress, egress_port), id, i, verdict)
            {
                return false;
            }
        }
        true
    }

    /// Marks a packet that has left its queue, in which `left` bytes stay, as the halves decide.
    #[inline(never)]
    pub(super) fn departing(&mut self, cx: &mut Cx<'_>, egress_port: PortId, id: PacketId, left: u32) {
        let Assists { halves, rngs, .. } = &mut self.assists;
        let (mut at, profile) = egress(cx.world, cx.core, rngs, egress_port);
        let packet = passing(profile, cx.core.packets.get(id), left);
        let mut marking = Marking::Curve;
        let asked = |half: &&mut Half| half.hooks.departures && half.is_about(packet.class);
        for half in halves.iter_mut().filter(asked) {
            marking = marking.and(half.ports.on_departure(egress_port.index(), &mut at, &packet));
        }
        // A half that decides on marks replaces the RED curve; only `Marking::Curve` leaves it to the port.
        if let Marking::Put(mark) = marking {
            if packet.load != PayloadKind::Control {
                cx.core.mark(egress_port, id, mark);
                self.notify_of_own_mark(cx, egress_port, id);
            }
            return;
        }
        // A half may fall asleep on what it has just seen. The flag spares later departures the calls.
        let awake = self
            .assists
            .is_someone_awake(egress_port, Time::from_ps(cx.core.now()));
        self.assists.awake[egress_port] = awake;
        if profile.red.may_mark(left) {
            self.mark_by_curve(cx, egress_port, id, left);
        }
    }

    /// Notes that a pause of a port's class begins.
    #[inline]
    pub(crate) fn pause_began(&mut self, cx: &Cx<'_>, port: PortId, class: u8) {
        if !self.assists.pauses {
            return;
        }
        let Assists { halves, rngs, .. } = &mut self.assists;
        let asked = |half: &&mut Half| half.hooks.pauses && half.is_about(class);
        for half in halves.iter_mut().filter(asked) {
            let (mut at, _) = egress(cx.world, cx.core, rngs, port);
            let queue = cx.core.queues[(port, class)].bytes;
            half.ports.on_pause(port.index(), &mut at, class, queue);
        }
    }

    /// Notes that a pause of a port's class has ended.
    #[inline]
    pub(crate) fn pause_ended(&mut self, cx: &Cx<'_>, port: PortId, class: u8) {
        if !self.assists.pauses {
            return;
        }
        let Assists {
            halves, rngs, awake, ..
        } = &mut self.assists;
        let asked = |half: &&mut Half| {
            half.hooks.pauses && half.is_about(class) && half.ports.takes_part(port.index())
        };
        for half in halves.iter_mut().filter(asked) {
            let (mut at, _) = egress(cx.world, cx.core, rngs, port);
            half.ports
                .on_resume(port.index(), &mut at, class, cx.core.queue(port, class));
            // After a pause a detector has a state to follow, so it looks at departures again.
            if half.hooks.departures {
                awake[port] = true;
            }
        }
    }

    /// Takes the samples of detectors' states that are due before the event at `at`.
    pub(crate) fn sample_states(&self, core: &mut Core, at: u64, is_over: bool) {
        let Core { queues, watch, .. } = core;
        let states = &mut watch.recorder.states;
        while states.due() <= at {
            states.sample(is_over, |port, class, now| {
                let queue = queues[(port, class)].bytes;
                let state = self.assists.state(port, Time::from_ps(now), class, queue);
                state.unwrap_or_default() as u64
            });
        }
    }

    /// Carries out the verdict of a half on an arriving packet. Returns true if the packet goes on.
    #[inline(never)]
    fn carry_out(
        &mut self,
        cx: &mut Cx<'_>,
        (ingress, egress): (PortId, PortId),
        id: PacketId,
        half: usize,
        verdict: Verdict,
    ) -> bool {
        cx.core.packets.get_mut(id).tag = verdict.tag;
        // A dropped packet is not marked: marks are counted, and nobody would see this one.
        if verdict.action != Action::Drop {
            cx.core.mark(egress, id, verdict.mark);
        }
        match verdict.notify {
            Notify::Nobody => {}
            Notify::Packet => note(cx, egress, id),
            Notify::Sender(words, carrier) => {
                let mut signal = signal(cx, egress, id, carrier);
                signal.tag = self.assists.halves[half].signal;
                signal.set_words(words);
                cx.core.counters.notices += 1;
                let signal = cx.core.packets.insert(signal);
                if cx.core.watch.flow_probes.on() {
                    cx.core.observe_signal(signal, egress);
                }
                // Signals take the strict class, since they would be late behind the data that they warn of.
                self.enqueue(cx, ingress, STRICT, signal);
            }
        }
        match verdict.action {
            Action::Forward => true,
            Action::Trim => {
                assert!(
                    self.assists.halves[half].trims,
                    "a switch half trims packets, and its scheme does not say so (`SwitchSupport::trims`)"
                );
                self.trim_or_drop(cx, egress, id)
            }
            Action::Drop => {
                self.drop_packet(cx, egress, id, Lost::Buffer);
                false
            }
        }
    }

    /// Checks the invariants of the halves at all ports.
    pub(crate) fn verify_assists(&self, core: &Core) {
        for half in &self.assists.halves {
            for port in core.ports.ids() {
                let classes = 0..core.class_count() as u8;
                for class in classes.filter(|&class| half.is_about(class)) {
                    let now = Time::from_ps(core.now());
                    half.ports
                        .verify(port.index(), now, class, core.queue(port, class));
                }
            }
        }
    }
}

#[cfg(test)]
mod bolt_tests;
