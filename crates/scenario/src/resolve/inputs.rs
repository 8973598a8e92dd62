//! Files of networks and flows: all are read before anything is made of them, so that all their problems are reported
//! at once.

use std::collections::VecDeque;

use crate::diagnostics::{Diagnostics, Problems, Source};
use crate::htsim::{self, matrix::Matrix};
use crate::ns3::flows::{self, Columns, Line};
use crate::schema::Scenario;
use crate::topology::{self, Net};
use crate::warning::{Warning, WarningKind};

use super::Cx;

/// A network's file as it was read.
pub(super) struct NetFile {
    pub(super) source: Source,
    pub(super) net: Net,
}

/// A file of flows as it was read.
pub(super) struct FlowFile {
    /// What is to be kept of it.
    pub(super) source: Source,
    pub(super) flows: Flows,
}

/// What a file of flows has.
pub(super) enum Flows {
    /// An ns-3 program's lines.
    Lines(Vec<Line>),
    /// htsim's connections.
    Matrix(Matrix),
}

/// Files that have been read and wait for their turn.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) net: Option<NetFile>,
    /// One for each workload with a file, in their order.
    pub(super) flows: VecDeque<FlowFile>,
}

/// Reads the files of a scenario.
pub(super) fn read(cx: &mut Cx<'_>, scenario: &Scenario) -> Result<(), Diagnostics> {
    let mut problems = Problems::default();
    let mut inputs = Inputs::default();
    let file = scenario
        .topology
        .as_ref()
        .and_then(|topology| topology.get_ref().file.as_ref());
    if let Some(path) = file {
        let place = cx.texts.of_value(path);
        let source = problems.take(cx.files.read(path.get_ref(), "the topology file", &place));
        inputs.net = source.and_then(|source| {
            let net = problems.take_all(topology::read_file(&source, cx.fidelity, &mut cx.warnings))?;
            Some(NetFile { source, net })
        });
    }
    for workload in &scenario.workload {
        let Some(path) = &workload.get_ref().file else {
            continue;
        };
        let place = cx.texts.of_value(path);
        let source = problems.take(cx.files.read(path.get_ref(), "the flow file", &place));
        let read = source.and_then(|source| problems.take_all(flow_file(cx, source)));
        inputs.flows.extend(read);
    }
    cx.inputs = inputs;
    problems.or(())
}

fn flow_file(cx: &mut Cx<'_>, source: Source) -> Result<FlowFile, Diagnostics> {
    if htsim::is_matrix(&source) {
        let flows = Flows::Matrix(htsim::matrix::read(&source, &mut cx.warnings)?);
        return Ok(FlowFile { source, flows });
    }
    let columns = cx.columns.unwrap_or_else(|| Columns::of(&source, cx.fidelity));
    if columns == Columns::Five {
        let text = format!(
            "lines with five columns are read as ConWeave's: {}",
            columns.names()
        );
        cx.warnings
            .push(Warning::new(WarningKind::Reading, text).of_file(&source));
    }
    let read = flows::read(&source, columns, cx.fidelity, &mut cx.warnings);
    let lines = read.map_err(|error| match (columns, Columns::of(&source, cx.fidelity)) {
        (Columns::WithPort, Columns::Five) => error.help(
            "lines have five columns, as ConWeave's: `--input-format conweave` reads `src dst priority bytes start`",
        ),
        _ => error,
    })?;
    let source = match columns {
        // A scenario's file has bytes.
        Columns::Packets(_) => {
            cx.warnings.extend(flows::stopped(&lines, cx.stop, &source));
            Source::new(source.name(), flows::in_bytes(&lines))
        }
        _ => source,
    };
    let flows = Flows::Lines(lines);
    Ok(FlowFile { source, flows })
}
