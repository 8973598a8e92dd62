//! Attacks on a command, and the conditions that must hold after each.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::Chance;
use crate::cases::{Bench, CASES, Case, Makes, Undisturbed};
use crate::state::{self, Content};

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    round: fn(&mut Round<'_>) -> Result<Outcome>,
}

/// All kinds of attacks.
///
/// * kills: SIGINT, SIGTERM or SIGKILL at a random instant, possibly twice
/// * crowds: two to five processes with the same output at once
/// * disks: a random limit on the size of files
/// * places: devices, links, odd and long names as output
/// * surroundings: odd locales, time zones, dates of files, variables and streams
pub(crate) static ATTACKS: [Attack; 5] = [
    Attack {
        name: "kills",
        round: kill,
    },
    Attack {
        name: "crowds",
        round: crowd,
    },
    Attack {
        name: "disks",
        round: disk,
    },
    Attack {
        name: "places",
        round: place,
    },
    Attack {
        name: "surroundings",
        round: surroundings,
    },
];

/// Outcome of a round: a word for the table, or a violated condition.
pub(crate) type Outcome = Result<&'static str, String>;

/// Results of undisturbed cases, each computed once.
#[derive(Default)]
pub(crate) struct Known(BTreeMap<usize, Undisturbed>);

/// Round of an attack.
struct Round<'a> {
    bench: &'a Bench,
    chance: Chance,
    known: &'a mut Known,
    said: &'a mut String,
}

impl Attack {
    /// Executes the round of a seed; adds its actions to `said`.
    pub(crate) fn round(
        &self,
        bench: &Bench,
        seed: u64,
        known: &mut Known,
        said: &mut String,
    ) -> Result<Outcome> {
        (self.round)(&mut Round {
            bench,
            chance: Chance::new(seed),
            known,
            said,
        })
    }
}

/// Case in a separate folder.
struct Site<'a> {
    case: &'static Case,
    undisturbed: &'a Undisturbed,
    folder: tempfile::TempDir,
    before: BTreeMap<PathBuf, String>,
    former: Option<Content>,
}

impl Round<'_> {
    /// Prepares one of the cases for which `which` holds.
    fn site(&mut self, which: impl Fn(&Case) -> bool) -> Result<Site<'_>> {
        let fitting: Vec<usize> = (0..CASES.len()).filter(|at| which(&CASES[*at])).collect();
        let at = fitting[self.chance.below(fitting.len())];
        let case = &CASES[at];
        self.said.push_str(case.words);
        if !self.known.0.contains_key(&at) {
            self.known.0.insert(at, case.undisturbed(self.bench)?);
        }
        let folder = self.bench.place(case.makes)?;
        let before = state::untouchable(folder.path(), &case.out())?;
        let there = folder.path().join(case.out());
        Ok(Site {
            case,
            undisturbed: &self.known.0[&at],
            former: there.exists().then(|| Content::of(&there)).transpose()?,
            folder,
            before,
        })
    }
}

/// Returns an error unless a condition holds.
macro_rules! hold {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Ok(Err(format!($($text)*)));
        }
    };
}

