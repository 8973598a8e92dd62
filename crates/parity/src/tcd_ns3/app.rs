//! The application of a flow: pushes packets into its NIC while the backlog there is small, at jittered intervals.

use paceline_fabric::model::{Event, FlowId, Net};
use paceline_fabric::outcome::FlowStatus;
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Span, Time, ns3};

use crate::tcd_ns3::{PUSH, TcdNs3};

/// Minimum interval between two pushes, s, before ns-3 rounds it.
const INTERVAL: f64 = 0.000_000_5 / 2.0;
/// Wait from which on nothing is pushed, s.
const TOO_LONG: f64 = 0.000_005;
/// Interval of applications with a fixed rate, s, to be multiplied by their factor.
const FIXED: f64 = 0.000_000_815;
/// Lower and upper factor of the jittered wait.
const JITTER: (f64, f64) = (0.45, 0.55);

/// Returns the wait for a backlog, s: slightly less than the time until it is down to 1500 bytes at 40 Gbit/s.
fn wait_for(backlog: u32) -> f64 {
    let until = (f64::from(backlog) * 8.0 - 1500.0 * 8.0) / 40.0 / 1_000_000_000.0 * 0.95;
    let shortest = ns3::seconds_of_ns(ns3::span_of_seconds(INTERVAL).as_ns());
    if until > shortest && until < 10.0 {
        until
    } else {
        shortest
    }
}

impl TcdNs3 {
    /// Starts a flow: computes its paths and schedules its first push.
    pub(super) fn start_flow(&mut self, net: &mut Net<'_>, id: FlowId) {
        let spec = net.cx.world.flow(net.cx.core, id);
        let Some(ways) = self.ways.of_flow(&spec) else {
            return net.traffic.give_up(&mut net.cx, id);
        };
        self.log.way(net.cx.core, id, &ways.data);
        let flow = &mut self.flows[id];
        flow.class = net.cx.world.classes.dense(spec.class);
        flow.ways = ways;
        let base = crate::tcd_ns3::outcome::alone(spec.src.0, spec.dst.0, flow.heard_bytes());
        net.traffic.record_mut(id).ideal = Span::from_ps((base * 1e12).round() as u64);
        self.clock(net, id, PUSH, net.cx.core.now());
    }

    /// Sets a timer of a flow that is never cancelled.
    pub(super) fn clock(&self, net: &mut Net<'_>, flow: FlowId, slot: u8, at: u64) {
        let event = Event::Timer {
            flow,
            slot,
            generation: 0,
        };
        net.cx.core.schedule(LaneId::WHEEL, at, event);
    }

    /// Pushes a packet if the backlog allows it, and schedules the next push.
    pub(super) fn push(&mut self, net: &mut Net<'_>, id: FlowId) {
        if Time::from_ps(net.cx.core.now()) >= self.spec.stop_of(id.0 as usize) {
            return;
        }
        let port = self.flows[id].ways.data[0];
        let nic = &self.nics[net.cx.core.ports[port].nic()];
        let wait = match nic.fixed {
            Some(factor) => FIXED * factor,
            None => wait_for(self.backlog(net, port, id)),
        };
        if wait < TOO_LONG {
            self.flows[id].pushed += 1;
            self.nic_enqueue(net, port, id);
        }
        let flow = &mut self.flows[id];
        // The wait is scheduled even if nothing was pushed: the application polls the backlog.
        if flow.pushed < flow.packets {
            let factor = JITTER.0 + flow.jitter.next_f64() * (JITTER.1 - JITTER.0);
            let at = net.cx.core.now() + ns3::span_of_seconds(wait * factor).as_ps();
            self.clock(net, id, PUSH, at);
        }
    }

    /// Completes a flow whose last packet the application has received.
    pub(super) fn complete(&mut self, net: &mut Net<'_>, id: FlowId) {
        let now = Time::from_ps(net.cx.core.now());
        let size = net.cx.world.flow(net.cx.core, id).size;
        let record = net.traffic.record_mut(id);
        record.status = FlowStatus::Completed;
        record.received = Some(now);
        record.fct = now.saturating_since(record.start);
        record.delivered = Bytes::new(size.get());
        net.traffic.complete(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shortest wait applies up to about two packets, and ns-3 cuts it to 249 ns. Above some 27 KB nothing is
    /// pushed.
    #[test]
    fn waits_by_backlog() {
        assert!((wait_for(0) - 2.49e-7).abs() < 1e-15);
        assert!((wait_for(2040) - 2.49e-7).abs() < 1e-15);
        assert!(wait_for(27_800) < TOO_LONG && wait_for(28_000) > TOO_LONG);
    }
}
