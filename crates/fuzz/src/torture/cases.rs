//! Cases: every command that writes, and its input files.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::state::{self, Content};

/// Result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Makes {
    /// Folder that the command creates.
    Folder,
    /// Folder that replaces an earlier run containing a file of the user.
    Instead,
    /// File with this extension.
    File(&'static str),
}

/// Command of the program that writes a file or folder.
#[derive(Debug)]
pub(crate) struct Case {
    /// Arguments of the command; `OUT` stands for the output.
    pub(crate) words: &'static str,
    pub(crate) makes: Makes,
}

const fn case(words: &'static str, makes: Makes) -> Case {
    Case { words, makes }
}

/// All commands that write, in several variants.
pub(crate) static CASES: [Case; 22] = [
    case("run my.toml --out OUT", Makes::Folder),
    case(
        "run my.toml --threads 2 --format parquet,perfetto --out OUT",
        Makes::Folder,
    ),
    case("run my.toml --force --out OUT", Makes::Instead),
    case("run job.toml --out OUT", Makes::Folder),
    case("run long.toml --out OUT", Makes::Folder),
    case("compare my.toml --schemes hpcc,dctcp --out OUT", Makes::Folder),
    case(
        "compare my.toml --schemes hpcc,dctcp --repeats 2 --force --out OUT",
        Makes::Instead,
    ),
    case(
        "sweep my.toml --over cc.scheme=hpcc,dctcp --repeats 2 --out OUT",
        Makes::Folder,
    ),
    case(
        "sweep my.toml --over cc.scheme=hpcc,dctcp --keep all --jobs 1 --out OUT",
        Makes::Folder,
    ),
    case("merge shard-1 shard-2 --out OUT", Makes::Folder),
    case("reproduce mine --out OUT", Makes::Folder),
    case("reproduce --new OUT --from my.toml", Makes::Folder),
    case(
        "train pidnn --scenario tiny.toml --episodes 5 --checkpoint-every 1ms --out OUT",
        Makes::Folder,
    ),
    case("report a -o OUT", Makes::File("html")),
    case("plot a --what queue -o OUT", Makes::File("svg")),
    case("plot a --what fct-cdf --force -o OUT", Makes::File("pdf")),
    case("convert my.goal OUT", Makes::File("bin")),
    case("generate topology star hosts=3 -o OUT", Makes::File("txt")),
    case(
        "generate flows poisson sizes=websearch load=0.9 to=1ms --topology star,hosts=64 -o OUT",
        Makes::File("csv"),
    ),
    case("forest export decc-tree-100 -o OUT", Makes::File("h")),
    case("forest import catboost.json -o OUT", Makes::File("json")),
    case("explain decc-tree-100 --page OUT", Makes::File("html")),
];

const MY: &str = r#"name = "my"
[topology.star]
hosts = 3
[[workload]]
incast = { fan-in = 2, receiver = 3, size = "200KB" }
[cc]
scheme = "hpcc"
[record]
queue = "100ns"
rates = "1us"
flows = "1us"
rtt-samples = true
"#;

/// Scenario that takes seconds, so that most instants are within the run.
const LONG: &str = r#"name = "long"
[topology.star]
hosts = 5
[[workload]]
incast = { fan-in = 4, receiver = 5, size = "40MB" }
[cc]
scheme = "dctcp"
"#;

const JOB: &str = r#"name = "job"
duration = "10ms"
[topology.star]
hosts = 2
[cc]
scheme = "dcqcn"
[[job]]
goal = "my.goal"
iterations = 20
"#;

const TINY: &str = r#"name = "tiny"
[topology.star]
hosts = 5
[[workload]]
incast = { fan-in = 4, receiver = 5, size = "10MB" }
[cc]
scheme = "timely"
"#;

const EXPERIMENT: &str = r#"title = "mine"
source = { cite = "Somebody", short = "S", where = "nowhere" }
about = "mine"
[runs]
scenario = "my.toml"
seeds = 2
folders = true
[[case]]
name = "HPCC"
scheme = "hpcc"
[[case]]
name = "DCTCP"
scheme = "dctcp"
[[table]]
columns = "case"
rows = ["fct_slowdown.mean", "queue_bytes.max"]
"#;

