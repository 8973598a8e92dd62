//! Ctrl-C. If there is nothing to keep, it ends the program at once, even while writing. If there is, the first
//! Ctrl-C asks runs to stop at their next slice, and the second ends the program. For complete runs there is one more
//! step in between, which leaves out the table of flows. While finished results are written, the first Ctrl-C only
//! prints a message.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use paceline_lab::files::{Waiting, Writing, abandon};
use paceline_lab::run::Control;
use paceline_report::Written;

/// Number of interruptions so far.
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Messages for the next interruptions, in order; empty if there is nothing to keep.
static KEPT: Mutex<&[&str]> = Mutex::new(&[]);

/// Exit status of a program that an interruption ends.
static STATUS: AtomicI32 = AtomicI32::new(130);

/// Makes an interruption the normal end from now on, for a command that has no other.
pub(crate) fn ends_normally() {
    STATUS.store(0, Ordering::SeqCst);
}

/// Installs the handler: from now on, an interruption leaves no partial files. It also handles SIGTERM, which batch
/// systems send before their time limit.
pub(crate) fn listen() {
    // Without a handler, an interruption ends the program at once. That loses results, but is no reason not to run.
    let _ = ctrlc::set_handler(|| {
        let before = ASKED.fetch_add(1, Ordering::SeqCst);
        match kept().get(before as usize) {
            Some(said) => say!("\ninterrupted: {said}"),
            None => end(),
        }
    });
}

fn end() -> ! {
    if abandon() {
        say!("\ninterrupted while writing: what was not whole is discarded");
    }
    std::process::exit(STATUS.load(Ordering::SeqCst))
}

fn kept() -> std::sync::MutexGuard<'static, &'static [&'static str]> {
    KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Guard of results to keep: while it lives, an interruption only asks runs to stop.
#[derive(Debug)]
#[must_use]
pub(crate) struct InterruptGuard(());

impl InterruptGuard {
    /// Starts the writing of results. Complete results are still written after one more interruption, since they may
    /// have taken long; another one ends the program without them. Of partial results, less may be written, as the
    /// interruption's message said.
    pub(crate) fn written(self, is_whole: bool) -> Self {
        const WRITING: &str = "writing what is finished (once more: end at once, without it)";
        if is_whole {
            let mut kept = kept();
            if asked() {
                *kept = &[];
                say!("{WRITING}");
            } else {
                *kept = &[WRITING];
            }
        }
        self
    }
}

/// Keeps partial results from now on.
pub(crate) fn keep() -> InterruptGuard {
    *kept() = &["keeping what ran so far (once more: end at once)"];
    InterruptGuard(())
}

/// Keeps partial runs from now on, to be written as [`written`] says.
pub(crate) fn keep_runs() -> InterruptGuard {
    *kept() = &[
        "keeping what ran so far (once more: without the flows)",
        "keeping what ran so far, without the flows (once more: end at once, without anything)",
    ];
    InterruptGuard(())
}

/// Keeps only finished runs from now on, which are written as soon as they end.
pub(crate) fn keep_in_files() -> InterruptGuard {
    *kept() = &["finished runs are kept; repeat the command to resume (once more: end at once)"];
    InterruptGuard(())
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        *kept() = &[];
    }
}

/// Time for writing the larger files of an interrupted run, in addition to those that describe it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Adapts the output settings: for interrupted runs, only files that do not keep the user waiting are written.
pub(crate) fn written(how: Writing, is_whole: bool) -> Writing {
    Writing {
        waiting: (!is_whole).then(|| Waiting {
            until: Instant::now() + PATIENCE,
            no_longer: || ASKED.load(Ordering::SeqCst) > 1,
            tell: |what| say!("writing {what} (once more: without it)"),
        }),
        ..how
    }
}

/// Reports files that were left out, and a folder other than `asked`.
pub(crate) fn print_written(asked: &Path, Written { folder, left_out }: &Written) {
    print_place(asked, folder);
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|name| name.display().to_string()).collect();
        say!("not written after the interruption: {}", names.join(", "));
    }
}

/// Reports if the results are not in the folder `asked`.
pub(crate) fn print_place(asked: &Path, folder: &Path) {
    let same = || fs::canonicalize(asked).is_ok_and(|asked| asked == folder);
    if folder != asked && !same() {
        say!(
            "warning: {} was filled while this ran: the results are in {}",
            asked.display(),
            folder.display()
        );
    }
}

/// Returns true if the user has interrupted.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst) > 0
}

/// Returns whether a run should continue or stop now.
pub(crate) fn control() -> Control {
    if asked() { Control::Stop } else { Control::Continue }
}
