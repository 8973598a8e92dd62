//! Runs the built command, and prepares its inputs.
#![allow(dead_code)]

pub(crate) mod served;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use paceline_congestion::registry::SCHEMES;

/// Returns the command, to be run in `folder` without a terminal.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(folder).env_remove("RUST_BACKTRACE");
    command
}

/// Runs the command and returns its output.
pub(crate) fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder).args(args).output().expect("the command starts")
}

/// Runs a command that must succeed, and returns its standard output.
pub(crate) fn stdout(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {} {error}", output.status);
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// Returns the names of all schemes, as errors list them.
fn schemes() -> String {
    let names = SCHEMES.iter().flat_map(|scheme| {
        let aliases = scheme.aliases.iter().map(|alias| alias.name);
        std::iter::once(scheme.name).chain(aliases)
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Returns exit status and output for snapshots, without the list of schemes, which grows.
pub(crate) fn said(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "paceline {}\nexit status: {}\nstdout:\n{}stderr:\n{}",
        args.join(" "),
        output
            .status
            .code()
            .map_or("none".to_string(), |code| code.to_string()),
        text(&output.stdout),
        text(&output.stderr)
    )
    .replace(&schemes(), "[all schemes]")
}

/// Creates a temporary folder with one file.
pub(crate) fn folder_with(name: &str, text: impl AsRef<[u8]>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(name), text).expect("the file");
    folder
}

/// Reads a JSON file.
pub(crate) fn json(file: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(file).expect("the file")).expect("JSON")
}

/// Sends SIGINT to a running command, as Ctrl-C does.
pub(crate) fn interrupt(child: &Child) {
    let asked = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(asked.expect("kill starts").success());
}

/// A small scenario: a 2-to-1 incast.
pub(crate) const SMALL: &str = r#"name = "small"
[topology.star]
hosts = 3
[[workload]]
incast = { fan-in = 2, receiver = 3, size = "100KB" }
[cc]
scheme = "hpcc"
[cc.hpcc]
eta = 0.9
[record]
queue = "1us"
rates = "5us"
"#;

/// A scenario for trainings: a 4-to-1 incast of some hundred round trips.
pub(crate) const TINY: &str = r#"name = "tiny"
[topology.star]
hosts = 5
[[workload]]
incast = { fan-in = 4, receiver = 5, size = "10MB" }
[cc]
scheme = "timely"
"#;

/// Arguments of a training on it that takes seconds.
pub(crate) const TRAIN: [&str; 14] = [
    "train",
    "lstm",
    "--scenarios",
    "tiny.toml",
    "--schemes",
    "timely,dctcp",
    "--pairs",
    "2000",
    "--rounds",
    "4",
    "--learning-rate",
    "0.01",
    "--out",
    "trained",
];

/// Returns all files below `folder`, by relative path. Host measurements are removed from summaries.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let mut content = fs::read(&path).unwrap();
            if path.extension().is_some_and(|extension| extension == "json") {
                let mut value: serde_json::Value = serde_json::from_slice(&content).unwrap();
                remove_machine(&mut value);
                content = serde_json::to_vec_pretty(&value).unwrap();
            }
            found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), content);
        }
    }
    found
}

/// Removes values that depend on the machine.
fn remove_machine(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(object) => {
            for key in ["wall_s", "cpu_s", "packet_hops_per_s", "peak_rss_bytes"] {
                object.remove(key);
            }
            object.values_mut().for_each(remove_machine);
        }
        serde_json::Value::Array(list) => list.iter_mut().for_each(remove_machine),
        _ => {}
    }
}

/// Asserts that two folders have equal contents.
pub(crate) fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (files(a), files(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    assert!(!a.is_empty());
    for (path, content) in &a {
        assert!(content == &b[path], "{} is different", path.display());
    }
}
