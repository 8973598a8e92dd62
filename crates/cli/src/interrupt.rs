//! Ctrl-C: the first ends runs at their next slice, the second ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use paceline_lab::run::Control;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on, an interruption only asks. (Also `kill`, which batch systems send before their
/// time limit.)
pub(crate) fn listen() {
    // Without a handler an interruption ends the program at once: a loss, but no reason not to run.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\ninterrupted: keeping what ran so far (once more: end at once)");
    });
}

/// Whether the user has interrupted.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// What a run is to do now.
pub(crate) fn control() -> Control {
    if asked() { Control::Stop } else { Control::Continue }
}
