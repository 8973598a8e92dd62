//! The functions of an MPI library, in whichever of three binary interfaces it has.
//!
//! Handles are 32-bit numbers in MPICH's interface, and pointers in the other two. Here they are all numbers as wide as
//! a pointer: calling conventions of 64-bit systems pass both in the same registers, and a callee that expects a 32-bit
//! number ignores the upper half. (MPI 5.0, chapter 20; `mpi.h` of MPICH 4.0 and of Open MPI 4.1.)

#![allow(unsafe_code, reason = "functions of a foreign library are called")]

use std::env;
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Loaded, RTLD_GLOBAL, RTLD_NOW};

use crate::{Launched, MpiError};

/// Handle of a communicator or datatype.
type Handle = usize;

/// A message under way. Its buffer must stay as it is until it is done.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Request(u64);

/// Status of a message, which takes at most 32 bytes in the three interfaces.
#[derive(Default)]
#[repr(C, align(8))]
pub(crate) struct Status([u64; 8]);

type InitThread = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
type OfComm = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Send = unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
type Probe = unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut Status) -> c_int;
type Count = unsafe extern "C" fn(*const Status, Handle, *mut c_int) -> c_int;
type Receive = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Status) -> c_int;
type Test = unsafe extern "C" fn(*mut Request, *mut c_int, *mut Status) -> c_int;
type Abort = unsafe extern "C" fn(Handle, c_int) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;
type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;

/// Functions and handles of a loaded library.
pub(crate) struct Library {
    file: PathBuf,
    /// The world's communicator, and the datatype of bytes.
    world: Handle,
    byte: Handle,
    /// Level of threads at which one thread at a time calls the library.
    serialized: c_int,
    init_thread: InitThread,
    comm_rank: OfComm,
    comm_size: OfComm,
    isend: Send,
    iprobe: Probe,
    get_count: Count,
    recv: Receive,
    test: Test,
    abort: Abort,
    finalize: Finalize,
    get_version: Version,
    /// Keeps the functions above loaded.
    _loaded: Loaded,
}

/// Names of libraries with the interfaces of MPI 5, of MPICH, and of Open MPI.
const STANDARD: [&str; 1] = ["libmpi_abi.so.1"];
const MPICH: [&str; 2] = ["libmpi.so.12", "libmpich.so.12"];
const OPEN_MPI: [&str; 1] = ["libmpi.so.40"];

impl Library {
    /// Loads the library of a launcher: the one next to it, or one that the system finds.
    pub(crate) fn find(launched: &Launched) -> Result<Self, MpiError> {
        let mut tried = Vec::new();
        if let Some(file) = env::var_os("PACELINE_MPI").filter(|file| !file.is_empty()) {
            return Self::open(Path::new(&file)).map_err(|why| MpiError::Unusable {
                file: PathBuf::from(&file),
                why,
            });
        }
        let names: Vec<&str> = match launched.is_open_mpi {
            true => OPEN_MPI.into_iter().chain(STANDARD).chain(MPICH).collect(),
            false => STANDARD.into_iter().chain(MPICH).chain(OPEN_MPI).collect(),
        };
        for folder in folders() {
            for file in names
                .iter()
                .map(|name| folder.join(name))
                .filter(|file| file.exists())
            {
                match Self::open(&file) {
                    Ok(library) => return Ok(library),
                    Err(_) => tried.push(file.display().to_string()),
                }
            }
        }
        for name in names {
            match Self::open(Path::new(name)) {
                Ok(library) => return Ok(library),
                Err(_) => tried.push(name.to_owned()),
            }
        }
        Err(MpiError::NotFound {
            launcher: launched.launcher,
            tried,
        })
    }

