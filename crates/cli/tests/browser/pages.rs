//! Pages for the tests, made by the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use paceline_lab::files::RunData;
use tempfile::TempDir;

use crate::common;

/// An incast of some round trips, whose description tries to inject a script into the page.
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

/// A fat tree with 320 hosts, 60 of which send to one.
const LARGE: &str = r#"name = "large"
duration = "5ms"
[topology.hpcc-fat]
rate = "100Gbps"
fabric-rate = "400Gbps"
delay = "1us"
[[workload]]
label = "incast"
incast = { fan-in = 60, receiver = 319, size = "50KB" }
[cc]
scheme = "dcqcn"
"#;

/// A fat tree with 65,536 hosts, four of which send.
const HUGE: &str = r#"name = "huge"
duration = "20us"
[topology.fat-tree]
k = 64
[[workload]]
incast = { fan-in = 4, receiver = 9, size = "10KB" }
[cc]
scheme = "dctcp"
"#;

/// Traffic that depends on the seed.
const RANDOM: &str = r#"name = "random"
description = "Poisson arrivals on a star."
duration = "20ms"
[topology.star]
hosts = 8
[[workload]]
label = "background"
poisson = { sizes = "fb-hadoop", load = 0.5, to = "1ms" }
[cc]
scheme = "hpcc"
[record]
queue = "1us"
rates = "10us"
"#;

/// Folder with all pages, created on first use.
static FOLDER: OnceLock<TempDir> = OnceLock::new();

/// Returns the folder with all pages.
pub(crate) fn folder() -> &'static Path {
    let make = || {
        let folder = common::folder_with("look.toml", SCENARIO);
        let path = folder.path();
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
        let repeats = [
            "--schemes",
            "hpcc,dcqcn,dctcp",
            "--repeats",
            "4",
            "--out",
            "repeats",
            "--quiet",
        ];
        fs::write(path.join("random.toml"), RANDOM).expect("the scenario");
        common::stdout(path, &[&["compare", "random.toml"], &repeats[..]].concat());
        fs::write(path.join("large.toml"), LARGE).expect("the scenario");
        common::stdout(path, &["run", "large.toml", "--out", "large", "--quiet"]);
        folder
    };
    FOLDER.get_or_init(make).path()
}

/// Returns the folder of one run.
pub(crate) fn run() -> PathBuf {
    folder().join("run")
}

/// Returns the folder of a run with 320 hosts.
pub(crate) fn large() -> PathBuf {
    folder().join("large")
}

/// Returns the folder of a run with 65,536 hosts.
pub(crate) fn huge() -> PathBuf {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| {
        fs::write(folder().join("huge.toml"), HUGE).expect("the scenario");
        common::stdout(folder(), &["run", "huge.toml", "--out", "huge", "--quiet"]);
    });
    folder().join("huge")
}

/// Returns the folder of a comparison of four schemes.
pub(crate) fn compare() -> PathBuf {
    folder().join("compare")
}

/// Returns the folder of the demo's run under HPCC: 58 ms, with its queue sampled every microsecond.
pub(crate) fn demo() -> PathBuf {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| {
        let args = ["demo", "--schemes", "hpcc,dctcp", "--out", "demo", "--quiet"];
        common::stdout(folder(), &args);
    });
    folder().join("demo/hpcc")
}

/// Returns the folder of a run that ends in a deadlock.
pub(crate) fn deadlock() -> PathBuf {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| {
        common::stdout(folder(), &["run", "pfc-deadlock", "--out", "deadlock", "--quiet"]);
    });
    folder().join("deadlock")
}

/// Returns the folder of a comparison of three schemes with four seeds.
pub(crate) fn repeats() -> PathBuf {
    folder().join("repeats")
}

/// Reads the folder of a run.
pub(crate) fn data(folder: &Path) -> RunData {
    RunData::read(folder).expect("the run's folder")
}

/// Removes the folders, since statics are not dropped.
pub(crate) fn remove() {
    if let Some(folder) = FOLDER.get() {
        let _ = fs::remove_dir_all(folder.path());
    }
}
