//! Connections with several messages, and the adaptation of pacers.

use super::counters::LogLine;
use super::derived::HEADER;
use super::oversubscribed::{Gains, Oversubscribed};
use super::sim::{Event, Sim};
use super::source::wire_bytes;

impl Sim {
    /// Takes the next packet of the front message and returns its wire bytes. Packets do not span messages.
    pub(super) fn next_of_message(&mut self, flow: u32) -> Option<i64> {
        let c = &mut self.conns[flow as usize];
        let messages = c.messages.as_mut()?;
        let (rest, number) = messages.rest.front_mut()?;
        if messages.begun.last().is_none_or(|(_, last)| last != number) {
            messages.begun.push((c.next_seq, *number));
        }
        let payload = (*rest).min(self.set.payload);
        *rest -= payload;
        if *rest == 0 {
            messages.rest.pop_front();
        }
        Some(payload + HEADER)
    }

    /// Makes messages of one start time eligible for sending.
    pub(super) fn messages_come(&mut self, arrival: u32) {
        let arrival = &self.arrivals[arrival as usize];
        let flow = arrival.conn;
        let sizes = arrival.sizes.clone();
        let payload = self.set.payload;
        let c = &mut self.conns[flow as usize];
        // Taken before the backlog grows: a sender that still has data goes on without a call.
        let was_idle = !c.blocked && c.backlog == 0 && c.records.none_again();
        if let Some(messages) = &mut c.messages {
            for (size, number) in sizes {
                c.backlog += wire_bytes(size, payload);
                messages.to_come -= 1;
                if size > 0 {
                    messages.rest.push_back((size, number));
                }
            }
        }
        if c.started.is_none() {
            self.start(flow);
        } else if was_idle {
            self.send_while_permitted(flow);
        }
    }

    /// Prints a line if a data packet of a message is a duplicate that its sender has not seen acknowledged yet.
    pub(super) fn note_message(&mut self, flow: u32, seq: u32) {
        let c = &self.conns[flow as usize];
        let Some(messages) = &c.messages else {
            return;
        };
        let is_open = c.records.get(seq).is_some_and(|record| !record.is_request);
        if is_open && self.is_duplicate(flow, seq) {
            let behind = messages.begun.partition_point(|(first, _)| *first <= seq);
            let message = messages.begun[behind - 1].1;
            let id = c.flow;
            self.say(LogLine::Again(id, message, seq));
        }
    }

    /// Adapts a host's pacer to the congestion of the packets that arrived at the host.
    pub(super) fn adapt(&mut self, host: u32) {
        let options = &self.spec.options;
        let gains = Gains {
            additive: options.additive,
            multiplicative: options.multiplicative,
            averaging: options.averaging,
            floor: self.set.oversubscribed.unwrap_or_default(),
        };
        let rate = self.adaptions[host as usize].evaluate(&gains);
        self.quantum_times[host as usize] = (self.quantum_time as f64 / rate) as u64;
        let interval = Oversubscribed::interval(self.random.unit(), self.set.rtt);
        self.after(interval, Event::Adapt(host));
    }
}