    fn open(file: &Path) -> Result<Self, String> {
        // Modules that Open MPI loads later look for its symbols among those of the whole process.
        let flags = RTLD_NOW | RTLD_GLOBAL;
        // SAFETY: the constructors of an MPI library do nothing to this process before it is initialised.
        let loaded = unsafe { Loaded::open(Some(file), flags) }.map_err(|error| error.to_string())?;
        // Open MPI exports its handles as variables; the standard interface, and MPICH's, have constants.
        let address = |name: &str| {
            // SAFETY: only the address is taken.
            let symbol = unsafe { loaded.get::<*mut c_void>(name.as_bytes()) }.ok()?;
            Some(symbol.into_raw() as Handle)
        };
        let is_standard = file
            .file_name()
            .and_then(OsStr::to_str)
            .is_some_and(|name| name.contains("mpi_abi"));
        let (world, byte, serialized) = match (address("ompi_mpi_comm_world"), address("ompi_mpi_byte")) {
            (Some(world), Some(byte)) => (world, byte, 2),
            _ if is_standard => (0x101, 0x247, 2048),
            _ => (0x4400_0000, 0x4c00_010d, 2),
        };
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is that of the function in the standard, with handles as above.
                *unsafe { loaded.get($name) }.map_err(|error: libloading::Error| error.to_string())?
            };
        }
        Ok(Self {
            file: file.to_path_buf(),
            world,
            byte,
            serialized,
            init_thread: function!(b"MPI_Init_thread"),
            comm_rank: function!(b"MPI_Comm_rank"),
            comm_size: function!(b"MPI_Comm_size"),
            isend: function!(b"MPI_Isend"),
            iprobe: function!(b"MPI_Iprobe"),
            get_count: function!(b"MPI_Get_count"),
            recv: function!(b"MPI_Recv"),
            test: function!(b"MPI_Test"),
            abort: function!(b"MPI_Abort"),
            finalize: function!(b"MPI_Finalize"),
            get_version: function!(b"MPI_Get_library_version"),
            _loaded: loaded,
        })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    fn checked(&self, function: &'static str, code: c_int) -> Result<(), MpiError> {
        match code {
            0 => Ok(()),
            code => Err(MpiError::Failed {
                file: self.file.clone(),
                function,
                code,
            }),
        }
    }

    pub(crate) fn init(&self) -> Result<(), MpiError> {
        let mut provided = 0;
        // SAFETY: null pointers stand for no arguments; this is called once.
        let code = unsafe {
            (self.init_thread)(
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                self.serialized,
                &mut provided,
            )
        };
        self.checked("MPI_Init_thread", code)
    }

    pub(crate) fn rank(&self) -> Result<usize, MpiError> {
        let mut rank = 0;
        // SAFETY: the library is initialised, here and below.
        self.checked("MPI_Comm_rank", unsafe {
            (self.comm_rank)(self.world, &mut rank)
        })?;
        Ok(rank as usize)
    }

    pub(crate) fn size(&self) -> Result<usize, MpiError> {
        let mut size = 0;
        // SAFETY: as above.
        self.checked("MPI_Comm_size", unsafe {
            (self.comm_size)(self.world, &mut size)
        })?;
        Ok(size as usize)
    }

    /// Returns what the library says of itself, on one line.
    pub(crate) fn version(&self) -> String {
        // The longest text of any library has 8192 bytes.
        let mut text = vec![0u8; 1 << 14];
        let mut length = 0;
        // SAFETY: the buffer has room for the text.
        unsafe { (self.get_version)(text.as_mut_ptr().cast(), &mut length) };
        text.truncate(length as usize);
        let text = String::from_utf8_lossy(&text);
        let line = text
            .trim_matches(['\0', ' ', '\n'])
            .lines()
            .next()
            .unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Starts to send `bytes`, at most [`crate::PIECE`] of them. The caller keeps them until the request is done.
    pub(crate) fn send(&self, bytes: &[u8], to: c_int, tag: c_int) -> Request {
        let mut request = Request(0);
        let (data, count) = (bytes.as_ptr().cast(), bytes.len() as c_int);
        // SAFETY: the caller keeps the bytes. Errors end the process: that is MPI's default.
        unsafe { (self.isend)(data, count, self.byte, to, tag, self.world, &mut request) };
        request
    }

    /// Returns the size of the next message of a rank, if one has come.
    pub(crate) fn probe(&self, from: c_int, tag: c_int) -> Option<usize> {
        let (mut is_there, mut count) = (0, 0);
        let mut status = Status::default();
        // SAFETY: the status has room for that of any library.
        unsafe { (self.iprobe)(from, tag, self.world, &mut is_there, &mut status) };
        if is_there == 0 {
            return None;
        }
        // SAFETY: the status is that of a message.
        unsafe { (self.get_count)(&status, self.byte, &mut count) };
        Some(count as usize)
    }

    /// Receives a message that has come, of the size of `bytes`.
    pub(crate) fn receive(&self, bytes: &mut [u8], from: c_int, tag: c_int) {
        let mut status = Status::default();
        let (data, count) = (bytes.as_mut_ptr().cast(), bytes.len() as c_int);
        // SAFETY: the buffer has the size of the message.
        unsafe { (self.recv)(data, count, self.byte, from, tag, self.world, &mut status) };
    }

    /// Returns true if a message was sent.
    pub(crate) fn is_done(&self, request: &mut Request) -> bool {
        let mut is_done = 0;
        // SAFETY: the request is one of this library.
        unsafe { (self.test)(request, &mut is_done, &mut Status::default()) };
        is_done != 0
    }

    pub(crate) fn abort(&self, status: c_int) {
        // SAFETY: the library is initialised.
        unsafe { (self.abort)(self.world, status) };
    }

    pub(crate) fn finalize(&self) {
        // SAFETY: nothing is under way, and no function is called after this one.
        unsafe { (self.finalize)() };
    }
}

/// Returns the folders of libraries next to the launcher, this program and the first `mpirun`.
fn folders() -> Vec<PathBuf> {
    let of_program = |file: PathBuf| Some(file.parent()?.parent()?.join("lib"));
    // SAFETY: it has no arguments and cannot fail.
    let parent = std::os::unix::process::parent_id();
    let launcher = std::fs::read_link(format!("/proc/{parent}/exe")).ok();
    let own = env::current_exe().ok();
    let paths = env::var_os("PATH").unwrap_or_default();
    let first = env::split_paths(&paths)
        .map(|folder| folder.join("mpirun"))
        .find(|file| file.exists());
    let programs = [launcher, own, first].into_iter().flatten();
    programs.filter_map(of_program).collect()
}
