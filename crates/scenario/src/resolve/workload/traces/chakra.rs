//! Chakra traces of a job, and the rules for reading them.

use std::path::PathBuf;

use paceline_traces::chakra::{self, ControlDeps, Kernels, Options, Repair, Roofline, System};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::resolve::Cx;
use crate::resolve::fill::filled;
use crate::schema;

use super::super::maker::choice;
use super::files::{Read, TraceFile, absolute, keep};
use super::found::{Names, Network, problem};

/// Reads the traces whose file names start with a prefix.
pub(super) fn read(
    cx: &mut Cx<'_>,
    file: TraceFile<'_>,
    rules: &mut schema::TraceRules,
    system: Option<&System>,
    network: Network,
) -> Result<Read, Problem> {
    let TraceFile {
        path: prefix,
        location,
    } = file;
    let what = "the trace of rank 0";
    let written = prefix.get_ref().clone();
    let file = |extension: &str| format!("{written}.0.{extension}");
    let mut found = cx.files.on_disk(&file(chakra::EXTENSIONS[0]), what, location);
    let mut extension = chakra::EXTENSIONS[0];
    // If no file is there, the error of the first extension is reported.
    for other in &chakra::EXTENSIONS[1..] {
        if found.is_err()
            && let Ok(there) = cx.files.on_disk(&file(other), what, location)
        {
            (found, extension) = (Ok(there), other);
        }
    }
    let shown = found?.path.display().to_string();
    let prefix = PathBuf::from(shown.strip_suffix(&format!(".0.{extension}")).unwrap_or(&shown));
    let control_deps = choice(
        cx,
        filled!(rules.control_deps: TraceRules),
        &[
            ("auto", ControlDeps::Auto),
            ("true", ControlDeps::Keep),
            ("false", ControlDeps::Drop),
        ],
    )?;
    let repair = match rules.repair.clone() {
        None => Repair::default(),
        Some(written) => choice(
            cx,
            written,
            &[
                (
                    "drop",
                    Repair {
                        drop_missing: true,
                        ..Repair::default()
                    },
                ),
                (
                    "stream",
                    Repair {
                        chain_streams: true,
                        ..Repair::default()
                    },
                ),
                ("refuse", Repair::default()),
            ],
        )?,
    };
    let mut groups = None;
    if let Some(written) = &mut rules.groups {
        let at = cx.texts.of_value(written);
        let found = cx.files.on_disk(written.get_ref(), "the file of groups", &at)?;
        let kept = keep(cx, "groups", &[("json".to_string(), found.path.clone())]);
        if kept.is_some() {
            cx.files.note_copies([(written.get_ref().clone(), &*found.path)]);
        }
        // The resolved scenario names the copy, or the file itself if that is too large to be copied.
        *written.get_mut() = kept.map_or_else(|| absolute(&found.path), |stem| format!("{stem}.json"));
        groups = Some(found);
    }
    let (roofline, kernels) = roofline(cx, rules, system)?;
    let options = Options {
        control_deps,
        repair,
        groups: groups.as_ref().map(|found| found.path.clone()),
        roofline,
        kernels,
        as_astra_sim: network == Network::Chunks,
        ..Options::default()
    };
    let (graph, cautions) = chakra::read(&prefix, &options).map_err(|trouble| problem(trouble, location))?;
    let paths = chakra::files(&prefix).map_err(|trouble| problem(trouble, location))?;
    // Each rank's file has its own extension: the part behind `PREFIX.`.
    let named = |path: &PathBuf| {
        let stem = prefix
            .file_name()
            .map_or(0, |name| name.to_string_lossy().len() + 1);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let rest = name.as_deref().and_then(|name| name.get(stem..));
        (rest.unwrap_or_default().to_string(), path.clone())
    };
    let files: Vec<(String, PathBuf)> = paths.iter().map(named).collect();
    let kept = keep(cx, "trace", &files);
    if kept.is_some() {
        let named = files
            .iter()
            .map(|(rest, path)| (format!("{written}.{rest}"), &**path));
        cx.files.note_copies(named);
    }
    Ok(Read {
        program: chakra::shared(graph),
        names: Names {
            opened: prefix.display().to_string(),
            kept: kept.unwrap_or_else(|| absolute(&prefix)),
            by_rank: true,
        },
        cautions,
    })
}

