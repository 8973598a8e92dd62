//! Settings of SimAI's environment other than the send latency.

use paceline_traces::simai::{nvls_line, read};

use super::keys::Config;
use crate::diagnostics::Problem;
use crate::files::Files;
use crate::warning::{Warning, WarningKind};

/// Rejects settings that are not supported, and warns about those that have no effect.
pub(super) fn environment(
    config: &Config,
    files: &Files,
    warnings: &mut Vec<Warning>,
) -> Result<(), Problem> {
    let location = |key: &str| config.source.at(config.span(key));
    let refuse = |key: &str, message: String| {
        Err(Problem::new(message)
            .at(&location(key))
            .help("Set it to 0. See \"SimAI\" in the guide to traces"))
    };
    if config.flag("AS_NVLSTREE_ENABLE", false) {
        let message = "AS_NVLSTREE_ENABLE is 1: all-reduces through NVSwitches and a tree between servers are not carried out";
        return refuse("AS_NVLSTREE_ENABLE", message.into());
    }
    let key = "AS_NVLS_ENABLE";
    if !config.flag(key, false) {
        return Ok(());
    }
    let (Some(topology), Some(path)) = (config.text("TOPOLOGY_FILE"), config.text("WORKLOAD_FILE")) else {
        return Ok(());
    };
    let topology = files.read(topology, "the topology file", &location("TOPOLOGY_FILE"))?;
    let first = topology.text().lines().next().unwrap_or_default();
    let gpu = first.split_ascii_whitespace().nth(5).unwrap_or_default();
    let source = files.read(path, "the workload", &location("WORKLOAD_FILE"))?;
    // Errors in the workload are reported when it is read as a job.
    let Ok((workload, _)) = read(source.name(), source.text()) else {
        return Ok(());
    };
    if let Some(line) = nvls_line(&workload, gpu) {
        let message = format!(
            "AS_NVLS_ENABLE is 1: all-reduces of {} ranks go through the NVSwitch of {gpu} servers (NVLS), which is not carried out: \
             the first is in line {line} of {}",
            workload.header.tp,
            source.name()
        );
        return refuse(key, message);
    }
    let text = format!(
        "AS_NVLS_ENABLE is 1 and makes no difference: in SimAI it is for all-reduces of tensor-parallel groups of 8 or more on H100 and \
         H800, and these are groups of {} on `{gpu}`",
        workload.header.tp
    );
    warnings.push(Warning::new(WarningKind::UnusedSetting, text).at(&location(key)));
    Ok(())
}
