//! Identity of the code that decides results.

use std::fs;
use std::path::Path;

use paceline_identity::of_crate;
use paceline_lab::with_added;

/// Creates a workspace: `top` depends on `base`, and on `report`, which decides no results.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("Cargo.toml", "[workspace]\n");
    write("Cargo.lock", "version = 4\n");
    write(
        "crates/top/Cargo.toml",
        "[package]\nname = \"paceline-top\"\n\n[dependencies]\nlibm.workspace = true\npaceline-base.workspace = true\n\
         paceline-report = { workspace = true }\n\n[dev-dependencies]\npaceline-testkit.workspace = true\n",
    );
    write("crates/top/src/lib.rs", "mod a;\n");
    write("crates/base/Cargo.toml", "[dependencies]\n");
    write("crates/base/src/lib.rs", "pub const A: u32 = 1;\n");
    write("crates/base/src/part/tests.rs", "// one\n");
    write("crates/base/tests/it/main.rs", "// one\n");
    folder
}

fn hash(root: &Path) -> String {
    of_crate(root, "top").hash
}

#[test]
fn the_same_code_is_the_same_wherever_it_lies() {
    let (one, other) = (workspace(), workspace());
    assert_eq!(hash(one.path()), hash(other.path()));
    // Version control may write lines with other ends; tests decide nothing.
    let write = |name: &str, text: &str| fs::write(other.path().join(name), text).unwrap();
    write("crates/base/src/lib.rs", "pub const A: u32 = 1;\r\n");
    write("crates/base/src/part/tests.rs", "// two\n");
    write("crates/base/tests/it/main.rs", "// two\n");
    assert_eq!(hash(one.path()), hash(other.path()));
}

#[test]
fn what_decides_results_changes_it() {
    let folder = workspace();
    let mut seen = vec![hash(folder.path())];
    for (name, text) in [
        ("crates/top/src/lib.rs", "mod b;\n"),
        ("crates/base/src/lib.rs", "pub const A: u32 = 2;\n"),
        ("crates/base/src/more.rs", ""),
        ("crates/base/data.tsv", "1\n"),
        ("Cargo.lock", "version = 4\n[[package]]\nname = \"libm\"\n"),
        ("Cargo.toml", "[workspace]\nresolver = \"3\"\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
        let new = hash(folder.path());
        assert!(!seen.contains(&new), "{name}");
        seen.push(new);
    }
}

/// The hash of the build script equals one computed here, in any folder and profile.
#[test]
fn a_version_has_the_identity_of_these_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let common = ["kernel", "congestion", "run", "fabric", "scenario"];
    let codes = [("lab", "traces"), ("parity", "parity")].map(|(name, own)| {
        let code = of_crate(&root, name);
        for part in common.into_iter().chain([name, own]) {
            let folder = root.join("crates").join(part);
            assert!(code.files.iter().any(|file| file.starts_with(&folder)), "{part}");
        }
        let is_test =
            |file: &std::path::PathBuf| file.ends_with("tests.rs") || file.iter().any(|name| name == "tests");
        assert_eq!(code.files.iter().find(|file| is_test(file)), None);
        code.hash
    });
    let [lab, parity] = codes.each_ref().map(String::as_str);
    assert_eq!(paceline_parity::extension().code.as_deref(), Some(parity));
    let release = env!("CARGO_PKG_VERSION");
    assert_eq!(
        paceline_lab::version(),
        format!("{release}+{}", with_added(lab, parity))
    );
    assert_ne!(with_added(lab, parity), with_added(lab, lab));
}