/// Returns the outcome of a command, or its output if that shows a fault of the program.
fn sound(output: &Output) -> Outcome {
    let said = String::from_utf8_lossy(&output.stderr);
    let faults = ["internal error", "panicked", "fault of the program"];
    // A panic in the main thread ends a Rust program with 101.
    if faults.iter().any(|fault| said.contains(fault)) || output.status.code() == Some(101) {
        return Err(format!("a panic: {said}"));
    }
    match output.status.code() {
        Some(0) => Ok("done"),
        Some(1 | 2) if said.trim().is_empty() => Err(format!("{} without a word", output.status)),
        Some(1) => Ok("failed"),
        Some(2) => Ok("refused"),
        // 128 and SIGINT's number, as shells report it.
        Some(130) => Ok("interrupted"),
        _ => match signal(output.status) {
            // SIGINT, SIGKILL, SIGTERM, and SIGXFSZ for a file beyond `ulimit -f`.
            Some(2 | 9 | 15 | 25) => Ok("killed"),
            _ => Err(format!("{}: {said}", output.status)),
        },
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Waits for a process, and fails if it hangs.
fn wait(child: Child) -> Result<Result<Output, String>> {
    /// Time limit; cases take seconds.
    const LONG: Duration = Duration::from_secs(120);
    let id = child.id();
    let (give, take) = std::sync::mpsc::channel();
    // A thread, since the wait of the standard library has no time limit.
    thread::spawn(move || give.send(child.wait_with_output()));
    match take.recv_timeout(LONG) {
        Ok(output) => Ok(Ok(output?)),
        Err(_) => {
            send(id, "KILL")?;
            Ok(Err("it hangs".into()))
        }
    }
}

fn send(id: u32, signal: &str) -> Result<()> {
    let mut kill = Command::new("kill");
    kill.args([format!("-{signal}"), id.to_string()]);
    // The process may already have ended.
    kill.stderr(std::process::Stdio::null())
        .status()
        .context("kill starts")?;
    Ok(())
}

impl Site<'_> {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn words(&self) -> Vec<OsString> {
        self.case.arguments(self.case.out().as_ref())
    }

    fn start(&self, bench: &Bench) -> Command {
        bench.start(self.path(), &self.words())
    }

    /// Checks that the user's files are unchanged, and that results are complete, marked as partial, or absent. With
    /// `may_leave`, unfinished files may remain.
    fn check(&self, may_leave: bool) -> Result<Outcome> {
        let out = self.case.out();
        hold!(
            state::untouchable(self.path(), &out)? == self.before,
            "what is not the command's was changed"
        );
        let hidden = state::hidden(self.path(), &out)?;
        hold!(may_leave || hidden.is_empty(), "{hidden:?} is left");
        let mut found = "absent";
        for entry in fs::read_dir(self.path())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !state::is_made(&name, &out) || state::is_hidden(&name, &out) {
                continue;
            }
            let content = Content::of(&self.path().join(&name))?;
            found = match self.undisturbed.content.difference(&content) {
                None => "whole",
                Some(_) if self.former.as_ref() == Some(&content) => "former",
                Some(_) if content.is_partial() => "partial",
                Some(_) if self.is_resumed() => "begun",
                Some(what) => return Ok(Err(format!("{name} is neither whole nor a part: {what}"))),
            };
        }
        Ok(Ok(found))
    }

    /// Returns true if the command resumes after an interruption.
    fn is_resumed(&self) -> bool {
        let first = self.case.words.split(' ').next().unwrap_or_default();
        matches!(first, "sweep" | "reproduce" | "train" | "merge") && self.case.makes == Makes::Folder
    }

    /// Checks that the same command now produces the complete result, with `--force` if it asks for it, and removes
    /// unfinished files.
    fn again(&self, bench: &Bench) -> Result<Outcome> {
        let mut output = match wait(self.start(bench).spawn()?)? {
            Ok(output) => output,
            Err(hangs) => return Ok(Err(hangs)),
        };
        if output.status.code() == Some(2) {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_there = self.path().join(self.case.out()).exists();
            hold!(
                is_there && (said.contains("--force") || said.contains("exists")),
                "again: {said}"
            );
            let words: Vec<OsString> = match said.contains("--force") {
                true => self.words().into_iter().chain(["--force".into()]).collect(),
                // The existing result was just found to be complete.
                false => return Ok(Ok("there")),
            };
            output = match wait(bench.start(self.path(), &words).spawn()?)? {
                Ok(output) => output,
                Err(hangs) => return Ok(Err(hangs)),
            };
        }
        let said = String::from_utf8_lossy(&output.stderr);
        hold!(output.status.success(), "again: {} {said}", output.status);
        let out = self.path().join(self.case.out());
        let content = Content::of(&out)?;
        if let Some(what) = self.undisturbed.content.difference(&content) {
            return Ok(Err(format!("again: {what}")));
        }
        let hidden = state::hidden(self.path(), &self.case.out())?;
        hold!(hidden.is_empty(), "again: {hidden:?} is left");
        Ok(Ok("again"))
    }

    /// Performs both checks; the word for the table is the first one's.
    fn check_and_again(&self, bench: &Bench, may_leave: bool) -> Result<Outcome> {
        let state = self.check(may_leave)?;
        if state.is_err() {
            return Ok(state);
        }
        let again = self.again(bench)?;
        Ok(again.and(state))
    }
}

fn kill(round: &mut Round<'_>) -> Result<Outcome> {
    let bench = round.bench;
    let (share, gap) = (round.chance.share(), round.chance.share());
    let signals = *round.chance.one(&[
        &["INT"][..],
        &["TERM"],
        &["KILL"],
        &["KILL"],
        &["INT", "INT"],
        &["INT", "TERM", "INT"],
        &["TERM", "KILL"],
    ]);
    round.said.push_str(&format!("{signals:?} after {share:.3} of: "));
    let site = round.site(|_| true)?;
    let child = site.start(bench).spawn()?;
    let id = child.id();
    let begun = Instant::now();
    // A little longer than the command takes, so that some signals come too late.
    let mut instant = site.undisturbed.takes.mul_f64(share * 1.1);
    for signal in signals {
        thread::sleep(instant.saturating_sub(begun.elapsed()));
        send(id, signal)?;
        instant += site.undisturbed.takes.mul_f64(gap * 0.3);
    }
    let output = match wait(child)? {
        Ok(output) => output,
        Err(hangs) => return Ok(Err(hangs)),
    };
    if let Err(fault) = sound(&output) {
        return Ok(Err(fault));
    }
    let was_killed = signal(output.status).is_some();
    site.check_and_again(bench, was_killed)
}

