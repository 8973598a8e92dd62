//! The loop of a run that is cut: all parts run at the same time, a window after the other.
//!
//! A packet to another part takes at least the *lookahead*, the shortest delay of a link that is cut. So
//! what happens before `next + lookahead`, where `next` is the first event of all, depends on nothing that another
//! part does in this window: each part runs up to there alone. Then packets change hands, all tell when their next
//! event is, and the last of them concludes what is to be done (Chandy and Misra 1979; synchronous windows: Lubachevsky
//! 1989).
//!
//! In each window a thread takes its own part through it, and then those that nobody has started with: a thread without a
//! processor keeps the others waiting only where it has started.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::parts::{Mail, Posted};
use crate::run::barrier::{Barrier, Waiter};
use crate::run::simulation::{Parts, Simulation};
use crate::run::windows::Windows;

/// What a part tells the others after a window.
#[derive(Default)]
#[repr(align(128))]
struct Announced {
    /// When its next event is, or the first that it sent to another part; `u64::MAX` for never.
    next: AtomicU64,
    /// The last instant before its next sample.
    free_until: AtomicU64,
    events: AtomicU64,
    completed: AtomicU64,
    /// Packets that it has, and that it has sent to others.
    packets: AtomicU64,
    /// The latter alone.
    crossed: AtomicU64,
}

/// The same of all parts.
#[derive(Clone, Copy)]
struct Heard {
    next: u64,
    free_until: u64,
    events: u64,
    completed: u64,
    packets: u64,
}

/// Up to where the parts run before they come together.
#[derive(Clone, Copy)]
struct Goal {
    /// Events of all parts.
    events: u64,
    /// The instant that is not reached.
    limit: u64,
    /// The last instant of the run.
    stop: u64,
    /// Flows of the run.
    flows: u64,
}

/// What all parts do in a window, once they have taken in what the others sent them in the one before.
#[derive(Clone, Copy)]
enum Task {
    /// Runs up to this instant.
    Run { end: u64 },
    /// Takes the samples that are due before this instant.
    Sample { at: u64, all_done: bool, is_over: bool },
    /// Nothing: the threads end here.
    Leave,
}

/// A part, and how many windows it has been through.
#[repr(align(128))]
struct WorkerSlot<'a> {
    part: &'a mut Simulation,
    windows: u64,
}

/// What the threads share.
struct Table<'a> {
    goal: Goal,
    barrier: Barrier<Task>,
    seats: Vec<Mutex<WorkerSlot<'a>>>,
    /// Parts that have been through this window.
    through: AtomicUsize,
    announced: Vec<Announced>,
    /// Boxes for mail, by the window's parity, sender and receiver: what is sent in one window is read in the next.
    mail: [Vec<Mutex<Mail>>; 2],
    windows: Mutex<&'a mut Windows>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Table<'a> {
    fn new(parts: Vec<&'a mut Simulation>, windows: &'a mut Windows, goal: Goal) -> Self {
        let count = parts.len();
        let boxes = || (0..count * count).map(|_| Mutex::default()).collect();
        let mut table = Self {
            goal,
            barrier: Barrier::new(None),
            seats: Vec::new(),
            through: AtomicUsize::new(0),
            announced: (0..count).map(|_| Announced::default()).collect(),
            mail: [boxes(), boxes()],
            windows: Mutex::new(windows),
        };
        for (me, part) in parts.into_iter().enumerate() {
            table.notify(me, part, Posted::NOTHING);
            table.seats.push(Mutex::new(WorkerSlot { part, windows: 0 }));
        }
        table.barrier = Barrier::new(Some(table.conclude(&table.hear())));
        table
    }

    /// What one of `threads` threads does.
    fn work(&self, me: usize, threads: usize) {
        let _breaks = self.barrier.breaks_with_me();
        let parts = self.seats.len();
        let own = me * parts / threads;
        let mut waiter = Waiter::new();
        while let Some((window, task)) = self.barrier.wait(&mut waiter) {
            for part in (own..parts).chain(0..own) {
                if self.take_through(part, window, task) && self.is_last() {
                    self.barrier.open(self.next(task));
                }
            }
        }
    }

    /// Takes a part through a window, unless another thread does or did.
    fn take_through(&self, me: usize, window: u64, task: Task) -> bool {
        let Ok(mut seat) = self.seats[me].try_lock() else {
            return false;
        };
        if seat.windows >= window {
            return false;
        }
        seat.windows = window;
        let parts = self.seats.len();
        let [read, write] = [window - 1, window].map(|window| &self.mail[window as usize % 2]);
        let part = &mut *seat.part;
        for from in 0..parts {
            part.core.collect(&mut lock(&read[from * parts + me]));
        }
        part.core.empty_trays();
        match task {
            Task::Run { end } => part.run_until(end, u64::MAX),
            Task::Sample {
                at,
                all_done,
                is_over,
            } => part.sample_until(at, all_done, is_over),
            Task::Leave => {}
        }
        let posted = part.core.post(|to| lock(&write[me * parts + to]));
        self.notify(me, part, posted);
        true
    }

    /// Whether the part that has just been through the window is the last.
    fn is_last(&self) -> bool {
        let last = self.through.fetch_add(1, Ordering::AcqRel) + 1 == self.seats.len();
        if last {
            self.through.store(0, Ordering::Relaxed);
        }
        last
    }

    fn notify(&self, me: usize, part: &Simulation, posted: Posted) {
        let (announced, core) = (&self.announced[me], &part.core);
        let set = |place: &AtomicU64, value: u64| place.store(value, Ordering::Relaxed);
        let next = core.next_event_at().unwrap_or(u64::MAX);
        set(&announced.next, next.min(posted.first));
        set(&announced.free_until, core.watch.recorder.free_until());
        set(&announced.events, core.counters.events);
        set(&announced.completed, part.traffic.completed());
        set(&announced.packets, u64::from(core.packets.live()) + posted.count);
        set(&announced.crossed, posted.count);
    }

    fn hear(&self) -> Heard {
        let get = |place: &AtomicU64| place.load(Ordering::Relaxed);
        let all = || self.announced.iter();
        Heard {
            next: all()
                .map(|announced| get(&announced.next))
                .min()
                .unwrap_or(u64::MAX),
            free_until: all()
                .map(|announced| get(&announced.free_until))
                .min()
                .unwrap_or(u64::MAX),
            events: all().map(|announced| get(&announced.events)).sum(),
            completed: all().map(|announced| get(&announced.completed)).sum(),
            packets: all().map(|announced| get(&announced.packets)).sum(),
        }
    }

    /// What comes after a task that all parts have done.
    fn next(&self, done: Task) -> Option<Task> {
        if let Task::Leave = done {
            return None;
        }
        let heard = self.hear();
        if let Task::Run { .. } = done {
            let get = |announced: &Announced| {
                [&announced.events, &announced.crossed].map(|place| place.load(Ordering::Relaxed))
            };
            lock(&self.windows).count(self.announced.iter().map(get));
        }
        Some(self.conclude(&heard))
    }

    fn conclude(&self, heard: &Heard) -> Task {
        let Goal {
            events,
            limit,
            stop,
            flows,
        } = self.goal;
        if heard.events >= events || heard.next >= limit || heard.next > stop {
            return Task::Leave;
        }
        if heard.next > heard.free_until {
            let all_done = heard.completed == flows;
            return Task::Sample {
                at: heard.next,
                all_done,
                is_over: all_done && heard.packets == 0,
            };
        }
        let end = (heard.next + lock(&self.windows).span()).min(limit).min(stop + 1);
        Task::Run {
            end: end.min(heard.free_until + 1),
        }
    }
}

