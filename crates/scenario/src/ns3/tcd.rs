//! Conversion of `config.txt` of the simulator of TCD's authors to a scenario.

use paceline_congestion::registry::variant::base;
use paceline_kernel::{BitRate, Bytes, Span};
use toml::{Spanned, Table, Value};

use crate::diagnostics::{Diagnostics, Problem, Problems};
use crate::files::Files;
use crate::left_out::left_out;
use crate::ns3::format::InputFormat;
use crate::schema::{
    self, AckClass, DetectionKind, Fidelity, FlowControlKind, OrAuto, Parity, PfcModeKind, Scenario, TcdKind,
    Workload,
};
use crate::warning::{Warning, WarningKind};

use super::changes::Changes;
use super::keys::Config;
use super::topology;
use crate::document::Places;
use crate::resolve;

/// Size of a cell in that simulator, in bytes.
pub(super) const CELL: u64 = 1030;
/// Thresholds for pausing and resuming, in cells.
const PAUSE: (u64, u64) = (320, 318);
/// Flags of unsupported features, each with a description.
const UNDONE: [(&str, &str); 5] = [
    ("SEND_IN_CHUNKS", "applications that send in chunks"),
    ("L2_WAIT_FOR_ACK", "senders that wait for acknowledgements"),
    ("L2_BACK_TO_ZERO", "going back to chunks"),
    ("L2_TEST_READ", "reads"),
    ("PACKET_LEVEL_ECMP", "paths chosen for each packet"),
];

/// Converts a configuration to a scenario.
pub(super) fn scenario(
    config: &Config,
    files: &Files,
    changes: Changes<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(Scenario, Places), Diagnostics> {
    let name = InputFormat::TcdNs3.name();
    if Fidelity::named(name).is_none() {
        let why = left_out(name).unwrap_or("this program has no fidelity for its inputs");
        let message = format!("{}: {why}", InputFormat::TcdNs3.program());
        return Err(Problem::new(message).into());
    }
    if let Some(other) = changes
        .fidelity
        .filter(|fidelity| *fidelity != InputFormat::TcdNs3.fidelity())
    {
        let message = format!(
            "this configuration is of the simulator of TCD's authors, and its flow file has other columns than in {} \
             fidelity",
            other.name()
        );
        return Err(Problem::new(message)
            .help("leave `--fidelity` out, or write a scenario with `fidelity = \"exact\"`")
            .into());
    }
    let mut problems = undone(config);
    for [one, other] in [
        ["ENABLE_NPECN", "ENABLE_ROOTECN"],
        ["PACKET_LEVEL_ECMP", "FLOW_LEVEL_ECMP"],
    ] {
        if config.flag(one, false) && config.flag(other, false) {
            let message = format!("{one} and {other} are both 1: expected one of them at most");
            problems.push(config.problem(other, message));
        }
    }
    let reader = Reader { config, files };
    let scenario = problems.take(reader.scenario(changes.scheme, warnings));
    problems.or(scenario.unwrap_or_default())
}

/// Returns a problem for each requested feature that is not supported.
pub(super) fn undone(config: &Config) -> Problems {
    let mut problems = Problems::default();
    for (key, what) in UNDONE {
        if config.flag(key, key == "SEND_IN_CHUNKS") {
            let message = format!("{key} is 1: {what} are not here");
            problems.push(config.problem(key, message).help(format!("set {key} to 0")));
        }
    }
    problems
}

pub(super) struct Reader<'a> {
    pub(super) config: &'a Config,
    pub(super) files: &'a Files,
}

