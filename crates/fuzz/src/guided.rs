//! Fuzzing of the same readers with coverage guidance: libFuzzer keeps inputs that reach new code, and [`Mutator`]
//! damages them. `scripts/fuzz-guided.sh` builds it, since all code has to be instrumented.

#![allow(unsafe_code, reason = "libFuzzer is C++")]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::sync::OnceLock;
use std::{fs, ptr, slice};

use anyhow::{Context as _, Result};

use crate::corpus;
use crate::mutate::Mutator;
use crate::targets::{Input, Target};

// Links the library, which defines the driver below.
use libfuzzer_sys as _;

unsafe extern "C" {
    fn LLVMFuzzerRunDriver(
        count: *mut c_int,
        arguments: *mut *mut *mut c_char,
        one: unsafe extern "C" fn(*const u8, usize) -> c_int,
    ) -> c_int;
}

/// Data for libFuzzer's callbacks, which have one target per process.
struct Guided {
    target: &'static Target,
    folder: tempfile::TempDir,
}

static GUIDED: OnceLock<Guided> = OnceLock::new();

/// Reads damaged inputs until libFuzzer's arguments stop it or a reader breaks; stores inputs that reach new code in
/// `kept`.
pub(crate) fn run(target: &'static Target, kept: &Path, arguments: &[String]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    corpus::make(folder.path())?;
    fs::create_dir_all(kept)?;
    let seeds = kept.join("seed");
    for number in 0..SEEDS {
        let input = target.input(folder.path(), number)?;
        fs::write(format!("{}-{number}", seeds.display()), input.bytes)?;
    }
    let name = std::env::args().next().unwrap_or_default();
    let kept = kept.display().to_string();
    let arguments = [name, kept].into_iter().chain(arguments.iter().cloned());
    let arguments: Vec<CString> = arguments.map(CString::new).collect::<Result<_, _>>()?;
    let mut pointers: Vec<*mut c_char> = arguments.iter().map(|text| text.as_ptr().cast_mut()).collect();
    let mut count = c_int::try_from(pointers.len())?;
    // C's `main` expects a null pointer behind the last argument.
    pointers.push(ptr::null_mut());
    let mut pointer = pointers.as_mut_ptr();
    GUIDED
        .set(Guided { target, folder })
        .ok()
        .context("one target in a process")?;
    // SAFETY: `count` pointers to zero-terminated texts, which outlive the call, and a null pointer.
    let status = unsafe { LLVMFuzzerRunDriver(&raw mut count, &raw mut pointer, one) };
    std::process::exit(status)
}

/// Number of damaged inputs to start from.
const SEEDS: u64 = 20;

/// Reads one input. A panic ends the process, and libFuzzer stores the input.
unsafe extern "C" fn one(data: *const u8, size: usize) -> c_int {
    let Some(guided) = GUIDED.get() else { return 0 };
    // SAFETY: libFuzzer passes `size` bytes.
    let bytes = unsafe { slice::from_raw_parts(data, size) }.to_vec();
    let folder = guided.folder.path();
    let input = guided.target.regression(folder, bytes);
    let read = |input: Input| guided.target.read(folder, &input);
    let broken = match input.and_then(read) {
        Ok(Ok(Ok(()))) => false,
        Ok(Ok(Err(message))) => message.trim().is_empty(),
        Ok(Err(_)) | Err(_) => true,
    };
    if broken {
        std::process::abort();
    }
    0
}

/// Damages an input that libFuzzer has kept.
#[unsafe(no_mangle)]
extern "C" fn LLVMFuzzerCustomMutator(data: *mut u8, size: usize, most: usize, seed: u32) -> usize {
    let Some(guided) = GUIDED.get() else { return size };
    // SAFETY: libFuzzer provides room for `most` bytes, of which `size` are used.
    let room = unsafe { slice::from_raw_parts_mut(data, most) };
    let mut bytes = room[..size].to_vec();
    guided.target.damage(&mut Mutator::new(seed.into()), &mut bytes);
    let length = bytes.len().min(most);
    room[..length].copy_from_slice(&bytes[..length]);
    length
}
