//! The receivers' halves of schemes: the one place that calls them, and the packets (CNPs) that they send.

use paceline_congestion::Mark;
use paceline_congestion::receiver::{Arrived, Cnp, Reaction};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{BitRate, Bytes, Time};

use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::ids::{FlowId, PacketId, ReceiverId};
use crate::world::World;

/// In a CNP's tag: it tells a rate, in its note.
const TELLS_RATE: u8 = 1 << 7;

const MBPS: u64 = 1_000_000;

/// What CNP `packet` says.
pub(crate) fn read_cnp(packet: &Packet) -> Cnp {
    let marks = [Mark::None, Mark::Undetermined, Mark::Congested];
    let of_tag = |mark: &Mark| *mark as u8 == packet.tag & !TELLS_RATE;
    let rate = BitRate::from_bps(u64::from(packet.note) * MBPS);
    Cnp {
        mark: marks.into_iter().find(of_tag).unwrap_or_default(),
        rate: (packet.tag & TELLS_RATE != 0).then_some(rate),
    }
}

/// A CNP that says it.
fn write_cnp(cnp: &Cnp, packet: &mut Packet) {
    packet.tag = cnp.mark as u8;
    if let Some(rate) = cnp.rate {
        packet.tag |= TELLS_RATE;
        packet.note = u32::try_from(rate.as_bps() / MBPS).unwrap_or(u32::MAX);
    }
}

impl Hosts {
    /// Data packet `id` came to a receiver that shows them: to who records their latency, and to its half of the scheme,
    /// which may say what the answer is to echo.
    #[inline(never)]
    pub(super) fn show_data(
        &mut self,
        world: &World,
        core: &mut Core,
        place: ReceiverId,
        id: PacketId,
    ) -> Option<Mark> {
        core.record_latency(id);
        self.notify_half(world, core, place, id)
    }

    fn notify_half(
        &mut self,
        world: &World,
        core: &mut Core,
        place: ReceiverId,
        id: PacketId,
    ) -> Option<Mark> {
        let packet = core.packets.get(id);
        let arrived = Arrived {
            mark: packet.mark,
            wire: Bytes::new(u64::from(packet.wire)),
            tag: packet.tag,
        };
        let sent_at = packet.sent_at;
        let half = self.receivers.list[place].half.as_mut()?;
        let reaction = half.on_data(Time::from_ps(core.now()), &arrived);
        self.carry_out(world, core, place, sent_at, reaction);
        reaction.echo
    }

    /// The time that a receiver's half asked for is over.
    pub(crate) fn receiver_timer(&mut self, world: &World, core: &mut Core, flow: FlowId) {
        let Some(place) = self.receivers.find(flow) else {
            return;
        };
        let receiver = &mut self.receivers.list[place];
        receiver.timer_runs = false;
        let Some(half) = &mut receiver.half else {
            return;
        };
        let reaction = half.on_timer(Time::from_ps(core.now()));
        self.carry_out(world, core, place, core.now(), reaction);
        let receiver = &self.receivers.list[place];
        if receiver.expected >= receiver.path.size {
            self.forget_receiver(world, place);
        }
    }

    /// A half has reacted to what set out at `sent_at`.
    fn carry_out(
        &mut self,
        world: &World,
        core: &mut Core,
        place: ReceiverId,
        sent_at: u64,
        reaction: Reaction,
    ) {
        let receiver = &mut self.receivers.list[place];
        let (flow, path) = (receiver.flow, receiver.path);
        if let Some(span) = reaction.timer {
            assert!(!receiver.timer_runs, "a receiver has one timer");
            receiver.timer_runs = true;
            let at = core.now() + span.as_ps();
            core.schedule(LaneId::WHEEL, at, Event::ReceiverTimer { flow });
        }
        if let Some(cnp) = reaction.cnp {
            let mut packet = path.control_packet(world, flow, sent_at);
            write_cnp(&cnp, &mut packet);
            let id = core.packets.insert(packet);
            self.enqueue(world, core, path.ack_port, world.ack_queue(path.ack_class), id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cnp_says_what_was_written() {
        let rates = [None, Some(BitRate::from_gbps(400)), Some(BitRate::from_bps(0))];
        for mark in [Mark::None, Mark::Undetermined, Mark::Congested] {
            for rate in rates {
                let (cnp, mut packet) = (Cnp { mark, rate }, Packet::EMPTY);
                write_cnp(&cnp, &mut packet);
                assert_eq!(read_cnp(&packet), cnp);
            }
        }
    }
}
