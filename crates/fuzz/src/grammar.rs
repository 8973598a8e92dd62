//! Random inputs that use everything a scenario, a trace, a connection matrix, a policy or an experiment can contain.
//!
//! Damaged text seldom passes its reader. These inputs do: most run, and a few contain a contradiction or something
//! odd and are rejected. An input that names files contains them, in one text ([`split`]).

mod chakra;
mod experiment;
mod goal;
mod htsim;
mod network;
mod policy;
mod protobuf;
mod simai;
mod traces;
mod traffic;

use std::fmt::Write as _;

use paceline_congestion::registry::{SCHEMES, SchemeParams};

use crate::mutate::Mutator;

/// Marks before the name of each further file: as text, and as hexadecimal digits.
const FILE: &str = "#file ";
const HEX: &str = "#hex ";

/// Subject of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Flows, collectives and jobs of steps.
    Flows,
    /// Job with a GOAL program as text.
    Goal,
    /// Job with a GOAL program in its binary form.
    GoalBinary,
    /// Job with Chakra traces in protobuf.
    Chakra,
    /// Job with Chakra traces in JSON.
    ChakraJson,
    /// Job with a workload of SimAI.
    SimAi,
    /// SimAI's configuration with a topology and a workload.
    SimAiConf,
    /// Connection matrix and fat tree of htsim, in the engine.
    Matrix,
    /// Connection matrices in the model of uet-htsim.
    Uet,
    /// Policy in ONNX that controls flows.
    Policy,
    /// Experiment over a scenario.
    Experiment,
}

