//! A1, the sum of excesses: the bytes that the senders of an incast wait for together, compared with the queue at the
//! same instant.

use std::sync::{Arc, Mutex, PoisonError};

use paceline_congestion::acc::Acc;
use paceline_congestion::api::{AckInfo, CongestionControl, Ctx, Outgoing, SendLimits};
use paceline_congestion::registry::{AnyParams, SchemeFactory};
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::NodeId;
use paceline_fabric::{Factories, Outcome, Progress};
use paceline_kernel::Time;
use paceline_kernel::order::Sort as _;
use paceline_lab::run::{Control, execute_with};
use paceline_scenario::Resolved;

use crate::need::{DoneRun, Input, Metrics};
use crate::step::{Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "acc excess",
    title: "adding up what stopped senders wait for",
    work,
};

/// Lists by number of flows, for each rate: excess, queue, stopped flows.
const NAMES: [&str; 3] = ["excess", "queue", "stopped"];

/// Repeats the runs of the incasts with senders that report the bytes they wait for.
fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let incasts = |run: &&DoneRun| run.need.input == Input::Shipped("acc-drain", 1);
    let runs: Vec<&DoneRun> = work.done.runs.iter().filter(incasts).collect();
    let mut all = Metrics::default();
    for (index, run) in runs.iter().enumerate() {
        let name = run.need.name();
        work.done
            .ended(&run.need)
            .ok_or_else(|| StepError::of(format!("{name} has not ended")))?;
        let gbps = run.input.run.links[0].rate.as_bps() / 1_000_000_000;
        for (list, value) in NAMES.into_iter().zip(largest(&run.input)?.values()) {
            let flows = run.input.run.flows.len() as f64;
            let list = all.series.entry(format!("{list} at {gbps}"));
            list.or_default().push((flows, value));
        }
        work.inform((index + 1) as f64 / runs.len() as f64, &name)?;
    }
    for list in all.series.values_mut() {
        list.order_by(|a, b| a.0.total_cmp(&b.0));
    }
    Ok(all)
}

/// Instant at which senders wait for most, with values in packets.
struct Largest {
    excess: f64,
    queue: f64,
    stopped: usize,
}

impl Largest {
    const fn values(&self) -> [f64; 3] {
        [self.excess, self.queue, self.stopped as f64]
    }
}

/// Runs `input` with reporting senders, and finds that instant.
fn largest(input: &Resolved) -> Result<Largest, StepError> {
    let AnyParams::Acc(params) = input.run.schemes[0].config.params() else {
        return Err(StepError::of("the scheme is not ACC"));
    };
    let line = Changing::default();
    let factory = {
        let (params, line) = (params.clone(), line.clone());
        SchemeFactory::new(move |path| Box::new(Teller::new(Acc::new(&params, path), &line)))
    };
    let go_on = &mut |_: &Progress| Control::Continue;
    let done = execute_with(input, Factories::from([(0, factory)]), go_on).map_err(StepError::of)?;
    let line = line.0.lock().unwrap_or_else(PoisonError::into_inner);
    let (at, bytes, stopped) = peak(&line.changes);
    let (payload, queue) = queue_at(&done.outcome, at);
    Ok(Largest {
        excess: bytes as f64 / payload.max(1.0),
        queue,
        stopped,
    })
}

/// Time, sender (in the order of creation), and the bytes that it still waits for.
type Change = (Time, usize, u64);

/// Returns the time of the largest sum, the sum, and the number of waiting senders.
fn peak(changes: &[Change]) -> (Time, u64, usize) {
    let mut waiting: Vec<u64> = Vec::new();
    let mut best = (Time::ZERO, 0, 0);
    for &(at, who, bytes) in changes {
        waiting.resize(waiting.len().max(who + 1), 0);
        waiting[who] = bytes;
        let sum = waiting.iter().sum();
        if sum > best.1 {
            best = (at, sum, waiting.iter().filter(|bytes| **bytes > 0).count());
        }
    }
    best
}

/// Returns the payload of a full packet, and the packets in the congested port's queue at an instant.
fn queue_at(outcome: &Outcome, at: Time) -> (f64, f64) {
    let passes = |event: &&TraceEvent| {
        event.node == NodeId(0)
            && event.kind == PacketKind::Data
            && matches!(event.event, TraceKind::Enqueue | TraceKind::Dequeue)
    };
    let data = outcome.trace.iter().filter(passes);
    let full = data.clone().max_by_key(|event| event.wire);
    let (payload, wire) = full.map_or((1, 1), |event| (event.payload, event.wire));
    let last = data.take_while(|event| event.at <= at).last();
    let bytes = last.map_or(0, |event| event.queue_bytes);
    (f64::from(payload), f64::from(bytes) / f64::from(wire))
}

/// Reports of the senders in the order of time.
#[derive(Clone, Debug, Default)]
struct Changing(Arc<Mutex<Changes>>);

#[derive(Debug, Default)]
struct Changes {
    senders: usize,
    changes: Vec<Change>,
}

/// Sender that reports the bytes it waits for.
#[derive(Clone, Debug)]
struct Teller {
    acc: Acc,
    who: usize,
    waits: u64,
    line: Changing,
}

impl Teller {
    fn new(acc: Acc, line: &Changing) -> Self {
        let mut changes = line.0.lock().unwrap_or_else(PoisonError::into_inner);
        changes.senders += 1;
        Self {
            acc,
            who: changes.senders - 1,
            waits: 0,
            line: line.clone(),
        }
    }
}

impl CongestionControl for Teller {
    fn limits(&self) -> SendLimits {
        self.acc.limits()
    }

    fn tag(&mut self, cx: &mut Ctx<'_>, packet: &Outgoing) -> u8 {
        self.acc.tag(cx, packet)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.acc.on_ack(cx, ack);
        let until = self.acc.stopped_until();
        let waits = until.map_or(0, |until| until.saturating_sub(ack.delivered));
        if waits != self.waits {
            self.waits = waits;
            let mut line = self.line.0.lock().unwrap_or_else(PoisonError::into_inner);
            line.changes.push((cx.now, self.who, waits));
        }
    }

    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.acc.on_timeout(cx);
    }
}
