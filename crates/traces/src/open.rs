//! Reading of traces in any format, detected from the content.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::program::Program;
use crate::regular::open_file;
use crate::simai::Servers;
use crate::trouble::{Caution, Trouble};
use crate::{chakra, goal, simai};

/// File format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GOAL, text or binary.
    Goal,
    /// Chakra, given by the prefix of its files.
    Chakra,
    /// SimAI, a single workload file.
    SimAi,
}

impl Format {
    /// Returns the usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goal => "GOAL",
            Self::Chakra => "Chakra",
            Self::SimAi => "SimAI",
        }
    }
}

/// Number of bytes that are read to detect a format.
const BEGIN: u64 = 4096;

/// Returns the format of the trace at a path, and the path for its reader; `None` if it is no trace.
pub fn format(path: &Path) -> Option<(Format, PathBuf)> {
    // Chakra's files come first: their path may be a prefix, which cannot be opened.
    if let Some(prefix) = prefix(path) {
        return Some((Format::Chakra, prefix));
    }
    let mut begin = Vec::new();
    open_file(path).ok()?.take(BEGIN).read_to_end(&mut begin).ok()?;
    if goal::is_goal(&begin) {
        return Some((Format::Goal, path.to_path_buf()));
    }
    let text = String::from_utf8_lossy(&begin);
    let first = text.lines().next().unwrap_or_default();
    first
        .contains("model_parallel_NPU_group")
        .then(|| (Format::SimAi, path.to_path_buf()))
}

/// Returns the prefix of existing Chakra files: the path itself, or that of one of the files.
fn prefix(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?;
    let first = |prefix: &str, extensions: &[&str]| {
        extensions
            .iter()
            .any(|extension| Path::new(&format!("{prefix}.0.{extension}")).is_file())
    };
    if first(name, &chakra::EXTENSIONS) {
        return Some(path.to_path_buf());
    }
    let of_file = |extension: &&str| {
        let rest = name.strip_suffix(extension)?.strip_suffix('.')?;
        let (prefix, number) = rest.rsplit_once('.')?;
        let is_rank = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        (is_rank && first(prefix, &[extension])).then(|| PathBuf::from(prefix))
    };
    chakra::EXTENSIONS.iter().find_map(of_file)
}

/// Parsed trace, ready for an executor.
#[derive(Debug)]
pub struct Opened {
    /// Operations of its ranks.
    pub program: Arc<dyn Program>,
    /// Format in which it was written.
    pub format: Format,
    /// Notes for the user.
    pub cautions: Vec<Caution>,
}

/// Reads a trace of any format with the defaults of its reader. A workload of SimAI gets servers of eight GPUs.
///
/// # Errors
/// As its reader; for unknown formats, a list of the known ones.
pub fn open(path: &Path) -> Result<Opened, Trouble> {
    let Some((format, path)) = format(path) else {
        let message = "is no trace: expected GOAL (text or binary), Chakra (PREFIX.0.et or PREFIX.0.json, ..) or a workload of SimAI";
        return Err(Trouble::at(path.display(), message));
    };
    let (program, cautions): (Arc<dyn Program>, _) = match format {
        Format::Goal => {
            let (program, cautions) = goal::read(&path)?;
            (Arc::new(program), cautions)
        }
        Format::Chakra => {
            let (graph, cautions) = chakra::read(&path, &chakra::Options::default())?;
            (Arc::new(graph), cautions)
        }
        Format::SimAi => workload(&path)?,
    };
    Ok(Opened {
        program,
        format,
        cautions,
    })
}

fn workload(path: &Path) -> Result<(Arc<dyn Program>, Vec<Caution>), Trouble> {
    let name = path.display().to_string();
    let text = open_file(path)
        .and_then(io::read_to_string)
        .map_err(|error| Trouble::at(&name, format!("cannot be read: {error}")))?;
    let (workload, mut cautions) = simai::read(&name, &text)?;
    let ranks = workload.header.all_gpus.unwrap_or(workload.header.tp);
    // The program needs whole servers, so the size of a server divides the ranks.
    let mut sizes = (1..=8).rev();
    let gpus_per_server = sizes.find(|gpus| ranks.is_multiple_of(*gpus)).unwrap_or(1);
    let servers = Servers {
        ranks,
        gpus_per_server,
        nvswitches: ranks / gpus_per_server,
        mtu: 9000,
    };
    let (program, more) = simai::program(&workload, &servers)?;
    cautions.extend(more);
    Ok((Arc::new(program), cautions))
}
