//! The reference runs of an InfiniBand simulator: execution here, and comparison.

// Included by path, so that a test can share this file.
#[path = "infiniband/bins.rs"]
mod bins;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use paceline_fabric::spec::NodeId;
use paceline_fabric::{Outcome, RunSpec, Simulation};
use paceline_kernel::{Span, Time};
use paceline_parity::ib_omnet::{CreditEvent, CreditOutcome, CreditSpec, CreditStep, line};
use paceline_scenario::{Overrides, load_shipped};

use super::verdict::Verdict;

/// Number of hosts in the demo; switches SW1 and SW2 follow them.
const HOSTS: u32 = 19;
const VARIANTS: [&str; 2] = ["N200", "PUB"];
const SCHEMES: [&str; 3] = ["cbfc", "ibcc", "rrcc"];
const GAPS: [u64; 4] = [5, 10, 20, 50];

/// Number of compared items and of equal ones, with the first difference.
#[derive(Default)]
struct Count {
    compared: usize,
    equal: usize,
    first: Option<String>,
}

impl Count {
    fn add(&mut self, equal: bool, what: impl FnOnce() -> String) {
        self.compared += 1;
        self.equal += usize::from(equal);
        if !equal && self.first.is_none() {
            self.first = Some(what());
        }
    }
}

/// Comparisons so far, for one folder of reference files.
struct Comparisons<'a> {
    root: &'a Path,
    verdict: Verdict,
}

impl Comparisons<'_> {
    /// Reads a reference file, if it exists, and marks it as compared.
    fn open(&mut self, file: &str) -> Option<String> {
        let path = self.root.join(file);
        if !path.exists() {
            return None;
        }
        self.verdict.saw(file);
        let text = text(&path);
        if let Err(error) = &text {
            self.verdict.fault(format!("{file}: {error}"));
        }
        text.ok()
    }

    /// Adds a row for a file to the page, and a fault if something differs.
    fn add(&mut self, what: &str, file: &str, count: &Count) {
        let first = count.first.as_deref().unwrap_or_default().replace('|', "/");
        let line = writeln!(
            self.verdict.page,
            "| {what}, {file} | {} | {} | {first} |",
            count.compared, count.equal
        );
        line.expect("a string");
        match count {
            Count { compared: 0, .. } => self
                .verdict
                .fault(format!("{file}: there is nothing in it to compare")),
            Count { compared, equal, .. } if equal < compared => {
                self.verdict
                    .fault(format!("{file}: {} of {compared} differ", compared - equal));
            }
            _ => {}
        }
    }
}

/// Returns true for reference files without anything to compare: descriptions and aggregates of other files.
fn is_known(file: &str) -> bool {
    const BESIDE: [&str; 10] = [
        "README.md",
        "fattree1024-traffic.csv",
        "cbfc_unit/uplink_wire_onoff_first300.csv.gz",
        "cbfc_unit/uplink_wire_onoff_summary.csv",
        "demo/summary_N200.csv",
        "demo/summary_PUB.csv",
        "fattree128/summary.csv",
        "fattree128/traffic.csv",
        "fattree128/ts_cbfc.csv.gz",
        "fattree128/ts_ibcc.csv.gz",
    ];
    BESIDE.contains(&file)
}

fn text(path: &Path) -> std::io::Result<String> {
    let file = fs::File::open(path)?;
    let mut text = String::new();
    match path.extension().is_some_and(|extension| extension == "gz") {
        true => flate2::read::GzDecoder::new(file).read_to_string(&mut text)?,
        false => { file }.read_to_string(&mut text)?,
    };
    Ok(text)
}

/// A run of ours with its results.
struct Ran {
    spec: RunSpec,
    outcome: Outcome,
}

impl Ran {
    fn of(name: &str, set: Vec<String>, traced: bool) -> Self {
        let overrides = Overrides {
            set,
            ..Overrides::default()
        };
        let resolved = load_shipped(name, &overrides).unwrap_or_else(|problem| panic!("{problem}"));
        let mut spec = (*resolved.run).clone();
        let stop = spec.stop;
        if let (Some(credits), true) = (CreditSpec::of_mut(&mut spec), traced) {
            credits.trace = vec![(Time::ZERO, stop)];
        }
        let mut simulation = Simulation::new(spec.clone()).unwrap_or_else(|problem| panic!("{problem}"));
        while !simulation.advance(u64::MAX).done {}
        let outcome = simulation.finish();
        Self { spec, outcome }
    }

