//! Ctrl-C: where nothing is to be kept it ends the program at once. Where something is, the first asks runs to stop
//! at their next slice, and the second ends the program.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use paceline_lab::files::abandon;
use paceline_lab::run::Control;

static ASKED: AtomicBool = AtomicBool::new(false);
/// How many have something that is to be kept.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// From here on, an interruption leaves nothing half-written. (Also `kill`, which batch systems send before their
/// time limit.)
pub(crate) fn listen() {
    // Without a handler an interruption ends the program at once: a loss, but no reason not to run.
    let _ = ctrlc::set_handler(|| {
        let again = ASKED.swap(true, Ordering::SeqCst);
        if again || KEPT.load(Ordering::SeqCst) == 0 {
            abandon();
            std::process::exit(130);
        }
        eprintln!("\ninterrupted: keeping what ran so far (once more: end at once)");
    });
}

/// As long as it lives there is something to be kept: an interruption only asks.
#[derive(Debug)]
pub(crate) struct Kept(());

/// From here on something is to be kept.
pub(crate) fn keep() -> Kept {
    KEPT.fetch_add(1, Ordering::SeqCst);
    Kept(())
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::SeqCst);
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
