//! The reference runs of the Bolt authors' simulator: conversion to scenarios, and comparison.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_fabric::outcome::FlowStatus;
use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Overrides, Resolved};

use super::reference::text;
use super::verdict::Verdict;

/// Returns the folder of the reference runs in the repository.
pub(crate) fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/bolt-ns3")
}

/// One reference run: a scenario in one of its variants.
#[derive(Clone, Debug)]
pub(crate) struct BoltRun {
    /// Name of the folder, `<scenario>_<variant>`.
    pub(crate) name: String,
    root: PathBuf,
    /// The scenario's row of `scenarios.tsv`, by column name.
    row: BTreeMap<String, String>,
    variant: String,
}

/// Agreement of a run with the reference. Pairs are (ours, the reference's).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Closeness {
    /// Number of messages in the scenario.
    pub(crate) flows: usize,
    /// Number of messages in the reference's results.
    pub(crate) messages: usize,
    /// Messages whose last byte and last acknowledgement arrive at the reference's nanosecond, or in neither
    /// simulation.
    pub(crate) equal: usize,
    /// Switch reports (SRCs) sent.
    pub(crate) srcs: (u64, u64),
    /// Data packets received by hosts.
    pub(crate) packets: (u64, u64),
    /// Longest queue of any switch port, bytes.
    pub(crate) queue: (u64, u64),
}

type Table = Vec<BTreeMap<String, String>>;

/// Reads a table with tabs, compressed or not.
fn table(path: &Path) -> Option<Table> {
    let text = text(path)?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next()?.split('\t').collect();
    let row = |line: &str| {
        let fields = line.split('\t').map(str::to_string);
        names.iter().map(|name| (*name).to_string()).zip(fields).collect()
    };
    Some(lines.map(row).collect())
}

