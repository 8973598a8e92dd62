//! Conversion of `config.txt` of ns3-rdma, the simulator of DCQCN's authors, to a scenario.
//!
//! The simulator of TCD's authors is based on it and shares its keys and DCQCN. It counts flows in packets, has the
//! buffer of the switches of its time, and its random numbers are not repeatable. Its experiments therefore run in
//! Paceline's own model.

use paceline_congestion::registry::variant::base;
use paceline_kernel::Bytes;
use toml::{Spanned, Table};

use crate::diagnostics::{Diagnostics, Problem, Source};
use crate::files::Files;
use crate::schema::{self, EXACT, FlowControlKind, Scenario, Workload};
use crate::warning::{Warning, WarningKind};

use super::changes::Changes;
use super::keys::Config;
use super::tcd::{CELL, Reader, undone};
use super::tokens::{Read, Tokens};
use crate::document::Places;

/// Shared buffer of a switch.
const BUFFER: Bytes = Bytes::new(9_000_000);
/// Thresholds for pausing and resuming without dynamic thresholds, in cells.
const PAUSE: (u64, u64) = (40, 38);
/// Keys that do not affect the network or its flows here.
const LEFT_OUT: [&str; 7] = [
    "APP_START_TIME",
    "APP_STOP_TIME",
    "NP_SAMPLING_INTERVAL",
    "CLAMP_TARGET_RATE_AFTER_TIMER",
    "L2_CHUNK_SIZE",
    "L2_ACK_INTERVAL",
    "PAUSE_TIME",
];

/// Converts a configuration to a scenario.
pub(super) fn scenario(
    config: &Config,
    files: &Files,
    changes: Changes<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(Scenario, Places), Diagnostics> {
    if let Some(other) = changes.fidelity.filter(|fidelity| *fidelity != EXACT) {
        let message = format!(
            "this configuration is of {}, which has no {} fidelity",
            config.format().program(),
            other.name()
        );
        return Err(Problem::new(message).help("leave `--fidelity` out").into());
    }
    let reader = Reader { config, files };
    let mut problems = undone(config);
    let own = match config.flag("ENABLE_QCN", true) {
        true => "dcqcn",
        false => "none",
    };
    let scheme = changes.scheme.unwrap_or(own);
    let (mut blocks, mut locations) = match base(scheme) {
        "dcqcn" => problems.take(reader.dcqcn()).unwrap_or_default(),
        _ => (Table::new(), Places::new()),
    };
    // These parameters are changes by TCD's authors.
    if let Some(block) = blocks.get_mut("dcqcn").and_then(toml::Value::as_table_mut) {
        for parameter in ["tcd", "initial-alpha"] {
            block.remove(parameter);
            locations.retain(|(path, _)| *path != format!("cc.dcqcn.{parameter}"));
        }
    }
    let mut network = network(&reader);
    // Thresholds belong to the scheme that they were chosen for.
    if base(scheme) == own {
        network.ecn = problems.take(reader.ecn());
    }
    let cc_blocks = problems.take(crate::cc::blocks(&blocks));
    problems.take(tcp_flows(config, files, warnings));
    let left_out: Vec<&str> = LEFT_OUT.into_iter().filter(|key| config.given(key)).collect();
    if let Some(first) = left_out.first() {
        let location = config.source.at(config.span(first));
        warnings.push(
            Warning::new(WarningKind::LeftOut, format!("left out: {}", left_out.join(", "))).at(&location),
        );
    }
    if config.flag("USE_DYNAMIC_PFC_THRESHOLD", true) {
        let location = config.source.at(config.span("USE_DYNAMIC_PFC_THRESHOLD"));
        warnings.push(
            Warning::new(
                WarningKind::Reading,
                "its switches pause at 16 times the free buffer, Paceline's at once the free buffer \
                 (`network.pfc.dynamic.shift = 0`)",
            )
            .at(&location),
        );
    }
    let workload = Workload {
        file: reader.path("FLOW_FILE"),
        ..Workload::default()
    };
    let topology = schema::Topology {
        file: reader.path("TOPOLOGY_FILE"),
        ..schema::Topology::default()
    };
    let scenario = Scenario {
        duration: reader.at(
            "SIMULATOR_STOP_TIME",
            reader.seconds("SIMULATOR_STOP_TIME", "3.01"),
        ),
        fidelity: Some(EXACT),
        topology: reader.at("TOPOLOGY_FILE", topology),
        workload: vec![Spanned::new(config.span("FLOW_FILE"), workload)],
        network,
        cc: schema::Cc {
            scheme: reader.at("ENABLE_QCN", scheme.to_string()),
            ..schema::Cc::default()
        },
        cc_blocks: cc_blocks.unwrap_or_default(),
        ..Scenario::default()
    };
    problems.or((scenario, locations))
}

fn network(reader: &Reader<'_>) -> schema::Network {
    let config = reader.config;
    let cells = |count: u64| reader.at("USE_DYNAMIC_PFC_THRESHOLD", Bytes::new(count * CELL));
    let pfc = match config.flag("USE_DYNAMIC_PFC_THRESHOLD", true) {
        true => schema::Pfc {
            dynamic: Some(schema::DynamicThreshold {
                shift: reader.at("USE_DYNAMIC_PFC_THRESHOLD", 0),
                ..schema::DynamicThreshold::default()
            }),
            ..schema::Pfc::default()
        },
        false => schema::Pfc {
            fixed: reader.at(
                "USE_DYNAMIC_PFC_THRESHOLD",
                schema::StaticThreshold {
                    xoff: cells(PAUSE.0),
                    xon: cells(PAUSE.1),
                },
            ),
            ..schema::Pfc::default()
        },
    };
    let payload = Bytes::new(config.int("PACKET_PAYLOAD_SIZE", 1000));
    schema::Network {
        mtu: reader.at("PACKET_PAYLOAD_SIZE", payload),
        buffer: reader.at("USE_DYNAMIC_PFC_THRESHOLD", schema::Buffer::Total(BUFFER)),
        flow_control: Some(FlowControlKind::Pfc),
        pfc: Some(pfc),
        error_rate: reader.at("ERROR_RATE_PER_LINK", config.real("ERROR_RATE_PER_LINK", 0.0)),
        ..schema::Network::default()
    }
}

/// Warns about the number of flows in a file of TCP flows, since there is no TCP here.
fn tcp_flows(config: &Config, files: &Files, warnings: &mut Vec<Warning>) -> Result<(), Problem> {
    let Some(path) = config.text("TCP_FLOW_FILE") else {
        return Ok(());
    };
    let location = config.source.at(config.span("TCP_FLOW_FILE"));
    let source: Source = files.read(path, "the file of TCP flows", &location)?;
    let first = Tokens::new(&source).next();
    let count = first.and_then(|token| u64::read(token.text).ok()).unwrap_or(0);
    if count > 0 {
        warnings.push(
            Warning::new(
                WarningKind::LeftOut,
                format!("{count} TCP flows are left out: Paceline has no TCP"),
            )
            .at(&location),
        );
    }
    Ok(())
}
