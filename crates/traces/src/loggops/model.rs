//! Execution of operations at the ranks, one element of the queue after another.

use super::element::{Clocks, Element, ElementKind, Mark};
use super::heap::{self, Due, Heap};
use super::parking::Parking;
use super::{Outcome, Parameters, Variant};
use crate::frontier::{Freed, Frontier};
use crate::program::{OperationId, Program, Rank, Work};
use crate::trouble::Trouble;
use crate::waiting::{ANY, Key, Waiting};

/// Last representable time, in ns: 2^64 ps. It also limits the duration of an operation, so that sums of a few do not
/// wrap.
pub(super) const LAST: u64 = u64::MAX / 1000;

pub(super) struct Model<'a> {
    pub(super) program: &'a dyn Program,
    variant: Variant,
    pub(super) parameters: Parameters,
    queue: Heap,
    parking: Parking,
    /// True to park elements: clocks never go back, and order depends only on time and number.
    pub(super) parks: bool,
    pub(super) elements: Vec<Element>,
    unused: Vec<u32>,
    /// Number of the next element.
    number: u64,
    pub(super) cpu: Clocks,
    sending: Clocks,
    receiving: Clocks,
    frontier: Frontier,
    pub(super) posted: Waiting<u32>,
    pub(super) arrived: Waiting<u32>,
    marks: Vec<Mark>,
    freed: Vec<Freed>,
    pub(super) done: u64,
    /// Number of operations that started before their dependencies ended, and the first of them.
    pub(super) early: (u64, Option<(Rank, OperationId)>),
    /// Number of messages whose size differs from their receive's, and the first such pair.
    pub(super) unequal: (u64, Option<(Element, Element)>),
    /// Sends that never end although they were matched, with their receives: the receive's size alone makes them
    /// wait.
    pub(super) endless: Vec<(Element, Element)>,
}

