//! All ports of a run behind one interface: the fabric's view of a scheme's switch halves.

use std::any::Any;
use std::fmt::Debug;

use paceline_kernel::Time;
use paceline_kernel::rng::Rng;

use super::{Egress, EgressPort, Marking, PacketView, Queue, SwitchHalf, Verdict};
use crate::copies::copies;
use crate::detect::PortState;

/// Halves of a scheme at all egress ports: the hooks of [`SwitchHalf`], by port number.
pub trait SwitchHalves: CloneHalves + Debug + Send {
    /// Calls [`SwitchHalf::on_arrival`] of a port; a port that takes no part passes the packet.
    fn on_arrival(&mut self, port: usize, at: &mut Egress<'_>, packet: &PacketView) -> Verdict;
    /// Calls [`SwitchHalf::on_departure`] of a port; one that takes no part marks by the curve.
    fn on_departure(&mut self, port: usize, at: &mut Egress<'_>, packet: &PacketView) -> Marking;
    /// Calls [`SwitchHalf::is_inactive`] of a port; true for one that takes no part.
    fn is_inactive(&self, port: usize, now: Time) -> bool;
    /// Calls [`SwitchHalf::on_pause`] of a port.
    fn on_pause(&mut self, port: usize, at: &mut Egress<'_>, class: u8, queue: u32);
    /// Calls [`SwitchHalf::on_resume`] of a port.
    fn on_resume(&mut self, port: usize, at: &mut Egress<'_>, class: u8, queue: Queue);
    /// Calls [`SwitchHalf::on_link_down`] of a port.
    fn on_link_down(&mut self, port: usize);
    /// Calls [`SwitchHalf::state`] of a port; `None` for one that takes no part.
    fn state(&self, port: usize, now: Time, class: u8, queue: u32) -> Option<PortState>;
    /// Calls [`SwitchHalf::verify`] of a port.
    fn verify(&self, port: usize, now: Time, class: u8, queue: Queue);
    /// Returns true if the port takes part.
    fn takes_part(&self, port: usize) -> bool;
    /// Swaps a port's half with that of the same scheme elsewhere, to merge a partitioned run.
    fn exchange(&mut self, other: &mut dyn SwitchHalves, port: usize);
    /// Returns the value for downcasting.
    fn as_any(&mut self) -> &mut dyn Any;
}

copies! {
    /// Copies halves of any type.
    CloneHalves, clone_halves, SwitchHalves
}

/// Halves by port number; `None` for a port that takes no part.
#[derive(Clone, Debug)]
pub struct PerPort<H>(Vec<Option<H>>);

impl<H: SwitchHalf> PerPort<H> {
    /// Creates a half with `half` for each port in `ports` that takes part, using the ports' random streams.
    pub fn boxed(
        ports: &[Option<EgressPort>],
        rngs: &mut [Rng],
        half: impl Fn(&EgressPort, &mut Rng) -> H,
    ) -> Box<dyn SwitchHalves> {
        let halves = ports.iter().zip(rngs);
        let halves = halves.map(|(port, rng)| Some(half(port.as_ref()?, rng)));
        Box::new(Self(halves.collect()))
    }
}

impl<H: SwitchHalf> SwitchHalves for PerPort<H> {
    fn on_arrival(&mut self, port: usize, at: &mut Egress<'_>, packet: &PacketView) -> Verdict {
        match &mut self.0[port] {
            Some(half) => half.on_arrival(at, packet),
            None => Verdict::pass(packet),
        }
    }

    fn on_departure(&mut self, port: usize, at: &mut Egress<'_>, packet: &PacketView) -> Marking {
        match &mut self.0[port] {
            Some(half) => half.on_departure(at, packet),
            None => Marking::Curve,
        }
    }

    fn is_inactive(&self, port: usize, now: Time) -> bool {
        self.0[port].as_ref().is_none_or(|half| half.is_inactive(now))
    }

    fn on_pause(&mut self, port: usize, at: &mut Egress<'_>, class: u8, queue: u32) {
        if let Some(half) = &mut self.0[port] {
            half.on_pause(at, class, queue);
        }
    }

    fn on_resume(&mut self, port: usize, at: &mut Egress<'_>, class: u8, queue: Queue) {
        if let Some(half) = &mut self.0[port] {
            half.on_resume(at, class, queue);
        }
    }

    fn on_link_down(&mut self, port: usize) {
        if let Some(half) = &mut self.0[port] {
            half.on_link_down();
        }
    }

    fn state(&self, port: usize, now: Time, class: u8, queue: u32) -> Option<PortState> {
        self.0[port].as_ref()?.state(now, class, queue)
    }

    fn verify(&self, port: usize, now: Time, class: u8, queue: Queue) {
        if let Some(half) = &self.0[port] {
            half.verify(now, class, queue);
        }
    }

    fn takes_part(&self, port: usize) -> bool {
        self.0[port].is_some()
    }

    fn exchange(&mut self, other: &mut dyn SwitchHalves, port: usize) {
        if let Some(Self(others)) = other.as_any().downcast_mut() {
            std::mem::swap(&mut self.0[port], &mut others[port]);
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