fn crowd(round: &mut Round<'_>) -> Result<Outcome> {
    let bench = round.bench;
    let many = 2 + round.chance.below(4);
    let gaps: Vec<f64> = (0..many).map(|_| round.chance.share()).collect();
    round.said.push_str(&format!("{many} at once: "));
    let site = round.site(|_| true)?;
    let spread = round_spread(site.undisturbed.takes);
    let mut children = Vec::new();
    for gap in gaps {
        children.push(site.start(bench).spawn()?);
        // Half of the processes start at exactly the same time.
        thread::sleep(spread.mul_f64((gap - 0.5).max(0.0)));
    }
    let mut done = 0;
    for child in children {
        let output = match wait(child)? {
            Ok(output) => output,
            Err(hangs) => return Ok(Err(hangs)),
        };
        match sound(&output) {
            Err(fault) => return Ok(Err(fault)),
            Ok(_) => done += usize::from(output.status.success()),
        }
    }
    hold!(done > 0, "none of them came to its end");
    site.check_and_again(bench, false)
}

/// Returns the interval in which many simultaneous processes start.
fn round_spread(takes: Duration) -> Duration {
    takes.mul_f64(0.5)
}

fn disk(round: &mut Round<'_>) -> Result<Outcome> {
    let bench = round.bench;
    // In the shell's units of 512 or 1024 bytes: files of cases have up to a megabyte.
    let size = match round.chance.below(3) {
        0 => round.chance.below(4),
        1 => round.chance.below(64),
        _ => round.chance.below(1024),
    };
    // If the signal is ignored, writing fails with EFBIG; otherwise it kills the process.
    let ignored = round.chance.below(2) == 0;
    let trap = if ignored {
        "trap '' XFSZ; "
    } else {
        "ulimit -c 0; "
    };
    let script = format!("{trap}ulimit -f {size}; exec \"$0\" \"$@\"");
    round.said.push_str(&format!("{trap}ulimit -f {size}: "));
    let site = round.site(|_| true)?;
    let mut command = bench.within(site.path(), Some(&script), &site.words());
    let output = match wait(command.spawn()?)? {
        Ok(output) => output,
        Err(hangs) => return Ok(Err(hangs)),
    };
    if let Err(fault) = sound(&output) {
        return Ok(Err(fault));
    }
    let was_killed = signal(output.status).is_some();
    let state = site.check(was_killed)?;
    if output.status.success() {
        hold!(
            state == Ok("whole"),
            "it says that it is done, and it is not: {state:?}"
        );
    }
    site.check_and_again(bench, was_killed)
}

/// Returns an odd name for an output.
fn odd_name(chance: &mut Chance) -> OsString {
    let long = "x".repeat(250);
    let longer = "x".repeat(300);
    let deep = "d/".repeat(3000);
    let names: [&OsStr; 26] = [
        "/dev/null".as_ref(),
        "/dev/full".as_ref(),
        "/dev/stdout".as_ref(),
        "/proc/version".as_ref(),
        "canary/a".as_ref(),
        "canary/read-only".as_ref(),
        "canary/link".as_ref(),
        "canary/link-to-folder".as_ref(),
        "canary/dangling".as_ref(),
        "canary/dangling/under".as_ref(),
        "canary/a/under".as_ref(),
        "canary/link-to-folder/new".as_ref(),
        "canary".as_ref(),
        "a".as_ref(),
        "my.toml".as_ref(),
        ".".as_ref(),
        "..".as_ref(),
        "".as_ref(),
        "new\nline".as_ref(),
        "\u{1b}[31mred".as_ref(),
        "-dash".as_ref(),
        " blank ".as_ref(),
        "missing/deep/er".as_ref(),
        long.as_ref(),
        longer.as_ref(),
        deep.as_ref(),
    ];
    #[cfg(unix)]
    if chance.below(names.len() + 1) == 0 {
        return std::os::unix::ffi::OsStringExt::from_vec(b"no\xff\xfetext".to_vec());
    }
    (*chance.one(&names)).to_os_string()
}

