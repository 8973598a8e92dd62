//! Ctrl-C: where nothing is to be kept it ends the program at once, in the middle of writing too. Where something is,
//! the first asks runs to stop at their next slice, and the second ends the program. Where runs are kept as a whole, there is
//! one more between them: it leaves out the table of flows. While what is finished is written, the first only says so.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use paceline_lab::files::{Waiting, Writing, abandon};
use paceline_lab::run::Control;
use paceline_report::Written;

/// How often the user has interrupted.
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Messages about the results that are being kept, by the number of the interruption.
static KEPT: Mutex<&[&str]> = Mutex::new(&[]);

/// From here on, an interruption leaves nothing half-written. (Also `kill`, which batch systems send before their
/// time limit.)
pub(crate) fn listen() {
    // Without a handler an interruption ends the program at once: a loss, but no reason not to run.
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
    std::process::exit(130)
}

fn kept() -> std::sync::MutexGuard<'static, &'static [&'static str]> {
    KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// As long as it lives there is something to be kept: an interruption only asks.
#[derive(Debug)]
#[must_use]
pub(crate) struct Kept(());

impl Kept {
    /// From here on what ran is written. Of what is whole that goes on after an interruption, since it may have run for
    /// long: one interruption now says so, and another ends the program without it. Of what was cut short less may be
    /// written, as the interruption said.
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

/// From here on what runs is to be kept.
pub(crate) fn keep() -> Kept {
    *kept() = &["keeping what ran so far (once more: end at once)"];
    Kept(())
}

/// From here on runs are to be kept, and written as [`written`] says.
pub(crate) fn keep_runs() -> Kept {
    *kept() = &[
        "keeping what ran so far (once more: without the flows)",
        "keeping what ran so far, without the flows (once more: end at once, without anything)",
    ];
    Kept(())
}

/// From here on what runs is written as soon as it is over, and nothing else is to be kept.
pub(crate) fn keep_in_files() -> Kept {
    *kept() = &["finished runs are kept; repeat the command to resume (once more: end at once)"];
    Kept(())
}

impl Drop for Kept {
    fn drop(&mut self) {
        *kept() = &[];
    }
}

/// Time that what is written of an interrupted run may take, besides the files that tell it.
const PATIENCE: Duration = Duration::from_millis(500);

/// How what ran is to be written now: of what was cut short, the part that does not keep the user waiting.
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
    ASKED.load(Ordering::SeqCst) > 0
}

/// What a run is to do now.
pub(crate) fn control() -> Control {
    if asked() { Control::Stop } else { Control::Continue }
}
