//! From `config.txt` to a scenario.

use paceline_congestion::registry::WindowMode;
use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use crate::diagnostics::{Diagnostics, Problem, Source};
use crate::files::Files;
use crate::schema::{self, Ack, AckClass, Fidelity, FlowControlKind, Nodes, OrOff, Scenario, Workload};
use crate::warning::{Warning, WarningKind};

use super::keys::{Config, Keys, Pair};
use super::{parameters, quantities, topology, trace};

/// What the command line changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) scheme: Option<&'a str>,
    pub(crate) fidelity: Option<Fidelity>,
}

/// Where each parameter of a scheme was written: scheme, parameter, place.
pub(crate) type Places = Vec<(String, String, std::ops::Range<usize>)>;

/// Reads a configuration as a scenario.
pub(crate) fn scenario(
    source: &Source,
    files: &Files,
    changes: Changes<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(Scenario, Places), Diagnostics> {
    let keys = Keys::of(source);
    let config = Config::read(source, keys, warnings)?;
    if keys.fidelity == Fidelity::TcdNs3 {
        return super::tcd::scenario(&config, files, changes, warnings);
    }
    let fidelity = changes.fidelity.unwrap_or(Fidelity::Ns3Hpcc);
    let (mut scenario, places) = Reader {
        config: &config,
        fidelity,
    }
    .scenario(changes.scheme, warnings)?;
    scenario.record.trace = trace_nodes(&config, files, fidelity, warnings)?;
    Ok((scenario, places))
}

/// The schemes that CC_MODE selects. With another one the original controls nothing.
const SCHEMES: [(u64, &str); 5] = [
    (1, "dcqcn"),
    (3, "hpcc"),
    (7, "timely"),
    (8, "dctcp"),
    (10, "hpcc-pint"),
];

struct Reader<'a> {
    config: &'a Config,
    fidelity: Fidelity,
}

