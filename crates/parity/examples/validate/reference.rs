//! The reference simulator's runs: their files, and their execution here.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use paceline_lab::files::ns3;
use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Overrides, Resolved};
use sha2::{Digest as _, Sha256};

/// Reads a text file, which may be compressed.
pub(crate) fn text(path: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(path) {
        return Some(text);
    }
    let mut packed = path.as_os_str().to_owned();
    packed.push(".gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(packed).ok()?)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

/// One reference run: a scenario under a scheme.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Name of the scenario's folder.
    pub(crate) scenario: String,
    /// Name of the scheme in the reference.
    pub(crate) scheme: String,
    folder: PathBuf,
}

/// Returns the folder of the reference runs in the repository.
pub(crate) fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/hpcc-ns3")
}

/// Lists all runs in `root` (or in its folder `runs`) by name.
pub(crate) fn cases(root: &Path) -> Vec<Case> {
    let runs = root.join("runs");
    let root = if runs.is_dir() { runs } else { root.to_path_buf() };
    let mut cases = Vec::new();
    for scenario in subfolders(&root) {
        if [RANDOM, "scenarios"].contains(&name_of(&scenario).as_str()) {
            continue;
        }
        for folder in subfolders(&scenario) {
            cases.push(Case {
                scenario: name_of(&scenario),
                scheme: name_of(&folder),
                folder,
            });
        }
    }
    cases
}

/// Name of the folder with random experiments.
pub(crate) const RANDOM: &str = "random";

/// Lists the experiments in `folder` by number.
pub(crate) fn random_cases(folder: &Path) -> Vec<Case> {
    let mut cases: Vec<Case> = subfolders(folder)
        .into_iter()
        .map(|folder| Case {
            scenario: RANDOM.to_string(),
            scheme: name_of(&folder),
            folder,
        })
        .collect();
    cases.sort_by_key(|case| (case.scheme.parse().unwrap_or(u64::MAX), case.scheme.clone()));
    cases
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of a folder").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The reference's content of a file, in full or as a digest.
pub(crate) enum Expected {
    /// Content of the file.
    Bytes(Vec<u8>),
    /// SHA-256 of the content, in hexadecimal.
    Sha256(String),
}

impl Expected {
    /// Returns true if `bytes` equal the reference's content.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Bytes(expected) => expected == bytes,
            Self::Sha256(expected) => {
                let digest: String = Sha256::digest(bytes)
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                *expected == digest
            }
        }
    }
}

impl Case {
    /// Returns the reason for which the run cannot be repeated or compared, if any.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        if !self.folder.join("config.txt").is_file() {
            return Some("there is no config.txt");
        }
        self.expected("fct.txt")
            .is_none()
            .then_some("there is no fct.txt of the reference")
    }

    /// Returns the reference's content of `name`, if known.
    pub(crate) fn expected(&self, name: &str) -> Option<Expected> {
        if let Some(bytes) = read_packed(&self.folder.join(name)) {
            return Some(Expected::Bytes(bytes));
        }
        let sums = fs::read_to_string(self.folder.join("sha256sums.txt")).ok()?;
        let mut lines = sums.lines().filter_map(|line| line.split_once("  "));
        lines
            .find(|(_, file)| *file == name)
            .map(|(sum, _)| Expected::Sha256(sum.to_string()))
    }

    /// Returns the reference's content as text; `None` if it is unknown or only a digest.
    pub(crate) fn expected_text(&self, name: &str) -> Option<String> {
        match self.expected(name)? {
            Expected::Bytes(bytes) => String::from_utf8(bytes).ok(),
            Expected::Sha256(_) => None,
        }
    }

    /// Reads the configuration. Queues are sampled as in the reference if it has queue samples; round-trip times are
    /// always recorded.
    pub(crate) fn load(&self, overrides: &Overrides) -> Resolved {
        let mut overrides = overrides.clone();
        let queues = if self.expected("qlen.txt").is_some() {
            ["record.queue=1us", "record.queue-dump=1ms"]
        } else {
            ["record.queue=off", "record.queue-dump=off"]
        };
        overrides.set.extend(queues.map(String::from));
        overrides.set.push("record.rtt-samples=true".into());
        let staged = tempfile::tempdir().expect("a temporary folder");
        let config = self.stage(staged.path());
        let path = config.to_str().expect("a path in UTF-8");
        paceline_scenario::load(path, &overrides)
            .unwrap_or_else(|error| panic!("{}/{}: {error}", self.scenario, self.scheme))
    }

    /// Copies the configuration and its inputs to a folder, and decompresses them.
    fn stage(&self, into: &Path) -> PathBuf {
        let text = fs::read_to_string(self.folder.join("config.txt")).expect("config.txt");
        let mut staged = String::new();
        for line in text.lines() {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            if ["TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE"].contains(&key) {
                let from = self.folder.join(value);
                let bytes = read_packed(&from).unwrap_or_else(|| panic!("no {}", from.display()));
                let name = name_of(&from);
                fs::write(into.join(&name), bytes).expect("a writable temporary folder");
                staged.push_str(&format!("{key} {name}\n"));
            } else {
                staged.push_str(&format!("{line}\n"));
            }
        }
        let config = into.join("config.txt");
        fs::write(&config, staged).expect("a writable temporary folder");
        config
    }
}

fn packed_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

/// Reads `path`, or decompresses `path.gz`.
fn read_packed(path: &Path) -> Option<Vec<u8>> {
    if let Ok(bytes) = fs::read(path) {
        return Some(bytes);
    }
    let packed = fs::File::open(packed_name(path)).ok()?;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .unwrap_or_else(|error| panic!("{}.gz: {error}", path.display()));
    Some(bytes)
}

/// Runs a scenario to the end.
pub(crate) fn run(input: &Resolved) -> Finished {
    execute(input, &mut |_| Control::Continue).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the content of file `name` as the run writes it.
pub(crate) fn written(name: &str, input: &Resolved, finished: &Finished) -> Vec<u8> {
    let (spec, outcome) = (&input.run, &finished.outcome);
    let mut out = Vec::new();
    match name {
        "fct.txt" => ns3::fct(&mut out, &finished.flows),
        "pfc.txt" => ns3::pfc(&mut out, outcome),
        "qlen.txt" => ns3::qlen(&mut out, spec, outcome),
        "rtt_samples.txt" => ns3::rtt_samples(&mut out, &finished.flows, outcome),
        _ => panic!("the reference has no {name}"),
    }
    .expect("memory takes everything");
    out
}

/// Returns true if the run wrote the reference's content of a file; `None` if that is unknown.
///
/// The last column of the reference's round-trip times, the rate at that moment, is ignored.
pub(crate) fn identical(case: &Case, name: &str, input: &Resolved, finished: &Finished) -> Option<bool> {
    let ours = written(name, input, finished);
    if name == "rtt_samples.txt" {
        let text = case.expected_text(name)?;
        let mut kept = String::with_capacity(text.len());
        for line in text.lines() {
            kept.push_str(line.rsplit_once(' ').map_or(line, |(kept, _)| kept));
            kept.push('\n');
        }
        return Some(kept.as_bytes() == ours);
    }
    Some(case.expected(name)?.is(&ours))
}
