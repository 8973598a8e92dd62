//! Sends and receives between two ranks.

use paceline_kernel::{Span, Time};

use super::results::Class;
use super::{Executor, Flight, Job, POINT_LABEL, SendEnd, Todo, Wake, span};
use crate::network::{Message, MessageId, Network};
use crate::program::{NO_LANE, OperationId, Rank, Work};
use crate::trouble::Caution;
use crate::waiting::{ANY, Key};

impl Executor {
    /// Returns the time that a message of this size occupies its lane, in ns.
    fn overhead_ns(&self, bytes: u64) -> u64 {
        let point = &self.rules.point;
        point
            .overhead_per_byte_ns
            .saturating_mul(bytes.max(1) - 1)
            .saturating_add(point.overhead_ns)
    }

    /// Starts a send that has its lane and its NIC.
    pub(super) fn start_send<N: Network>(&mut self, job: Job, nic: u8, bytes: u64, net: &mut N) {
        let now = net.now();
        let gap = self.rules.point.gap_ns;
        if gap > 0 {
            self.ranks[job.rank as usize].set_send_clock(nic, now.saturating_add(span(gap)));
        }
        match self.overhead_ns(bytes) {
            0 => self.leave(job, net),
            ns => self.wake(now.saturating_add(span(ns)), Wake::Leave(job), net),
        }
    }

    /// Hands a send over to the NIC, or its request if its receive has to be posted first.
    pub(super) fn leave<N: Network>(&mut self, mut job: Job, net: &mut N) {
        let Work::Send { to, bytes, tag } = self.program.operation(job.rank, job.op).work else {
            return;
        };
        // In GOAL, a rank computes on as soon as the message is with the NIC.
        if self.rules.point.end == SendEnd::Posted {
            self.release(job.rank, job.lane);
            self.todo.push_back(Todo::Try(job.rank));
            job.lane = NO_LANE;
        }
        let eager = bytes <= self.rules.point.eager_bytes;
        // Messages of a rank to itself do not cross the network.
        if to == job.rank {
            let key = self.key(to, job.rank, bytes, tag);
            self.arrive(key, (!eager).then_some(job), net);
            if eager {
                self.todo.push_back(Todo::Done(job));
            }
        } else if eager {
            self.depart(job, to, bytes, None, net);
            if self.rules.point.end == SendEnd::Posted {
                self.todo.push_back(Todo::Done(job));
            }
        } else {
            // The request takes one byte; the data follows once the receive is posted.
            let flight = Flight::Request { job, to };
            self.send(flight, job, to, 1, net);
        }
    }

    /// Returns a caution about the time for which operations waited for sends that had already left. It applies only
    /// if sends occupy their lane until they are received.
    pub fn lingering_sends(&self) -> Option<Caution> {
        let (sends, waited) = self.lingering;
        (sends > 0).then(|| Caution {
            text: format!(
                "{sends} sends kept others of their rank waiting after they had left, until they were received: {} in all. With \
                 `rules = {{ sends = \"overlap\" }}` a send ends when it has left.",
                crate::explain::time(u128::from(waited.as_ps() / 1000))
            ),
        })
    }

    /// Returns the key by which a message and its receive match. The size is 0 if sizes need not match.
    fn key(&self, rank: Rank, source: u32, bytes: u64, tag: u32) -> Key<u64> {
        let size = if self.rules.point.match_size { bytes } else { 0 };
        Key {
            rank,
            source,
            tag,
            size,
        }
    }

    /// Sends the data of a send, with its receive if that is known.
    fn depart<N: Network>(
        &mut self,
        job: Job,
        to: Rank,
        bytes: u64,
        receive: Option<OperationId>,
        net: &mut N,
    ) {
        let flight = Flight::Data {
            job,
            to,
            receive,
            left: None,
        };
        self.send(flight, job, to, bytes.max(1), net);
    }

    fn send<N: Network>(&mut self, flight: Flight, job: Job, to: Rank, bytes: u64, net: &mut N) {
        let nic = self.program.operation(job.rank, job.op).nic;
        let message = Message {
            id: MessageId(self.flights.insert(flight)),
            from: job.rank,
            to,
            from_nic: nic,
            to_nic: nic,
            channel: 0,
            bytes,
            label: POINT_LABEL,
        };
        if let Some(trail) = &mut self.trail {
            trail.sent(&message, job.op, matches!(flight, Flight::Request { .. }));
        }
        net.send(message);
    }

    /// Handles the departure of a send's last packet, unless it is known already.
    pub(super) fn data_left(&mut self, id: MessageId) {
        let now = self.now;
        if let Some(Flight::Data {
            job,
            left: left @ None,
            ..
        }) = self.flights.get_mut(id.0)
        {
            *left = Some(now);
            if self.rules.point.end == SendEnd::Left {
                self.todo.push_back(Todo::Done(*job));
            }
        }
    }

