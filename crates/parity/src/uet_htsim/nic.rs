//! NICs: flows take turns, and control packets have priority over data.

use super::packet::NONE;
use super::sim::{Event, Sim};

/// Control packets that may be sent in a row while data waits.
const CONTROL_TURNS: u32 = 10;

impl Sim {
    /// Returns true if the flow may send now. Otherwise queues it for its turn at the NIC.
    #[inline]
    pub(super) fn may_send(&mut self, flow: u32) -> bool {
        let nic = &mut self.nics[self.conns[flow as usize].src as usize];
        if nic.busy {
            nic.waiting.push_back(flow);
        }
        !nic.busy
    }

    /// Returns the time that the NIC takes for `bytes`, ps.
    fn nic_time(&self, bytes: u64) -> u64 {
        bytes * 8_000_000_000_000 / self.set.rate
    }

    /// Marks the NIC as busy after a flow queued a data packet at its host. Follows the packet, unlike with control
    /// packets.
    #[inline]
    pub(super) fn sent_data(&mut self, host: u32, bytes: u64) {
        let nic = &mut self.nics[host as usize];
        nic.waiting.pop_front();
        nic.busy = true;
        self.after(self.nic_time(bytes), Event::Nic(host));
    }

    /// Queues a control packet at the NIC, and sends it if the NIC is idle.
    pub(super) fn send_control(&mut self, host: u32, id: u32) {
        let nic = &mut self.nics[host as usize];
        nic.control.push(&mut self.packets, id);
        if !nic.busy {
            self.control_turn(host);
        }
    }

    /// Sends the first control packet. The NIC's event is scheduled before the packet is queued; for data it is the
    /// other way round.
    fn control_turn(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        let id = nic.control.pop(&self.packets);
        nic.busy = true;
        let size = u64::from(self.packets[id].size);
        self.after(self.nic_time(size), Event::Nic(host));
        self.host_send(host, id);
    }

    /// Ends a transmission of the NIC and starts the next one.
    pub(super) fn nic_free(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        nic.busy = false;
        match (nic.waiting.is_empty(), nic.control.head == NONE) {
            (true, true) => {}
            (true, false) => self.control_turn(host),
            (false, true) => self.data_turn(host),
            (false, false) => {
                // Control packets alone would starve the data.
                nic.turn += 1;
                if nic.turn > CONTROL_TURNS {
                    nic.turn = 0;
                    self.data_turn(host);
                } else {
                    self.control_turn(host);
                }
            }
        }
    }

    /// Gives the turn to the first waiting flow. Flows that cannot send leave the queue; if none is left, control
    /// packets go on.
    fn data_turn(&mut self, host: u32) {
        while let Some(&flow) = self.nics[host as usize].waiting.front() {
            if self.take_turn(flow) {
                return;
            }
            let nic = &mut self.nics[host as usize];
            nic.waiting.pop_front();
            if nic.waiting.is_empty() {
                if nic.control.head != NONE {
                    self.control_turn(host);
                }
                return;
            }
        }
    }
}
