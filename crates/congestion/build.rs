//! Packs the forests that ship: their files are long lists of small numbers.

#![expect(
    clippy::disallowed_macros,
    reason = "a build script speaks to cargo by printing"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() {
    let models = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("models");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed={}", models.display());
    for entry in fs::read_dir(&models).expect("the models that ship") {
        let path = entry.expect("a file").path();
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().contains("-tree-") {
            let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
            let written = packed.write_all(&fs::read(&path).expect("a model"));
            let packed = written.and_then(|()| packed.finish()).expect("it is memory");
            fs::write(out.join(name), packed).expect("the build's folder");
        }
    }
}
