//! The scripts of `examples/roles` run as they are.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a script in a folder of its own, in which `paceline` is on the path.
fn run(name: &str) -> tempfile::TempDir {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/roles")
        .join(name);
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_paceline")).parent().unwrap();
    let path = format!(
        "{}:{}",
        program.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let output = Command::new("sh")
        .arg(script)
        .current_dir(folder.path())
        .env("PATH", path)
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{name}: {}\n{}{}",
        output.status,
        said(&output.stdout),
        said(&output.stderr)
    );
    folder
}

#[test]
fn a_student_gets_figure_table_and_folder() {
    let folder = run("student.sh");
    let table = fs::read_to_string(folder.path().join("paper/thresholds.tex")).unwrap();
    assert!(
        table.contains("DCQCN & shallow &") && table.contains("\\label{tab:ecn}"),
        "{table}"
    );
}

#[test]
fn an_operator_compares_before_and_after() {
    let folder = run("operator.sh");
    let page = fs::read_to_string(folder.path().join("before-after.html")).unwrap();
    assert!(page.contains("before") && page.contains("after"));
}

#[test]
fn a_nic_engineer_sees_losses() {
    run("nic-engineer.sh");
}

#[test]
fn shards_are_the_sweep_of_one_machine() {
    run("many-machines.sh");
}

#[test]
fn a_reader_looks_around() {
    run("reader.sh");
}

/// Every script is run above and described on the page.
#[test]
fn every_script_is_described_and_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/roles");
    let page = fs::read_to_string(folder.join("README.md")).unwrap();
    let tests = include_str!("roles.rs");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".sh") {
            assert!(
                page.contains(&format!("`{name}`")) && tests.contains(&format!("run(\"{name}\")")),
                "{name}"
            );
            count += 1;
        }
    }
    assert_eq!(count, 5);
}
