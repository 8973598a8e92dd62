//! Ranks over MPI ([`paceline_fabric::Exchange`]), with the library that is on the machine.
//!
//! The library is loaded when a launcher has started the process (`mpirun`, `srun`), so that one program serves all and
//! nobody needs MPI to build it. There are three binary interfaces: the standard one of MPI 5 (chapter 20), that of
//! MPICH 3 and 4, which Intel, Cray and MVAPICH share, and that of Open MPI 4 and 5 (`library.rs`).

mod launch;
mod library;

use std::ffi::c_int;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use paceline_fabric::Exchange;

pub use launch::{Launched, launched};
use library::{Library, Request};

/// Largest piece of a message, in bytes: counts of MPI are 32 bits wide.
const PIECE: usize = 1 << 26;
/// Tag of all messages.
const TAG: c_int = 7;
/// Polls before a rank that waits gives its processor to others, and time until it sleeps between two polls.
const POLLS: u32 = 2_000;
const PATIENCE: Duration = Duration::from_millis(2);
const SLEEP: Duration = Duration::from_micros(50);
/// Time after which a rank that others wait for is named.
const LATE: Duration = Duration::from_secs(10);

/// Reason for which the ranks cannot be connected.
#[derive(Debug, thiserror::Error)]
pub enum MpiError {
    /// No library was found on this machine.
    #[error(
        "no MPI library was found ({launcher} has started this process): install `pip install mpich`, or Debian's `mpich` \
         or `openmpi-bin`, and start with its mpirun; or name the library's file in PACELINE_MPI; tried {}",
        tried.join(", ")
    )]
    NotFound {
        /// Name of the launcher.
        launcher: &'static str,
        /// Files that were tried.
        tried: Vec<String>,
    },
    /// A library lacks a function.
    #[error("{} is no MPI library that can be used: {why}", file.display())]
    Unusable {
        /// File of the library.
        file: PathBuf,
        /// Message of the system.
        why: String,
    },
    /// The library is not that of the launcher.
    #[error(
        "{launcher} has started {launched} ranks, but {} knows of {found}: it is not the library of that launcher; name \
         the right one in PACELINE_MPI",
        file.display()
    )]
    Mismatch {
        /// Name of the launcher.
        launcher: &'static str,
        /// Number of ranks that it says that it has started.
        launched: usize,
        /// Number of ranks that the library says that there are.
        found: usize,
        /// File of the library.
        file: PathBuf,
    },
    /// A function of the library failed.
    #[error("{}: {function} failed with code {code}", file.display())]
    Failed {
        /// File of the library.
        file: PathBuf,
        /// Name of the function.
        function: &'static str,
        /// Code that it returned.
        code: c_int,
    },
}

/// Returns the file of the library that would be used here, and what it says of itself.
///
/// # Errors
/// There is none.
pub fn find() -> Result<(PathBuf, String), MpiError> {
    let library = Library::find(&Launched::NONE)?;
    Ok((library.file().to_path_buf(), library.version()))
}

/// Called with a rank's own number, that of another that it has waited for, and the time so far.
pub type Late = fn(usize, usize, Duration);

/// Connection to all ranks that a launcher has started. It is closed when it is dropped.
pub struct Mpi {
    library: Library,
    rank: usize,
    ranks: usize,
    late: Late,
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rank {} of {} over {}",
            self.rank,
            self.ranks,
            self.library.file().display()
        )
    }
}

impl Mpi {
    /// Connects the ranks that the launcher has started. `late` is called when one of them has been waited for.
    ///
    /// # Errors
    /// There is no library, or it is another than the launcher's.
    pub fn connect(launched: &Launched, late: Late) -> Result<Self, MpiError> {
        let library = Library::find(launched)?;
        library.init()?;
        let (rank, ranks) = (library.rank()?, library.size()?);
        if let Some(asked) = launched.ranks.filter(|&asked| asked != ranks) {
            return Err(MpiError::Mismatch {
                launcher: launched.launcher,
                launched: asked,
                found: ranks,
                file: library.file().to_path_buf(),
            });
        }
        Ok(Self {
            library,
            rank,
            ranks,
            late,
        })
    }

    /// Returns the file of the library, and what it says of itself.
    pub fn library(&self) -> (PathBuf, String) {
        (self.library.file().to_path_buf(), self.library.version())
    }

    /// Ends all ranks with an exit status.
    pub fn abort(&self, status: u8) -> ! {
        self.library.abort(c_int::from(status));
        std::process::exit(i32::from(status))
    }

    /// Takes the next message of a rank, as soon as all its pieces have come. Returns false if the first has not.
    fn take(&self, from: usize, bytes: &mut Vec<u8>) -> bool {
        bytes.clear();
        let Some(mut count) = self.library.probe(from as c_int, TAG) else {
            return false;
        };
        loop {
            let before = bytes.len();
            bytes.resize(before + count, 0);
            self.library.receive(&mut bytes[before..], from as c_int, TAG);
            if count < PIECE {
                return true;
            }
            let mut wait = Wait::new();
            count = loop {
                match self.library.probe(from as c_int, TAG) {
                    Some(count) => break count,
                    None => wait.pause(),
                }
            };
        }
    }
}

impl Exchange for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn exchange(&self, to: &[Vec<u8>], from: &mut [Vec<u8>]) {
        let others = || (0..self.ranks).filter(|&other| other != self.rank);
        let mut sent: Vec<Request> = Vec::with_capacity(self.ranks);
        for other in others() {
            // A piece that is not full is the last one, even if it is empty.
            let pieces = to[other].chunks(PIECE);
            let end: &[u8] = &[];
            let end = to[other].len().is_multiple_of(PIECE).then_some(end);
            for piece in pieces.chain(end) {
                sent.push(self.library.send(piece, other as c_int, TAG));
            }
        }
        let mut missing: Vec<usize> = others().collect();
        let (mut wait, begun) = (Wait::new(), Instant::now());
        let mut told = LATE;
        while !missing.is_empty() {
            let before = missing.len();
            missing.retain(|&other| !self.take(other, &mut from[other]));
            if missing.len() == before {
                wait.pause();
                // The clock is looked at only when a rank sleeps.
                if wait.sleeps() && begun.elapsed() > told {
                    missing
                        .iter()
                        .for_each(|&other| (self.late)(self.rank, other, begun.elapsed()));
                    told *= 2;
                }
            }
        }
        let mut wait = Wait::new();
        for mut request in sent {
            while !self.library.is_done(&mut request) {
                wait.pause();
            }
        }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // The process has panicked: the others would wait for it in vain.
        if std::thread::panicking() {
            self.abort(1);
        }
        self.library.finalize();
    }
}

/// State of a rank that polls: others may need its processor.
struct Wait {
    polls: u32,
    begun: Option<Instant>,
    sleeps: bool,
}

impl Wait {
    fn new() -> Self {
        Self {
            polls: 0,
            begun: None,
            sleeps: false,
        }
    }

    fn sleeps(&self) -> bool {
        self.sleeps
    }

    fn pause(&mut self) {
        self.polls += 1;
        if self.polls < POLLS {
            return std::hint::spin_loop();
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        self.sleeps = self.sleeps || begun.elapsed() > PATIENCE;
        match self.sleeps {
            true => std::thread::sleep(SLEEP),
            false => std::thread::yield_now(),
        }
    }
}
