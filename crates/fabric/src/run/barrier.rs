//! Barrier at which the threads of a cut run wait for the next window.
//!
//! Nobody waits for a thread: a window is over when all *parts* have been through it, whichever threads ran them. A
//! waiting thread spins for a while, since the others mostly come soon. Then it sleeps, since a thread that it waits
//! for may need the processor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Largest and smallest number of spins before a thread sleeps: about a quarter of a millisecond, and a few
/// microseconds.
const LOOKS: std::ops::RangeInclusive<u32> = 1 << 6..=1 << 12;

/// Work of the threads in the next window, and its number.
struct Turn<T> {
    number: u64,
    /// Work to do; `None` at the end of the run.
    what: Option<T>,
    asleep: usize,
}

/// Barrier between windows, and the work of the next one.
pub(super) struct Barrier<T> {
    /// Number of the turn, to be read without the lock.
    number: AtomicU64,
    /// True after a thread has panicked: nobody waits any more.
    broken: AtomicBool,
    turn: Mutex<Turn<T>>,
    next: Condvar,
}

/// A thread's state of waiting.
pub(super) struct Waiter {
    /// Number of the last turn that the thread saw.
    seen: u64,
    /// Number of spins before it sleeps.
    looks: u32,
}

impl Waiter {
    pub(super) fn new() -> Self {
        Self {
            seen: 0,
            looks: *LOOKS.end(),
        }
    }
}

impl<T: Copy> Barrier<T> {
    /// Creates the barrier with the work of the first turn.
    pub(super) fn new(what: Option<T>) -> Self {
        Self {
            number: AtomicU64::new(1),
            broken: AtomicBool::new(false),
            turn: Mutex::new(Turn {
                number: 1,
                what,
                asleep: 0,
            }),
            next: Condvar::new(),
        }
    }

    fn turn(&self) -> MutexGuard<'_, Turn<T>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn that `waiter` has not seen. Returns its number and its work; `None` at the end of the run.
    pub(super) fn wait(&self, waiter: &mut Waiter) -> Option<(u64, T)> {
        let comes = (0..waiter.looks).any(|_| {
            std::hint::spin_loop();
            self.number.load(Ordering::Acquire) != waiter.seen
        });
        // A thread that has spun in vain spins for a shorter time next.
        waiter.looks = match comes {
            true => (waiter.looks * 2).min(*LOOKS.end()),
            false => (waiter.looks / 2).max(*LOOKS.start()),
        };
        let mut turn = self.turn();
        // Checked again under the lock, or a turn that opened in between would not wake this thread.
        while turn.number == waiter.seen && !self.broken.load(Ordering::Acquire) {
            turn.asleep += 1;
            turn = self.next.wait(turn).unwrap_or_else(PoisonError::into_inner);
            turn.asleep -= 1;
        }
        waiter.seen = turn.number;
        let number = turn.number;
        (turn.what.filter(|_| !self.broken.load(Ordering::Acquire))).map(|what| (number, what))
    }

    /// Opens the next turn, after all parts are through the last one.
    pub(super) fn open(&self, what: Option<T>) {
        let mut turn = self.turn();
        turn.number += 1;
        turn.what = what;
        self.number.store(turn.number, Ordering::Release);
        if turn.asleep > 0 {
            drop(turn);
            self.next.notify_all();
        }
    }

    /// Returns a guard that breaks the barrier if this thread panics before it is dropped, so that the others end too.
    pub(super) fn breaks_with_me(&self) -> BreaksWith<'_, T> {
        BreaksWith(self)
    }
}

/// Guard that breaks the barrier: see [`Barrier::breaks_with_me`].
pub(super) struct BreaksWith<'a, T: Copy>(&'a Barrier<T>);

impl<T: Copy> Drop for BreaksWith<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let turn = self.0.turn();
            self.0.broken.store(true, Ordering::Release);
            drop(turn);
            self.0.next.notify_all();
        }
    }
}
