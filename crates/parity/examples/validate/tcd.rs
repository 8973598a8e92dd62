//! The reference runs of the simulator of TCD's authors: execution here, and comparison.
//!
//! A run is compared line by line in six files of the reference: flows, completion times, marks of ports, pauses,
//! changes of ports, and rates. The repository has digests of these files' lines instead of the lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_fabric::spec::{NodeKind, RunSpec};
use paceline_lab::run::{Control, Finished, execute};
use paceline_parity::tcd_ns3::{Change, TcdNs3Record, files};
use paceline_scenario::{Overrides, Resolved};

use super::reference::text;
use super::verdict::Verdict;

/// Returns the folder of the reference runs in the repository.
pub(crate) fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/tcd-ns3")
}

/// Compared files, by their names in the reference.
pub(crate) const FILES: [&str; 6] = [
    "x.flows.tsv",
    "fct.txt",
    "x.marks.tsv",
    "x.pfc.tsv",
    "x.events.tsv",
    "x.rate.tsv",
];

/// Size of the flow arrays in the reference's runs; 12182 in the original program.
const SLOTS: u32 = 2048;

/// Sorted lines of each file.
pub(crate) type Lines = BTreeMap<&'static str, Vec<String>>;

/// One run of the reference, in one mode.
#[derive(Clone, Debug)]
pub(crate) struct TcdRun {
    /// `<scenario>/<mode>`, as in the folder.
    pub(crate) name: String,
    root: PathBuf,
}

/// Lists the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Lists all runs in `root` by name.
pub(crate) fn runs(root: &Path) -> Vec<TcdRun> {
    let of = |scenario: String| {
        let modes = names(&root.join("runs").join(&scenario));
        modes.into_iter().map(move |mode| format!("{scenario}/{mode}"))
    };
    let all = names(&root.join("runs")).into_iter().flat_map(of);
    all.map(|name| TcdRun::new(root, &name)).collect()
}

impl TcdRun {
    /// Returns the run of this name in `root`.
    pub(crate) fn new(root: &Path, name: &str) -> Self {
        Self {
            name: name.to_string(),
            root: root.to_path_buf(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.root.join("runs").join(&self.name)
    }

    /// Resolves the run for execution. Environment variables of the reference become keys.
    ///
    /// # Errors If there is no configuration, or it is invalid.
    pub(crate) fn load(&self, settings: &[&str]) -> Result<Resolved, String> {
        let config = text(&self.folder().join("config.txt"));
        let mut config = config.ok_or_else(|| format!("runs/{}: there is no config.txt", self.name))?;
        let environment = text(&self.folder().join("env.txt")).unwrap_or_default();
        for word in environment.split_whitespace() {
            if let Some((key @ ("X_NOQCN" | "X_APP" | "X_SLOTS"), value)) = word.split_once('=') {
                writeln!(config, "{key} {value}").expect("memory takes everything");
            }
        }
        if !config.contains("X_SLOTS") {
            writeln!(config, "X_SLOTS {SLOTS}").expect("memory takes everything");
        }
        let named = config.lines().filter_map(|line| {
            let (key, path) = line.split_once(' ')?;
            let path = path.trim();
            let content = ["TOPOLOGY_FILE", "FLOW_FILE"]
                .contains(&key)
                .then(|| text(&self.root.join(path)))??;
            Some((path.to_string(), content))
        });
        let named: Vec<(String, String)> = named.collect();
        let overrides = Overrides {
            set: settings.iter().map(|setting| (*setting).to_string()).collect(),
            ..Overrides::default()
        };
        let name = self.name.replace('/', "-");
        paceline_scenario::load_config_text(&name, &config, &named, &overrides)
            .map_err(|error| format!("runs/{}: {error}", self.name))
    }

    /// Executes the run with all logs enabled.
    ///
    /// # Errors As [`Self::load`].
    pub(crate) fn run(&self) -> Result<(Resolved, Finished), String> {
        let input = self.load(&["parity.tcd-ns3.log=true"])?;
        let finished = execute(&input, &mut |_| Control::Continue)
            .map_err(|error| format!("runs/{}: {error}", self.name))?;
        Ok((input, finished))
    }

    /// Returns the digests of its files from `runs.tsv`, if present, as in the repository. `-` stands for a file that
    /// the reference lacks.
    pub(crate) fn recorded(&self) -> Option<BTreeMap<String, String>> {
        let table = text(&self.root.join("runs.tsv"))?;
        let mut rows = table.lines().map(|line| line.split('\t'));
        let names: Vec<&str> = rows.next()?.collect();
        let row = rows.find(|row| row.clone().next() == Some(&self.name))?;
        let fields = names.into_iter().zip(row);
        Some(
            fields
                .map(|(name, field)| (name.to_string(), field.to_string()))
                .collect(),
        )
    }

    /// Reads the reference's lines, in the same format as [`ours`].
    pub(crate) fn theirs(&self) -> Lines {
        let lines = |name: &&'static str| {
            let text = text(&self.folder().join(name))?;
            Some((*name, theirs(name, &text)))
        };
        FILES.iter().filter_map(lines).collect()
    }
}

/// Converts the lines of one reference file.
fn theirs(name: &str, text: &str) -> Vec<String> {
    if name == "fct.txt" {
        return text.lines().map(str::to_string).collect();
    }
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect())
        .collect();
    // Runs of the first binary do not distinguish pauses that expire.
    let tells = rows.iter().any(|row| row.get(3) == Some(&"ON_timeout"));
    let line = |row: Vec<&str>| match name {
        "x.flows.tsv" => row[5..].join(" "),
        "x.rate.tsv" => [&row[..3], &row[4..]].concat().join(" "),
        "x.events.tsv" => match row[3] {
            "S" => row.join(" "),
            what => format!("{} {}", row[..3].join(" "), event(what, tells)),
        },
        _ => row.join(" "),
    };
    let mut lines: Vec<String> = rows.into_iter().map(line).collect();
    lines.sort_unstable();
    lines
}

