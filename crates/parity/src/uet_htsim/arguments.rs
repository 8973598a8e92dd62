//! The simulator's command line: `-tm one.cm -sender_cc_only`.

use super::balance::Algorithm;
use super::input::{InputError, Word, words};
use super::spec::{Options, SenderControl, Strategy, Tree};

/// A parsed command line of `htsim_uec`.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Options that act on the run itself.
    pub options: Options,
    /// Path of the connection matrix (`-tm`), if given.
    pub connections: Option<String>,
    /// Path of the topology (`-topo`), if given.
    pub topology: Option<String>,
    /// Tiers of the default tree, used without a topology file (`-tiers`).
    pub tiers: u32,
    /// Latency of links in the default tree, ps (`-hop_latency`).
    pub hop: u64,
    /// Latency of switches in the default tree, ps (`-switch_latency`).
    pub switch: u64,
}

impl Default for Command {
    fn default() -> Self {
        Self {
            options: Options::default(),
            connections: None,
            topology: None,
            tiers: 3,
            hop: 1_000_000,
            switch: 0,
        }
    }
}

/// All modelled options, each with the number of values that follow it.
pub const FLAGS: [(&str, usize); 36] = [
    ("-tm", 1),
    ("-topo", 1),
    ("-tiers", 1),
    ("-linkspeed", 1),
    ("-mtu", 1),
    ("-hop_latency", 1),
    ("-switch_latency", 1),
    ("-end", 1),
    ("-seed", 1),
    ("-sender_cc_only", 0),
    ("-receiver_cc_only", 0),
    ("-sender_cc", 0),
    ("-receiver_cc", 0),
    ("-sender_cc_algo", 1),
    ("-load_balancing_algo", 1),
    ("-paths", 1),
    ("-cwnd", 1),
    ("-q", 1),
    ("-queue_size_bdp_factor", 1),
    ("-ecn", 2),
    ("-disable_trim", 0),
    ("-trimsize", 1),
    ("-sack_threshold", 1),
    ("-target_q_delay", 1),
    ("-qa_gate", 1),
    ("-enable_accurate_base_rtt", 0),
    ("-disable_base_rtt_update_on_nack", 0),
    ("-sleek", 0),
    ("-failed", 1),
    ("-oversubscribed_cc", 0),
    ("-force_disable_oversubscribed_cc", 0),
    ("-Ai", 1),
    ("-Md", 1),
    ("-alpha", 1),
    ("-strat", 1),
    ("-conn_reuse", 0),
];

/// Options that the simulator has and this model refuses.
const NOT_MODELLED: [&str; 9] = [
    "-planes",
    "-pcie",
    "-ar_method",
    "-ar_granularity",
    "-ar_sticky_delta",
    "-queue_type",
    "-log",
    "-logtime",
    "-rts",
];

/// Pairs of options that contradict each other. The simulator silently follows the last one, or always the same one.
const OPPOSED: [[&str; 2]; 6] = [
    ["-oversubscribed_cc", "-force_disable_oversubscribed_cc"],
    ["-q", "-queue_size_bdp_factor"],
    ["-sender_cc_only", "-receiver_cc_only"],
    ["-sender_cc_only", "-receiver_cc"],
    ["-receiver_cc_only", "-sender_cc"],
    ["-receiver_cc_only", "-sender_cc_algo"],
];

/// Maximum number of entropy values. The simulator aborts above 10000 and requires a power of two.
const MOST_PATHS: u32 = 8192;

/// Maximum link latency, us: packets store the latency as a 32-bit number of picoseconds.
const MOST_LATENCY: f64 = 4000.0;

/// Converts microseconds to ps.
fn ps(us: f64) -> u64 {
    (us * 1e6) as u64
}

impl Command {
    /// Reads a command line. The first word may be the program's name.
    pub fn read(text: &str) -> Result<Self, InputError> {
        let mut command = Self::default();
        let all = words(text, 0);
        let mut rest = &all[..];
        let mut seen: Vec<&str> = Vec::new();
        if let Some((first, others)) = rest.split_first()
            && !first.text.starts_with('-')
            && first.text.ends_with("htsim_uec")
        {
            rest = others;
        }
        while let Some((name, others)) = rest.split_first() {
            // The simulator accepts contradictions silently, so a line that has one cannot say which option it means.
            if NOT_MODELLED.contains(&name.text) {
                return Err(name.wrong(
                    format!("`{}` is not modelled", name.text),
                    "expected an option that is",
                ));
            }
            let Some((_, count)) = FLAGS.iter().find(|(flag, _)| *flag == name.text) else {
                return Err(name
                    .wrong(
                        format!("unknown option `{}`", name.text),
                        "expected an option of htsim_uec",
                    )
                    .among(FLAGS.map(|(flag, _)| flag)));
            };
            if others.len() < *count {
                let expected = format!("expected {count} after it");
                return Err(name.wrong(format!("{} has no value", name.text), expected));
            }
            let is_opposed = |other: &&&str| {
                let pairs = [[name.text, **other], [**other, name.text]];
                OPPOSED.iter().any(|pair| pairs.contains(pair))
            };
            if let Some(other) = seen.iter().find(is_opposed) {
                let message = format!("`{}` next to `{other}`, which it contradicts", name.text);
                return Err(name.wrong(message, "expected one of both"));
            }
            seen.push(name.text);
            let (values, others) = others.split_at(*count);
            command.set(name.text, values)?;
            rest = others;
        }
        Ok(command)
    }

    /// Applies one option as if it were appended to the command line.
    pub fn take(&mut self, flag: &str, values: &str) -> Result<(), InputError> {
        self.set(flag, &words(values, 0))
    }

