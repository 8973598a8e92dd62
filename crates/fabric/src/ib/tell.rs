//! What is told of a network under credits.

use paceline_kernel::Time;

use crate::ib::{InfiniBand, Net};
use crate::ids::PortId;
use crate::outcome::credits::{CreditEvent, CreditOutcome, CreditStep, PortTotals};

impl InfiniBand {
    #[cold]
    pub(super) fn write(&mut self, net: &Net<'_>, port: PortId, what: CreditStep) {
        self.record.write(CreditEvent {
            at: Time::from_ps(net.core.now()),
            node: net.core.ports[port].node,
            interface: u16::from(self.ports[port].place),
            what,
        });
    }

    /// What became of each port and source.
    pub(crate) fn close(&mut self, net: &Net<'_>) -> CreditOutcome {
        let totals = |&port: &PortId| {
            let p = &self.ports[port];
            PortTotals {
                node: net.core.ports[port].node,
                interface: u16::from(p.place),
                packets: p.packets,
                marked: p.marked,
                updates: p.updates,
            }
        };
        let (injected, trace) = self.record.take();
        CreditOutcome {
            ports: self.places.iter().map(totals).collect(),
            sources: self.sources.iter().map(|source| source.totals).collect(),
            injected,
            trace,
        }
    }
}