/// Lists all runs in `root` by name. A run whose scenario is missing in `scenarios.tsv` is an error with its name.
pub(crate) fn runs(root: &Path) -> Vec<Result<BoltRun, String>> {
    let scenarios = table(&root.join("scenarios.tsv")).unwrap_or_default();
    let entries = fs::read_dir(root.join("runs")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let run = |name: String| {
        let fits = |row: &&BTreeMap<String, String>| name.starts_with(&format!("{}_", row["scenario"]));
        let row = scenarios
            .iter()
            .filter(fits)
            .max_by_key(|row| row["scenario"].len())
            .ok_or_else(|| format!("runs/{name}: scenarios.tsv has no scenario of this name"))?;
        let variant = &name[row["scenario"].len() + 1..];
        if let Some(word) = variant.split('_').find(|word| !is_known(word)) {
            return Err(format!("runs/{name}: `{word}` is not known of a variant"));
        }
        Ok(BoltRun {
            variant: variant.to_string(),
            row: row.clone(),
            root: root.to_path_buf(),
            name,
        })
    };
    names.into_iter().map(run).collect()
}

/// Returns true if this converter supports a word of a variant's name.
fn is_known(word: &str) -> bool {
    const WORDS: [&str; 8] = ["bolt", "agg", "bts2", "nopru", "nosm", "nosrc", "thr3k", "thrbig"];
    let swift = word.strip_prefix("swift");
    WORDS.contains(&word) || swift.is_some_and(|us| us.chars().all(|c| c.is_ascii_digit()))
}

impl BoltRun {
    fn get(&self, column: &str) -> &str {
        &self.row[column]
    }

    fn first(&self, column: &str) -> &str {
        self.get(column).split(' ').next().unwrap_or_default()
    }

    fn number(&self, column: &str) -> u64 {
        let value = self.first(column);
        value
            .parse()
            .unwrap_or_else(|_| panic!("{}: `{value}` in {column}", self.name))
    }

    fn has(&self, mark: &str) -> bool {
        self.variant.split('_').any(|word| word == mark)
    }

    fn is_swift(&self) -> bool {
        self.variant.starts_with("swift")
    }

    /// Returns true for the authors' own dumbbells, whose hosts have 102 Gbit/s.
    fn is_microbenchmark(&self) -> bool {
        self.get("rate_host") == "102G"
    }

    /// Lists the scenario's flows by start time, as (id, CSV line).
    fn flows(&self) -> Vec<(u64, String)> {
        let path = self
            .root
            .join("flows")
            .join(format!("{}.tsv", self.first("flows")));
        let rows = table(&path).unwrap_or_else(|| panic!("no {}", path.display()));
        // In a star, the switch is node 0.
        let shift = u64::from(self.get("topology").starts_with("star"));
        let mut flows: Vec<(u64, u64, String)> = rows
            .iter()
            .map(|row| {
                let of = |name: &str| row[name].parse::<u64>().expect("a number in the flows");
                let (src, dst, start) = (of("src") + shift, of("dst") + shift, of("start_ns"));
                let line = format!("{},{src},{dst},{},{start}000\n", of("id"), of("size"));
                (start, of("id"), line)
            })
            .collect();
        flows.sort();
        flows.into_iter().map(|(_, id, line)| (id, line)).collect()
    }

    fn topology(&self) -> String {
        let gbps = |column: &str| self.get(column).replace('G', "Gbps");
        let (rate, delay) = (gbps("rate_host"), self.get("delay_host_ns"));
        let words: Vec<&str> = self.get("topology").split([' ', '+']).collect();
        match words[0] {
            "star" => format!(
                "[topology]\nstar = {{ hosts = {}, rate = \"{rate}\", delay = \"{delay}ns\" }}\n",
                words[1]
            ),
            "dumbbell" => format!(
                "[topology]\ndumbbell = {{ left = {}, right = {}, rate = \"{rate}\", delay = \"{delay}ns\", \
                 bottleneck-rate = \"{}\", bottleneck-delay = \"{}ns\" }}\n",
                words[1],
                words[2],
                gbps("rate_bn"),
                self.get("delay_bn_ns")
            ),
            _ => fat_tree(delay),
        }
    }

    /// Returns the scenario as TOML. Its flows are next to it in `flows.csv`.
    fn scenario(&self) -> String {
        let payload = self.number("mtu") - 41;
        let mut stop = self.first("stop_us");
        if let (true, Some((_, swift))) = (self.is_swift(), self.get("stop_us").split_once("(swift ")) {
            stop = swift.trim_end_matches(')');
        }
        let rto = match self.get("scenario") {
            name if name.starts_with("star5") || name.starts_with("incast") => "10s",
            _ if self.is_microbenchmark() => "100ms",
            _ => "10ms",
        };
        let failures = match self.get("scenario") {
            "down400" => "{ link = 0, at = \"400us\" }".to_string(),
            "down4000" => "{ link = 0, at = \"4ms\" }".to_string(),
            "fair5" => (0..4)
                .map(|k| format!("{{ link = {k}, at = \"{}ms\" }}, ", 10 + 2 * k))
                .collect(),
            _ => String::new(),
        };
        let dumbbell = self.get("topology").starts_with("dumbbell");
        let shared = self.get("aggregation").starts_with("on") || self.has("agg");
        format!(
            "name = \"{}\"\nfidelity = \"bolt-ns3\"\nduration = \"{stop}us\"\n{}\
             [[workload]]\ntrace = {{ file = \"flows.csv\" }}\n\
             [network]\nmtu = \"{payload}B\"\nrto = \"{rto}\"\nfailure = [{failures}]\n\
             [parity.bolt-ns3]\nports = \"{}\"\nbuffer-packets = {}\nshare-flows = {}\nsrc-factor = {}\n{}\
             [record]\nports = \"off\"\n",
            self.name,
            self.topology(),
            if dumbbell { "between-switches" } else { "all" },
            self.number("buffer_pkts"),
            shared && !self.is_microbenchmark(),
            if self.has("bts2") { 2 } else { 1 },
            self.scheme(payload),
        )
    }

    fn scheme(&self, payload: u64) -> String {
        let (first, most) = (self.number("init_cwnd_B"), self.number("max_cwnd_B"));
        if !self.is_swift() {
            return format!(
                "[cc]\nscheme = \"bolt\"\n[cc.bolt]\nthreshold = \"{}B\"\ninitial-window = \"{first}B\"\n\
                 max-window = \"{most}B\"\nmin-window = \"15B\"\nsrc = {}\npru = {}\nsm = {}\n",
                self.number("ccthresh_B"),
                !self.has("nosrc"),
                !self.has("nopru"),
                !self.has("nosm"),
            );
        }
        let packets = |bytes: u64| bytes as f64 / payload as f64;
        let no_marks = self.has("thrbig") || self.is_microbenchmark() && !self.has("thr3k");
        let threshold = if no_marks {
            1_500_000
        } else {
            self.number("ccthresh_B")
        };
        let digits: String = self
            .variant
            .chars()
            .skip(5)
            .take_while(char::is_ascii_digit)
            .collect();
        format!(
            "threshold = \"{threshold}B\"\n[cc]\nscheme = \"swift\"\n[cc.swift]\nbase-delay = \"{}us\"\n\
             hop-delay = \"1us\"\ninitial-window = {:?}\nmax-window = {:?}\nmin-window = {:?}\n",
            digits.parse().unwrap_or(10),
            packets(first),
            packets(most),
            packets(15),
        )
    }

    /// Resolves the run for execution.
    pub(crate) fn load(&self) -> Resolved {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut csv = "flow_id,src,dst,size_bytes,start_ps\n".to_string();
        csv.extend(self.flows().into_iter().map(|(_, line)| line));
        let file = folder.path().join("scenario.toml");
        fs::write(folder.path().join("flows.csv"), csv).expect("a writable temporary folder");
        fs::write(&file, self.scenario()).expect("a writable temporary folder");
        paceline_scenario::load(file.to_str().expect("a path in UTF-8"), &Overrides::default())
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Executes the run and compares it with the reference.
    ///
    /// # Errors If a file of the reference is missing.
    pub(crate) fn closeness(&self) -> Result<Closeness, String> {
        let folder = self.root.join("runs").join(&self.name);
        let missing = |file: &str| format!("runs/{}: there is no {file}", self.name);
        let messages = table(&folder.join("fct.tsv")).ok_or_else(|| missing("fct.tsv"))?;
        let counters = text(&folder.join("counters.txt")).ok_or_else(|| missing("counters.txt"))?;
        let finished: Finished =
            execute(&self.load(), &mut |_| Control::Continue).unwrap_or_else(|error| panic!("{error}"));
        let ours: BTreeMap<u64, _> = self
            .flows()
            .into_iter()
            .map(|(id, _)| id)
            .zip(&finished.outcome.flows)
            .collect();
        let equal = |row: &&BTreeMap<String, String>| {
            let of = |name: &str| row[name].parse::<i64>().expect("a number in fct.tsv");
            let Some(flow) = ours.get(&(of("id") as u64)) else {
                return false;
            };
            let received = flow.received.map_or(-1, |at| at.as_ns() as i64);
            let acked = match flow.status {
                FlowStatus::Completed => (flow.start + flow.fct).as_ns() as i64,
                _ => -1,
            };
            // For messages that share a flow, the reference only records the arrival of the flow's last byte.
            let shares = self.name.starts_with("lab80") || self.has("agg");
            acked == of("acked_ns") && (shares || received == of("rx_done_ns"))
        };
        let after = |line: &str, word: &str| -> Option<u64> {
            let mut words = line.split_whitespace().skip_while(|other| *other != word);
            words.nth(1)?.parse().ok()
        };
        let ports: Vec<&str> = counters
            .lines()
            .filter(|line| line.starts_with("port "))
            .collect();
        let switches = ports.iter().filter(|line| !line.starts_with("port h"));
        let data = counters.lines().find_map(|line| after(line, "data_rx"));
        let totals = &finished.outcome.counters;
        Ok(Closeness {
            flows: ours.len(),
            messages: messages.len(),
            equal: messages.iter().filter(equal).count(),
            srcs: (
                totals.notices,
                ports.iter().filter_map(|line| after(line, "src")).sum(),
            ),
            packets: (totals.data_received, data.unwrap_or_default()),
            queue: (
                finished.outcome.queue_max.get(),
                switches
                    .filter_map(|line| after(line, "maxq"))
                    .max()
                    .unwrap_or_default(),
            ),
        })
    }
}

/// Returns a topology of four racks with eight hosts each, two leaves per pair of racks, and two spines.
fn fat_tree(delay: &str) -> String {
    let mut links = String::new();
    let mut link = |a: u64, b: u64, rate: &str| {
        let line = writeln!(
            links,
            "{{ a = {a}, b = {b}, rate = \"{rate}\", delay = \"{delay}ns\" }},"
        );
        line.expect("memory takes everything");
    };
    for host in 0..32 {
        link(host, 32 + host / 8, "100Gbps");
    }
    for rack in 0..4 {
        for leaf in 0..2 {
            link(32 + rack, 36 + rack / 2 * 2 + leaf, "400Gbps");
        }
    }
    for leaf in 0..4 {
        for spine in 0..2 {
            link(36 + leaf, 40 + spine, "400Gbps");
        }
    }
    let switches: Vec<String> = (32..42).map(|node| node.to_string()).collect();
    format!(
        "[topology.graph]\nnodes = 42\nswitches = [{}]\nlinks = [\n{links}]\n",
        switches.join(", ")
    )
}

impl Closeness {
    /// Returns true if everything compared is equal.
    pub(crate) fn is_equal(&self) -> bool {
        let both = [self.srcs, self.packets, self.queue];
        self.messages == self.flows
            && self.equal == self.messages
            && both.iter().all(|(here, there)| here == there)
    }
}

/// Compares all runs in `root`, as a table.
pub(crate) fn section(root: &Path) -> Verdict {
    let mut verdict = Verdict::new(
        "## The Bolt authors' simulator\n\n\
         | run | messages | equal to the ns | SRC (there) | data packets (there) | largest queue (there) |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for run in runs(root) {
        let compared = run.and_then(|run| run.closeness().map(|close| (run.name, close)));
        let (name, close) = match compared {
            Ok(compared) => compared,
            Err(fault) => {
                verdict.fault(fault);
                continue;
            }
        };
        verdict.saw(format!("runs/{name}"));
        if !close.is_equal() {
            verdict.fault(format!("runs/{name}: its line of the table"));
        }
        let line = writeln!(
            verdict.page,
            "| {name} | {} | {} | {} ({}) | {} ({}) | {} ({}) |",
            close.messages,
            close.equal,
            close.srcs.0,
            close.srcs.1,
            close.packets.0,
            close.packets.1,
            close.queue.0,
            close.queue.1
        );
        line.expect("memory takes everything");
    }
    // Each run is a folder, and its other files hold nothing to compare.
    verdict.look_for_unknown(root, |_| true);
    verdict
}
