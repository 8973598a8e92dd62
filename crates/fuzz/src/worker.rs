//! The process that reads: one target, one input after another, each announced before it is read.

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

/// The first panic since the last input.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// The longest message that is kept.
const LONGEST: usize = 200;

/// Where inputs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Damaged or random: the number is the seed.
    Seed,
    /// Inputs that broke a reader once: the number is the index.
    Regression,
}

/// The inputs that broke a target once, in the order of their names.
pub(crate) fn regressions(target: &Target) -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("regressions")
        .join(target.name);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_>>()?;
    files.sort();
    Ok(files)
}

/// Reads the inputs `numbers`, and tells on standard output what comes of each.
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

/// Prints what a target gets for a number, and what comes of it.
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

/// A message in one line; numbers are left out, so that like messages are one.
fn like(text: &str) -> String {
    let mut message: String = text.chars().take(LONGEST).collect();
    message = message.replace(char::is_control, " ");
    while let Some(first) = message.find(|c: char| c.is_ascii_digit()) {
        let rest = message[first..].trim_start_matches(|c: char| c.is_ascii_digit());
        message = format!("{}#{rest}", &message[..first]);
    }
    message
}

/// Keeps where and why it panicked.
fn note(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("?");
    let message = like(text);
    let place = info.location().map_or_else(String::new, |at| {
        let parts: Vec<&str> = at.file().rsplit('/').take(4).collect();
        let parts: Vec<&str> = parts.into_iter().rev().collect();
        format!("{}:{}", parts.join("/"), at.line())
    });
    let mut first = PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    first.get_or_insert(format!("{place} {message}"));
}

fn taken() -> String {
    let mut first = PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    first.take().unwrap_or_default()
}
