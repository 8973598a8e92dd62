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
use crate::core::wire::Bytes;
use crate::run::barrier::{Barrier, Waiter};
use crate::run::cut::parts_of_rank;
use crate::run::heard::Heard;
use crate::run::simulation::{Parts, Simulation};
use crate::run::team::Team;
use crate::run::windows::Windows;

/// A part's announcement, which its thread writes and the last one of the window reads.
#[derive(Default)]
#[repr(align(128))]
struct Announced([AtomicU64; Heard::FIELDS]);

impl Announced {
    // Relaxed is enough: the counter in `is_last` orders these stores before the reads of the last part.
    fn set(&self, heard: &Heard) {
        for (field, value) in self.0.iter().zip(heard.fields()) {
            field.store(value, Ordering::Relaxed);
        }
    }

    fn get(&self) -> Heard {
        Heard::of_fields(std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed)))
    }
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
    /// Parts of this process, the first of which has the number `first`.
    seats: Vec<Mutex<WorkerSlot<'a>>>,
    first: usize,
    /// Number of parts that have been through this window.
    through: AtomicUsize,
    /// Announcements of the parts of all ranks, by their numbers.
    announced: Vec<Announced>,
    /// Mailboxes, by the window's parity, sender and receiver: what is sent in one window is read in the next, so that
    /// a part may write while another still reads.
    mail: [Vec<Mutex<Mail>>; 2],
    windows: Mutex<&'a mut Windows>,
    post: Option<Mutex<Post<'a>>>,
}

/// Exchange with other ranks, with a buffer for each.
struct Post<'a> {
    team: &'a Team,
    to: Vec<Vec<u8>>,
    from: Vec<Vec<u8>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Table<'a> {
    fn new(
        parts: Vec<&'a mut Simulation>,
        count: usize,
        windows: &'a mut Windows,
        team: Option<&'a Team>,
        goal: Goal,
    ) -> Self {
        let boxes = || (0..count * count).map(|_| Mutex::default()).collect();
        let post = |team: &'a Team| Post {
            team,
            to: vec![Vec::new(); team.ranks()],
            from: vec![Vec::new(); team.ranks()],
        };
        let mut table = Self {
            goal,
            barrier: Barrier::new(None),
            seats: Vec::new(),
            first: team.map_or(0, |team| parts_of_rank(count, team, team.rank()).start),
            through: AtomicUsize::new(0),
            announced: (0..count).map(|_| Announced::default()).collect(),
            mail: [boxes(), boxes()],
            windows: Mutex::new(windows),
            post: team.map(|team| Mutex::new(post(team))),
        };
        for part in parts {
            let me = table.first + table.seats.len();
            table.announced[me].set(&part.announcement(Posted::NOTHING));
            table.seats.push(Mutex::new(WorkerSlot { part, windows: 0 }));
        }
        table.exchange(0);
        table.barrier = Barrier::new(Some(table.conclude(&table.hear())));
        table
    }

    /// Exchanges what the parts have sent in a window, and their announcements, with the other ranks.
    fn exchange(&self, window: u64) {
        let Some(post) = &self.post else {
            return;
        };
        let Post { team, to, from } = &mut *lock(post);
        let (count, mail) = (self.announced.len(), &self.mail[window as usize % 2]);
        let own = self.first..self.first + self.seats.len();
        let others = || (0..team.ranks()).filter(|&rank| rank != team.rank());
        for rank in others() {
            let bytes = &mut to[rank];
            bytes.clear();
            for part in own.clone() {
                let fields = self.announced[part].get().fields();
                bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
                for receiver in parts_of_rank(count, team, rank) {
                    lock(&mail[part * count + receiver]).write(bytes);
                }
            }
        }
        team.exchange(to, from);
        for rank in others() {
            let mut bytes = Bytes::new(&from[rank]);
            for part in parts_of_rank(count, team, rank) {
                let fields = std::array::from_fn(|_| bytes.u64());
                self.announced[part].set(&Heard::of_fields(fields));
                for receiver in own.clone() {
                    lock(&mail[part * count + receiver]).read(&mut bytes);
                }
            }
        }
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
                    self.exchange(window);
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
        let (parts, me) = (self.announced.len(), self.first + me);
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
        self.announced[me].set(&part.announcement(posted));
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

    fn hear(&self) -> Heard {
        Heard::all(self.announced.iter().map(Announced::get))
    }

    /// Returns the task that follows one that all parts have done.
    fn next(&self, done: Task) -> Option<Task> {
        if let Task::Leave = done {
            return None;
        }
        let heard = self.hear();
        if let Task::Run { .. } = done {
            let counts = self.announced.iter().map(Announced::get);
            lock(&self.windows).count(counts.map(|heard| [heard.events, heard.crossed]));
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
    /// Returns the announcement of this part, which has sent what `posted` says.
    fn announcement(&self, posted: Posted) -> Heard {
        let core = &self.core;
        Heard {
            next: core.next_event_at().unwrap_or(u64::MAX).min(posted.first),
            free_until: core.watch.recorder.free_until(),
            events: core.counters.events,
            completed: self.traffic.completed(),
            packets: u64::from(core.packets.live()) + posted.count - posted.controls,
            crossed: posted.count,
            now: core.now(),
            hops: core.hops(),
        }
    }

    /// Returns the announcements of all parts as one. Between windows, no packet is on its way from one to another.
    pub(super) fn announcement_of_all(&self) -> Heard {
        let heard = self.parts.as_ref().and_then(|parts| parts.heard);
        heard.unwrap_or_else(|| Heard::all(self.all_parts().map(|part| part.announcement(Posted::NOTHING))))
    }

    /// Runs events before the instant `limit` until there have been `last` of them, or some more: windows are not
    /// interrupted.
    pub(super) fn execute_parts(&mut self, last: u64, limit: u64) {
        while !self.core.is_over() {
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
            parts.heard = parts.team.as_ref().map(|_| heard);
            self.parts = Some(parts);
            if heard.events >= last {
                return;
            }
            if heard.next > goal.stop {
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
            count,
            team,
            ..
        } = parts;
        let all = std::iter::once(self).chain(others.iter_mut().map(|other| &mut **other));
        let table = &Table::new(all.collect(), *count, windows, team.as_ref(), goal);
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

    /// Ends the run in all parts.
    fn end_parts(&mut self, next: u64) {
        let next = (next != u64::MAX).then_some(next);
        for part in self.parts.iter_mut().flat_map(|parts| &mut parts.others) {
            part.end(next);
        }
        self.end(next);
    }

    /// Searches for deadlocks, which may span several parts.
    #[cold]
    fn observe_parts(&mut self, at: u64) {
        let now = self.core.watch.deadlock.due();
        self.look_for_deadlock(at);
        if self.core.is_over() {
            self.core.set_clock(now);
        }
    }
}