impl Reader<'_> {
    /// A value with the place of its key.
    fn at<T>(&self, key: &str, value: T) -> Option<Spanned<T>> {
        Some(Spanned::new(self.config.span(key), value))
    }

    fn ns3(&self) -> bool {
        self.fidelity == Fidelity::Ns3Hpcc
    }

    fn scenario(
        &self,
        scheme: Option<&str>,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Scenario, Places), Problem> {
        let config = self.config;
        let mode = config.int("CC_MODE", 1);
        let place = config.source.at(config.span("CC_MODE"));
        let known = SCHEMES.iter().find(|(known, _)| *known == mode);
        let own = known.map_or("none", |(_, name)| name);
        if known.is_none() {
            let modes = SCHEMES.map(|(mode, name)| format!("{mode} ({name})"));
            let text = format!(
                "CC_MODE {mode} is no scheme of the original, nothing controls its flows; there are {}",
                modes.join(", ")
            );
            warnings.push(Warning::new(WarningKind::Reading, text).at(&place));
        }
        let kept = scheme.is_none_or(|scheme| scheme == own);
        if !kept {
            let text = format!(
                "the parameters are {own}'s; with another scheme, that scheme's defaults are used, also for window \
                 and marking"
            );
            warnings.push(Warning::new(WarningKind::ReplacedDefaults, text).at(&place));
        }
        let stop = config.text("SIMULATOR_STOP_TIME").unwrap_or("3.01");
        let stop = quantities::seconds(stop, self.fidelity).unwrap_or(Span::ZERO);
        let cc = schema::Cc {
            scheme: self.at("CC_MODE", scheme.unwrap_or(own).to_string()),
            window: if kept {
                self.at("HAS_WIN", self.window())
            } else {
                None
            },
            ..schema::Cc::default()
        };
        let block = if kept {
            Some(parameters::of(config, own)?)
        } else {
            None
        };
        let (blocks, places) = block.map_or_else(Default::default, |block| (block.table, block.places));
        let mut network = self.network()?;
        if config.flag("L2_BACK_TO_ZERO", false) {
            warnings.push(self.note_on_chunks());
        }
        if kept || !config.flag("ENABLE_QCN", true) {
            network.ecn = Some(self.ecn()?);
        }
        let scenario = Scenario {
            duration: self.at("SIMULATOR_STOP_TIME", stop),
            fidelity: Some(self.fidelity),
            topology: self.at("TOPOLOGY_FILE", self.topology()?),
            workload: vec![Spanned::new(config.span("FLOW_FILE"), self.workload()?)],
            network,
            cc,
            cc_blocks: crate::cc::blocks(&blocks)?,
            record: self.record(),
            quirks: schema::Quirks {
                ack_high_priority: self.ns3().then(|| config.flag("ACK_HIGH_PRIO", false)),
                ..schema::Quirks::default()
            },
            ..Scenario::default()
        };
        Ok((scenario, places))
    }

    fn path(&self, key: &str) -> Result<Option<Spanned<String>>, Problem> {
        let Some(path) = self.config.text(key) else {
            return Err(Problem::new(format!("the configuration has no {key}")).at(&self.config.source.end()));
        };
        Ok(self.at(key, path.to_string()))
    }

    fn topology(&self) -> Result<schema::Topology, Problem> {
        Ok(schema::Topology {
            file: self.path("TOPOLOGY_FILE")?,
            ..schema::Topology::default()
        })
    }

    fn workload(&self) -> Result<Workload, Problem> {
        Ok(Workload {
            file: self.path("FLOW_FILE")?,
            ..Workload::default()
        })
    }

    fn window(&self) -> WindowMode {
        match (
            self.config.flag("HAS_WIN", true),
            self.config.flag("VAR_WIN", false),
        ) {
            (false, _) => WindowMode::Off,
            (true, false) => WindowMode::Fixed,
            (true, true) => WindowMode::Variable,
        }
    }

    fn network(&self) -> Result<schema::Network, Problem> {
        let config = self.config;
        let chunk = Bytes::new(config.int("L2_CHUNK_SIZE", 0));
        let interval = config.int("L2_ACK_INTERVAL", 0);
        if chunk == Bytes::ZERO {
            let message = "L2_CHUNK_SIZE is 0, which makes the original simulator divide by zero";
            return Err(config.problem("L2_CHUNK_SIZE", message));
        }
        let int_multi = u32::try_from(config.int("INT_MULTI", 1)).unwrap_or(u32::MAX);
        let back = config.flag("L2_BACK_TO_ZERO", false).then_some(chunk);
        let exact_ack = !self.ns3() && interval <= config.int("PACKET_PAYLOAD_SIZE", 1000);
        Ok(schema::Network {
            mtu: self.at(
                "PACKET_PAYLOAD_SIZE",
                Bytes::new(config.int("PACKET_PAYLOAD_SIZE", 1000)),
            ),
            int_multi: self.at("INT_MULTI", int_multi),
            buffer: self.at(
                "BUFFER_SIZE",
                Bytes::new(config.int("BUFFER_SIZE", 16).saturating_mul(1 << 20)),
            ),
            flow_control: Some(FlowControlKind::Pfc),
            ack: self.at(
                "L2_ACK_INTERVAL",
                if exact_ack {
                    Ack::EveryPackets(std::num::NonZeroU32::MIN)
                } else {
                    Ack::EveryBytes(Bytes::new(interval))
                },
            ),
            ack_chunk: self.at("L2_CHUNK_SIZE", chunk),
            ack_class: if self.ns3() {
                self.at("ACK_HIGH_PRIO", AckClass(None))
            } else {
                None
            },
            back_to_chunk: self.at("L2_BACK_TO_ZERO", OrOff(back)),
            pacing: self.at("RATE_BOUND", config.flag("RATE_BOUND", true)),
            global_rtt: Some(config.flag("GLOBAL_T", true)),
            error_rate: self.at("ERROR_RATE_PER_LINK", config.real("ERROR_RATE_PER_LINK", 0.0)),
            failure: config.link_down().map(|(at_us, a, b)| {
                let at = Time::from_ns(2_000_000_000 + (at_us * 1000.0).min(1e15) as u64);
                vec![Spanned::new(
                    config.span("LINK_DOWN"),
                    schema::Failure {
                        link: None,
                        nodes: self.at("LINK_DOWN", (a, b)),
                        at: self.at("LINK_DOWN", at),
                        until: None,
                    },
                )]
            }),
            ..schema::Network::default()
        })
    }

    /// What L2_BACK_TO_ZERO does in the original.
    fn note_on_chunks(&self) -> Warning {
        let place = self.config.source.at(self.config.span("L2_BACK_TO_ZERO"));
        let original = "with L2_BACK_TO_ZERO the original simulator counts whole chunks (L2_CHUNK_SIZE) of what is \
                        acknowledged: no flow completes whose size is not a multiple of them";
        let here = if self.ns3() {
            "so it is here, as for all its quirks; `--set quirks.whole-chunks-only=false` completes them"
        } else {
            "here they complete"
        };
        Warning::new(WarningKind::Reading, format!("{original}; {here}")).at(&place)
    }

    /// A curve for each rate that the three maps list.
    fn ecn(&self) -> Result<Spanned<schema::Ecn>, Problem> {
        let config = self.config;
        let mut curves = Vec::new();
        if config.flag("ENABLE_QCN", true) {
            for kmax in config.map("KMAX_MAP") {
                let kmin = self.same_rate("KMIN_MAP", kmax)?;
                let pmax = self.same_rate("PMAX_MAP", kmax)?;
                let kb = |pair: &Pair| {
                    Some(Spanned::new(
                        pair.span.clone(),
                        Bytes::new((pair.value * 1000.0) as u64),
                    ))
                };
                let curve = schema::Curve {
                    rate: Some(Spanned::new(kmax.span.clone(), kmax.rate)),
                    kmin: kb(kmin),
                    kmax: kb(kmax),
                    pmax: Some(Spanned::new(pmax.span.clone(), pmax.value)),
                };
                curves.push(Spanned::new(kmax.span.clone(), curve));
            }
            if curves.is_empty() {
                let message = "there is no KMAX_MAP: ENABLE_QCN needs ECN thresholds for every link rate";
                return Err(config.problem("KMAX_MAP", message).help("or set ENABLE_QCN to 0"));
            }
        }
        let ecn = schema::Ecn {
            curves: Some(curves),
            ..schema::Ecn::default()
        };
        Ok(Spanned::new(config.span("KMAX_MAP"), ecn))
    }

    fn same_rate(&self, key: &str, wanted: &Pair) -> Result<&Pair, Problem> {
        let config = self.config;
        // Of a rate that is given twice, the last one counts.
        config
            .map(key)
            .iter()
            .rfind(|pair| pair.rate == wanted.rate)
            .ok_or_else(|| {
                config
                    .problem(
                        key,
                        format!("{key} has nothing for {}, which KMAX_MAP lists", wanted.rate),
                    )
                    .see(&config.source.at(wanted.span.clone()), "KMAX_MAP lists it here")
            })
    }

    fn record(&self) -> schema::Record {
        let config = self.config;
        let asked = ["QLEN_MON_FILE", "QLEN_MON_START", "QLEN_MON_END"]
            .iter()
            .any(|key| config.given(key));
        let start = Time::from_ns(config.int("QLEN_MON_START", 2_000_000_000).min(1 << 53));
        let end = Time::from_ns(config.int("QLEN_MON_END", 2_100_000_000).min(1 << 53));
        let stop = config.text("SIMULATOR_STOP_TIME").unwrap_or("3.01");
        let stop = quantities::seconds(stop, self.fidelity).unwrap_or(Span::ZERO);
        // What would begin after the end of the run is off.
        if !asked || start >= end || start.as_ps() > stop.as_ps() {
            return schema::Record::default();
        }
        schema::Record {
            queue: Some(Spanned::new(0..0, OrOff(Some(Span::from_ns(100))))),
            queue_from: self.at("QLEN_MON_START", start),
            queue_to: self.at("QLEN_MON_END", end),
            queue_dump: Some(Spanned::new(0..0, OrOff(Some(Span::from_us(100_000))))),
            ..schema::Record::default()
        }
    }
}

