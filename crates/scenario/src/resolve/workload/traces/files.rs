//! Reading and storing the files of traces.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_traces::chakra::System;
use paceline_traces::program::Program;
use paceline_traces::trouble::Caution;
use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::groups;
use crate::resolve::Cx;
use crate::schema;
use crate::topology::Net;
use crate::warning::WarningKind;

use super::found::{Names, problem};

/// Largest trace in bytes that is copied into the folder of a run; larger ones are used from their original path.
const COPIED: u64 = 16 << 20;

/// Parsed trace with its file names.
pub(super) struct Read {
    pub(super) program: Arc<dyn Program>,
    pub(super) names: Names,
    /// Notes for the user.
    pub(super) cautions: Vec<Caution>,
}

pub(super) fn goal(cx: &mut Cx<'_>, path: &Spanned<String>, location: &Location) -> Result<Read, Problem> {
    let found = cx.files.on_disk(path.get_ref(), "the trace", location)?;
    let (program, cautions) =
        paceline_traces::goal::read(&found.path).map_err(|trouble| problem(trouble, location))?;
    let kept =
        keep(cx, "trace", &[("goal".to_string(), found.path.clone())]).map(|stem| format!("{stem}.goal"));
    if kept.is_some() {
        cx.files.note_copies([(path.get_ref().clone(), &*found.path)]);
    }
    Ok(Read {
        program: Arc::new(program),
        names: Names {
            opened: found.path.display().to_string(),
            kept: kept.unwrap_or_else(|| absolute(&found.path)),
            by_rank: false,
        },
        cautions,
    })
}

/// Reads ASTRA-sim's system file, if the rules name one.
pub(super) fn system(
    cx: &mut Cx<'_>,
    rules: &mut schema::TraceRules,
    trace: &Location,
) -> Result<Option<System>, Problem> {
    let Some(written) = &mut rules.system else {
        return Ok(None);
    };
    let at = cx.texts.of_value(written);
    let found = cx.files.on_disk(written.get_ref(), "the system file", &at)?;
    // The file may name traces next to it.
    let path = absolute(&found.path);
    let (system, cautions) =
        paceline_traces::chakra::read_system(Path::new(&path)).map_err(|trouble| problem(trouble, &at))?;
    for Caution { text } in cautions {
        cx.warn(WarningKind::Reading, trace, text);
    }
    *written.get_mut() = path;
    Ok(Some(system))
}

/// Path of a trace, and the position of the table that names it.
#[derive(Clone, Copy)]
pub(super) struct TraceFile<'a> {
    pub(super) path: &'a Spanned<String>,
    pub(super) location: &'a Location,
}

/// Size of a job as far as the scenario sets it.
pub(super) struct JobSize {
    /// True if the job names its hosts.
    pub(super) has_hosts: bool,
    pub(super) ranks: Option<u32>,
}

pub(super) fn simai(
    cx: &mut Cx<'_>,
    file: TraceFile<'_>,
    job: JobSize,
    rules: &mut schema::TraceRules,
    net: &Net,
) -> Result<Read, Problem> {
    use paceline_traces::simai::{Servers, program, read};
    let TraceFile { path, location } = file;
    let source = cx.files.read(path.get_ref(), "the workload", location)?;
    let (workload, mut cautions) =
        read(source.name(), source.text()).map_err(|trouble| problem(trouble, location))?;
    let servers = groups::sets(&net.topology, "server");
    let of_topology = servers
        .as_ref()
        .and_then(|servers| servers.first())
        .map(|server| server.len() as u32);
    let slot = &mut rules.gpus_per_server;
    let gpus = match (&*slot, of_topology) {
        (Some(written), _) => *written.get_ref(),
        (None, Some(gpus)) => gpus,
        (None, None) => {
            let message = "the topology has no servers: say how many GPUs each has";
            return Err(Problem::new(message)
                .at(location)
                .help("`rules = { gpus-per-server = 8 }`"));
        }
    };
    if slot.is_none() {
        *slot = Some(Spanned::new(path.span(), gpus));
    }
    let all = match (job.ranks, job.has_hosts) {
        (Some(ranks), _) => ranks,
        (None, true) => workload.header.all_gpus.unwrap_or_default(),
        (None, false) => net.topology.hosts().count() as u32,
    };
    // Each server has one NVSwitch, unless the topology has another number and the job uses all of its hosts.
    let inner = net.topology.inner.len() as u32;
    let is_whole = all as usize == net.topology.hosts().count();
    let servers = Servers {
        ranks: all,
        gpus_per_server: gpus,
        nvswitches: if inner > 0 && is_whole {
            inner
        } else {
            all / gpus.max(1)
        },
        mtu: 9000,
    };
    let (program, more) = program(&workload, &servers).map_err(|trouble| problem(trouble, location))?;
    cautions.extend(more);
    let kept = cx.keep("workload", "txt", &source);
    Ok(Read {
        program: Arc::new(program),
        names: Names {
            opened: source.name().to_string(),
            kept,
            by_rank: false,
        },
        cautions,
    })
}

/// Stores copies of small files in the run's folder; returns their common stem, or `None` if they are too large.
pub(super) fn keep(cx: &mut Cx<'_>, stem: &str, files: &[(String, PathBuf)]) -> Option<String> {
    let sizes = files.iter().map(|(_, path)| Some(fs::metadata(path).ok()?.len()));
    let size: u64 = sizes.sum::<Option<u64>>()?;
    // Large traces are not copied: the resolved scenario names them by their own path.
    if size > COPIED {
        return None;
    }
    let contents: Option<Vec<(&str, Vec<u8>)>> = files
        .iter()
        .map(|(extension, path)| Some((extension.as_str(), fs::read(path).ok()?)))
        .collect();
    Some(cx.keep_all(stem, contents?))
}

pub(super) fn absolute(path: &Path) -> String {
    crate::files::one_path(path).display().to_string()
}
