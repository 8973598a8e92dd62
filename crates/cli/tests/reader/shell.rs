//! A reader's folder and shell.

use std::fs;
use std::path::Path;
use std::process::{Command as Process, Output};

use crate::AS_OWN_SCHEME;
use crate::common::stdout;
use crate::guide::Shown;
use crate::sources::Command;

/// A forest trained by CatBoost.
const CATBOOST: &str = include_str!("../../../forest/tests/catboost/model.json");

/// A scenario that the pages describe as the reader's own.
const MY: &str = r#"name = "my"
duration = "2ms"
[topology.star]
hosts = 5
[[workload]]
incast = { fan-in = 4, receiver = 5, size = "2MB" }
[cc]
scheme = "hpcc"
[sweep]
"cc.scheme" = ["hpcc", "dctcp"]
repeats = 2
"#;

/// The scenario in the guide to traces.
const TRAINING: &str = r#"duration = "100ms"
[topology.leaf-spine]
leaves = 4
spines = 2
hosts-per-leaf = 4
spine-rate = "25Gbps"
[cc]
scheme = "dcqcn"

[[job]]
label = "training"
chakra = "traces/llama"
placement = "spread"
iterations = 3
"#;

/// Changes to commands that would take minutes or hours, by a part of the line: words to replace it, or options to
/// add. Runs and trainings become shorter; all else is executed as written.
const SHORTER: &[(&str, Shorter)] = &[
    ("cargo run --release -- ", Shorter::As("paceline ")),
    ("fat320-", Shorter::With("--duration 20us")),
    ("qp-scheduling=quantum", Shorter::With("--duration 100us")),
    ("permutation-k8", Shorter::With("--duration 50us")),
    ("recovery-loss", Shorter::With("--duration 50us")),
    ("hpcc-recovery", Shorter::With("--duration 50us")),
    ("reproduce all", Shorter::As("reproduce acc-join")),
    // This experiment has 720 runs.
    ("reproduce adpg-grid", Shorter::As("reproduce acc-join")),
    ("reproduce tcd-epsilon", Shorter::As("reproduce acc-join")),
    ("thesis-table8 hpcc-fct", Shorter::As("acc-join")),
    ("thesis-table6 hpcc-fct", Shorter::As("acc-join")),
    ("reproduce thesis-table6", Shorter::As("reproduce acc-join")),
    ("compare ai-cluster", Shorter::With("--duration 500us")),
    ("run ai-cluster --scheme", Shorter::With("--duration 500us")),
    (
        "continual far.toml",
        Shorter::With("--quick --rounds 1 --every 1ms"),
    ),
    ("far.toml", Shorter::With("--duration 1ms")),
    ("--rounds 15", Shorter::As("")),
    // One training records the runs of the built-in model; others use less data.
    ("train lstm --compare", Shorter::With("--pairs 300 --rounds 7")),
    ("train lstm --data", Shorter::With("--pairs 200 --rounds 7")),
    ("train lstm", Shorter::With(ON_MY_RUNS)),
    ("train ar3", Shorter::With(ON_MY_RUNS)),
    (
        "train pidnn",
        Shorter::With("--scenario my.toml --episodes 2 --settle 1"),
    ),
    ("train adpg", Shorter::With("--quick")),
    ("train aurora", Shorter::With("--quick --rounds 1")),
    ("train spine", Shorter::With("--quick --rounds 1")),
    ("decc compress", Shorter::With("--quick")),
    ("train decc", Shorter::With("--quick --rounds 1")),
    ("train swift", Shorter::With("--quick --rounds 1")),
    ("distill ", Shorter::With("--quick --rounds 1")),
    ("train ", Shorter::With("--pairs 300 --rounds 7")),
    (
        "paceline tune",
        Shorter::With("--trials 9 --repeats 2 --held-out 2"),
    ),
    ("bench", Shorter::With("--quick --only incast-20")),
    // There is no cluster.
    (" | sbatch", Shorter::As("")),
];

const ON_MY_RUNS: &str = "--scenarios my.toml --schemes timely --pairs 200 --rounds 7";