    fn trace(&self) -> &[CreditEvent] {
        CreditOutcome::of(&self.outcome).map_or(&[], |credits| &credits.trace)
    }

    /// Returns a flow's sender and receiver, counted from 1, and its index among the sender's messages.
    fn message(&self, flow: u32) -> (u32, u32, u32) {
        let sources = CreditSpec::of(&self.spec).map_or(&[][..], |credits| &credits.sources);
        let source = sources.iter().rfind(|source| source.first <= flow);
        let spec = &self.spec.flows[flow as usize];
        (
            spec.src.0 + 1,
            spec.dst.0 + 1,
            flow - source.map_or(flow, |source| source.first),
        )
    }

    /// Returns start, arrival and network latency of each message, ps, by sender and message index.
    fn messages(&self) -> BTreeMap<(u32, u32), [u64; 3]> {
        let mut messages = BTreeMap::new();
        let injected = CreditOutcome::of(&self.outcome).map_or(&[][..], |credits| &credits.injected);
        for (flow, (record, injected)) in (0..).zip(self.outcome.flows.iter().zip(injected)) {
            if let (Some(received), Some(injected)) = (record.received, injected) {
                let (from, _, number) = self.message(flow);
                let latency = received.saturating_since(*injected).as_ps();
                messages.insert((from, number), [record.start.as_ps(), received.as_ps(), latency]);
            }
        }
        messages
    }
}

/// Runs the demo in one of its variants.
fn demo(variant: &str, scheme: &str, gap: u64) -> Ran {
    let mut set = vec![
        format!("workload.0.messages.gap={gap}us"),
        format!("workload.2.messages.gap={gap}us"),
        format!("parity.ib-omnet.control={}", control(scheme)),
    ];
    if variant == "PUB" {
        let published = [
            "workload.2.messages.messages=1000",
            "workload.2.messages.until=11ms",
            "parity.ib-omnet.notified=[0, 1]",
        ];
        set.extend(published.map(str::to_string));
    }
    Ran::of("infiniband-demo", set, true)
}

fn control(scheme: &str) -> &str {
    if scheme == "cbfc" { "none" } else { scheme }
}

/// Comparison of one kind of file from a demo run.
type Compare = fn(&Ran, &str) -> Count;

/// Compares all files in `root`, as a table.
pub(crate) fn section(root: &Path) -> Verdict {
    let mut all = Comparisons {
        root,
        verdict: Verdict::new(
            "## InfiniBand: the OMNeT++ model of RRCC's author\n\n\
             | what | compared | equal | first that is not |\n|---|---|---|---|\n",
        ),
    };
    for variant in VARIANTS {
        for scheme in SCHEMES {
            for gap in GAPS {
                let name = format!("{variant}_{scheme}_g{gap}");
                let files: [(&str, String, Compare); 4] = [
                    ("steps", format!("demo/trace_{name}.csv.gz"), steps),
                    ("messages", format!("demo/msg_{name}.csv.gz"), messages),
                    ("credits", format!("demo/credits_{name}.csv.gz"), credits),
                    (
                        "values of 100 us",
                        format!("demo/ts_{variant}_{scheme}_g{gap:02}.csv"),
                        bins::compare,
                    ),
                ];
                let mut ran = None;
                for (what, file, compare) in files {
                    if let Some(text) = all.open(&file) {
                        let ran = ran.get_or_insert_with(|| demo(variant, scheme, gap));
                        all.add(what, &file, &compare(ran, &text));
                    }
                }
            }
        }
    }
    let single = "cbfc_unit/single_flow_throughput.csv";
    if let Some(text) = all.open(single) {
        all.add("throughputs", single, &throughputs(&text));
    }
    for scheme in SCHEMES {
        let file = format!("fattree128/msg_{scheme}.csv.gz");
        if let Some(text) = all.open(&file) {
            let set = vec![format!("parity.ib-omnet.control={}", control(scheme))];
            let ran = Ran::of("infiniband-fat-tree-128", set, false);
            all.add("messages", &file, &fat_tree(&ran, &text));
        }
    }
    all.verdict.look_for_unknown(root, is_known);
    all.verdict
}

/// Formats picoseconds as nanoseconds, as the reference does.
fn ns(ps: u64) -> String {
    format!("{}.{:03}", ps / 1000, ps % 1000)
}

