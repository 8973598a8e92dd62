//! Conversion of `config.txt` of HPCC's ns-3 simulator, and of its derivatives, to a scenario.

use paceline_congestion::registry::WindowMode;
use paceline_congestion::registry::variant::base;
use paceline_fabric::spec::NoticeKey;
use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use crate::diagnostics::{Diagnostics, Problem, Problems};
use crate::files::Files;
use crate::schema::{
    self, Ack, AckClass, Balancing, Ends, Fidelity, FlowControlKind, NS3_HPCC, NodeItem, Nodes, OrOff,
    RecoveryKind, Scenario, Workload,
};
use crate::warning::{Warning, WarningKind};

use super::changes::Changes;
use super::format::InputFormat;
use super::keys::{Config, Pair};
use super::{parameters, quantities, simai, topology, trace};
use crate::document::Places;

/// Converts a configuration of HPCC's simulator or of a derivative.
pub(super) fn scenario(
    config: &Config,
    files: &Files,
    changes: Changes<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(Scenario, Places), Diagnostics> {
    let fidelity = changes.fidelity.unwrap_or(config.format().fidelity());
    if config.format() == InputFormat::Simai {
        simai::environment(config, files, warnings)?;
    }
    let reader = Reader { config, fidelity };
    let (mut scenario, indices) = reader.scenario(changes.scheme, warnings)?;
    scenario.record.trace = trace_nodes(config, files, fidelity, warnings)?;
    Ok((scenario, indices))
}

/// Schemes by value of CC_MODE. With any other value the original applies no congestion control.
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
    /// Returns `value` with the position of its key.
    fn at<T>(&self, key: &str, value: T) -> Option<Spanned<T>> {
        Some(Spanned::new(self.config.span(key), value))
    }

    fn ns3(&self) -> bool {
        self.fidelity.profile().script_defaults
    }

    fn scenario(
        &self,
        scheme: Option<&str>,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Scenario, Places), Diagnostics> {
        let config = self.config;
        let mut problems = Problems::default();
        let mode = config.int("CC_MODE", 1);
        let known = SCHEMES.iter().find(|(known, _)| *known == mode);
        let own = known.map_or("none", |(_, name)| name);
        if known.is_none() {
            let modes = SCHEMES.map(|(mode, name)| format!("{mode} ({name})"));
            let of = match config.format() {
                InputFormat::Ns3Hpcc => "is no scheme of the original",
                _ => "is no scheme that is here",
            };
            warnings.push(
                Warning::new(
                    WarningKind::NoControl,
                    format!(
                        "CC_MODE {mode} {of}, so its flows have no congestion control; known modes are {}",
                        modes.join(", ")
                    ),
                )
                .at(&config.source.at(config.span("CC_MODE"))),
            );
        }
        let scheme = match scheme {
            None if config.format() == InputFormat::Ns3Datacenter && own == "hpcc" => {
                let text = "ns3-datacenter sets its scheme on its command line, by default PowerTCP, which is used; \
                 `--scheme hpcc` selects CC_MODE 3";
                let location = config.source.at(config.span("CC_MODE"));
                warnings.push(Warning::new(WarningKind::Reading, text).at(&location));
                Some("powertcp")
            }
            scheme => scheme,
        };
        let kept = scheme.is_none_or(|scheme| base(scheme) == own);
        if !kept {
            warnings.push(
                Warning::new(
                    WarningKind::ReplacedDefaults,
                    format!(
                        "the parameters are for {own}; another \
             scheme uses its own defaults, including window and marking"
                    ),
                )
                .at(&config.source.at(config.span("CC_MODE"))),
            );
        }
        let cc = schema::Cc {
            scheme: self.at("CC_MODE", scheme.unwrap_or(own).to_string()),
            window: if kept {
                self.at("HAS_WIN", self.window())
            } else {
                None
            },
            ..schema::Cc::default()
        };
        let block = kept.then(|| parameters::of(config, own, &mut problems));
        let (blocks, locations) = block.map_or_else(Default::default, |block| (block.table, block.locations));
        let mut network = problems.take(self.network()).unwrap_or_default();
        if config.flag("L2_BACK_TO_ZERO", false) {
            warnings.push(self.note_on_chunks());
        }
        // Thresholds belong to the scheme that they were chosen for, but disabled marking concerns every scheme.
        if kept || !config.flag("ENABLE_QCN", true) {
            network.ecn = problems.take(self.ecn());
        }
        self.relatives(&mut network, warnings);
        let cc_blocks = problems.take(crate::cc::blocks(&blocks));
        problems.or(())?;
        let scenario = Scenario {
            seed: config.given("RANDOM_SEED").then(|| config.int("RANDOM_SEED", 1)),
            duration: self.at("SIMULATOR_STOP_TIME", self.stop()),
            fidelity: Some(self.fidelity),
            topology: self.at("TOPOLOGY_FILE", self.topology()),
            workload: match config.given("WORKLOAD_FILE") {
                true => Vec::new(),
                false => vec![Spanned::new(config.span("FLOW_FILE"), self.workload())],
            },
            job: self.job().into_iter().collect(),
            network,
            cc,
            cc_blocks: cc_blocks.unwrap_or_default(),
            record: self.record(),
            quirks: schema::Quirks {
                ack_high_priority: self.ns3().then(|| config.flag("ACK_HIGH_PRIO", false)),
                ..schema::Quirks::default()
            },
            ..Scenario::default()
        };
        Ok((scenario, locations))
    }

    /// Returns the end of the run. ConWeave's ends ten seconds after the last possible start of a flow.
    fn stop(&self) -> Span {
        let text = |key: &str, default| self.config.text(key).unwrap_or(default).to_string();
        let seconds = |text: String| quantities::seconds(&text, self.fidelity, "2.5").unwrap_or(Span::ZERO);
        match self.config.format() {
            InputFormat::Conweave => seconds(text("FLOWGEN_STOP_TIME", "2.5")) + Span::from_us(10_000_000),
            _ => seconds(text("SIMULATOR_STOP_TIME", "3.01")),
        }
    }

    /// Applies the keys that derivatives add to those of HPCC's simulator.
    fn relatives(&self, network: &mut schema::Network, warnings: &mut Vec<Warning>) {
        let config = self.config;
        let location = |key: &str| config.source.at(config.span(key));
        if !config.flag("ENABLE_PFC", true) {
            network.flow_control = Some(FlowControlKind::None);
        }
        if config.flag("ENABLE_IRN", false) {
            network.recovery = self.at("ENABLE_IRN", RecoveryKind::Irn);
        }
        match config.int("LB_MODE", 0) {
            0 => {}
            6 => network.load_balancing = self.at("LB_MODE", Balancing::Flowlet),
            mode => {
                let name = match mode {
                    2 => "DRILL",
                    3 => "CONGA",
                    9 => "ConWeave",
                    _ => "an unknown one",
                };
                warnings.push(
                    Warning::new(
                        WarningKind::LeftOut,
                        format!(
                            "LB_MODE {mode} ({name}) is not here: flows are spread by ECMP (0); 6 is LetFlow"
                        ),
                    )
                    .at(&location("LB_MODE")),
                );
            }
        }
        if matches!(config.format(), InputFormat::Simai | InputFormat::Ns3Alibabacloud)
            && self.fidelity != NS3_HPCC
        {
            // The original's sequence numbers have eight bytes, so its headers are longer than HPCC's.
            network.data_header = self.at("PACKET_PAYLOAD_SIZE", Bytes::new(52));
        }
        if config.format() == InputFormat::Themis {
            self.themis(network);
        }
        if config.format() == InputFormat::Simai {
            network.global_rtt = Some(true);
            if !config.flag("GLOBAL_T", true) {
                let text = "GLOBAL_T is 0, which SimAI reads and does not use: the window of all flows is the largest \
                            bandwidth-delay product";
                warnings.push(Warning::new(WarningKind::Reading, text).at(&location("GLOBAL_T")));
            }
        }
    }

    /// Applies what THEMIS' switches do otherwise, as published: its border switches, nodes 48 and 49, notify senders.
    fn themis(&self, network: &mut schema::Network) {
        // Here the key reaches switches, too.
        let class = self.config.flag("ACK_HIGH_PRIO", false).then_some(0);
        network.ack_class = self.at("ACK_HIGH_PRIO", AckClass(class));
        network.fast_cnp = Some(schema::FastCnp {
            trigger: self.at("TOPOLOGY_FILE", schema::NoticeKind::Mark),
            switches: self.at("TOPOLOGY_FILE", vec!["48".into(), "49".into()]),
            interval: self.at("TOPOLOGY_FILE", Span::from_us(5)),
            delay: Some(Span::from_us(2)),
            keep_mark: Some(false),
            key: Some(NoticeKey::Hosts),
            ..schema::FastCnp::default()
        });
    }

    fn path(&self, key: &str) -> Option<Spanned<String>> {
        self.at(key, self.config.text(key)?.to_string())
    }

    fn topology(&self) -> schema::Topology {
        schema::Topology {
            file: self.path("TOPOLOGY_FILE"),
            ..schema::Topology::default()
        }
    }

    fn workload(&self) -> Workload {
        Workload {
            file: self.path("FLOW_FILE"),
            ..Workload::default()
        }
    }

    /// Returns SimAI's workload as a job; its flow file does not describe it.
    fn job(&self) -> Option<Spanned<schema::Job>> {
        let job = schema::Job {
            simai: Some(self.path("WORKLOAD_FILE")?),
            rules: Some(schema::TraceRules {
                send_latency: (self.config.given("AS_SEND_LAT"))
                    .then(|| Span::from_us(self.config.int("AS_SEND_LAT", 6))),
                pxn: self.config.flag("AS_PXN_ENABLE", false).then_some(true),
                ..schema::TraceRules::default()
            }),
            ..schema::Job::default()
        };
        Some(Spanned::new(self.config.span("WORKLOAD_FILE"), job))
    }

    fn window(&self) -> WindowMode {
        // THEMIS' hosts read the window, and do not test it.
        let reads = self.config.format() != InputFormat::Themis;
        match (
            reads && self.config.flag("HAS_WIN", true),
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
        // An interval of at most one packet has every packet acknowledged.
        let exact_ack = !self.ns3() && interval <= config.int("PACKET_PAYLOAD_SIZE", 1000);
        Ok(schema::Network {
            mtu: self.at(
                "PACKET_PAYLOAD_SIZE",
                Bytes::new(config.int("PACKET_PAYLOAD_SIZE", 1000)),
            ),
            int_multi: self.at("INT_MULTI", int_multi),
            buffer: self.at(
                "BUFFER_SIZE",
                schema::Buffer::Total(Bytes::new(config.int("BUFFER_SIZE", 16) << 20)),
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
                // The time counts from the start of the flow generator.
                let origin = config.text("FLOWGEN_START_TIME").unwrap_or("2.0");
                let origin = quantities::seconds(origin, self.fidelity, "2.0").unwrap_or(Span::ZERO);
                let at = Time::ZERO + origin + Span::from_ns((at_us * 1000.0).min(1e15) as u64);
                vec![Spanned::new(
                    config.span("LINK_DOWN"),
                    schema::Failure {
                        link: None,
                        nodes: self.at("LINK_DOWN", Ends(NodeItem::Number(a), NodeItem::Number(b))),
                        at: self.at("LINK_DOWN", at),
                        until: None,
                    },
                )]
            }),
            ..schema::Network::default()
        })
    }

    /// Returns a warning about the effect of L2_BACK_TO_ZERO in the original.
    fn note_on_chunks(&self) -> Warning {
        let location = self.config.source.at(self.config.span("L2_BACK_TO_ZERO"));
        let original = "with L2_BACK_TO_ZERO the original simulator counts whole chunks (L2_CHUNK_SIZE) of what is \
                        acknowledged: no flow completes whose size is not a multiple of them";
        let here = if self.ns3() {
            "so it is here, as for all its quirks; `--set quirks.whole-chunks-only=false` completes them"
        } else {
            "here they complete"
        };
        Warning::new(WarningKind::Reading, format!("{original}; {here}")).at(&location)
    }

    /// Returns a marking curve for each rate that the three maps list.
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
        let key = match config.flag("ENABLE_QCN", true) {
            true => "KMAX_MAP",
            false => "ENABLE_QCN",
        };
        Ok(Spanned::new(config.span(key), ecn))
    }

    fn same_rate(&self, key: &str, wanted: &Pair) -> Result<&Pair, Problem> {
        let config = self.config;
        // If a rate is given twice, the last one counts.
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
        // SimAI's monitors write at other times, in files of another format.
        let of_simai = matches!(config.format(), InputFormat::Simai | InputFormat::Ns3Alibabacloud);
        let asked = ["QLEN_MON_FILE", "QLEN_MON_START", "QLEN_MON_END"]
            .iter()
            .any(|key| config.given(key) && !of_simai);
        let start = Time::from_ns(config.int("QLEN_MON_START", 2_000_000_000).min(1 << 53));
        let end = Time::from_ns(config.int("QLEN_MON_END", 2_100_000_000).min(1 << 53));
        let stop = self.stop();
        // A recorder that would start after the end of the run is off.
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

/// Returns the nodes listed in TRACE_FILE.
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
    let location = config.source.at(config.span("TRACE_FILE"));
    let source = match files.read(path, "the trace file", &location) {
        Ok(source) => source,
        // SimAI's configurations name files inside its container, which do not exist here.
        Err(problem) if matches!(config.format(), InputFormat::Simai | InputFormat::Ns3Alibabacloud) => {
            warnings.push(Warning::new(
                WarningKind::LeftOut,
                format!("{problem}: no node is traced"),
            ));
            return Ok(None);
        }
        Err(problem) => return Err(problem),
    };
    // Needed to skip nodes that do not exist; errors in the topology are reported later.
    let nodes = config.text("TOPOLOGY_FILE").and_then(|path| {
        let location = config.source.at(config.span("TOPOLOGY_FILE"));
        let source = files.read(path, "the topology file", &location).ok()?;
        let net = topology::read(&source, fidelity, &mut Vec::new()).ok()?;
        Some(net.topology.nodes.len())
    });
    let list = trace::read(&source, nodes.unwrap_or(0), warnings)?;
    Ok(Some(Spanned::new(config.span("TRACE_FILE"), Nodes::list(list))))
}
