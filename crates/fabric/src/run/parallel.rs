//! The loop of a run that is cut: all parts run at the same time, a window after the other.
//!
//! A packet to another part takes at least the *lookahead*, the shortest delay of a link that is cut. So
//! what happens before `next + lookahead`, where `next` is the first event of all, hangs on nothing that another
//! part does in this window: each part runs up to there alone. Then packets change hands, all tell when their next
//! event is, and all conclude the same about what is to be done (Chandy and Misra 1979; synchronous windows: Lubachevsky
//! 1989).

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::core::parts::Mail;
use crate::run::cut::Parts;
use crate::run::simulation::Simulation;

/// How often a thread that waits for others looks before it lets others run, where each has a processor.
const SPINS: u32 = 1 << 12;

/// Where all threads wait for each other.
struct Barrier {
    threads: usize,
    spins: u32,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread has panicked: nobody waits for it.
    broken: AtomicBool,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads,
            spins: if threads > processors { 0 } else { SPINS },
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all are here; says whether they are.
    fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return !self.broken.load(Ordering::Acquire);
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            looks += 1;
            if looks < self.spins {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        !self.broken.load(Ordering::Acquire)
    }
}

/// Breaks the barrier when a thread panics, so that the others end too.
struct BreaksWith<'a>(&'a Barrier);

impl Drop for BreaksWith<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

/// What a part tells the others between two windows.
#[derive(Default)]
#[repr(align(128))]
struct Told {
    /// When its next event is; `u64::MAX` for never.
    next: AtomicU64,
    /// The last instant before its next sample.
    free_until: AtomicU64,
    events: AtomicU64,
    completed: AtomicU64,
    packets: AtomicU64,
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

/// What the threads share.
struct Table {
    barrier: Barrier,
    told: Vec<Told>,
    /// Boxes for mail, by sender and receiver.
    mail: Vec<Mutex<Mail>>,
}

impl Table {
    fn new(parts: usize) -> Self {
        Self {
            barrier: Barrier::new(parts),
            told: (0..parts).map(|_| Told::default()).collect(),
            mail: (0..parts * parts).map(|_| Mutex::default()).collect(),
        }
    }

    /// The box for mail from one part to another.
    fn mail(&self, from: usize, to: usize) -> std::sync::MutexGuard<'_, Mail> {
        let mail = self.mail[from * self.told.len() + to].lock();
        mail.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn tell(&self, me: usize, part: &Simulation) {
        let (told, core) = (&self.told[me], &part.core);
        let set = |place: &AtomicU64, value: u64| place.store(value, Ordering::Relaxed);
        set(&told.next, core.agenda.queue.peek_time().unwrap_or(u64::MAX));
        set(&told.free_until, core.watch.recorder.free_until());
        set(&told.events, core.counters.events);
        set(&told.completed, part.traffic.completed);
        set(&told.packets, u64::from(core.packets.live()));
    }

    fn hear(&self) -> Heard {
        let get = |place: &AtomicU64| place.load(Ordering::Relaxed);
        let all = || self.told.iter();
        Heard {
            next: all().map(|told| get(&told.next)).min().unwrap_or(u64::MAX),
            free_until: all().map(|told| get(&told.free_until)).min().unwrap_or(u64::MAX),
            events: all().map(|told| get(&told.events)).sum(),
            completed: all().map(|told| get(&told.completed)).sum(),
            packets: all().map(|told| get(&told.packets)).sum(),
        }
    }
}

/// Up to where the parts run before they come together.
#[derive(Clone, Copy)]
struct Goal {
    /// Events of all parts.
    events: u64,
    /// The instant that is not reached.
    limit: u64,
    lookahead: u64,
}

impl Simulation {
    /// Executes events before the instant `limit` until there have been `last` of them, or some more: windows are not
    /// broken off.
    pub(super) fn execute_parts(&mut self, last: u64, limit: u64) {
        while !self.core.done && self.progress().events < last {
            let Some(mut parts) = self.parts.take() else {
                return;
            };
            let look_at = self.core.watch.standstill.due();
            let goal = Goal {
                events: last,
                limit: limit.min(look_at),
                lookahead: parts.lookahead,
            };
            let heard = self.run_together(&mut parts, goal);
            self.parts = Some(parts);
            if self.core.done {
                return self.join();
            }
            if heard.next >= limit {
                return;
            }
            if heard.next >= look_at {
                self.look_at_parts(heard.next);
            }
        }
    }

    /// Runs all parts, each on a thread. A panic of one is one of this.
    fn run_together(&mut self, parts: &mut Parts, goal: Goal) -> Heard {
        let table = Table::new(1 + parts.others.len());
        let last = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (me, part) in (1..).zip(&mut parts.others) {
                let table = &table;
                threads.push(scope.spawn(move || part.run_beside(me, table, goal)));
            }
            let last = self.run_beside(0, &table, goal);
            let broken = threads.into_iter().find_map(|thread| thread.join().err());
            broken.map_or(last, |panic| std::panic::resume_unwind(panic))
        });
        last.unwrap_or_else(|| table.hear())
    }

    /// What one of the threads does; `None` if another has panicked.
    fn run_beside(&mut self, me: usize, table: &Table, goal: Goal) -> Option<Heard> {
        let _breaks = BreaksWith(&table.barrier);
        let stop = self.world.spec.stop.as_ps();
        loop {
            table.tell(me, self);
            if !table.barrier.wait() {
                return None;
            }
            let heard = table.hear();
            if heard.events >= goal.events || heard.next >= goal.limit && heard.next <= stop {
                return Some(heard);
            }
            if heard.next > stop {
                self.end((heard.next != u64::MAX).then_some(heard.next));
                return Some(heard);
            }
            if heard.next > heard.free_until {
                let all_done = heard.completed == self.world.spec.flow_count() as u64;
                self.sample_until(heard.next, all_done, all_done && heard.packets == 0);
            } else {
                let end = (heard.next + goal.lookahead).min(goal.limit).min(stop + 1);
                self.run_until(end.min(heard.free_until + 1), u64::MAX);
                self.core.post(table.told.len(), |to| table.mail(me, to));
            }
            if !table.barrier.wait() {
                return None;
            }
            for from in 0..table.told.len() {
                self.core.collect(&mut table.mail(from, me));
            }
            self.core.agenda.empty_trays();
        }
    }

    /// Looks for endless pauses, which may wait for each other across parts.
    #[cold]
    fn look_at_parts(&mut self, at: u64) {
        let now = self.core.watch.standstill.due();
        if !self.all_parts().any(|part| part.has_long_pause(now)) {
            return self.core.watch.standstill.nothing_found(at);
        }
        let mut whole = self.clone();
        whole.join();
        whole.look_for_standstill(at);
        self.core.watch.standstill = whole.core.watch.standstill;
        if whole.core.done {
            self.core.now = now;
            self.join();
            self.core.done = true;
        }
    }
}