/// Returns the duration of kernels by their work, from the system file or from `flops`, `memory` and `kernels`.
fn roofline(
    cx: &Cx<'_>,
    rules: &mut schema::TraceRules,
    system: Option<&System>,
) -> Result<(Roofline, Kernels), Problem> {
    if let Some(roofline) = system.and_then(|system| system.roofline) {
        for (key, written) in [
            ("flops", &rules.flops),
            ("memory", &rules.memory),
            ("kernels", &rules.kernels),
        ] {
            if let Some(written) = written {
                let message = format!("`{key}` beside `system`, whose file says that (roofline-enabled)");
                return Err(Problem::new(message).at(&cx.texts.of_value(written)));
            }
        }
        return Ok((roofline, Kernels::Roofline));
    }
    let rate = |written: &Option<Spanned<String>>, unit: Unit| match written {
        None => Ok(None),
        Some(text) => match unit.read(text.get_ref()) {
            Some(rate) => Ok(Some(rate)),
            None => {
                let message = format!("`{}`: expected {}", text.get_ref(), unit.expected());
                Err(Problem::new(message).at(&cx.texts.of_value(text)))
            }
        },
    };
    let roofline = Roofline {
        flops: rate(&rules.flops, Unit::Flops)?,
        memory: rate(&rules.memory, Unit::Memory)?,
    };
    let known = [("recorded", Kernels::Recorded), ("roofline", Kernels::Roofline)];
    let written = filled!(rules.kernels: TraceRules);
    let at = cx.texts.of_value(&written);
    let kernels = choice(cx, written, &known)?;
    if kernels == Kernels::Roofline && roofline.flops.is_none() {
        let problem =
            Problem::new("`kernels = \"roofline\"` needs `flops`, and `memory` for the traffic").at(&at);
        return Err(
            problem.help("`rules = { kernels = \"roofline\", flops = \"400T\", memory = \"3TB/s\" }`")
        );
    }
    Ok((roofline, kernels))
}

/// Units for the rates of a GPU.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Flops,
    Memory,
}

impl Unit {
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Flops => "operations per second, such as \"400T\" or \"1.5PFLOP/s\"",
            Self::Memory => "bytes per second, such as \"3TB/s\" or \"900GB/s\"",
        }
    }

    /// Parses a positive rate per second.
    pub(super) fn read(self, text: &str) -> Option<f64> {
        let text = text.trim();
        let end = text
            .find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim();
        let prefix = match self {
            Self::Flops => ["FLOP/s", "FLOPS", "Flop/s", "FLOPs", "flops", "OP/s", "OPS"]
                .iter()
                .find_map(|name| unit.strip_suffix(name))
                .unwrap_or(unit),
            Self::Memory => ["B/s", "Bps"].iter().find_map(|name| unit.strip_suffix(name))?,
        };
        let factor = match prefix {
            "" => 1.0,
            "k" | "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            "P" => 1e15,
            "E" => 1e18,
            "Gi" => f64::from(1_u32 << 30),
            "Ti" => (1_u64 << 40) as f64,
            _ => return None,
        };
        let rate = number.parse::<f64>().ok()? * factor;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::Unit;

    #[test]
    fn rates_are_read_with_their_units() {
        for (text, rate) in [
            ("400T", 400e12),
            ("1.5 PFLOP/s", 1.5e15),
            ("989TFLOPS", 989e12),
            ("1e3", -1.0),
        ] {
            assert_eq!(Unit::Flops.read(text).unwrap_or(-1.0), rate, "{text}");
        }
        for (text, rate) in [
            ("3TB/s", 3e12),
            ("900 GB/s", 900e9),
            ("3T", -1.0),
            ("3Tbps", -1.0),
            ("0B/s", -1.0),
        ] {
            assert_eq!(Unit::Memory.read(text).unwrap_or(-1.0), rate, "{text}");
        }
    }
}
