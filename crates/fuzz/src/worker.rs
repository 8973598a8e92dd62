//! Worker process: reads inputs of one target one after another, announcing each.

use std::fs;
use std::io::Write as _;
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, Result};

use crate::corpus;
use crate::oracle;
use crate::outcome::Outcome;
use crate::targets::{Input, Target};

/// First panic since the last input.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Longest message that is kept, in characters.
const LONGEST: usize = 200;

/// Origin of a worker's inputs, which its numbers refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Damaged or random input: the number is the seed.
    Seed,
    /// Earlier faults: the number is the index.
    Regression,
}

/// Returns the earlier faults of a target, in the order of their names.
pub(crate) fn regressions(target: &Target) -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("regressions")
        .join(target.name);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_>>()?;
    // Numbers name these files, but a folder lists its entries in no fixed order.
    files.sort();
    Ok(files)
}

/// Reads the inputs `numbers`, and reports the outcome of each on standard output.
pub(crate) fn work(target: &Target, source: Source, numbers: std::ops::Range<u64>) -> Result<()> {
    panic::set_hook(Box::new(note));
    let folder = tempfile::tempdir()?;
    corpus::make(folder.path())?;
    say("ready")?;
    for number in numbers {
        say(&format!("begin {number}"))?;
        let input = input(target, source, number, folder.path())?;
        let (outcome, message) = read(target, folder.path(), &input)?;
        let ran = u8::from(oracle::take_reached());
        say(&format!("end {} {ran} {message}", outcome.name()))?;
    }
    Ok(())
}

/// Prints a target's input for a number, and its outcome.
pub(crate) fn show(target: &Target, source: Source, number: u64) -> Result<()> {
    panic::set_hook(Box::new(note));
    let folder = tempfile::tempdir()?;
    corpus::make(folder.path())?;
    let input = input(target, source, number, folder.path())?;
    let mut out = std::io::stdout();
    out.write_all(&input.bytes)?;
    out.flush()?;
    match target.read(folder.path(), &input)? {
        Ok(said) => eprintln!("\n{}: {said:?}", input.file.display()),
        Err(_) => eprintln!("\n{}: panic at {}", input.file.display(), taken()),
    }
    Ok(())
}

fn input(target: &Target, source: Source, number: u64, folder: &Path) -> Result<Input> {
    match source {
        Source::Seed => target.input(folder, number),
        Source::Regression => {
            let files = regressions(target)?;
            let file = files.get(number as usize).context("there are fewer inputs")?;
            target.regression(folder, fs::read(file)?)
        }
    }
}

fn read(target: &Target, folder: &Path, input: &Input) -> Result<(Outcome, String)> {
    Ok(match target.read(folder, input)? {
        Err(_) => (Outcome::Panic, taken()),
        Ok(Ok(())) => (Outcome::Ok, String::new()),
        Ok(Err(message)) if message.trim().is_empty() => (Outcome::Panic, "refused without a word".into()),
        Ok(Err(message)) => {
            // The folder's name differs from process to process, and equal refusals must be counted as one.
            let message = message.replace(&*folder.to_string_lossy(), "");
            (Outcome::Refused, like(message.trim_start_matches([' ', '×'])))
        }
    })
}

fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Returns a message on one line without numbers, so that similar messages are equal.
fn like(text: &str) -> String {
    let mut message: String = text.chars().take(LONGEST).collect();
    message = message.replace(char::is_control, " ");
    while let Some(first) = message.find(|c: char| c.is_ascii_digit()) {
        let rest = message[first..].trim_start_matches(|c: char| c.is_ascii_digit());
        message = format!("{}#{rest}", &message[..first]);
    }
    message
}

/// Records position and message of a panic.
fn note(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("?");
    let message = like(text);
    let location = info.location().map_or_else(String::new, |at| {
        let parts: Vec<&str> = at.file().rsplit('/').take(4).collect();
        let parts: Vec<&str> = parts.into_iter().rev().collect();
        format!("{}:{}", parts.join("/"), at.line())
    });
    let mut first = PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // A later panic is often only a consequence of the first.
    first.get_or_insert(format!("{location} {message}"));
}

fn taken() -> String {
    let mut first = PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    first.take().unwrap_or_default()
}