impl<'a> Model<'a> {
    pub(super) fn new(program: &'a dyn Program, variant: Variant, parameters: Parameters) -> Self {
        let clocks = || Clocks((0..program.ranks()).map(|_| Vec::new()).collect());
        Self {
            program,
            variant,
            parameters,
            queue: Heap::default(),
            parking: Parking::default(),
            parks: variant == Variant::LogGopSim && parameters.keeps_clocks(),
            elements: Vec::new(),
            unused: Vec::new(),
            number: 0,
            cpu: clocks(),
            sending: clocks(),
            receiving: clocks(),
            frontier: Frontier::default(),
            posted: Waiting::default(),
            arrived: Waiting::default(),
            marks: Vec::new(),
            freed: Vec::new(),
            done: 0,
            early: (0, None),
            unequal: (0, None),
            endless: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<Outcome, Trouble> {
        let mut roots = Vec::new();
        for rank in 0..self.program.ranks() {
            roots.clear();
            self.program.roots(rank, &mut roots);
            for number in roots.iter().copied() {
                self.freed.push(Freed {
                    number,
                    operation: self.program.operation(rank, number),
                    ready: 0,
                    last: None,
                    by_start: false,
                });
            }
            self.enter(rank)?;
        }
        while let Some(due) = self.queue.pop() {
            let element = &self.elements[due.slot as usize];
            if due.time > LAST {
                let rank = match element.kind {
                    ElementKind::Message => element.peer,
                    _ => element.rank,
                };
                return Err(self.too_late(rank, element.number));
            }
            match element.parked {
                // The element has already happened or moved; only its entry in the queue is left.
                _ if element.order != due.number => {}
                false => self.happen(due)?,
                true => self.unpark(due)?,
            }
            self.release()?;
        }
        if let Some(trouble) = self.program.trouble() {
            return Err(trouble);
        }
        self.outcome()
    }

    /// Tells the ranks about started and ended operations, one rank after another, and queues those that they free.
    fn release(&mut self) -> Result<(), Trouble> {
        let mut marks = std::mem::take(&mut self.marks);
        // LogGOPSim notifies the ranks in ascending order, ATLAHS in the order of events.
        if self.variant == Variant::LogGopSim {
            marks.sort_by_key(|mark| mark.rank);
        }
        for alike in marks.chunk_by(|a, b| a.rank == b.rank) {
            for mark in alike {
                let at = (mark.rank, mark.number);
                match mark.end {
                    None => self.frontier.started(self.program, at, 0, &mut self.freed),
                    Some(end) if end > LAST => return Err(self.too_late(at.0, at.1)),
                    Some(end) if mark.again => {
                        self.frontier.done_again(self.program, at, end, &mut self.freed);
                    }
                    Some(end) => {
                        self.done += 1;
                        self.frontier.done(self.program, at, end, &mut self.freed);
                    }
                }
            }
            self.enter(alike[0].rank)?;
        }
        marks.clear();
        self.marks = marks;
        Ok(())
    }

    /// Queues the free operations of a rank.
    fn enter(&mut self, rank: Rank) -> Result<(), Trouble> {
        let mut freed = std::mem::take(&mut self.freed);
        // More than sixteen keep the order in which LogGOPSim's sort leaves equal elements.
        if self.variant == Variant::LogGopSim {
            heap::sort(&mut freed, |f| match f.operation.work {
                Work::Send { .. } => ElementKind::Send as u8,
                Work::Receive { .. } => ElementKind::Receive as u8,
                _ => ElementKind::Calc as u8,
            });
        }
        // Of many elements that need the same clocks at the same time, only the first enters the queue.
        let many = self.parks && freed.len() > 16;
        for one in freed.drain(..) {
            let element = self.element(rank, &one)?;
            let cpu = self.cpu.get(rank, element.cpu);
            let sending = self.sending.get(rank, element.nic);
            let start = if one.by_start { 0 } else { one.ready };
            let time = match (self.variant, element.kind) {
                (Variant::LogGopSim, ElementKind::Send) => cpu.max(sending),
                (Variant::LogGopSim, _) => cpu,
                (Variant::Atlahs, ElementKind::Send) => start.max(sending),
                (Variant::Atlahs, ElementKind::Receive) => start,
                (Variant::Atlahs, _) => start.max(cpu),
            };
            let due = self.place(time, element);
            if many && element.kind != ElementKind::Receive {
                self.delay(due, time);
            } else {
                self.queue.push(due);
            }
        }
        self.freed = freed;
        Ok(())
    }

    fn element(&self, rank: Rank, freed: &Freed) -> Result<Element, Trouble> {
        let operation = freed.operation;
        // ATLAHS treats a message of 0 bytes like one of 1 byte.
        let least = u64::from(self.variant == Variant::Atlahs);
        let refused = |message: &str| Err(Trouble::at(self.program.name(rank, freed.number), message));
        let (kind, peer, tag, size) = match operation.work {
            Work::Send { to, bytes, tag } => (ElementKind::Send, to, tag, bytes.max(least)),
            Work::Receive { from, bytes, tag } => {
                if self.variant == Variant::Atlahs && (from.is_none() || tag.is_none()) {
                    return refused("takes any source or any tag, which never matches in the variant atlahs");
                }
                (
                    ElementKind::Receive,
                    from.unwrap_or(ANY),
                    tag.unwrap_or(ANY),
                    bytes.max(least),
                )
            }
            Work::Compute { ns } => (ElementKind::Calc, 0, 0, ns),
            Work::Nothing => (ElementKind::Calc, 0, 0, 0),
            Work::Collective(_) => return refused("is a collective, which LogGOPS does not know"),
        };
        let per_unit = match kind {
            ElementKind::Calc => 1.0,
            _ => self.parameters.per_byte(),
        };
        if size as f64 * per_unit > LAST as f64 {
            return Err(self.too_late(rank, freed.number));
        }
        Ok(Element {
            kind,
            rank,
            number: freed.number,
            peer,
            tag,
            cpu: operation.lane,
            nic: operation.nic,
            size,
            ready: freed.ready,
            order: 0,
            parked: false,
        })
    }

    /// Returns the error for an operation that would end after the last representable time.
    #[cold]
    fn too_late(&self, rank: Rank, number: OperationId) -> Trouble {
        let message = format!("is not over at {LAST} ns (213 days), the last time there is");
        Trouble::at(self.program.name(rank, number), message)
    }

    /// Gives an element a slot and a number.
    fn place(&mut self, time: u64, mut element: Element) -> Due {
        let number = self.number;
        self.number += u64::from(self.variant == Variant::LogGopSim);
        element.order = number;
        let slot = match self.unused.pop() {
            Some(slot) => {
                self.elements[slot as usize] = element;
                slot
            }
            None => {
                self.elements.push(element);
                self.elements.len() as u32 - 1
            }
        };
        Due { time, number, slot }
    }

    /// Returns the time that further bytes occupy a NIC, and a cpu.
    fn further(&self, size: u64) -> (u64, u64) {
        let bytes = size.wrapping_sub(1);
        let nic = match self.variant {
            Variant::LogGopSim => bytes.wrapping_mul(self.parameters.gap_per_byte as u64),
            Variant::Atlahs => (bytes as f64 * self.parameters.gap_per_byte).floor() as u64,
        };
        (nic, bytes.wrapping_mul(self.parameters.overhead_per_byte))
    }

    fn happen(&mut self, due: Due) -> Result<(), Trouble> {
        let element = self.elements[due.slot as usize];
        match (element.kind, self.variant) {
            (ElementKind::Calc, _) => self.calc(due, &element),
            (ElementKind::Send, _) => self.send(due, &element),
            (ElementKind::Message, Variant::LogGopSim) => self.message_of_loggopsim(due, &element),
            (ElementKind::Receive, Variant::LogGopSim) => self.receive_of_loggopsim(due, &element),
            (ElementKind::Message, Variant::Atlahs) => self.message_of_atlahs(due, &element),
            (ElementKind::Receive, Variant::Atlahs) => return self.receive_of_atlahs(due, &element),
        }
        Ok(())
    }

    /// Puts an element back until its clocks are free; it keeps its number.
    fn delay(&mut self, due: Due, until: u64) {
        if !self.parks {
            return self.queue.push(Due { time: until, ..due });
        }
        let element = &mut self.elements[due.slot as usize];
        element.parked = true;
        if let Some(due) = self.parking.add(element.clocks(), due, until) {
            self.queue.push(due);
        }
    }

    /// Returns the time at which the clocks of an element are free, in `loggopsim`.
    fn busy(&self, element: &Element) -> u64 {
        let cpu = self.cpu.get(element.rank, element.cpu);
        match element.kind {
            ElementKind::Send => cpu.max(self.sending.get(element.rank, element.nic)),
            ElementKind::Message => cpu.max(self.receiving.get(element.rank, element.nic)),
            ElementKind::Calc | ElementKind::Receive => cpu,
        }
    }

    /// Executes a parked element if it is first in its class, and queues the next one of its class.
    fn unpark(&mut self, due: Due) -> Result<(), Trouble> {
        let element = self.elements[due.slot as usize];
        let clocks = element.clocks();
        if !self.parking.is_first(clocks, due) {
            // Another element has replaced it in the queue.
            return Ok(());
        }
        // The clocks may have advanced since the element entered the queue.
        let busy = self.busy(&element);
        if busy > due.time {
            let due = self.parking.wait(clocks, due, busy);
            self.queue.push(due);
            return Ok(());
        }
        self.parking.remove_first(clocks);
        self.elements[due.slot as usize].parked = false;
        self.happen(due)?;
        let time = self.busy(&element).max(due.time);
        if let Some(due) = self.parking.next(clocks, time) {
            self.queue.push(due);
        }
        Ok(())
    }

    fn started(&mut self, element: &Element, time: u64) {
        if time < element.ready {
            self.early.0 += 1;
            self.early.1.get_or_insert((element.rank, element.number));
        }
        self.mark(element.rank, element.number, None);
    }

    fn mark(&mut self, rank: Rank, number: OperationId, end: Option<u64>) {
        let again = false;
        self.marks.push(Mark {
            rank,
            number,
            end,
            again,
        });
    }

    /// Marks the send of a message as completed by its receive. A send that did not wait for its receive completes a
    /// second time.
    fn mark_sent(&mut self, message: &Element, end: u64) {
        self.marks.push(Mark {
            rank: message.peer,
            number: message.number,
            end: Some(end),
            again: message.size <= self.parameters.eager,
        });
    }

    fn calc(&mut self, due: Due, calc: &Element) {
        let busy = self.cpu.get(calc.rank, calc.cpu);
        if busy > due.time {
            return self.delay(due, busy);
        }
        let end = due.time.wrapping_add(calc.size);
        self.cpu.set(calc.rank, calc.cpu, end);
        self.started(calc, due.time);
        self.mark(calc.rank, calc.number, Some(end));
        self.unused.push(due.slot);
    }

    fn send(&mut self, due: Due, send: &Element) {
        let Parameters {
            latency,
            overhead,
            gap,
            eager,
            ..
        } = self.parameters;
        let busy = self
            .cpu
            .get(send.rank, send.cpu)
            .max(self.sending.get(send.rank, send.nic));
        if busy > due.time {
            return self.delay(due, busy);
        }
        let time = due.time;
        let (nic, cpu) = self.further(send.size);
        let end = time.wrapping_add(overhead).wrapping_add(cpu);
        self.cpu.set(send.rank, send.cpu, end);
        self.sending
            .set(send.rank, send.nic, time.wrapping_add(gap).wrapping_add(nic));
        // LogGOPSim's messages arrive with the first byte, and the receiver adds the time of the rest. ATLAHS's
        // arrive with the last.
        let arrival = match self.variant {
            Variant::LogGopSim => time.wrapping_add(overhead).wrapping_add(latency),
            Variant::Atlahs => end.wrapping_add(latency).wrapping_add(nic),
        };
        // Returned first: the message takes over the slot of its send.
        self.unused.push(due.slot);
        let due = self.place(
            arrival,
            Element {
                kind: ElementKind::Message,
                rank: send.peer,
                peer: send.rank,
                ..*send
            },
        );
        self.queue.push(due);
        self.started(send, time);
        // A larger one ends only when its receive has been posted: see `mark_sent`.
        if send.size <= eager {
            self.mark(send.rank, send.number, Some(end));
        }
    }

    /// Checks the sizes of a matched pair of receive and message; returns true if the send counts as having waited for its
    /// receive. That depends on `size`, the size of the one that arrived later, as in both programs.
    fn matched(&mut self, message: &Element, receive: &Element, size: u64) -> bool {
        if message.size != receive.size {
            self.unequal.0 += 1;
            self.unequal.1.get_or_insert((*message, *receive));
        }
        let eager = self.parameters.eager;
        if message.size > eager && size <= eager {
            self.endless.push((*message, *receive));
        }
        size > eager
    }

    fn message_of_loggopsim(&mut self, due: Due, message: &Element) {
        let Parameters { overhead, gap, .. } = self.parameters;
        let time = due.time;
        // Cpu and NIC are charged even if no receive is posted yet.
        let busy = self
            .cpu
            .get(message.rank, message.cpu)
            .max(self.receiving.get(message.rank, message.nic));
        if busy > time {
            return self.delay(due, busy);
        }
        let (nic, cpu) = self.further(message.size);
        let end = time.wrapping_add(overhead).wrapping_add(nic.max(cpu));
        self.cpu.set(message.rank, message.cpu, end);
        self.receiving.set(
            message.rank,
            message.nic,
            time.wrapping_add(gap).wrapping_add(nic),
        );
        let key = key_of(message);
        let Some(slot) = self.posted.take_for_message(key) else {
            return self.arrived.push(key, due.slot);
        };
        let receive = self.elements[slot as usize];
        // A send above the eager limit blocks its cpu and its NIC until it is matched.
        self.unused.extend([due.slot, slot]);
        if self.matched(message, &receive, message.size) {
            self.cpu.rise(message.peer, message.cpu, time);
            self.sending.rise(message.peer, message.nic, time);
            self.mark_sent(message, time);
        }
        self.mark(receive.rank, receive.number, Some(end));
    }

    fn receive_of_loggopsim(&mut self, due: Due, receive: &Element) {
        let time = due.time;
        let key = key_of(receive);
        self.started(receive, time);
        let Some(slot) = self.arrived.take_for_receive(key) else {
            return self.posted.push(key, due.slot);
        };
        let message = self.elements[slot as usize];
        self.unused.extend([slot, due.slot]);
        if self.matched(&message, receive, receive.size) {
            self.cpu.rise(message.peer, receive.cpu, time);
            self.sending.rise(message.peer, receive.nic, time);
            self.mark_sent(&message, time);
        }
        self.mark(receive.rank, receive.number, Some(time));
    }

    fn message_of_atlahs(&mut self, due: Due, message: &Element) {
        let Parameters { overhead, gap, .. } = self.parameters;
        let key = key_of(message);
        let Some(slot) = self.posted.take_for_message(key) else {
            self.elements[due.slot as usize].ready = due.time;
            return self.arrived.push(key, due.slot);
        };
        let receive = self.elements[slot as usize];
        let busy = self
            .cpu
            .get(receive.rank, receive.cpu)
            .max(self.receiving.get(receive.rank, message.nic));
        if busy > due.time {
            // The message tries again when cpu and NIC are free, so its receive stays posted until then.
            self.posted.push(key, slot);
            return self.delay(due, busy);
        }
        let freed = due.time.wrapping_add(gap);
        let end = freed
            .wrapping_add(overhead)
            .wrapping_add(self.further(message.size).1);
        self.receiving.set(receive.rank, message.nic, freed);
        self.cpu.set(receive.rank, receive.cpu, end);
        // With two ranks, the receiver's freed operations come first; within one rank, the send's.
        let other = message.peer != receive.rank;
        if other {
            self.mark(receive.rank, receive.number, Some(end));
        }
        self.unused.extend([due.slot, slot]);
        if self.matched(message, &receive, message.size) {
            self.cpu.rise(message.peer, message.cpu, end);
            self.sending.rise(message.peer, message.nic, freed);
            self.mark_sent(message, end);
        }
        if !other {
            self.mark(receive.rank, receive.number, Some(end));
        }
    }

    fn receive_of_atlahs(&mut self, due: Due, receive: &Element) -> Result<(), Trouble> {
        let Parameters { overhead, gap, .. } = self.parameters;
        let key = key_of(receive);
        let Some(slot) = self.arrived.take_for_receive(key) else {
            self.started(receive, due.time);
            self.posted.push(key, due.slot);
            return Ok(());
        };
        let message = self.elements[slot as usize];
        if due.time < message.ready {
            let index = self.program.name(receive.rank, receive.number);
            let (time, arrived) = (due.time, message.ready);
            return Err(Trouble::at(
                index,
                format!("is freed by a start and would begin at {time} ns, before its message has come at {arrived} ns"),
            )
            .help("ATLAHS aborts here; take the variant loggopsim, or replace irequires by requires"));
        }
        // ATLAHS reads the sending clock here, although it sets the receiving one.
        let freed = self
            .sending
            .get(receive.rank, receive.nic)
            .max(due.time)
            .wrapping_add(gap);
        let end = freed
            .wrapping_add(overhead)
            .wrapping_add(self.further(receive.size).1);
        self.cpu.set(receive.rank, receive.cpu, end);
        self.receiving.set(receive.rank, receive.nic, freed);
        // With two ranks, the sender's freed operations come first.
        let other = message.peer != receive.rank;
        if !other {
            self.started(receive, due.time);
        }
        self.unused.extend([slot, due.slot]);
        if self.matched(&message, receive, receive.size) {
            // ATLAHS takes the receive's cpu and NIC for those of the sender here.
            self.cpu.rise(message.peer, receive.cpu, end);
            self.sending.rise(message.peer, receive.nic, freed);
            self.mark_sent(&message, end);
        }
        if other {
            self.started(receive, due.time);
        }
        self.mark(receive.rank, receive.number, Some(end));
        Ok(())
    }
}

fn key_of(element: &Element) -> Key {
    Key::new(element.rank, element.peer, element.tag)
}