/// Returns an event's name, without the distinction of expiry unless `tells` is true.
fn event(what: &str, tells: bool) -> &str {
    match what {
        "ON_timeout" if !tells => "ON",
        what => what,
    }
}

/// Returns the lines of our run. `tells` is true if pauses that expire are distinguished.
pub(crate) fn ours(input: &Resolved, finished: &Finished, tells: bool) -> Lines {
    let (run, record) = (&input.run, TcdNs3Record::of(&finished.outcome).expect("a record"));
    let mut fct = Vec::new();
    paceline_lab::files::fct(&mut fct, run, &finished.flows).expect("memory takes everything");
    let fct = String::from_utf8_lossy(&fct)
        .lines()
        .map(str::to_string)
        .collect();
    let mut lines: Lines = BTreeMap::from([
        ("x.flows.tsv", flows(run, record)),
        ("x.marks.tsv", marks(run, record)),
        ("x.pfc.tsv", pauses(record)),
        ("x.events.tsv", events(record, tells)),
        ("x.rate.tsv", rates(run, record)),
    ]);
    lines.values_mut().for_each(|lines| lines.sort_unstable());
    lines.insert("fct.txt", fct);
    lines
}

fn flows(run: &RunSpec, record: &TcdNs3Record) -> Vec<String> {
    let flows = run.flows.iter().zip(&record.flows);
    let heard = flows.filter_map(|(spec, flow)| Some((spec, flow, flow.arrivals?)));
    heard
        .map(|(spec, flow, (first, last))| {
            format!(
                "{} {} {} {} {} {} {} {}",
                spec.dport,
                flow.received.packets,
                flow.received.congested,
                flow.received.undetermined,
                flow.notified.congested,
                flow.notified.undetermined,
                first.as_ns(),
                last.as_ns()
            )
        })
        .collect()
}

fn marks(run: &RunSpec, record: &TcdNs3Record) -> Vec<String> {
    let of_switch = |node: u32| run.nodes[node as usize] == NodeKind::Switch;
    let ports = record.ports.iter();
    ports
        .filter(|port| port.sent.packets > 0 && of_switch(port.port.node.0))
        .map(|port| {
            format!(
                "{} {} {} {} {} {} {}",
                port.port.node.0,
                port.port.peer.0,
                port.sent.packets,
                port.sent.congested,
                port.again,
                port.sent.undetermined,
                port.queue_max
            )
        })
        .collect()
}

fn pauses(record: &TcdNs3Record) -> Vec<String> {
    let paused = record.ports.iter().filter(|port| port.pauses > 0);
    paused
        .map(|port| {
            format!(
                "{} {} {} {} {} {:.3}",
                port.port.node.0,
                port.port.peer.0,
                port.frames[0],
                port.frames[1],
                port.pauses,
                port.paused.as_ps() as f64 / 1e6
            )
        })
        .collect()
}

/// Lists events of class 3 only, as the reference does.
fn events(record: &TcdNs3Record, tells: bool) -> Vec<String> {
    let mut list = Vec::new();
    files::changes(&mut list, &record.changes).expect("memory takes everything");
    let list = String::from_utf8_lossy(&list);
    let rows = list
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>());
    rows.zip(&record.changes)
        .filter(|(_, change)| change.class == 3)
        .map(|(row, change)| match change.what {
            Change::State(..) => format!("{} {} {}", row[..3].join(" "), row[4], row[5]),
            _ => format!("{} {}", row[..3].join(" "), event(row[4], tells)),
        })
        .collect()
}

