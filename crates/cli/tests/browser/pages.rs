//! Pages to look at, made by the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use paceline_lab::report::RunData;
use tempfile::TempDir;

use crate::common;

/// An incast of some round trips. Whoever wrote it tried to put a program into the page.
const SCENARIO: &str = r#"name = "look"
description = "Eight to one.</script><script>window.owned = 1</script>"
duration = "5ms"
[topology.star]
hosts = 9
rate = "100Gbps"
delay = "1us"
[[workload]]
label = "<img src=x onerror='window.owned = 2'>"
incast = { fan-in = 8, receiver = 9, size = "200KB" }
[cc]
scheme = "dcqcn"
[record]
queue = "1us"
rates = "10us"
"#;

/// The folder of what the tests look at.
static FOLDER: OnceLock<TempDir> = OnceLock::new();

/// It, with its content: made once.
fn folder() -> &'static Path {
    let make = || {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        fs::write(path.join("look.toml"), SCENARIO).expect("the scenario");
        common::stdout(path, &["run", "look.toml", "--out", "run", "--quiet"]);
        let schemes = "hpcc,dcqcn,timely,dctcp";
        let args = [
            "compare",
            "look.toml",
            "--schemes",
            schemes,
            "--out",
            "compare",
            "--quiet",
        ];
        common::stdout(path, &args);
        folder
    };
    FOLDER.get_or_init(make).path()
}

/// The folder of one run.
pub(crate) fn run() -> PathBuf {
    folder().join("run")
}

/// The folder of a comparison of four schemes.
pub(crate) fn compare() -> PathBuf {
    folder().join("compare")
}

/// What a run's folder says.
pub(crate) fn data(folder: &Path) -> RunData {
    RunData::read(folder).expect("the run's folder")
}

/// Takes away the folders. What is static is not dropped.
pub(crate) fn remove() {
    if let Some(folder) = FOLDER.get() {
        let _ = fs::remove_dir_all(folder.path());
    }
}
