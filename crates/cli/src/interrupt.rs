//! Ctrl-C: where nothing is to be kept it ends the program at once, in the middle of writing too. Where something is,
//! the first asks runs to stop at their next slice, and the second ends the program.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paceline_lab::files::{Writing, abandon};
use paceline_lab::run::Control;
use paceline_report::Written;

static ASKED: AtomicBool = AtomicBool::new(false);
/// What is said of that which is to be kept, if anything is.
static KEPT: Mutex<Option<&str>> = Mutex::new(None);

/// From here on, an interruption leaves nothing half-written. (Also `kill`, which batch systems send before their
/// time limit.)
pub(crate) fn listen() {
    // Without a handler an interruption ends the program at once: a loss, but no reason not to run.
    let _ = ctrlc::set_handler(|| {
        let again = ASKED.swap(true, Ordering::SeqCst);
        match *kept() {
            Some(said) if !again => say!("\ninterrupted: {said} (once more: end at once)"),
            _ => end(),
        }
    });
}

fn end() -> ! {
    if abandon() {
        say!("\ninterrupted while writing: the run is discarded");
    }
    std::process::exit(130)
}

fn kept() -> std::sync::MutexGuard<'static, Option<&'static str>> {
    KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// As long as it lives there is something to be kept: an interruption only asks.
#[derive(Debug)]
#[must_use]
pub(crate) struct Kept(());

impl Kept {
    /// What there is is whole, and about to be written: unless somebody has cut it short, who wants the rest kept, an
    /// interruption ends that at once.
    pub(crate) fn unless_whole(self) -> Option<Self> {
        asked().then_some(self)
    }
}

/// From here on what runs is to be kept.
pub(crate) fn keep() -> Kept {
    *kept() = Some("keeping what ran so far");
    Kept(())
}

/// From here on what runs is written as soon as it is over, and nothing else is to be kept.
pub(crate) fn keep_in_files() -> Kept {
    *kept() = Some("finished runs are kept; repeat the command to resume");
    Kept(())
}

impl Drop for Kept {
    fn drop(&mut self) {
        *kept() = None;
    }
}

/// Time that what is written of an interrupted run may take, besides the files that tell it.
const PATIENCE: Duration = Duration::from_millis(500);

/// How what ran is to be written now: of what was interrupted, the part that does not keep the user waiting.
pub(crate) fn written(how: Writing) -> Writing {
    Writing {
        until: asked().then(|| Instant::now() + PATIENCE),
        ..how
    }
}

/// Says what there was no time for, and if the results are not in the folder `asked`.
pub(crate) fn print_written(asked: &Path, Written { folder, left_out }: &Written) {
    print_place(asked, folder);
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|name| name.display().to_string()).collect();
        say!("not written after the interruption: {}", names.join(", "));
    }
}

/// Says if results are not in the folder `asked`.
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

/// Whether the user has interrupted.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// What a run is to do now.
pub(crate) fn control() -> Control {
    if asked() { Control::Stop } else { Control::Continue }
}
