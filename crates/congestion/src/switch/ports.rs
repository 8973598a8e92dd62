//! All ports of a run behind one call: what the fabric holds of a scheme's switch half.

use std::any::Any;
use std::fmt::Debug;

use paceline_kernel::Time;
use paceline_kernel::rng::Rng;

use super::{Egress, EgressPort, Marking, PacketView, Queue, SwitchHalf, Verdict};
use crate::copies::copies;
use crate::detect::PortState;

/// A scheme's halves of all egress ports: the hooks of [`SwitchHalf`], of a port by its number.
pub trait SwitchHalves: CloneHalves + Debug + Send {
    /// See [`SwitchHalf::on_arrival`].
    fn on_arrival(&mut self, port: usize, at: &mut Egress<'_>, packet: &PacketView) -> Verdict;
    /// See [`SwitchHalf::on_departure`].
    fn on_departure(&mut self, port: usize, at: &mut Egress<'_>, packet: &PacketView) -> Marking;
    /// See [`SwitchHalf::is_inactive`]; a port that takes no part does.
    fn is_inactive(&self, port: usize, now: Time) -> bool;
    /// See [`SwitchHalf::on_pause`].
    fn on_pause(&mut self, port: usize, at: &mut Egress<'_>, class: u8, queue: u32);
    /// See [`SwitchHalf::on_resume`].
    fn on_resume(&mut self, port: usize, at: &mut Egress<'_>, class: u8, queue: Queue);
    /// See [`SwitchHalf::on_link_down`].
    fn on_link_down(&mut self, port: usize);
    /// See [`SwitchHalf::state`].
    fn state(&self, port: usize, now: Time, class: u8, queue: u32) -> Option<PortState>;
    /// See [`SwitchHalf::verify`].
    fn verify(&self, port: usize, now: Time, class: u8, queue: Queue);
    /// Whether the port takes part.
    fn takes_part(&self, port: usize) -> bool;
    /// Exchanges a port's half with halves of the same scheme elsewhere: a run that was cut becomes one again.
    fn exchange(&mut self, other: &mut dyn SwitchHalves, port: usize);
    /// What it is, whatever its type.
    fn as_any(&mut self) -> &mut dyn Any;
}

copies! {
    /// A copy of halves, whatever their type.
    CloneHalves, clone_halves, SwitchHalves
}

/// A half for each port that takes part.
#[derive(Clone, Debug)]
pub struct PerPort<H>(Vec<Option<H>>);

impl<H: SwitchHalf> PerPort<H> {
    /// What `half` makes for each of `ports` that takes part, with the ports' random streams.
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
