//! The packet-level OMNeT++ model of RRCC's author: InfiniBand.
//!
//! Switches buffer packets where they come in, an input buffer for each lane of a port, and each output's arbiter
//! takes from them in turn (`switch`, `arbiter`). A packet may go only if the buffer at the other end of its link
//! has room, which that end tells in flow-control packets, at instants that all ports have in common (`link`).
//! Hosts have a queue, an arbiter and an output like a switch's, and take packets one by one (`hca`, `sink`).
//!
//! It is the network of a published simulator, packet by packet ([`CreditSpec::ib_omnet`]). There modules hand each
//! other messages, and what is handed on without delay is still an event behind all others of its instant: so it is
//! here (`step`), since which of two packets goes first depends on it. What has no effect there is no event here: ports
//! that have nothing to tell are not looked at, arbiters that wait for nothing are not woken.

mod account;
mod arbiter;
mod build;
mod builder;
mod check;
mod credits;
mod hca;
mod host;
mod keys;
mod limits;
mod line;
mod link;
pub(crate) mod measures;
mod notify;
mod outcome;
mod parts;
mod record;
pub(crate) mod resolve;
mod routes;
mod sink;
mod spec;
mod step;
mod switch;
pub(crate) mod tables;
mod verify;

use std::collections::VecDeque;

use credits::Lane;
use host::{Host, Source as Sender};
use paceline_fabric::model::{Core, Event, Net, NetworkModel, NicId, PortId, Starts};
use paceline_fabric::outcome::account::FlowAccount;
use paceline_fabric::outcome::credits::Stalls;
use paceline_fabric::outcome::{ModelOutcome, PortRef};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::ids::{Grid, List};
use paceline_kernel::queue::LaneId;
use parts::{Lanes, Port, Scan, Slot};
use record::Record;
use step::Step;

pub use line::line;
pub use outcome::{CreditEvent, CreditOutcome, CreditStep, PortTotals, SourceTotals};
pub use spec::{Control, CreditSpec, Source, Stall};

/// A network under credits.
#[derive(Clone)]
pub(super) struct InfiniBand {
    spec: CreditSpec,
    ports: List<PortId, Port>,
    lanes: Grid<PortId, Lane>,
    slots: Vec<Slot>,
    /// Arbitration: packets that each lane had in its turn; see [`arbiter`].
    used: Grid<PortId, u16>,
    /// Ports by node, in the order of links.
    places: Vec<PortId>,
    /// Outputs of each switch whose arbiter has a packet that it may send, once there is room for it.
    stalled: Vec<u64>,
    routes: routes::Routes,
    hosts: List<NicId, Host>,
    sources: Vec<Sender>,
    /// Messages that are not over.
    open: u64,
    /// Whether hosts take no packets now.
    stalling: bool,
    scan: Scan,
    /// Ports with something to tell.
    telling: Vec<PortId>,
    /// Lanes of events.
    events: Lanes,
    /// What happens at this instant, behind all else.
    now: VecDeque<u64>,
    /// Whether that is what happens.
    behind: bool,
    record: Record,
    stalls: Stalls,
    accounts: account::Accounts,
}

impl NetworkModel for InfiniBand {
    /// Sources bring the messages.
    fn starts(&self, _: &RunSpec) -> Starts {
        Starts::Own
    }

    fn begin(&mut self, net: &mut Net<'_>) {
        self.arrange(net);
    }

    fn handle(&mut self, net: &mut Net<'_>, event: Event) {
        let Some(first) = Step::of(event) else {
            return;
        };
        self.behind = false;
        self.step(net, first);
        if net.core.next_event_at() != Some(net.core.now()) {
            self.behind = true;
            while let Some(word) = self.now.pop_front() {
                let (kind, a, b) = step::open(word);
                self.step(net, Step::decode(kind, a, b));
            }
        }
    }

    fn sample(&self, core: &mut Core, at: u64, is_over: bool) {
        self.sample_credits(core, at, is_over);
    }

    fn samples_are_events(&self) -> bool {
        false
    }

    /// Within an instant more is to happen than the queue of events knows.
    fn keeps_queues(&self) -> bool {
        true
    }

    fn verify(&self, core: &Core) {
        self.check_state(core);
    }

    fn stalls(&self, now: u64) -> Stalls {
        self.stalls_until(now)
    }

    fn has_used(&self, port: PortId, lane: u8) -> bool {
        self.lanes[(port, lane)].granted > 0
    }

    fn accounts(&mut self, net: &Net<'_>, ports: &List<PortId, PortRef>) -> Option<Vec<FlowAccount>> {
        self.close_accounts(net, ports)
    }

    fn close(&mut self, net: &mut Net<'_>) -> Option<ModelOutcome> {
        Some(ModelOutcome::new(self.totals(net)))
    }
}

impl InfiniBand {
    #[inline(always)]
    fn step(&mut self, net: &mut Net<'_>, step: Step) {
        match step {
            Step::Start { source } => self.start(net, source),
            Step::Message { source } => self.message(net, source),
            Step::Scan => self.scan(net),
            Step::Stall { ends } => self.stall(net, ends),
            Step::WireFree { port } => self.wire_free(net, port),
            Step::Arbitrate { port } => {
                self.ports[port].arbitrating = false;
                self.arbitrate(net, port);
            }
            Step::ToSlot { port, packet } => self.fill_slot(net, port, packet),
            Step::ToWire { port, packet } => self.come_to_wire(net, port, packet),
            Step::Take { host } => self.take(net, host),
            Step::Make { host } => self.make_again(net, host),
            Step::Pace { host } => self.pace(net, host),
            Step::Lower { host } => self.lower(net, host),
            Step::Arrive { port, packet } => self.arrive(net, port, packet),
            Step::Update { port, lane, limit } => self.hand_on(Step::Limit { port, lane, limit }),
            Step::Limit { port, lane, limit } => self.limit(net, port, lane, limit),
            Step::Gone { port, input, lane } => self.gone(net, port, input, lane),
            Step::Done { switch } => self.done(net, switch),
            Step::Freed { port } => self.arbitrate(net, port),
            Step::Received { port, packet } => self.receive(net, port, packet),
            Step::Taken { port, lane } => self.release(net, port, lane),
            Step::Notify { host, packet } => self.queue(net, host, packet),
            Step::Notified { host, packet } => self.notified(net, host, packet),
            Step::Made { source } => self.made(net, source),
            Step::HostGone { host } => self.host_gone(net, host),
        }
    }

    /// Something is to happen at this instant, behind all that is to happen in it already.
    #[inline(always)]
    fn hand_on(&mut self, step: Step) {
        let (kind, a, b) = step.encode();
        self.now.push_back(step::close(kind, a, b));
    }

    /// Something is to happen so much later.
    #[inline(always)]
    fn after(&mut self, net: &mut Net<'_>, lane: LaneId, delay: u64, step: Step) {
        let at = net.core.now() + delay;
        net.core.schedule(lane, at, step.event());
    }
}
