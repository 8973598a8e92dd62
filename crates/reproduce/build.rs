//! Build script: lists the built-in experiments with their files, and passes a hash of the code to the crate.

#![expect(
    clippy::disallowed_macros,
    reason = "a build script speaks to cargo by printing"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() {
    paceline_identity::emit();
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("experiments");
    println!("cargo::rerun-if-changed={}", root.display());
    let order = fs::read_to_string(root.join("order.txt")).expect("experiments/order.txt");
    let count = order.split_whitespace().count();
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let mut text = format!("static FOLDERS: [BuiltIn; {count}] = [\n");
    for id in order.split_whitespace() {
        let files = packed(&files(&root.join(id), ""), &out.join(format!("{id}.packed")));
        writeln!(text, "BuiltIn::new({id:?}, {files}),").expect("a string");
    }
    let common = ["", "quotes/", "measures/"].map(|folder| files(&root.join(folder), folder));
    let common = packed(&common.concat(), &out.join("common.packed"));
    writeln!(text, "];\nstatic COMMON: Packed = {common};").expect("a string");
    fs::write(out.join("experiments.rs"), text).expect("the build's folder");
}

/// Returns the files of a folder that experiments read: names that begin with `before`, and paths.
fn files(folder: &Path, before: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let ends = ["toml", "csv", "cm", "topo"];
    paths.retain(|path| {
        path.extension()
            .is_some_and(|end| ends.iter().any(|known| end == *known))
    });
    paths.sort();
    let named = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (format!("{before}{name}"), path.clone())
    };
    paths.into_iter().map(named).collect()
}

/// Packs files into one; returns the expression of what is packed.
fn packed(files: &[(String, PathBuf)], into: &Path) -> String {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let mut sizes = String::new();
    for (name, path) in files {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        packed.write_all(text.as_bytes()).expect("it is memory");
        write!(sizes, "({name:?}, {}),", text.len()).expect("a string");
    }
    fs::write(into, packed.finish().expect("it is memory")).expect("the build's folder");
    format!(
        "Packed::new(&[{sizes}], include_bytes!({:?}))",
        into.display().to_string()
    )
}