/// Returns an input, followed by the files that it names.
pub(crate) fn text(chance: &mut Mutator, subject: Subject) -> String {
    let mut draft = Draft::new(chance, subject);
    match subject {
        Subject::SimAiConf => draft.conf(chance),
        Subject::Uet => draft.uet(chance),
        Subject::Experiment => draft.experiment(chance),
        _ => draft.write(chance),
    }
    let mut text = draft.text;
    for (name, content) in draft.files {
        // Only whole lines stand apart from the next file's head, so other content is written in hexadecimal.
        match std::str::from_utf8(&content) {
            Ok(lines) if lines.ends_with('\n') => {
                let _ = write!(text, "{FILE}{name}\n{lines}");
            }
            _ => {
                let _ = writeln!(text, "{HEX}{name}");
                for line in content.chunks(64) {
                    for byte in line {
                        let _ = write!(text, "{byte:02x}");
                    }
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// Splits such a text into the input and the files that it names.
pub(crate) fn split(text: &str) -> (String, Vec<(String, Vec<u8>)>) {
    let mut input = String::new();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut is_hex = false;
    for line in text.split_inclusive('\n') {
        let head = line
            .strip_prefix(FILE)
            .map(|name| (name, false))
            .or_else(|| line.strip_prefix(HEX).map(|name| (name, true)));
        if let Some((name, hex)) = head {
            files.push((name.trim().to_string(), Vec::new()));
            is_hex = hex;
            continue;
        }
        match files.last_mut() {
            None => input.push_str(line),
            Some((_, content)) if is_hex => {
                let digits: Vec<u8> = line.chars().filter_map(|c| Some(c.to_digit(16)? as u8)).collect();
                content.extend(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
            }
            Some((_, content)) => content.extend(line.as_bytes()),
        }
    }
    (input, files)
}

impl Mutator {
    /// Returns true with probability 1/`n`.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns a size in bytes or a time: mostly small, sometimes 0, and rarely larger than any valid input's.
    fn extent(&mut self) -> u64 {
        match self.below(60) {
            0 => *self.one(&[u64::MAX, i64::MAX as u64, 1_000_000_000_000_000]),
            1 => 1 << 40,
            2 => u64::from(u32::MAX),
            3..7 => 0,
            _ => *self.one(&[
                1, 2, 8, 700, 999, 1_000, 1_001, 4_096, 20_000, 65_535, 65_536, 150_000,
            ]),
        }
    }
}

/// Fidelity of a scenario, with the settings that belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Pfc,
    Lossy,
    Lanes,
    Ns3,
    BoltNs3,
    TcdNs3,
    Omnet,
}

struct Draft {
    subject: Subject,
    family: Family,
    text: String,
    files: Vec<(String, Vec<u8>)>,
    /// Hosts of its topology.
    hosts: Vec<u32>,
    /// Number of its links.
    links: u32,
    /// Names of its switches' tiers; empty if they have none.
    tiers: &'static [&'static str],
}

impl Draft {
    fn new(chance: &mut Mutator, subject: Subject) -> Self {
        use Family::{BoltNs3, Lanes, Lossy, Ns3, Omnet, Pfc, TcdNs3};
        // Families with more mechanisms occur more often.
        let families = [
            Pfc, Pfc, Pfc, Pfc, Lossy, Lossy, Lanes, Lanes, Lanes, Ns3, BoltNs3, TcdNs3, Omnet, Omnet,
        ];
        let families = match subject {
            Subject::Flows => &families[..],
            Subject::Policy | Subject::Experiment => &families[..6],
            _ => &families[..9],
        };
        Self {
            subject,
            family: *chance.one(families),
            text: String::new(),
            files: Vec::new(),
            hosts: Vec::new(),
            links: 0,
            tiers: &[],
        }
    }

    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Writes one of these lines, or none.
    fn perhaps(&mut self, chance: &mut Mutator, lines: &[&str]) {
        let which = chance.below(lines.len() * 2);
        if let Some(line) = lines.get(which) {
            self.line(line);
        }
    }

    fn write(&mut self, chance: &mut Mutator) {
        let duration = *chance.one(&["30us", "100us", "300us", "1ms"]);
        self.line(format!(
            "name = \"random\"\nduration = \"{duration}\"\nseed = {}",
            1 + chance.below(9)
        ));
        self.perhaps(
            chance,
            &["description = \"\"\"two\n[lines]\"\"\"", "check = true"],
        );
        match self.family {
            Family::Ns3 => self.line("fidelity = \"ns3-hpcc\""),
            Family::BoltNs3 => self.line("fidelity = \"bolt-ns3\""),
            Family::TcdNs3 => self.line("fidelity = \"tcd-ns3\""),
            Family::Omnet => self.line("fidelity = \"ib-omnet\""),
            Family::Pfc | Family::Lossy | Family::Lanes => {
                self.perhaps(
                    chance,
                    &[
                        "ties = \"structural\"",
                        "ties = \"insertion\"",
                        "shuffle-ties = 4",
                    ],
                );
            }
        }
        self.topology(chance);
        // A trace, a matrix or a policy behaves the same in the simplest network, which supports all of them.
        match (self.subject, chance.below(3)) {
            (Subject::Flows, _) | (_, 0) => self.network(chance),
            _ => self.family = Family::Pfc,
        }
        match self.subject {
            Subject::Goal | Subject::GoalBinary | Subject::Chakra | Subject::ChakraJson | Subject::SimAi => {
                self.trace_job(chance)
            }
            Subject::Matrix => self.matrix(chance),
            _ => self.traffic(chance),
        }
        // After the traffic, since a scheme of the traffic may be repeated here.
        self.schemes(chance);
        self.record(chance);
        if self.subject == Subject::Experiment {
            return;
        }
        self.perhaps(
            chance,
            &[
                "[sweep]\n\"duration\" = [\"20us\", \"30us\"]\nrepeats = 2",
                "[sweep]\n\"network.buffer\" = [\"2MB\", \"4MB\"]",
                "[sweep]\n\"network.mtu\" = { from = 500, to = 1500, steps = 3 }",
            ],
        );
    }

    fn topology(&mut self, chance: &mut Mutator) {
        if self.subject == Subject::Matrix {
            return self.fat_tree(chance);
        }
        // That simulator has no link delays.
        let (rates, delays): (&[&str], &[&str]) = match self.family {
            Family::Omnet => (&["32Gbps", "8Gbps"], &["0s"]),
            Family::TcdNs3 => (&["40Gbps"], &["4us", "1us"]),
            _ => (
                &["100Gbps", "25Gbps", "40Gbps", "400Gbps"],
                &["1us", "500ns", "2us"],
            ),
        };
        let each = format!(
            "rate = \"{}\"\ndelay = \"{}\"",
            chance.one(rates),
            chance.one(delays)
        );
        let kinds = match self.family {
            Family::BoltNs3 | Family::Omnet => 2,
            _ => 8,
        };
        match chance.below(kinds) {
            0 | 1 => {
                let hosts = 3 + chance.below(5) as u32;
                self.line(format!("[topology.star]\nhosts = {hosts}\n{each}"));
                (self.hosts, self.links) = ((1..=hosts).collect(), hosts);
            }
            2 => {
                let (left, right) = (2 + chance.below(2) as u32, 2 + chance.below(2) as u32);
                self.line(format!(
                    "[topology.dumbbell]\nleft = {left}\nright = {right}\n{each}"
                ));
                (self.hosts, self.links) = ((0..left + right).collect(), left + right + 1);
            }
            3 => {
                let (leaves, spines) = (2 + chance.below(2) as u32, 1 + chance.below(3) as u32);
                self.line(format!(
                    "[topology.leaf-spine]\nleaves = {leaves}\nspines = {spines}\nhosts-per-leaf = 4\n{each}"
                ));
                (self.hosts, self.links) = ((0..4 * leaves).collect(), leaves * (4 + spines));
                self.tiers = &["leaf", "spine"];
            }
            4 => {
                let servers = 2 + chance.below(2) as u32;
                self.line(format!(
                    "[topology.rail]\nservers = {servers}\ngpus = 4\nspines = 2\n{each}"
                ));
                self.perhaps(
                    chance,
                    &[
                        "server-rate = \"1.6Tbps\"",
                        "server-rate = \"off\"",
                        "spine-rate = \"400Gbps\"",
                    ],
                );
                (self.hosts, self.links) = ((0..4 * servers).collect(), 4);
            }
            5 => {
                self.line(format!("[topology.fat-tree]\nk = 4\n{each}"));
                (self.hosts, self.links) = ((0..16).collect(), 48);
                self.tiers = &["edge", "aggregation", "core"];
            }
            6 => {
                self.line("[topology]\nfile = \"net.txt\"");
                let text = "6 2 5\n4 5\n0 4 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n2 5 100Gbps 0.001ms 0\n\
                            3 5 100Gbps 0.001ms 0\n4 5 100Gbps 0.002ms 0\n";
                self.files.push(("net.txt".into(), text.into()));
                (self.hosts, self.links) = ((0..4).collect(), 5);
            }
            _ => {
                // Without this key two links between one pair of nodes are refused.
                let parallel = if chance.once_in(30) {
                    ""
                } else {
                    "topology.parallel = true\n"
                };
                self.line(format!(
                    "{parallel}[topology.graph]\nnodes = 5\nswitches = [1, 3]\nlinks = ["
                ));
                for (a, b) in [(0, 1), (2, 1), (1, 3), (1, 3), (3, 4)] {
                    self.line(format!(
                        "  {{ a = {a}, b = {b}, rate = \"100Gbps\", delay = \"1us\" }},"
                    ));
                }
                self.line("]");
                (self.hosts, self.links) = (vec![0, 2, 4], 5);
            }
        }
        if !matches!(self.family, Family::BoltNs3 | Family::Omnet) {
            let first = self.hosts[0];
            self.perhaps(
                chance,
                &[
                    &format!("[hosts]\nsome = \"all except {first}\"\nothers = [{first}]"),
                    "[hosts]\nsome = \"all\"",
                ],
            );
        }
    }

    fn host(&self, chance: &mut Mutator) -> u32 {
        *chance.one(&self.hosts)
    }

    /// Returns a scheme that this family supports.
    fn scheme(&self, chance: &mut Mutator) -> &'static str {
        match self.family {
            Family::BoltNs3 => chance.one::<&str>(&["bolt", "swift"]),
            Family::TcdNs3 => chance.one::<&str>(&["dcqcn", "none"]),
            Family::Omnet => "none",
            _ => {
                let names = SCHEMES.iter().flat_map(|scheme| {
                    let aliases = scheme.aliases.iter().map(|alias| alias.name);
                    std::iter::once(scheme.name).chain(aliases)
                });
                let names: Vec<&str> = names.collect();
                chance.one::<&str>(&names)
            }
        }
    }

    fn schemes(&mut self, chance: &mut Mutator) {
        // In half of the cases, several names of one scheme are used together.
        let named: Vec<String> = (self.text.lines())
            .filter_map(|line| line.strip_prefix("scheme = \""))
            .map(|rest| rest.trim_end_matches('"').to_string())
            .collect();
        let first = match (named.first(), chance.below(2)) {
            (Some(name), 0) => relative(chance, name),
            _ => self.scheme(chance).to_string(),
        };
        if self.subject == Subject::Policy {
            self.policy(chance);
        } else {
            self.line(format!("[cc]\nscheme = \"{first}\""));
        }
        self.perhaps(
            chance,
            &["window = \"fixed\"", "window = \"off\"", "window = \"variable\""],
        );
        let mut written: Vec<&str> = Vec::new();
        for name in std::iter::once(&first).chain(&named) {
            if chance.below(3) != 0 || written.contains(&name.as_str()) {
                continue;
            }
            written.push(name);
            let Ok(config) = SchemeParams::default().configure(name) else {
                continue;
            };
            let values = config.values();
            if values.is_empty() {
                continue;
            }
            let (key, value) = chance.one(&values).clone();
            // TOML writes numbers and truth values without quotes.
            let is_plain = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value.as_str());
            let value = if is_plain { value } else { format!("\"{value}\"") };
            self.line(format!("[cc.{name}]\n{key} = {value}"));
        }
    }

    fn record(&mut self, chance: &mut Mutator) {
        self.line("[record]");
        let lines = [
            &[
                "queue = \"1us\"",
                "queue = \"3us\"\nqueue-from = \"5us\"\nqueue-to = \"20us\"",
                "queue-dump = \"10us\"",
            ][..],
            &["ports = \"2us\"", "ports = \"off\""],
            &["flows = \"2us\"\nflows-max = 3", "flows = \"off\""],
            &["rates = \"5us\""],
            &["pfc = false"],
            &["rtt-samples = true"],
            &["accounts = \"all\"", "accounts = \"off\"", "accounts = [0, 1]"],
        ];
        let own = [
            &[
                "trace = \"all\"\ntrace-to = \"10us\"",
                "pcap = true\ntrace-to = \"4us\"",
            ][..],
            &["latency = true"],
        ];
        for choice in lines {
            self.perhaps(chance, choice);
        }
        if matches!(self.family, Family::Pfc | Family::Lossy | Family::Lanes) {
            for choice in own {
                self.perhaps(chance, choice);
            }
        }
    }
}

/// Returns another name of the scheme `name`, or the same.
fn relative(chance: &mut Mutator, name: &str) -> String {
    let scheme = SCHEMES
        .iter()
        .find(|scheme| scheme.name == name || scheme.aliases.iter().any(|alias| alias.name == name));
    let Some(scheme) = scheme else {
        return name.to_string();
    };
    let names = std::iter::once(scheme.name).chain(scheme.aliases.iter().map(|alias| alias.name));
    let names: Vec<&str> = names.collect();
    (chance.one::<&str>(&names)).to_string()
}
