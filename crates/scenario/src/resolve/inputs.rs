//! Files of networks and flows. All are read before any is used, so that their problems are reported together.

use std::collections::VecDeque;

use crate::diagnostics::{Diagnostics, Problems, Source};
use crate::generate;
use crate::htsim::{self, matrix::Matrix};
use crate::infragraph::{self, LinkDefaults};
use crate::ns3::flows::{self, Columns, Line};
use crate::schema::Scenario;
use crate::topology::{self, Net};
use crate::warning::{Warning, WarningKind};

use super::Cx;

/// Parsed file of a network.
pub(super) struct NetFile {
    pub(super) source: Source,
    pub(super) net: Net,
}

/// Parsed file of flows.
pub(super) struct FlowFile {
    /// Text to store with the resolved scenario.
    pub(super) source: Source,
    pub(super) flows: Flows,
}

/// Content of a file of flows.
pub(super) enum Flows {
    /// Lines for an ns-3 program.
    Lines(Vec<Line>),
    /// Connections in htsim's format.
    Matrix(Matrix),
}

/// Parsed files that are still unused.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) net: Option<NetFile>,
    /// Flow files of the workloads, in their order.
    pub(super) flows: VecDeque<FlowFile>,
}

/// Reads the files that a scenario names.
pub(super) fn read(cx: &mut Cx<'_>, scenario: &Scenario) -> Result<(), Diagnostics> {
    let mut problems = Problems::default();
    let mut inputs = Inputs::default();
    let topology = scenario.topology.as_ref().map(toml::Spanned::get_ref);
    let block = topology.and_then(|topology| topology.infragraph.as_ref());
    let defaults = LinkDefaults {
        rate: block.and_then(|block| block.rate),
        delay: block.and_then(|block| block.delay),
    };
    let file = topology.and_then(|topology| topology.file.as_ref());
    let file = file.or_else(|| block?.file.as_ref());
    if let Some(path) = file {
        let location = cx.texts.of_value(path);
        let source = problems.take(cx.files.read(path.get_ref(), "the topology file", &location));
        inputs.net = source.and_then(|source| {
            let read = topology::read_file(&source, cx.fidelity, defaults, &mut cx.warnings);
            let net = problems.take_all(read)?;
            // Results keep the network as nodes and links, so that reading them again needs no defaults.
            let source = match infragraph::is_infrastructure(&source) {
                true => Source::new(source.name(), generate::topology_text(&net.topology)),
                false => source,
            };
            Some(NetFile { source, net })
        });
    }
    for workload in &scenario.workload {
        let Some(path) = &workload.get_ref().file else {
            continue;
        };
        let location = cx.texts.of_value(path);
        let source = problems.take(cx.files.read(path.get_ref(), "the flow file", &location));
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
        // A flow file in a scenario counts bytes, so packets are converted.
        Columns::Packets(_) => {
            cx.warnings.extend(flows::stopped(&lines, cx.stop, &source));
            Source::new(source.name(), flows::in_bytes(&lines))
        }
        _ => source,
    };
    let flows = Flows::Lines(lines);
    Ok(FlowFile { source, flows })
}