/// Compares each step of the traced windows, with time and order.
fn steps(ran: &Ran, reference: &str) -> Count {
    let theirs = reference.lines().skip(1).filter(|line| {
        let arrives = line.contains(",sink_rx,") && !line.contains(" becn=0");
        !arrives && !line.contains(",BECN_rx,")
    });
    let within = |at: Time| {
        let us = at.as_ps() / 1_000_000;
        us < 45 || (10_000..10_060).contains(&us) || at == Time::from_ns(10_060_000)
    };
    let traced = ran.trace().iter().filter(|event| within(event.at));
    let mut ours = traced.filter_map(|event| line(&ran.spec, event));
    let mut count = Count::default();
    for line in theirs {
        count.add(ours.next().is_some_and(|ours| ours == line), || line.to_string());
    }
    ours.for_each(|line| count.add(false, || line));
    count
}

/// Compares each message of the bursts.
fn messages(ran: &Ran, reference: &str) -> Count {
    let ours = ran.messages();
    let mut count = Count::default();
    for line in reference.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let key = (fields[0].parse().unwrap_or(0), fields[1].parse().unwrap_or(0));
        let written = ours.get(&key).map(|times| times.map(ns));
        count.add(written.is_some_and(|times| times == fields[2..5]), || {
            line.to_string()
        });
    }
    let bursts = ours.keys().filter(|(from, _)| *from > 2).count();
    let others = reference.lines().count() - 1..bursts;
    others.for_each(|_| count.add(false, || "a message that is not there".into()));
    count
}

/// Compares each credit update and each grant at the uplink's arbiter.
fn credits(ran: &Ran, reference: &str) -> Count {
    let uplink = |event: &&CreditEvent| (event.node, event.interface) == (NodeId(HOSTS + 1), 2);
    let window = Time::from_ns(9_950_000)..Time::from_ns(11_500_000);
    let events = ran
        .trace()
        .iter()
        .filter(|event| window.contains(&event.at))
        .filter(uplink);
    let mut ours = events.filter_map(|event| {
        let at = ns(event.at.as_ps());
        match event.what {
            CreditStep::Credits { credits } => Some(format!("{at},FCCL,,{credits}")),
            CreditStep::Granted { from, credits } => Some(format!("{at},send,{},{credits}", from.0 + 1)),
            _ => None,
        }
    });
    let mut count = Count::default();
    for line in reference.lines().skip(1) {
        count.add(ours.next().is_some_and(|ours| ours == line), || line.to_string());
    }
    count
}

/// Compares the throughput of one flow by buffer and period. The measured millisecond may contain a packet more or
/// less.
fn throughputs(reference: &str) -> Count {
    let mut count = Count::default();
    for line in reference.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let set = [
            format!("parity.ib-omnet.period={}us", fields[0]),
            format!("parity.ib-omnet.buffer={}", fields[1]),
            "workload.1.messages.start=1s".to_string(),
            "workload.2.messages.start=1s".to_string(),
            "duration=1500us".to_string(),
        ];
        let ran = Ran::of("infiniband-demo", set.to_vec(), true);
        let is_counted = |event: &&CreditEvent| {
            event.at >= Time::from_ns(500_000) && matches!(event.what, CreditStep::Received { .. })
        };
        let (packet, packets) = (0.016_384, ran.trace().iter().filter(is_counted).count());
        let expected: f64 = fields[3].parse().unwrap_or(f64::NAN);
        let rate = packets as f64 * packet;
        count.add((rate - expected).abs() < packet + 0.0005, || line.to_string());
    }
    count
}

/// Compares each message, to the tenth of a nanosecond that the reference writes.
fn fat_tree(ran: &Ran, reference: &str) -> Count {
    let ours = ran.messages();
    let mut count = Count::default();
    for line in reference.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let key = (fields[0].parse().unwrap_or(0), fields[2].parse().unwrap_or(0));
        let close = |ours: u64, theirs: &str| {
            let theirs = theirs.parse::<f64>().unwrap_or(f64::NAN) * 1e6;
            (ours as f64 - theirs).abs() <= Span::from_ps(51).as_ps() as f64
        };
        let times = ours.get(&key);
        let is_equal = |times: &[u64; 3]| {
            times
                .iter()
                .zip(&fields[4..7])
                .all(|(&ours, theirs)| close(ours, theirs))
        };
        count.add(times.is_some_and(is_equal), || line.to_string());
    }
    let others = reference.lines().count() - 1..ours.len();
    others.for_each(|_| count.add(false, || "a message that is not there".into()));
    count
}
