//! Control ordered sets: words of eight bytes that a port puts on the line, even within a frame.

use paceline_kernel::queue::{Entry, EventQueue, LaneId};

use crate::core::Core;
use crate::core::event::Event;
use crate::ids::PortId;
use crate::world::World;
use paceline_run::outcome::PacketKind;

impl Core {
    /// Puts a control ordered set of `bytes` on the line, and keeps the port busy for as much longer. Returns the time at
    /// which it arrives, in ps.
    pub(super) fn insert_ordered_set(
        &mut self,
        world: &World,
        port: PortId,
        kind: PacketKind,
        bytes: u16,
    ) -> u64 {
        let takes = self.time_of(world, port, u64::from(bytes));
        self.agenda.count(kind, bytes);
        self.lengthen(port, takes);
        self.now + takes + world.profiles[self.ports[port].profile].delay
    }

    /// Returns the time of `bytes` on the port's link, in ps, without framing.
    pub(super) fn time_of(&self, world: &World, port: PortId, bytes: u64) -> u64 {
        let rate = world.profiles[self.ports[port].profile].rate;
        rate.time_to_send(paceline_kernel::Bytes::new(bytes)).as_ps()
    }

    /// Makes a port busy for `takes` ps more.
    fn lengthen(&mut self, port: PortId, takes: u64) {
        let (now, tie) = (self.now, self.tie);
        let p = &self.ports[port];
        if p.free_at == EventQueue::END_OF_TIME {
            return;
        }
        let was_busy = p.is_busy(now, tie);
        let until = p.free_at.max(now) + takes;
        let what = Event::TxDone { port }.encode();
        let tie = self.agenda.ties.next(until, what);
        let p = &mut self.ports[port];
        // The end that may be pending is ignored when it comes: it is another one.
        let awaited = was_busy && p.done_pending;
        (p.free_at, p.free_tie, p.done_pending) = (until, tie, awaited);
        if awaited {
            self.agenda
                .queue
                .push(LaneId::WHEEL, Entry { at: until, tie, what });
        }
    }
}