impl Simulation {
    /// Executes events before the instant `limit` until there have been `last` of them, or some more: windows are not
    /// broken off.
    pub(super) fn execute_parts(&mut self, last: u64, limit: u64) {
        while !self.core.is_over() && self.progress().events < last {
            let Some(mut parts) = self.parts.take() else {
                return;
            };
            let look_at = self.core.watch.deadlock.due();
            let goal = Goal {
                events: last,
                limit: limit.min(look_at),
                stop: self.world.spec.stop.as_ps(),
                flows: self.world.spec.flow_count() as u64,
            };
            let heard = self.run_together(&mut parts, goal);
            self.parts = Some(parts);
            if heard.events < goal.events && heard.next > goal.stop {
                return self.end_parts(heard.next);
            }
            if heard.next >= limit {
                return;
            }
            if heard.next >= look_at {
                self.observe_parts(heard.next);
            }
        }
    }

    /// Runs all parts, on as many threads as there are processors. A panic of one is one of this.
    fn run_together(&mut self, parts: &mut Parts, goal: Goal) -> Heard {
        let Parts {
            others,
            windows,
            threads,
        } = parts;
        let all = std::iter::once(self).chain(others.iter_mut().map(|other| &mut **other));
        let table = &Table::new(all.collect(), windows, goal);
        let count = *threads;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (1..count)
                .map(|me| scope.spawn(move || table.work(me, count)))
                .collect();
            table.work(0, count);
            let broken = threads.into_iter().find_map(|thread| thread.join().err());
            if let Some(panic) = broken {
                std::panic::resume_unwind(panic);
            }
        });
        table.hear()
    }

    /// The run is over: makes one of its parts.
    fn end_parts(&mut self, next: u64) {
        let next = (next != u64::MAX).then_some(next);
        for part in self.parts.iter_mut().flat_map(|parts| &mut parts.others) {
            part.end(next);
        }
        self.end(next);
        self.join();
    }

    /// Looks for endless pauses, which may wait for each other across parts.
    #[cold]
    fn observe_parts(&mut self, at: u64) {
        let now = self.core.watch.deadlock.due();
        if !self.all_parts().any(|part| part.has_long_pause(now)) {
            return self.core.watch.deadlock.nothing_found(at);
        }
        let mut whole = self.clone();
        whole.join();
        whole.look_for_deadlock(at);
        let is_over = whole.core.is_over();
        self.core.watch.deadlock = whole.core.watch.deadlock;
        if is_over {
            self.core.set_clock(now);
            self.join();
            self.core.end();
        }
    }
}