fn rates(run: &RunSpec, record: &TcdNs3Record) -> Vec<String> {
    let mut list = Vec::new();
    files::rates(&mut list, run, &record.rates).expect("memory takes everything");
    let list = String::from_utf8_lossy(&list);
    list.lines().skip(1).map(|line| line.replace('\t', " ")).collect()
}

/// Counts the reference's lines that ours contain. Rates are those of the senders that the reference recorded.
pub(crate) fn equal(theirs: &[String], ours: &[String]) -> usize {
    let mut known = BTreeMap::<&str, usize>::new();
    for line in ours {
        *known.entry(line).or_default() += 1;
    }
    let mut has = |line: &&String| match known.get_mut(line.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    theirs.iter().filter(&mut has).count()
}

/// Computes a digest of lines (FNV-1a, 64 bits).
pub(crate) fn digest(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns true if the reference distinguishes pauses that expire.
pub(crate) fn tells(theirs: &Lines) -> bool {
    let events = theirs.get("x.events.tsv").into_iter().flatten();
    events.into_iter().any(|line| line.ends_with("ON_timeout"))
}

/// Columns of `runs.tsv` with digests, and their files.
pub(crate) const RECORDED: [(&str, &str); 5] = [
    ("flows", "x.flows.tsv"),
    ("fct", "fct.txt"),
    ("marks", "x.marks.tsv"),
    ("pauses", "x.pfc.tsv"),
    ("events", "x.events.tsv"),
];

/// Returns true for files without anything to compare: inputs, and records that are not the simulator's own.
fn is_known(file: &str) -> bool {
    const BESIDE: [&str; 6] = [
        "config.txt",
        "env.txt",
        "stdout.txt",
        "x.paths.tsv",
        "x.queue.tsv",
        "x.thr.tsv",
    ];
    let name = file.rsplit('/').next().unwrap_or(file);
    !file.starts_with("runs/") || BESIDE.contains(&name.strip_suffix(".gz").unwrap_or(name))
}

/// Compares all runs in `root`, one row each: number of lines by file, and of equal ones.
pub(crate) fn section(root: &Path) -> Verdict {
    let mut verdict = Verdict::new(format!(
        "## The simulator of TCD's authors\n\nLines of each file that are the same here, of those that there are; of a \
         file of which there is a digest, whether it has the same.\n\n| run | {} |\n|---|{}\n",
        FILES.join(" | "),
        "---:|".repeat(FILES.len())
    ));
    for run in runs(root) {
        match compare(&run, &mut verdict) {
            Ok(cells) => {
                let cells = cells.join(" | ");
                writeln!(verdict.page, "| {} | {cells} |", run.name).expect("memory takes everything");
            }
            Err(fault) => verdict.fault(fault),
        }
    }
    verdict.look_for_unknown(root, is_known);
    verdict
}

/// Returns a run's cells, by file.
fn compare(run: &TcdRun, verdict: &mut Verdict) -> Result<Vec<String>, String> {
    let (theirs, recorded) = (run.theirs(), run.recorded().unwrap_or_default());
    let (input, finished) = run.run()?;
    let tells = tells(&theirs) || recorded.get("tells").is_some_and(|tells| tells == "1");
    let ours = ours(&input, &finished, tells);
    // A run stopped by hand has only the completed flows, the last line perhaps truncated.
    let stopped = !theirs.is_empty() && !theirs.contains_key("x.flows.tsv");
    let mut cells = Vec::new();
    for name in FILES {
        let (path, here) = (format!("runs/{}/{name}", run.name), &ours[name]);
        let column = RECORDED.iter().find(|(_, file)| *file == name);
        let digest_there = column.and_then(|(column, _)| recorded.get(*column));
        let (cell, same) = if let Some(lines) = theirs.get(name) {
            let lines = &lines[..lines.len().saturating_sub(usize::from(stopped))];
            let equal = equal(lines, here);
            // The reference records the rates of some senders only.
            let all = match stopped {
                true => !lines.is_empty(),
                false => name == "x.rate.tsv" || here.len() == lines.len(),
            };
            let text = format!("{equal} of {}", lines.len());
            (text, all && equal == lines.len())
        } else if let Some(there) = digest_there.filter(|there| *there != "-") {
            let same = format!("{:016x}", digest(here)) == *there;
            (if same { "the same" } else { "differs" }.to_string(), same)
        } else {
            cells.push(String::new());
            continue;
        };
        verdict.saw(path.clone());
        verdict.saw(format!("{path}.gz"));
        if !same {
            verdict.fault(format!("{path}: {cell} ({} lines here)", here.len()));
        }
        cells.push(cell);
    }
    match cells.iter().all(String::is_empty) {
        true => Err(format!("runs/{}: there is nothing to compare it with", run.name)),
        false => Ok(cells),
    }
}
