//! The packet-level OMNeT++ model of RRCC's author: InfiniBand.
//!
//! Switches buffer packets at their inputs, in one buffer per lane of a port, and each output's arbiter takes packets
//! from them in turn (`switch`, `arbiter`). A packet needs a credit: room in the buffer at the other end of its link,
//! which that end announces in flow-control packets, at instants common to all ports (`link`). Hosts have a queue, an
//! arbiter and an output like a switch's, and consume packets one by one (`hca`, `sink`).
//!
//! The model equals a published simulator packet by packet ([`CreditSpec::ib_omnet`]). There, modules pass messages
//! to each other, and a message without delay is still an event after all others of its instant. Steps do the same
//! here (`step`), because the order of packets depends on it. Events without effect are left out: ports without news
//! are not visited, and idle arbiters are not called.

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

/// State of a network under credits.
#[derive(Clone)]
pub(super) struct InfiniBand {
    spec: CreditSpec,
    ports: List<PortId, Port>,
    lanes: Grid<PortId, Lane>,
    slots: Vec<Slot>,
    /// Packets that each lane has sent in its turn; see [`arbiter`].
    used: Grid<PortId, u16>,
    /// Ports by node, in the order of links.
    ports_by_node: Vec<PortId>,
    /// Bit masks by switch: outputs whose arbiter has a packet with a credit but no room for it.
    stalled: Vec<u64>,
    routes: routes::Routes,
    hosts: List<NicId, Host>,
    sources: Vec<Sender>,
    /// Messages that are not complete yet.
    open: u64,
    /// True while hosts consume no packets.
    stalling: bool,
    scan: Scan,
    /// Ports with credits to announce.
    telling: Vec<PortId>,
    /// Event lanes of constant delays.
    events: Lanes,
    /// Steps of this instant that run after all its events.
    now: VecDeque<u64>,
    /// True while those steps run.
    behind: bool,
    record: Record,
    stalls: Stalls,
    accounts: account::Accounts,
}

impl NetworkModel for InfiniBand {
    /// Returns [`Starts::Own`]: sources create the messages.
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
        // Steps without delay come after all other events of their instant, as in the model.
        if net.cx.core.next_event_at() != Some(net.cx.core.now()) {
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

    /// Returns true: steps of the present instant are not in the event queue.
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

    /// Queues a step for this instant, after everything that is already due in it.
    #[inline(always)]
    fn hand_on(&mut self, step: Step) {
        let (kind, a, b) = step.encode();
        self.now.push_back(step::close(kind, a, b));
    }

    /// Schedules a step after a delay, ps.
    #[inline(always)]
    fn after(&mut self, net: &mut Net<'_>, lane: LaneId, delay: u64, step: Step) {
        let at = net.cx.core.now() + delay;
        net.cx.core.schedule(lane, at, step.event());
    }
}