const GOAL: &str = "num_ranks 2\nrank 0 {\na: calc 1000\ns: send 80000b to 1 tag 0\ns requires a\n}\n\
                    rank 1 {\nr: recv 80000b from 0 tag 0\n}\n";
const CATBOOST: &str = include_str!("../../../forest/tests/catboost/model.json");

/// Built command, and a folder with the inputs of its cases.
pub(crate) struct Bench {
    command: PathBuf,
    inputs: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new(command: PathBuf) -> Result<Self> {
        let inputs = tempfile::tempdir()?;
        let bench = Self { command, inputs };
        let path = bench.inputs.path();
        fs::create_dir(path.join("mine"))?;
        for (name, text) in [
            ("my.toml", MY),
            ("long.toml", LONG),
            ("job.toml", JOB),
            ("tiny.toml", TINY),
            ("mine/experiment.toml", EXPERIMENT),
            ("mine/my.toml", MY),
            ("my.goal", GOAL),
            ("catboost.json", CATBOOST),
        ] {
            fs::write(path.join(name), text)?;
        }
        for words in [
            "run my.toml --quiet --out a",
            "run my.toml --seed 7 --quiet --out former",
            "sweep my.toml --over cc.scheme=hpcc,dctcp --shard 1/2 --out shard-1 --quiet",
            "sweep my.toml --over cc.scheme=hpcc,dctcp --shard 2/2 --out shard-2 --quiet",
        ] {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let output = bench.run(path, &words)?;
            if !output.status.success() {
                bail!("{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
        fs::write(path.join("former/mine.txt"), state::PRECIOUS)?;
        state::canary(path)?;
        Ok(bench)
    }

    /// Creates a folder with all inputs of a case and, for `Makes::Instead`, the run to replace.
    pub(crate) fn place(&self, makes: Makes) -> Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        state::copy(self.inputs.path(), folder.path())?;
        match makes {
            Makes::Instead => fs::rename(folder.path().join("former"), folder.path().join("out"))?,
            _ => fs::remove_dir_all(folder.path().join("former"))?,
        }
        Ok(folder)
    }

    /// Prepares the command in a folder, with an empty environment.
    pub(crate) fn start(&self, folder: &Path, words: &[OsString]) -> Command {
        self.within(folder, None, words)
    }

    /// Prepares the command within a shell script, which ends with `exec "$0" "$@"`.
    pub(crate) fn within(&self, folder: &Path, shell: Option<&str>, words: &[OsString]) -> Command {
        let mut command = match shell {
            None => Command::new(&self.command),
            Some(script) => {
                let mut command = Command::new("sh");
                command.args(["-c", script]).arg(&self.command);
                command
            }
        };
        command
            .args(words)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env_remove("RUST_BACKTRACE");
        command
    }

    fn run(&self, folder: &Path, words: &[OsString]) -> Result<std::process::Output> {
        self.start(folder, words).output().context("the command starts")
    }
}

/// Duration and result of an undisturbed case.
pub(crate) struct Undisturbed {
    pub(crate) takes: Duration,
    pub(crate) content: Content,
}

impl Case {
    /// Returns the name of the output.
    pub(crate) fn out(&self) -> String {
        match self.makes {
            Makes::Folder | Makes::Instead => "out".into(),
            Makes::File(ending) => format!("out.{ending}"),
        }
    }

    /// Returns the arguments with the name of the output.
    pub(crate) fn arguments(&self, out: &OsStr) -> Vec<OsString> {
        let words = self.words.split(' ');
        words
            .map(|word| match word {
                "OUT" => out.to_os_string(),
                word => word.into(),
            })
            .collect()
    }

    pub(crate) fn undisturbed(&self, bench: &Bench) -> Result<Undisturbed> {
        let mut all = Vec::new();
        let mut takes = Duration::ZERO;
        // Twice: differences between two undisturbed results, such as times, are no faults.
        for _ in 0..2 {
            let folder = bench.place(self.makes)?;
            let begun = Instant::now();
            let output = bench.run(folder.path(), &self.arguments(self.out().as_ref()))?;
            takes = begun.elapsed();
            if !output.status.success() {
                bail!("{}: {}", self.words, String::from_utf8_lossy(&output.stderr));
            }
            all.push(Content::of(&folder.path().join(self.out()))?);
        }
        let content = all.swap_remove(0).common(&all[0]);
        Ok(Undisturbed { takes, content })
    }
}
