//! Hashes the code that decides results, for the build scripts of `lab`, `learn`, `parity` and `reproduce`.
//!
//! The hash covers the sources of a crate and of all crates of this workspace that it depends on, and the versions of
//! all others (`Cargo.lock`). Folder, host, profile, time stamps, line endings and version control do not matter, and
//! neither do tests.

#![expect(
    clippy::disallowed_macros,
    reason = "a build script speaks to cargo by printing"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Crates that write pages and help, and so cannot change results.
const WITHOUT_RESULTS: [&str; 2] = ["report", "explain"];
/// Folders of a crate that hold no part of its library.
const NOT_LIBRARY: [&str; 4] = ["tests", "benches", "examples", "target"];

/// File with the hash in a packaged crate, which comes without the other crates of the workspace.
pub const PACKAGED: &str = "CODE";

/// Sets the environment variable `PACELINE_CODE` to the hash while the calling crate is compiled.
///
/// # Panics
/// If cargo does not run it, or a crate of the workspace cannot be read.
pub fn emit() {
    let variable = |name| env::var(name).expect("cargo sets it");
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let name = here.file_name().and_then(|name| name.to_str());
    let name = name.expect("a crate has a folder");
    let code = if root.join("crates").join(name).join("Cargo.toml").is_file() {
        of_crate(&root, name)
    } else {
        packaged(&here, &variable("CARGO_PKG_VERSION"))
    };
    for file in &code.files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rustc-env=PACELINE_CODE={}", code.hash);
}

/// Hash of a crate's code, and the files that it covers.
#[derive(Clone, Debug)]
pub struct Code {
    /// Eight hexadecimal digits, as they appear in the version.
    pub hash: String,
    /// Files that were hashed; cargo reruns the build script if one of them changes.
    pub files: Vec<PathBuf>,
}

/// Returns the hash that was packaged with a crate. Without one, the release has to do: its code does not change.
fn packaged(folder: &Path, release: &str) -> Code {
    let file = folder.join(PACKAGED);
    let known = fs::read_to_string(&file).map(|text| text.trim().to_string());
    let hash = known.unwrap_or_else(|_| {
        let mut hash = Hash::default();
        hash.add(release.as_bytes());
        hash.digits()
    });
    Code {
        hash,
        files: vec![file],
    }
}

/// Hashes the crate `name` of the workspace in `root`.
///
/// # Panics
/// If a crate that it depends on cannot be read.
pub fn of_crate(root: &Path, name: &str) -> Code {
    let mut crates = BTreeSet::new();
    add_with_dependencies(root, name, &mut crates);
    let mut files: Vec<PathBuf> = ["Cargo.toml", "Cargo.lock"].map(PathBuf::from).into();
    for name in &crates {
        add_files(root, &Path::new("crates").join(name), true, &mut files);
    }
    let mut hash = Hash::default();
    for file in &files {
        let name: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
        // A dependency of a program of somebody else may come without the file that fixes versions.
        let content = fs::read(root.join(file)).unwrap_or_default();
        hash.add(name.join("/").as_bytes());
        hash.add(&content);
    }
    Code {
        hash: hash.digits(),
        files: files.iter().map(|file| root.join(file)).collect(),
    }
}

/// Adds a crate and its dependencies within the workspace, read from its manifest.
fn add_with_dependencies(root: &Path, name: &str, crates: &mut BTreeSet<String>) {
    if WITHOUT_RESULTS.contains(&name) || !crates.insert(name.to_string()) {
        return;
    }
    let manifest = root.join("crates").join(name).join("Cargo.toml");
    let text = fs::read_to_string(&manifest);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
    let mut lines = text
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1);
    while let Some(line) = lines.next().filter(|line| !line.starts_with('[')) {
        if let Some(rest) = line.strip_prefix("paceline-") {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            add_with_dependencies(root, &rest[..end.unwrap_or(rest.len())], crates);
        }
    }
}

/// Adds the files of a folder in the order of their names, without tests. `top` is true for a crate's root folder.
fn add_files(root: &Path, folder: &Path, top: bool, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(root.join(folder));
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    for name in names {
        let path = folder.join(&name);
        // Links lead to data outside, such as scenarios, which are inputs.
        if root.join(&path).is_symlink() {
            continue;
        }
        if root.join(&path).is_dir() {
            let skipped = is_test(&name) || top && NOT_LIBRARY.contains(&name.as_str());
            if !skipped {
                add_files(root, &path, false, files);
            }
        } else if !is_test(&name) {
            files.push(path);
        }
    }
}

/// Returns true if a file or folder with this name holds only tests.
fn is_test(name: &str) -> bool {
    matches!(name, "tests" | "snapshots" | "tests.rs") || name.ends_with("_tests.rs")
}

/// State of a 128-bit FNV-1a hash.
struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        // Version control may write lines with other ends.
        for &byte in bytes.iter().filter(|&&byte| byte != b'\r').chain([&0]) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    fn digits(&self) -> String {
        let half = (self.0 >> 64) as u64 ^ self.0 as u64;
        format!("{:08x}", (half >> 32) as u32 ^ half as u32)
    }
}
