//! Supervisor of readers: each target is read in separate processes, which may die or hang.

use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::outcome::{Counts, Outcome};
use crate::targets::Target;
use crate::worker::Source;

/// Inputs per process, which amortizes the second that its start takes.
const PORTION: u64 = 500;

/// Inputs of a target.
#[derive(Clone)]
pub(crate) struct Portion {
    pub(crate) target: &'static Target,
    pub(crate) source: Source,
    pub(crate) numbers: Range<u64>,
}

impl Portion {
    /// Splits it into portions for one process each.
    pub(crate) fn split(self) -> impl Iterator<Item = Self> {
        let end = self.numbers.end;
        let firsts = self.numbers.clone().step_by(PORTION as usize);
        firsts.map(move |first| Self {
            numbers: first..end.min(first + PORTION),
            ..self.clone()
        })
    }
}

/// Reads all portions, `jobs` at a time; returns the counts of each. An input may take `limit`. Starts nothing after
/// `until`.
pub(crate) fn all(
    portions: &[Portion],
    jobs: usize,
    limit: Duration,
    until: Option<Instant>,
) -> Result<Vec<Counts>> {
    let next = Mutex::new(portions.iter().enumerate());
    let is_late = || until.is_some_and(|until| Instant::now() > until);
    let take = || {
        next.lock()
            .ok()
            .filter(|_| !is_late())
            .and_then(|mut next| next.next())
    };
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let work = || -> Result<()> {
            while let Some((index, portion)) = take() {
                let counts = one(portion, limit)?;
                done.lock().expect("nobody panics with it").push((index, counts));
            }
            Ok(())
        };
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a panic is a fault of this program"))
    })?;
    let mut all = vec![Counts::default(); portions.len()];
    for (index, counts) in done.into_inner().expect("nobody panics with it") {
        all[index] = counts;
    }
    Ok(all)
}

/// Reads a portion: after an input that ends its process, another process continues with the next.
fn one(portion: &Portion, limit: Duration) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut rest = portion.numbers.clone();
    while !rest.is_empty() {
        let mut process = start(portion, &rest)?;
        let lines = lines(&mut process)?;
        let end = follow(&lines, &mut rest, &mut counts, limit);
        if end == End::Hangs {
            process.kill()?;
        }
        let status = process.wait()?;
        let mut said = String::new();
        process
            .stderr
            .take()
            .context("it is piped")?
            .read_to_string(&mut said)?;
        let number = match end {
            End::Whole => break,
            End::Before => bail!("{} cannot start ({status}): {said}", portion.target.name),
            End::Hangs | End::In if rest.is_empty() => break,
            End::Hangs | End::In => rest.start,
        };
        let outcome = match end {
            End::Hangs => Outcome::Slow,
            // The standard library's message for a refused allocation.
            _ if said.contains("memory allocation of") => Outcome::Memory,
            _ => Outcome::Crash,
        };
        counts.add(number, outcome, said.lines().next().unwrap_or_default());
        rest.start = number + 1;
    }
    Ok(counts)
}

/// End of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// All inputs were read.
    Whole,
    /// The process died before the first input.
    Before,
    /// The process died while reading an input.
    In,
    /// The process made no progress within the time limit.
    Hangs,
}

fn start(portion: &Portion, numbers: &Range<u64>) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--worker", portion.target.name]);
    command.args(["--seed", &numbers.start.to_string()]);
    command.args(["--inputs", &(numbers.end - numbers.start).to_string()]);
    if portion.source == Source::Regression {
        command.arg("--regressions");
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.env_remove("RUST_BACKTRACE");
    Ok(command.spawn()?)
}

fn lines(process: &mut Child) -> Result<Receiver<String>> {
    let out = BufReader::new(process.stdout.take().context("it is piped")?);
    let (give, take) = mpsc::channel();
    // A thread, since reading from a pipe has no time limit, and a hanging worker says nothing.
    thread::spawn(move || {
        for line in out.split(b'\n').map_while(Result::ok) {
            if give.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    Ok(take)
}

/// Counts the outcomes that a process reports until it ends, or reports nothing for too long; `rest` becomes the
/// remaining inputs.
fn follow(lines: &Receiver<String>, rest: &mut Range<u64>, counts: &mut Counts, limit: Duration) -> End {
    let mut is_ready = false;
    loop {
        let line = match lines.recv_timeout(limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return End::Hangs,
            Err(RecvTimeoutError::Disconnected) if rest.is_empty() => return End::Whole,
            Err(RecvTimeoutError::Disconnected) if is_ready => return End::In,
            Err(RecvTimeoutError::Disconnected) => return End::Before,
        };
        is_ready = true;
        if let Some(said) = line.strip_prefix("end ") {
            let mut parts = said.splitn(3, ' ');
            let name = parts.next().unwrap_or_default();
            if let Some(outcome) = Outcome::named(name) {
                counts.ran += u64::from(parts.next() == Some("1"));
                counts.add(rest.start, outcome, parts.next().unwrap_or_default());
                rest.start += 1;
            }
        }
    }
}