/// The nodes of TRACE_FILE.
fn trace_nodes(
    config: &Config,
    files: &Files,
    fidelity: Fidelity,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Spanned<Nodes>>, Problem> {
    if !config.flag("ENABLE_TRACE", true) {
        return Ok(None);
    }
    let Some(path) = config.text("TRACE_FILE") else {
        return Ok(None);
    };
    let place = config.source.at(config.span("TRACE_FILE"));
    let source = files.read(path, "the trace file", &place)?;
    // The number of nodes, to skip those that do not exist; errors are reported later.
    let nodes = config.text("TOPOLOGY_FILE").and_then(|path| {
        let place = config.source.at(config.span("TOPOLOGY_FILE"));
        let source = files.read(path, "the topology file", &place).ok()?;
        let net = topology::read(&source, fidelity, &mut Vec::new()).ok()?;
        Some(net.topology.nodes.len())
    });
    let list = trace::read(&source, nodes.unwrap_or(0), warnings)?;
    Ok(Some(Spanned::new(config.span("TRACE_FILE"), Nodes::list(list))))
}

/// Whether a text looks like a configuration rather than TOML: a line begins with a key in capitals
/// and has a value without an `=`.
pub(crate) fn looks_like_config(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let Some(line) = lines
        .into_iter()
        .find(|line| !line.is_empty() && !line.starts_with('#'))
    else {
        return false;
    };
    let mut words = line.split_whitespace();
    let key = words.next().unwrap_or_default();
    let capitals = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.chars().all(capitals)
        && !words.next().unwrap_or_default().starts_with('=')
}
