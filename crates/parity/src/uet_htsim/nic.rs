//! NICs: flows take turns, and control packets go ahead of data.

use super::packet::NONE;
use super::sim::{Event, Sim};

/// With both waiting, one data packet goes after so many control packets.
const CONTROL_TURNS: u32 = 10;

impl Sim {
    /// A flow wants to send. If the NIC is busy the flow is put in line.
    #[inline]
    pub(super) fn may_send(&mut self, flow: u32) -> bool {
        let nic = &mut self.nics[self.conns[flow as usize].src as usize];
        if nic.busy {
            nic.waiting.push_back(flow);
        }
        !nic.busy
    }

    /// Time of so many bytes at the NIC, ps.
    fn nic_time(&self, bytes: u64) -> u64 {
        bytes * 8_000_000_000_000 / self.set.rate
    }

    /// A flow has given a packet to its host's queue; the NIC is told afterwards.
    #[inline]
    pub(super) fn sent_data(&mut self, host: u32, bytes: u64) {
        let nic = &mut self.nics[host as usize];
        nic.waiting.pop_front();
        nic.busy = true;
        self.after(self.nic_time(bytes), Event::Nic(host));
    }

    /// A control packet is to be sent.
    pub(super) fn send_control(&mut self, host: u32, id: u32) {
        let nic = &mut self.nics[host as usize];
        nic.control.push(&mut self.packets, id);
        if !nic.busy {
            self.control_turn(host);
        }
    }

    /// The first control packet goes. Other than with data, the NIC's event comes first.
    fn control_turn(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        let id = nic.control.pop(&self.packets);
        nic.busy = true;
        let size = u64::from(self.packets[id].size);
        self.after(self.nic_time(size), Event::Nic(host));
        self.host_send(host, id);
    }

    /// The NIC is free again.
    pub(super) fn nic_free(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        nic.busy = false;
        match (nic.waiting.is_empty(), nic.control.head == NONE) {
            (true, true) => {}
            (true, false) => self.control_turn(host),
            (false, true) => self.data_turn(host),
            (false, false) => {
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

    /// The first flow in line may send. One that cannot loses its place; if it was the last, control goes.
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
