//! Random scenarios, of everything that a scenario can hold.
//!
//! Damage to a text seldom gets past its reader. These do: most run, a few say two things that exclude each
//! other and are refused. A scenario that names files comes with them, in one text ([`split`]).

mod network;
mod traffic;

use std::fmt::Write as _;

use paceline_congestion::registry::{SCHEMES, SchemeParams};

use crate::mutate::Mutator;

/// What stands before the name of each further file.
const FILE: &str = "#file ";

/// A scenario, and behind it the files that it names.
pub(crate) fn text(chance: &mut Mutator) -> String {
    let mut draft = Draft::new(chance);
    draft.write(chance);
    let mut text = draft.text;
    for (name, content) in draft.files {
        let _ = write!(text, "{FILE}{name}\n{content}");
    }
    text
}

/// The scenario of such a text, and the files that it names.
pub(crate) fn split(text: &str) -> (String, Vec<(String, String)>) {
    let mut parts = text.split(FILE);
    let scenario = parts.next().unwrap_or_default().to_string();
    let files = parts.map(|part| {
        let (name, content) = part.split_once('\n').unwrap_or((part, ""));
        (name.trim().to_string(), content.to_string())
    });
    (scenario, files.collect())
}

/// Whose behaviour a scenario asks for, with what goes with it.
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

/// A scenario in the making.
struct Draft {
    family: Family,
    text: String,
    files: Vec<(String, String)>,
    /// Its hosts.
    hosts: Vec<u32>,
    /// Its links.
    links: u32,
    /// Whether its switches have tiers, of these names.
    tiers: &'static [&'static str],
}

impl Draft {
    fn new(chance: &mut Mutator) -> Self {
        use Family::{BoltNs3, Lanes, Lossy, Ns3, Omnet, Pfc, TcdNs3};
        let family = *chance.one(&[
            Pfc, Pfc, Pfc, Pfc, Lossy, Lossy, Lanes, Lanes, Lanes, Ns3, BoltNs3, TcdNs3, Omnet, Omnet,
        ]);
        Self {
            family,
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
        self.network(chance);
        self.traffic(chance);
        self.schemes(chance);
        self.record(chance);
        self.perhaps(
            chance,
            &[
                "[sweep]\n\"seed\" = [1, 2]\nrepeats = 2",
                "[sweep]\n\"network.buffer\" = [\"2MB\", \"4MB\"]",
                "[sweep]\n\"network.mtu\" = { from = 500, to = 1500, steps = 3 }",
            ],
        );
    }

    fn topology(&mut self, chance: &mut Mutator) {
        // That simulator has no time on links.
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
                self.line("[topology.graph]\nnodes = 5\nswitches = [1, 3]\nlinks = [");
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

    /// A scheme that this family may have.
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
        // Half of them of one scheme, under several of its names.
        let named: Vec<String> = (self.text.lines())
            .filter_map(|line| line.strip_prefix("scheme = \""))
            .map(|rest| rest.trim_end_matches('"').to_string())
            .collect();
        let first = match (named.first(), chance.below(2)) {
            (Some(name), 0) => relative(chance, name),
            _ => self.scheme(chance).to_string(),
        };
        self.line(format!("[cc]\nscheme = \"{first}\""));
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

/// Another name of the scheme that `name` is one of, or the same.
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
