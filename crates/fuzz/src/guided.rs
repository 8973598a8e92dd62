//! The same readers, with damage that is guided by the code that it reaches: libFuzzer keeps what reaches new code, and
//! [`Mutator`] damages that. `scripts/fuzz-guided.sh` builds it, since all code has to be instrumented.

#![allow(unsafe_code, reason = "libFuzzer is C++")]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::sync::OnceLock;
use std::{fs, ptr, slice};

use anyhow::{Context as _, Result};

use crate::corpus;
use crate::mutate::Mutator;
use crate::targets::{Input, Target};

// Links the library.
use libfuzzer_sys as _;

unsafe extern "C" {
    fn LLVMFuzzerRunDriver(
        count: *mut c_int,
        arguments: *mut *mut *mut c_char,
        one: unsafe extern "C" fn(*const u8, usize) -> c_int,
    ) -> c_int;
}

/// What the callbacks of libFuzzer work on: it has one target in a process.
struct Guided {
    target: &'static Target,
    folder: tempfile::TempDir,
}

static GUIDED: OnceLock<Guided> = OnceLock::new();

/// Reads damaged inputs until an argument of libFuzzer's says otherwise or a reader breaks; what reaches new code is kept
/// in `kept`.
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
    pointers.push(ptr::null_mut());
    let mut pointer = pointers.as_mut_ptr();
    GUIDED
        .set(Guided { target, folder })
        .ok()
        .context("one target in a process")?;
    // SAFETY: `count` pointers to texts that end with zero, which outlive the call, and a null pointer.
    let status = unsafe { LLVMFuzzerRunDriver(&raw mut count, &raw mut pointer, one) };
    std::process::exit(status)
}

/// Damaged inputs to begin with.
const SEEDS: u64 = 20;

/// One input. A panic ends the process, and libFuzzer keeps the input.
unsafe extern "C" fn one(data: *const u8, size: usize) -> c_int {
    let Some(guided) = GUIDED.get() else { return 0 };
    // SAFETY: libFuzzer gives `size` bytes.
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

/// How libFuzzer damages what it has kept.
#[unsafe(no_mangle)]
extern "C" fn LLVMFuzzerCustomMutator(data: *mut u8, size: usize, most: usize, seed: u32) -> usize {
    let Some(guided) = GUIDED.get() else { return size };
    // SAFETY: libFuzzer gives room for `most` bytes, of which `size` are there.
    let room = unsafe { slice::from_raw_parts_mut(data, most) };
    let mut bytes = room[..size].to_vec();
    guided.target.damage(&mut Mutator::new(seed.into()), &mut bytes);
    let length = bytes.len().min(most);
    room[..length].copy_from_slice(&bytes[..length]);
    length
}
