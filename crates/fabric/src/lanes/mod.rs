//! Switches of networks under credits ([`paceline_run::spec::LaneSpec`]), with buffers at their inputs.
//!
//! Each port has an input buffer for each lane, which credits account for ([`crate::core::credits`]). Each output has a
//! queue for every input and lane (virtual output queues), so that a packet waits for its output only. An output serves
//! its lanes by InfiniBand's tables, and the inputs of a lane in turn. The packet whose turn it is leaves if its lane
//! has credit for it. If not, the lane is paused until a flow-control packet brings enough.
//!
//! Hosts are the same as in other networks, with ports under credits.

mod check;
mod notify;
mod queues;
mod switch;
mod verify;

use check::MOST_PORTS;
pub(crate) use check::check;
pub(crate) use switch::Net;

use paceline_kernel::ids::{Grid, List};

use crate::core::Core;
use crate::core::port::Ports;
use crate::ids::{PacketId, PortId};
use crate::lanes::queues::{Output, Waiting};
use crate::world::classes::Classes;
use crate::world::routing::Routing;
use paceline_run::spec::{LaneSpec, Release};

/// Switches of a network under credits.
#[derive(Clone, Debug)]
pub(crate) struct LaneSwitches {
    /// Index of each output's first queue: it has one for each input and class.
    first: List<PortId, u32>,
    waiting: Vec<Waiting>,
    outputs: Grid<PortId, Output>,
    classes: usize,
    release: Release,
    /// Input, class and size of the packet that each port sends, if buffer space is freed at the end of a transmission.
    leaving: List<PortId, Option<(PortId, u8, u16)>>,
    /// Units of cut-through packets that have started to arrive and wait for more of their bytes, by input.
    entering: Grid<PortId, u32>,
}

impl LaneSwitches {
    /// Creates the switches of a network that was checked.
    pub(crate) fn new(spec: &LaneSpec, ports: &Ports, classes: &Classes, routing: &Routing) -> Self {
        let mut first = List::new();
        let mut count = 0;
        for port in ports {
            first.push(count);
            if !port.is_host {
                count += (routing.ports_of(port.node).len() * classes.count()) as u32;
            }
        }
        Self {
            first,
            waiting: vec![Waiting::EMPTY; count as usize],
            outputs: Grid::of(ports.len(), classes.count(), Output::default()),
            classes: classes.count(),
            release: spec.release,
            leaving: List::of(ports.len(), None),
            entering: Grid::of(ports.len(), classes.count(), 0),
        }
    }

    /// Returns the packets that wait at an output, input by input.
    pub(crate) fn waiting_at<'a>(
        &'a self,
        core: &'a Core,
        (port, class): (PortId, u8),
    ) -> impl Iterator<Item = PacketId> + 'a {
        let filled = self.outputs[(port, class)].filled;
        let inputs = (0..MOST_PORTS as u16).filter(move |input| filled >> input & 1 == 1);
        inputs.flat_map(move |input| {
            core.packets
                .linked(self.waiting[self.index(port, input, class)].head)
        })
    }

    /// Returns the index of an output's queue for an input and a class.
    #[inline(always)]
    fn index(&self, port: PortId, input: u16, class: u8) -> usize {
        self.first[port] as usize + usize::from(input) * self.classes + usize::from(class)
    }
}