    /// Handles the arrival of a send's data.
    pub(super) fn data_received<N: Network>(
        &mut self,
        job: Job,
        to: Rank,
        receive: Option<OperationId>,
        left: Option<Time>,
        net: &mut N,
    ) {
        if self.rules.point.end == SendEnd::Received {
            let waits = self.ranks[job.rank as usize].waits_since(job.lane);
            if let (Some(left), Some(since)) = (left, waits) {
                // Waiting counts from the moment when the lane stood still, if that is after the message left.
                let waited = self.now.saturating_since(left.max(since));
                self.lingering.0 += u64::from(waited > Span::ZERO);
                self.lingering.1 += waited;
            }
            self.todo.push_back(Todo::Done(job));
        }
        // A send that asked first was matched then; other data looks for its receive now.
        if let Some(receive) = receive {
            self.take(to, receive, net);
            return;
        }
        if let Work::Send { bytes, tag, .. } = self.program.operation(job.rank, job.op).work {
            let key = self.key(to, job.rank, bytes, tag);
            self.arrive(key, None, net);
        }
    }

    /// Handles the arrival of a send's request.
    pub(super) fn request_received<N: Network>(&mut self, job: Job, to: Rank, net: &mut N) {
        if let Work::Send { bytes, tag, .. } = self.program.operation(job.rank, job.op).work {
            let key = self.key(to, job.rank, bytes, tag);
            self.arrive(key, Some(job), net);
        }
    }

    /// Matches a message, or the request of a send, with a posted receive, or stores it.
    fn arrive<N: Network>(&mut self, key: Key<u64>, request: Option<Job>, net: &mut N) {
        match self.posted.take_for_message(key) {
            Some(receive) => self.matched(key.rank, receive, request, net),
            None => self.arrived.push(key, request),
        }
    }

    /// Starts a receive: takes a message that has arrived, or posts the receive.
    pub(super) fn start_receive<N: Network>(
        &mut self,
        job: Job,
        from: Option<Rank>,
        bytes: u64,
        tag: Option<u32>,
        net: &mut N,
    ) {
        let key = self.key(job.rank, from.unwrap_or(ANY), bytes, tag.unwrap_or(ANY));
        match self.arrived.take_for_receive(key) {
            Some(request) => self.matched(job.rank, job.op, request, net),
            None => self.posted.push(key, job.op),
        }
    }

    /// Continues a receive that was matched with a message or the request of a send.
    fn matched<N: Network>(&mut self, rank: Rank, receive: OperationId, request: Option<Job>, net: &mut N) {
        let Some(job) = request else {
            self.take(rank, receive, net);
            return;
        };
        let Work::Send { bytes, .. } = self.program.operation(job.rank, job.op).work else {
            return;
        };
        // Without a network between them, both end when they meet.
        if job.rank == rank {
            self.todo.push_back(Todo::Done(job));
            self.take(rank, receive, net);
        } else {
            self.depart(job, rank, bytes, Some(receive), net);
        }
    }

    /// Queues a receive whose message has arrived for its overhead in the lane.
    fn take<N: Network>(&mut self, rank: Rank, receive: OperationId, net: &mut N) {
        let lane = self.program.operation(rank, receive).lane;
        if self.orders.get(usize::from(lane)).is_some() {
            self.enqueue(rank, receive, lane, true);
            self.todo.push_back(Todo::Try(rank));
        } else {
            self.charge_receive(rank, receive, NO_LANE, net);
        }
    }

    /// Charges a receive for its message, after which it completes.
    pub(super) fn charge_receive<N: Network>(
        &mut self,
        rank: Rank,
        receive: OperationId,
        lane: u8,
        net: &mut N,
    ) {
        let operation = self.program.operation(rank, receive);
        let Work::Receive { bytes, .. } = operation.work else {
            return;
        };
        let now = net.now();
        let point = self.rules.point;
        let overhead = self.overhead_ns(bytes);
        let mut end = now;
        // The gap separates receives of a NIC even if their messages arrive together.
        if point.gap_ns > 0 {
            let clock = self.ranks[rank as usize].receive_clock(operation.nic);
            *clock = (*clock).max(now).saturating_add(span(point.gap_ns));
            end = *clock;
        }
        end = end.saturating_add(span(overhead));
        let job = Job {
            rank,
            op: receive,
            lane,
            class: Class::Communicate,
        };
        if end == now {
            self.todo.push_back(Todo::Done(job));
        } else {
            self.wake(end, Wake::Done(job), net);
        }
    }
}
