//! Files of traces.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_traces::program::Program;
use paceline_traces::trouble::Caution;
use toml::Spanned;

use crate::diagnostics::{Place, Problem};
use crate::groups;
use crate::resolve::Cx;
use crate::resolve::fill::filled;
use crate::schema;
use crate::topology::Net;

use super::found::{choice, problem};

/// Copies of traces up to this size go into the folder of a run; larger ones stay where they are.
const COPIED: u64 = 16 << 20;

/// What a trace is, what the resolved scenario calls it, and what its user should know.
pub(super) type Read = (Arc<dyn Program>, String, Vec<Caution>);

pub(super) fn goal(cx: &mut Cx<'_>, path: &Spanned<String>, place: &Place) -> Result<Read, Problem> {
    let found = cx.files.on_disk(path.get_ref(), "the trace", place)?;
    let (program, cautions) =
        paceline_traces::goal::read(&found.path).map_err(|trouble| problem(trouble, place))?;
    let kept =
        keep(cx, "trace", &[("goal".to_string(), found.path.clone())]).map(|stem| format!("{stem}.goal"));
    Ok((
        Arc::new(program),
        kept.unwrap_or_else(|| absolute(&found.path)),
        cautions,
    ))
}

pub(super) fn chakra(
    cx: &mut Cx<'_>,
    prefix: &Spanned<String>,
    rules: &mut schema::TraceRules,
    place: &Place,
) -> Result<Read, Problem> {
    use paceline_traces::chakra;
    let first = |packed: &str| format!("{}.0.et{packed}", prefix.get_ref());
    let what = "the trace of rank 0";
    let plain = cx.files.on_disk(&first(""), what, place);
    let found = plain.or_else(|missing| cx.files.on_disk(&first(".gz"), what, place).map_err(|_| missing))?;
    let shown = found.path.display().to_string();
    let shown = shown.strip_suffix(".gz").unwrap_or(&shown);
    let prefix = PathBuf::from(shown.strip_suffix(".0.et").unwrap_or(shown));
    let control_deps = choice(
        cx,
        filled!(rules.control_deps: TraceRules),
        &[
            ("auto", chakra::ControlDeps::Auto),
            ("true", chakra::ControlDeps::Keep),
            ("false", chakra::ControlDeps::Drop),
        ],
    )?;
    let repair = match rules.repair.clone() {
        None => chakra::Repair::default(),
        Some(written) => choice(
            cx,
            written,
            &[
                (
                    "drop",
                    chakra::Repair {
                        drop_missing: true,
                        ..chakra::Repair::default()
                    },
                ),
                (
                    "stream",
                    chakra::Repair {
                        chain_streams: true,
                        ..chakra::Repair::default()
                    },
                ),
                ("refuse", chakra::Repair::default()),
            ],
        )?,
    };
    let mut groups = None;
    if let Some(written) = &mut rules.groups {
        let at = cx.texts.of_value(written);
        let found = cx.files.on_disk(written.get_ref(), "the file of groups", &at)?;
        let kept = keep(cx, "groups", &[("json".to_string(), found.path.clone())]);
        *written.get_mut() = kept.map_or_else(|| absolute(&found.path), |stem| format!("{stem}.json"));
        groups = Some(found);
    }
    let options = chakra::Options {
        control_deps,
        repair,
        groups: groups.as_ref().map(|found| found.path.clone()),
        ..chakra::Options::default()
    };
    let (graph, cautions) = chakra::read(&prefix, &options).map_err(|trouble| problem(trouble, place))?;
    let paths = chakra::files(&prefix).map_err(|trouble| problem(trouble, place))?;
    let extension = |(rank, path): (usize, &PathBuf)| match path.extension().is_some_and(|end| end == "gz") {
        true => format!("{rank}.et.gz"),
        false => format!("{rank}.et"),
    };
    let files: Vec<(String, PathBuf)> = paths
        .iter()
        .enumerate()
        .map(|file| (extension(file), file.1.clone()))
        .collect();
    let kept = keep(cx, "trace", &files);
    Ok((
        chakra::shared(graph),
        kept.unwrap_or_else(|| absolute(&prefix)),
        cautions,
    ))
}

pub(super) fn simai(
    cx: &mut Cx<'_>,
    path: &Spanned<String>,
    (named, ranks): (bool, Option<u32>),
    rules: &mut schema::TraceRules,
    net: &Net,
    place: &Place,
) -> Result<Read, Problem> {
    use paceline_traces::simai::{Servers, program, read};
    let source = cx.files.read(path.get_ref(), "the workload", place)?;
    let (workload, mut cautions) =
        read(source.name(), source.text()).map_err(|trouble| problem(trouble, place))?;
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
                .at(place)
                .help("`rules = { gpus-per-server = 8 }`"));
        }
    };
    if slot.is_none() {
        *slot = Some(Spanned::new(path.span(), gpus));
    }
    let all = match (ranks, named) {
        (Some(ranks), _) => ranks,
        (None, true) => workload.header.all_gpus.unwrap_or_default(),
        (None, false) => net.topology.hosts().count() as u32,
    };
    let servers = Servers {
        ranks: all,
        gpus_per_server: gpus,
        gpu: None,
        nvls: false,
        pxn: false,
        mtu: 9000,
    };
    let (program, more) = program(&workload, &servers).map_err(|trouble| problem(trouble, place))?;
    cautions.extend(more);
    let kept = cx.keep("workload", "txt", &source);
    Ok((Arc::new(program), kept, cautions))
}

/// Keeps copies of small files in the run's folder; gives what their names have in common.
pub(super) fn keep(cx: &mut Cx<'_>, stem: &str, files: &[(String, PathBuf)]) -> Option<String> {
    let sizes = files.iter().map(|(_, path)| Some(fs::metadata(path).ok()?.len()));
    let size: u64 = sizes.sum::<Option<u64>>()?;
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
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    absolute.display().to_string()
}