impl Reader<'_> {
    /// Returns `value` with the position of its key.
    pub(super) fn at<T>(&self, key: &str, value: T) -> Option<Spanned<T>> {
        self.config.at(key, value)
    }

    pub(super) fn path(&self, key: &str) -> Option<Spanned<String>> {
        self.at(key, self.config.text(key)?.to_string())
    }

    /// Returns a time in seconds, rounded as in ns-3.
    pub(super) fn seconds(&self, key: &str, default: &str) -> Span {
        self.config.seconds(key, default, InputFormat::TcdNs3.fidelity())
    }

    fn scenario(
        &self,
        scheme: Option<&str>,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Scenario, Places), Problem> {
        let config = self.config;
        let own = match config.flag("ENABLE_QCN", true) {
            true => "dcqcn",
            false => "none",
        };
        let scheme = scheme.unwrap_or(own);
        let (blocks, locations) = match base(scheme) {
            "dcqcn" => self.dcqcn()?,
            _ => (Table::new(), Places::new()),
        };
        if let Some(key) = ["X_NOQCN", "X_APP", "X_SLOTS"]
            .into_iter()
            .find(|key| config.given(key))
        {
            let location = config.source.at(config.span(key));
            let text = format!("{key} is Paceline's own key; the original needs a source change");
            warnings.push(Warning::new(WarningKind::Reading, text).at(&location));
        }
        let cc = schema::Cc {
            scheme: self.at("ENABLE_QCN", scheme.to_string()),
            ..schema::Cc::default()
        };
        let workload = Workload {
            file: self.path("FLOW_FILE"),
            ..Workload::default()
        };
        let topology = schema::Topology {
            file: self.path("TOPOLOGY_FILE"),
            ..schema::Topology::default()
        };
        let scenario = Scenario {
            seed: Some(config.int("SEED_NUMBER", 6)),
            duration: self.at("SIMULATOR_STOP_TIME", self.seconds("SIMULATOR_STOP_TIME", "2.01")),
            fidelity: Some(InputFormat::TcdNs3.fidelity()),
            parity: self.own()?,
            topology: self.at("TOPOLOGY_FILE", topology),
            workload: vec![Spanned::new(config.span("FLOW_FILE"), workload)],
            network: self.network()?,
            cc,
            cc_blocks: crate::cc::blocks(&blocks)?,
            ..Scenario::default()
        };
        Ok((scenario, locations))
    }

    /// Returns the table of the simulator's own settings.
    fn own(&self) -> Result<Parity, Problem> {
        let format = InputFormat::TcdNs3;
        let simulator = resolve::simulator_of(format.fidelity());
        let table = simulator.map(|own| own.of_configuration(self.config));
        Ok(match table.transpose()?.flatten() {
            Some(table) => Parity::of(format.name(), self.config.span("L2_CHUNK_SIZE"), table),
            None => Parity::default(),
        })
    }

    fn network(&self) -> Result<schema::Network, Problem> {
        let config = self.config;
        let bytes = |key: &str, count: u64| self.at(key, Bytes::new(count));
        let limits = schema::StaticThreshold {
            xoff: bytes("PAUSE_TIME", PAUSE.0 * CELL),
            xon: bytes("PAUSE_TIME", PAUSE.1 * CELL),
        };
        let pause = Span::from_us(config.real("PAUSE_TIME", 5.0) as u64);
        Ok(schema::Network {
            mtu: bytes("PACKET_PAYLOAD_SIZE", config.int("PACKET_PAYLOAD_SIZE", 1000)),
            flow_control: Some(FlowControlKind::Pfc),
            ack_class: self.at("L2_ACK_INTERVAL", AckClass(Some(1))),
            pfc: Some(schema::Pfc {
                mode: Some(PfcModeKind::Quanta),
                pause: self.at("PAUSE_TIME", pause),
                fixed: self.at("PAUSE_TIME", limits),
                ..schema::Pfc::default()
            }),
            error_rate: self.at("ERROR_RATE_PER_LINK", config.real("ERROR_RATE_PER_LINK", 0.0)),
            ecn: Some(self.ecn()?),
            detection: self.at("ENABLE_ROOTECN", self.detection()),
            ..schema::Network::default()
        })
    }

    /// Returns one marking curve for the ports of all rates.
    pub(super) fn ecn(&self) -> Result<Spanned<schema::Ecn>, Problem> {
        let config = self.config;
        let location = config.source.at(config.span("TOPOLOGY_FILE"));
        let path = config.text("TOPOLOGY_FILE").unwrap_or_default();
        let source = self.files.read(path, "the topology file", &location)?;
        // Problems of the topology are reported when the network is read.
        let net =
            topology::read(&source, InputFormat::TcdNs3.fidelity(), &mut Vec::new()).unwrap_or_default();
        let mut rates: Vec<BitRate> = net.topology.links.iter().map(|link| link.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        let cells = |key: &str| {
            let bytes = config.int(key, 60) * CELL;
            self.at(key, Bytes::new(bytes))
        };
        let curve = |rate: BitRate| schema::Curve {
            rate: self.at("TOPOLOGY_FILE", rate),
            kmin: cells("KMIN"),
            kmax: cells("KMAX"),
            pmax: self.at("PMAX", config.real("PMAX", 1.0)),
        };
        let curves = rates
            .into_iter()
            .map(|rate| Spanned::new(config.span("KMAX"), curve(rate)));
        let ecn = schema::Ecn {
            curves: Some(curves.collect()),
            ..schema::Ecn::default()
        };
        Ok(Spanned::new(config.span("KMAX"), ecn))
    }

    fn detection(&self) -> schema::Detection {
        let config = self.config;
        let kind = |key: &str, kind| schema::Detection {
            kind: self.at(key, kind),
            ..schema::Detection::default()
        };
        if config.flag("ENABLE_NPECN", false) {
            return kind("ENABLE_NPECN", DetectionKind::NpEcn);
        }
        if !config.flag("ENABLE_ROOTECN", false) {
            return kind("ENABLE_ROOTECN", DetectionKind::Red);
        }
        let interval = Span::from_us(config.int("ROOTECN_INTERVAL", 40).min(1 << 30));
        schema::Detection {
            variant: self.at("ENABLE_ROOTECN", TcdKind::AsCoded),
            max_ton: self.at("ROOTECN_INTERVAL", OrAuto(Some(interval))),
            ..kind("ENABLE_ROOTECN", DetectionKind::Tcd)
        }
    }

    pub(super) fn dcqcn(&self) -> Result<(Table, Places), Problem> {
        let config = self.config;
        let us = |key: &str, default: f64| Span::from_ns((config.real(key, default) * 1e3).min(1e15) as u64);
        let rate = |key: &str| {
            let missing =
                || config.problem(key, format!("the configuration has no {key}, which DCQCN needs"));
            config.rate(key).map(|rate| rate.to_string()).ok_or_else(missing)
        };
        let tcd = match config.flag("ENABLE_ROOTECNCC", false) {
            true => "hold",
            false => "off",
        };
        let whole = |key: &str, default: u64| config.int(key, default).min(u32::MAX.into()) as i64;
        // Values without a key are fixed in the program's source, and have the position of ENABLE_QCN.
        let parameters: [(&str, &str, Value); 13] = [
            ("flavour", "ENABLE_QCN", "paper".into()),
            ("tcd", "ENABLE_ROOTECNCC", tcd.into()),
            ("initial-alpha", "ENABLE_QCN", 0.5.into()),
            (
                "cnp-interval",
                "CNP_INTERVAL",
                us("CNP_INTERVAL", 50.0).to_string().into(),
            ),
            ("g", "DCTCP_GAIN", config.real("DCTCP_GAIN", 0.0).into()),
            (
                "alpha-interval",
                "ALPHA_RESUME_INTERVAL",
                us("ALPHA_RESUME_INTERVAL", 55.0).to_string().into(),
            ),
            (
                "increase-timer",
                "RP_TIMER",
                us("RP_TIMER", 0.0).to_string().into(),
            ),
            (
                "byte-counter",
                "BYTE_COUNTER",
                Bytes::new(config.int("BYTE_COUNTER", 0)).to_string().into(),
            ),
            (
                "fast-recovery-stages",
                "FAST_RECOVERY_TIMES",
                whole("FAST_RECOVERY_TIMES", 5).into(),
            ),
            ("rate-ai", "RATE_AI", rate("RATE_AI")?.into()),
            ("rate-hai", "RATE_HAI", rate("RATE_HAI")?.into()),
            (
                "min-rate",
                "ENABLE_QCN",
                BitRate::from_bps(100_000_000).to_string().into(),
            ),
            (
                "clamp-target",
                "CLAMP_TARGET_RATE",
                config.flag("CLAMP_TARGET_RATE", false).into(),
            ),
        ];
        let (mut block, mut locations) = (Table::new(), Places::new());
        for (name, key, value) in parameters {
            block.insert(name.to_string(), value);
            locations.push((format!("cc.dcqcn.{name}"), config.span(key)));
        }
        let mut table = Table::new();
        table.insert("dcqcn".to_string(), block.into());
        Ok((table, locations))
    }
}
