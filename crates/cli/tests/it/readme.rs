//! The output in the README agrees with the program. `UPDATE_README=1 cargo test -p paceline --test it readme`
//! rewrites it.

use std::fs;
use std::path::Path;
use std::process::Command;

use paceline_congestion::registry::SCHEMES;

/// Runs a command line and returns both output streams in order, without the progress line.
fn said(folder: &Path, line: &str) -> String {
    let program = env!("CARGO_BIN_EXE_paceline");
    let line = line.replacen("paceline", &format!("'{program}'"), 1);
    let mut shell = Command::new("sh");
    let output = shell
        .arg("-c")
        .arg(format!("{line} 2>&1"))
        .current_dir(folder)
        .output();
    let output = output.expect("there is a shell");
    assert!(output.status.success(), "{line}: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    let kept = text
        .lines()
        // A slow machine prints lines about progress.
        .filter(|line| !line.starts_with("running ") && !line.contains(" packet-hops/s "))
        .map(|line| format!("{line}\n"));
    kept.collect()
}

#[test]
fn the_readme_shows_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut written = String::new();
    let mut checked = 0;
    for (i, part) in readme.split("```").enumerate() {
        let mark = if i == 0 { "" } else { "```" };
        let body = part
            .strip_prefix("console\n$ ")
            .and_then(|block| block.split_once('\n'));
        // Checks blocks with output, except lists of commands, timings, and commands that need a terminal.
        let shown = body.filter(|(line, output)| {
            !output.is_empty()
                && !output.starts_with("$ ")
                && !line.contains("bench")
                && !line.contains("mine.toml")
        });
        let Some((line, output)) = shown else {
            written.push_str(&format!("{mark}{part}"));
            continue;
        };
        checked += 1;
        let mut now = said(folder.path(), line);
        // `...` stands for everything before the next line shown.
        if let Some(rest) = output.strip_prefix("...\n") {
            let first = rest.lines().next().unwrap_or_default();
            let start = now
                .find(first)
                .unwrap_or_else(|| panic!("`{line}` does not say `{first}`:\n{now}"));
            now = format!("...\n{}", &now[start..]);
        }
        written.push_str(&format!("{mark}console\n$ {line}\n{now}"));
    }
    assert!(checked > 0, "the README shows no output of a command");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, written).unwrap();
    } else {
        assert!(
            written == readme,
            "the README is out of date: UPDATE_README=1 writes\n{written}"
        );
    }
}

/// The text with single spaces between its words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_readme_counts_the_schemes() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let variants: usize = SCHEMES.iter().map(|scheme| scheme.aliases.len()).sum();
    let counted = format!("{} schemes and {variants} variants", SCHEMES.len());
    assert!(words(&readme).contains(&counted), "the README lacks: {counted}");
}
