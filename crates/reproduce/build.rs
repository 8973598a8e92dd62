//! Build script: lists the built-in experiments with their files, and passes a hash of the code to the crate.

#![expect(
    clippy::disallowed_macros,
    reason = "a build script speaks to cargo by printing"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "../lab/build/identity.rs"]
mod identity;

fn main() {
    identity::emit();
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../experiments");
    println!("cargo::rerun-if-changed={}", root.display());
    let order = fs::read_to_string(root.join("order.txt")).expect("experiments/order.txt");
    let count = order.split_whitespace().count();
    let mut text = format!("static FOLDERS: [BuiltIn; {count}] = [\n");
    for id in order.split_whitespace() {
        writeln!(text, "BuiltIn::new({id:?}, &[{}]),", files(&root.join(id), "")).expect("a string");
    }
    let folders = ["", "quotes/", "measures/"].map(|folder| files(&root.join(folder), folder));
    let common = folders.concat();
    writeln!(text, "];\nconst COMMON: Files = &[{common}];").expect("a string");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("experiments.rs"), text).expect("the build's folder");
}

/// Returns the files of a folder that experiments read, as elements of a Rust list; `before` precedes their names.
fn files(folder: &Path, before: &str) -> String {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let ends = ["toml", "csv", "cm", "topo"];
    paths.retain(|path| {
        path.extension()
            .is_some_and(|end| ends.iter().any(|known| end == *known))
    });
    paths.sort();
    let mut text = String::new();
    for path in paths {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        write!(
            text,
            "({:?}, include_str!({:?})),",
            format!("{before}{name}"),
            path.display().to_string()
        )
        .expect("a string");
    }
    text
}
