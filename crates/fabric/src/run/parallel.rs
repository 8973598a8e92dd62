//! The loop of a cut run: all parts run at the same time, window by window.
//!
//! A packet to another part takes at least the *lookahead*, the shortest delay of a link between parts. So the events
//! before `next + lookahead`, where `next` is the first event of all, do not depend on anything that another part does
//! in this window: each part runs up to there alone. Then packets are exchanged, all parts announce the time of their
//! next event, and the last of them decides what to do next (Chandy and Misra 1979; synchronous windows: Lubachevsky
//! 1989).
//!
//! In each window a thread runs its own part, and then those that nobody has started: a thread without a processor
//! keeps the others waiting only if it has started a part.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::parts::{Mail, Posted};
use crate::run::barrier::{Barrier, Waiter};
use crate::run::simulation::{Parts, Simulation};
use crate::run::windows::Windows;

/// Announcement of a part after a window.
#[derive(Default)]
#[repr(align(128))]
struct Announced {
    /// Time of its next event, or of the first that it has sent to another part; `u64::MAX` for none.
    next: AtomicU64,
    /// Last instant before its next sample.
    free_until: AtomicU64,
    events: AtomicU64,
    completed: AtomicU64,
    /// Packets in the part, and those that it has sent to others.
    packets: AtomicU64,
    /// Packets sent to other parts.
    crossed: AtomicU64,
}

/// Sums and minima of all parts' announcements.
#[derive(Clone, Copy)]
struct Heard {
    next: u64,
    free_until: u64,
    events: u64,
    completed: u64,
    packets: u64,
}

/// Conditions for the parts to stop and be looked at together.
#[derive(Clone, Copy)]
struct Goal {
    /// Number of events of all parts.
    events: u64,
    /// First instant that is not reached.
    limit: u64,
    /// Last instant of the run.
    stop: u64,
    /// Number of flows of the run.
    flows: u64,
}

/// Task of all parts in a window, after they have taken in the packets of the last one.
#[derive(Clone, Copy)]
enum Task {
    /// Runs up to this instant.
    Run { end: u64 },
    /// Takes the samples that are due before this instant.
    Sample { at: u64, all_done: bool, is_over: bool },
    /// Ends the threads of the run.
    Leave,
}

/// A part, and the number of windows that it has been through.
#[repr(align(128))]
struct WorkerSlot<'a> {
    part: &'a mut Simulation,
    windows: u64,
}

/// State that the threads share.
struct Table<'a> {
    goal: Goal,
    barrier: Barrier<Task>,
    seats: Vec<Mutex<WorkerSlot<'a>>>,
    /// Number of parts that have been through this window.
    through: AtomicUsize,
    announced: Vec<Announced>,
    /// Mailboxes, by the window's parity, sender and receiver: what is sent in one window is read in the next, so that
    /// a part may write while another still reads.
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

    /// Runs one of `threads` threads.
    fn work(&self, me: usize, threads: usize) {
        let _breaks = self.barrier.breaks_with_me();
        let parts = self.seats.len();
        let own = me * parts / threads;
        let mut waiter = Waiter::new();
        while let Some((window, task)) = self.barrier.wait(&mut waiter) {
            // A thread starts with the same part in every window, whose memory is in its processor's cache.
            for part in (own..parts).chain(0..own) {
                if self.take_through(part, window, task) && self.is_last() {
                    self.barrier.open(self.next(task));
                }
            }
        }
    }

    /// Takes a part through a window. Returns false if another thread does or did.
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
        // In the order of parts, not of arrival, so that results do not depend on threads.
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

    /// Returns true if the part that has just been through the window is the last.
    fn is_last(&self) -> bool {
        let last = self.through.fetch_add(1, Ordering::AcqRel) + 1 == self.seats.len();
        if last {
            // No other thread touches it before the barrier opens.
            self.through.store(0, Ordering::Relaxed);
        }
        last
    }

    fn notify(&self, me: usize, part: &Simulation, posted: Posted) {
        let (announced, core) = (&self.announced[me], &part.core);
        // Relaxed is enough: the counter in `is_last` orders these stores before the reads of the last part.
        let set = |index: &AtomicU64, value: u64| index.store(value, Ordering::Relaxed);
        let next = core.next_event_at().unwrap_or(u64::MAX);
        set(&announced.next, next.min(posted.first));
        set(&announced.free_until, core.watch.recorder.free_until());
        set(&announced.events, core.counters.events);
        set(&announced.completed, part.traffic.completed());
        set(&announced.packets, u64::from(core.packets.live()) + posted.count);
        set(&announced.crossed, posted.count);
    }

    fn hear(&self) -> Heard {
        let get = |index: &AtomicU64| index.load(Ordering::Relaxed);
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

    /// Returns the task that follows one that all parts have done.
    fn next(&self, done: Task) -> Option<Task> {
        if let Task::Leave = done {
            return None;
        }
        let heard = self.hear();
        if let Task::Run { .. } = done {
            let get = |announced: &Announced| {
                [&announced.events, &announced.crossed].map(|index| index.load(Ordering::Relaxed))
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
        // Samples show the state before an event, so they are taken while no part has run past them.
        if heard.next > heard.free_until {
            let all_done = heard.completed == flows;
            return Task::Sample {
                at: heard.next,
                all_done,
                is_over: all_done && heard.packets == 0,
            };
        }
        // No packet of another part can arrive earlier than this.
        let end = (heard.next + lock(&self.windows).span()).min(limit).min(stop + 1);
        Task::Run {
            end: end.min(heard.free_until + 1),
        }
    }
}

impl Simulation {
    /// Runs events before the instant `limit` until there have been `last` of them, or some more: windows are not
    /// interrupted.
    pub(super) fn execute_parts(&mut self, last: u64, limit: u64) {
        while !self.core.is_over() && self.progress().events < last {
            let Some(mut parts) = self.parts.take() else {
                return;
            };
            let look_at = self.core.watch.deadlock.due();
            let goal = Goal {
                events: last,
                // The search for deadlocks sees all parts at one instant, so no window may pass it.
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

    /// Runs all parts on the chosen number of threads. A panic of one thread is passed on.
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

    /// Ends the run: merges its parts.
    fn end_parts(&mut self, next: u64) {
        let next = (next != u64::MAX).then_some(next);
        for part in self.parts.iter_mut().flat_map(|parts| &mut parts.others) {
            part.end(next);
        }
        self.end(next);
        self.join();
    }

    /// Searches for deadlocks, which may span several parts.
    #[cold]
    fn observe_parts(&mut self, at: u64) {
        let now = self.core.watch.deadlock.due();
        if !self.all_parts().any(|part| part.has_long_pause(now)) {
            return self.core.watch.deadlock.nothing_found(at);
        }
        // The search needs the whole network. A copy is merged, since the run goes on in parts.
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