enum Shorter {
    As(&'static str),
    With(&'static str),
}

/// A folder in which commands are executed.
pub(crate) struct Reader {
    folder: tempfile::TempDir,
    /// Shell words that run `paceline`.
    program: String,
}

impl Reader {
    /// Returns the reader of a page.
    pub(crate) fn of(page: &str) -> Self {
        match page.ends_with("own-scheme.md") {
            true => Self::of_own_scheme(),
            false => Self::new(),
        }
    }

    pub(crate) fn new() -> Self {
        Self::with(format!("'{}'", env!("CARGO_BIN_EXE_paceline")))
    }

    /// Returns a reader with the program of `examples/own-scheme`.
    pub(crate) fn of_own_scheme() -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        Self::with(format!("{AS_OWN_SCHEME}=1 '{}'", program.display()))
    }

    fn with(program: String) -> Self {
        let reader = Self {
            folder: tempfile::tempdir().expect("a folder"),
            program,
        };
        let folder = reader.folder();
        let given = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/incast16");
        fs::create_dir(folder.join("mix")).expect("a folder");
        for file in ["config.txt", "flow.txt", "topology.txt", "trace.txt"] {
            fs::copy(given.join(file), folder.join("mix").join(file)).expect("a file");
        }
        let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data");
        let copy = |from: &str, to: &str| {
            fs::copy(traces.join(from), folder.join(to)).expect("a file");
        };
        fs::create_dir(folder.join("traces")).expect("a folder");
        copy("goal/halo_4x4.goal", "app.goal");
        copy("../../../scenario/tests/it/acts/model.toml", "job.toml");
        for rank in 0..8 {
            copy(
                &format!("chakra/dags/overlap/trace.{rank}.et"),
                &format!("traces/llama.{rank}.et"),
            );
        }
        copy("simai/microAllReduce.txt", "gpt.txt");
        copy("simai/Rail_Opti_SingleToR_8g_8gps_200Gbps_H20", "topology");
        let conf = fs::read_to_string(traces.join("simai/SimAI.conf")).expect("a file");
        let conf = format!("TOPOLOGY_FILE topology\nWORKLOAD_FILE gpt.txt\n{conf}");
        fs::write(folder.join("SimAI.conf"), conf).expect("a file");
        fs::write(folder.join("training.toml"), TRAINING).expect("a file");
        fs::write(folder.join("my.toml"), MY).expect("a file");
        fs::write(folder.join("catboost.json"), CATBOOST).expect("a file");
        // The error that the README shows.
        let mine = stdout(folder, &["explain", "incast-16"]);
        fs::write(folder.join("mine.toml"), mine.replace("size =", "szie =")).expect("a file");
        reader
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Executes commands in order and checks their exit status. Returns the outputs shown on the page, with the
    /// present ones.
    pub(crate) fn types(&self, commands: &[Command]) -> Vec<Shown> {
        let mut all = Vec::new();
        for command in commands {
            let Some(line) = to_run(&command.line) else {
                continue;
            };
            let output = self.types_line(&line);
            let said = String::from_utf8_lossy(&output.stderr);
            // A machine need not have MPI: Python's tests of ranks bring their own.
            let has_no_mpi = said.starts_with("error: no MPI library was found");
            let expected = if command.fails || has_no_mpi { 2 } else { 0 };
            assert_eq!(
                output.status.code(),
                Some(expected),
                "`{}` (run as `{line}`)\n{said}",
                command.line
            );
            assert!(!said.contains("internal error"), "`{line}`\n{said}");
            if let Some((typed, shown)) = &command.shown {
                let mut now = String::from_utf8(output.stdout).expect("output is UTF-8");
                // `...` stands for everything before the next line shown.
                if let Some(rest) = shown.strip_prefix("...\n") {
                    let first = rest.lines().next().unwrap_or_default();
                    let start = now
                        .find(first)
                        .unwrap_or_else(|| panic!("`{line}` does not say `{first}`"));
                    now = format!("...\n{}", &now[start..]);
                }
                all.push((format!("{typed}{shown}"), format!("{typed}{now}")));
            }
        }
        all
    }

    /// Executes a line in a shell.
    pub(crate) fn types_line(&self, line: &str) -> Output {
        let function = format!("paceline() {{ {} \"$@\"; }}\n{line}", self.program);
        let mut shell = Process::new("bash");
        shell.args(["-o", "pipefail", "-c", &function]);
        shell
            .current_dir(self.folder())
            .output()
            .expect("there is a shell")
    }
}

/// Returns the line to execute, or `None` if it does not run this program.
fn to_run(line: &str) -> Option<String> {
    let mut line = line.to_string();
    for (part, shorter) in SHORTER {
        if !line.contains(part) {
            continue;
        }
        match shorter {
            Shorter::As(words) => line = line.replace(part, words),
            Shorter::With(words) => {
                line = with(&line, words);
                break;
            }
        }
    }
    let ours = ["paceline ", "cat ", "cargo new "]
        .iter()
        .any(|word| line.starts_with(word));
    ours.then(|| if has_jq() { line.clone() } else { without_jq(&line) })
}

/// Adds options to a command, before redirections. Options that it already has are kept.
fn with(line: &str, words: &str) -> String {
    let end = line.find([';', '|', '>']).unwrap_or(line.len());
    let (command, rest) = line.split_at(end);
    let mut options = words.split(" --").map(|option| option.trim_start_matches("--"));
    let added = options.by_ref().filter(|option| {
        let name = option.split(' ').next().unwrap_or_default();
        // A dataset has a fixed number of pairs.
        let settled = name == "pairs" && command.contains(".parquet");
        !settled && !command.contains(&format!("--{name}"))
    });
    let added: String = added.map(|option| format!(" --{option}")).collect();
    format!("{}{added} {rest}", command.trim_end())
}

fn has_jq() -> bool {
    let found = Process::new("jq").arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

fn without_jq(line: &str) -> String {
    line.split(" | jq").next().unwrap_or_default().to_string()
}