    fn set(&mut self, flag: &str, values: &[Word<'_>]) -> Result<(), InputError> {
        let options = &mut self.options;
        match (flag, values) {
            ("-tm", [file]) => self.connections = Some(file.text.to_string()),
            ("-topo", [file]) => self.topology = Some(file.text.to_string()),
            ("-tiers", [word]) => self.tiers = word.number("a number of tiers", 2..=3)?,
            ("-linkspeed", [word]) => options.linkspeed = word.whole("a rate in Mb/s", 1000..=8_000_000)?,
            ("-mtu", [word]) => options.mtu = word.whole("a packet in bytes", 128..=65_000)?,
            ("-hop_latency", [word]) => self.hop = ps(word.number("a latency in us", 0.0..=MOST_LATENCY)?),
            ("-switch_latency", [word]) => self.switch = ps(word.number("a latency in us", 0.0..=1e6)?),
            ("-end", [word]) => options.end = word.number("an end in us", 0..=i32::MAX as u64)?,
            ("-seed", [word]) => options.seed = word.number("a seed", 0..=u32::MAX)?,
            ("-sender_cc_only" | "-sender_cc", []) => {
                options.sender_cc = true;
                options.sender_chosen = true;
                options.oversubscribed = false;
                if flag == "-sender_cc_only" {
                    options.receiver_cc = false;
                }
            }
            ("-receiver_cc_only", []) => {
                options.sender_cc = false;
                options.sender_chosen = false;
                options.receiver_cc = true;
                options.oversubscribed = false;
            }
            ("-receiver_cc", []) => options.receiver_cc = true,
            ("-sender_cc_algo", [word]) => {
                options.sender_cc = true;
                options.sender_chosen = true;
                options.sender_algorithm = one_of(word, &SenderControl::NAMES)?;
            }
            ("-load_balancing_algo", [word]) => {
                options.balancing = one_of(word, &Algorithm::NAMES)?;
            }
            ("-paths", [word]) => {
                let paths: u32 = word.number("a number of paths", 1..=MOST_PATHS)?;
                if !paths.is_power_of_two() {
                    return Err(word.wrong(format!("{paths} paths"), "expected a power of two"));
                }
                options.paths = paths;
            }
            ("-cwnd", [word]) => options.cwnd = word.whole("a window in packets", 0..=1_000_000)?,
            ("-q", [word]) => {
                options.queue = Some(word.whole("a queue in packets", 1..=1_000_000)?);
            }
            ("-queue_size_bdp_factor", [word]) => {
                options.queue_factor = Some(word.whole("a factor of a queue", 1..=1000)?);
            }
            ("-ecn", [low, high]) => {
                let lower = low.whole("a threshold in packets", 0..=1_000_000)?;
                let upper = high.whole("a threshold in packets", 0..=1_000_000)?;
                if lower > upper {
                    let expected = format!("expected at least {lower}");
                    return Err(high.wrong(format!("the upper threshold is {upper}"), expected));
                }
                options.ecn = Some((lower, upper));
            }
            ("-disable_trim", []) => options.trims = false,
            ("-trimsize", [word]) => options.trim_size = word.whole("a header in bytes", 64..=65_000)?,
            ("-sack_threshold", [word]) => {
                options.sack_threshold = word.whole("a threshold in bytes", 0..=i32::MAX as u32)?;
            }
            ("-target_q_delay", [word]) => {
                options.target_delay = Some(word.number("a delay in us", 0.001..=1e6)?);
            }
            ("-qa_gate", [word]) => options.quick_gate = word.whole("a gate", 0..=62)?,
            ("-enable_accurate_base_rtt", []) => options.accurate_base = true,
            ("-disable_base_rtt_update_on_nack", []) => options.base_on_nack = false,
            ("-sleek", []) => options.sleek = true,
            ("-failed", [word]) => options.failed = word.whole("a number of links", 0..=1_000_000)?,
            ("-oversubscribed_cc", []) => options.oversubscribed = true,
            ("-force_disable_oversubscribed_cc", []) => {
                options.oversubscribed = false;
                options.never_oversubscribed = true;
            }
            ("-Ai", [word]) => options.additive = word.number("an increase", 0.0..=1.0)?,
            ("-Md", [word]) => options.multiplicative = word.number("a decrease", 0.0..=1.0)?,
            ("-alpha", [word]) => options.averaging = word.number("a weight", 0.0..=1.0)?,
            ("-strat", [word]) => {
                options.strategy = one_of(word, &Strategy::NAMES)?;
                // The switches choose the ports per packet, so entropy values would have no effect on the path.
                if matches!(
                    options.strategy,
                    Strategy::EcmpRoundRobin | Strategy::EcmpAdaptive
                ) {
                    options.paths = 1;
                }
            }
            ("-conn_reuse", []) => options.messages = true,
            _ => unreachable!("flags have their numbers of values"),
        }
        Ok(())
    }

    /// Builds the fat tree that the simulator generates without a topology file.
    pub fn plain_tree(&self, hosts: u32) -> Result<Tree, u32> {
        Tree::plain(
            hosts,
            self.tiers,
            self.options.linkspeed * 1_000_000,
            self.hop,
            self.switch,
        )
    }
}

/// Looks up the value named by a word.
fn one_of<T: Copy>(word: &Word<'_>, names: &[(&'static str, T)]) -> Result<T, InputError> {
    let known = names.iter().find(|(name, _)| *name == word.text);
    known.map(|(_, value)| *value).ok_or_else(|| {
        let list: Vec<&'static str> = names.iter().map(|(name, _)| *name).collect();
        word.wrong(
            format!("unknown value `{}`", word.text),
            format!("expected {}", list.join(", ")),
        )
        .among(list)
    })
}