fn place(round: &mut Round<'_>) -> Result<Outcome> {
    let bench = round.bench;
    let mut name = odd_name(&mut round.chance);
    let forced = round.chance.below(3) == 0;
    let has_ending = round.chance.below(2) == 0;
    round.said.push_str(&format!("{name:?}, forced {forced}: "));
    let site = round.site(|case| case.makes != Makes::Instead)?;
    if let (Makes::File(ending), true) = (site.case.makes, has_ending) {
        name.push(format!(".{ending}"));
    }
    // A name that begins with a dash is joined to its option.
    let mut words: Vec<OsString> = Vec::new();
    for word in site.case.arguments(&name) {
        match words.last_mut() {
            Some(option) if word == name && option.to_string_lossy().starts_with("--") => {
                option.push("=");
                option.push(word);
            }
            _ => words.push(word),
        }
    }
    if forced && !site.case.words.contains("--force") && !site.case.words.contains("--new") {
        words.push("--force".into());
    }
    let before = state::untouchable(&site.path().join("canary"), "")?;
    let output = match wait(bench.start(site.path(), &words).spawn()?)? {
        Ok(output) => output,
        Err(hangs) => return Ok(Err(hangs)),
    };
    let outcome = sound(&output);
    let mut after = state::untouchable(&site.path().join("canary"), "")?;
    if output.status.success() {
        // The requested file, or one whose replacement was requested.
        let relative = Path::new(&name)
            .strip_prefix("canary")
            .map(Path::to_path_buf)
            .unwrap_or_default();
        let made = relative
            .strip_prefix("link-to-folder")
            .map(|rest| Path::new("sub").join(rest))
            .unwrap_or(relative);
        let asked = |path: &PathBuf| !made.as_os_str().is_empty() && path.starts_with(&made);
        hold!(
            forced
                || !before.keys().any(|path| asked(path)
                    && !path.as_os_str().is_empty()
                    && before[path] != after.get(path).cloned().unwrap_or_default()),
            "it replaced {} unasked",
            name.to_string_lossy()
        );
        after.retain(|path, _| before.contains_key(path) || !asked(path));
        let kept = before.iter().filter(|(path, _)| !asked(path));
        for (path, what) in kept {
            hold!(
                after.get(path) == Some(what),
                "canary/{} was changed",
                path.display()
            );
        }
    } else {
        hold!(before == after, "it was refused, and the canary is changed");
    }
    Ok(outcome)
}

/// Environments of a command: a variable with its value (or none), and the shell's preceding actions.
const SURROUNDINGS: [(&str, Option<&str>, &str); 22] = [
    ("LC_ALL", Some("tr_TR.UTF-8"), ""),
    ("LC_ALL", Some("de_DE"), ""),
    ("LC_ALL", Some("no such\nlocale"), ""),
    ("TZ", Some("Pacific/Kiritimati"), ""),
    ("TZ", Some(":/dev/full"), ""),
    ("TZ", Some("-99999"), ""),
    ("SOURCE_DATE_EPOCH", Some("-1"), ""),
    ("COLUMNS", Some("0"), ""),
    ("COLUMNS", Some("18446744073709551616"), ""),
    ("NO_COLOR", Some(""), ""),
    ("HOME", None, ""),
    ("HOME", Some("/nowhere"), ""),
    ("PATH", Some(""), ""),
    ("TMPDIR", Some("/nowhere"), ""),
    ("RUST_BACKTRACE", Some("full"), ""),
    ("RAYON_NUM_THREADS", Some("no"), ""),
    ("", None, "umask 077; "),
    ("", None, "umask 000; "),
    ("", None, "exec <&-; "),
    ("", None, "exec 2>&-; "),
    ("", None, "touch -d 1970-01-01 *; "),
    ("", None, "touch -d 2106-02-08 *; "),
];

fn surroundings(round: &mut Round<'_>) -> Result<Outcome> {
    let bench = round.bench;
    let (name, value, shell) = *round.chance.one(&SURROUNDINGS);
    round.said.push_str(&format!("{name}={value:?} {shell}: "));
    let site = round.site(|_| true)?;
    let script = format!("{shell}exec \"$0\" \"$@\"");
    let script = (!shell.is_empty()).then_some(script.as_str());
    let mut command = bench.within(site.path(), script, &site.words());
    match value {
        Some(value) => command.env(name, value),
        None if name.is_empty() => &mut command,
        None => command.env_remove(name),
    };
    let output = match wait(command.spawn()?)? {
        Ok(output) => output,
        Err(hangs) => return Ok(Err(hangs)),
    };
    if let Err(fault) = sound(&output) {
        return Ok(Err(fault));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    hold!(output.status.success(), "{} {said}", output.status);
    let state = site.check(false)?;
    hold!(state == Ok("whole"), "it is not what it is elsewhere: {state:?}");
    Ok(state)
}
