//! Tables of speed, from the measurements of `scripts/speed.sh`, which the book keeps in `data/speed.json`.

use std::fmt::Write as _;
use std::fs;

use serde::Deserialize;

#[derive(Deserialize)]
struct Speed {
    processor: String,
    cores: u32,
    date: String,
    rows: Vec<Row>,
    threads: Vec<Threads>,
}

#[derive(Deserialize)]
struct Row {
    workload: String,
    runs: u32,
    packet_hops: u64,
    cpu_s: f64,
    cpu_s_min: f64,
    cpu_s_max: f64,
    packet_hops_per_s: f64,
    peak_rss_bytes: u64,
    peer: Option<Peer>,
}

#[derive(Deserialize)]
struct Peer {
    name: String,
    cost: String,
    hops_per_s: Option<f64>,
    differs: String,
}

#[derive(Deserialize)]
struct Threads {
    workload: String,
    parts: u32,
    one_thread: Elapsed,
    threads: Elapsed,
    speedup: f64,
}

#[derive(Deserialize)]
struct Elapsed {
    median: f64,
    min: f64,
    max: f64,
}

/// Workloads in the README, with descriptions.
const README: [(&str, &str); 5] = [
    ("incast-20", "20-to-1 incast, HPCC"),
    ("fat320-hadoop30-2ms", "320 hosts, Hadoop flows and incasts, HPCC"),
    ("permutation-k16", "permutation over 1024 hosts, HPCC"),
    ("days-e5", "8192 flows of 1 MiB over 8192 hosts, DCTCP"),
    ("startup-k64", "65,536 hosts, up to the first packet"),
];

impl Speed {
    fn row(&self, name: &str) -> &Row {
        let found = self.rows.iter().find(|row| row.workload == name);
        found.unwrap_or_else(|| panic!("data/speed.json has no workload `{name}`"))
    }

    /// Describes the machine and the number of measurements.
    fn caption(&self) -> String {
        let Row { runs, .. } = self.rows[0];
        let Self {
            processor,
            cores,
            date,
            ..
        } = self;
        format!(
            "One core of a virtual machine with {cores} cores ({processor}), {date}, median of {runs} runs.\n"
        )
    }
}

/// Formats a number with digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

impl Row {
    fn seconds(&self) -> String {
        format!(
            "{:.2} s ({:.2} to {:.2})",
            self.cpu_s, self.cpu_s_min, self.cpu_s_max
        )
    }

    fn hops_per_s(&self) -> String {
        match self.packet_hops {
            0 => "–".to_string(),
            _ => format!("{:.1}", self.packet_hops_per_s / 1e6),
        }
    }

    fn megabytes(&self) -> String {
        format!("{:.0} MB", self.peak_rss_bytes as f64 / 1e6)
    }
}

fn readme(speed: &Speed) -> String {
    let mut table = String::from(
        "| workload | packet-hops | CPU time (min to max) | million per second | memory |\n|---|---|---|---|---|\n",
    );
    for (name, what) in README {
        let row = speed.row(name);
        let _ = writeln!(
            table,
            "| {what} | {} | {} | {} | {} |",
            grouped(row.packet_hops),
            row.seconds(),
            row.hops_per_s(),
            row.megabytes(),
        );
    }
    format!("{table}\n{}", speed.caption())
}

fn peers(speed: &Speed) -> String {
    let mut table = String::from(
        "| workload | there | million packet-hops per second of a core there | here: packet-hops | CPU time | million \
         per second | memory | what differs |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (row, peer) in speed
        .rows
        .iter()
        .filter_map(|row| Some((row, row.peer.as_ref()?)))
    {
        let there = peer
            .hops_per_s
            .map_or("–".to_string(), |rate| format!("{rate:.2}"));
        let _ = writeln!(
            table,
            "| `{}`: {} | {} | {there} | {} | {} | {} | {} | {} |",
            row.workload,
            peer.name,
            peer.cost,
            grouped(row.packet_hops),
            row.seconds(),
            row.hops_per_s(),
            row.megabytes(),
            peer.differs,
        );
    }
    format!("{table}\n{}", speed.caption())
}

fn sizes(speed: &Speed) -> String {
    let mut table =
        String::from("| workload | hosts | million packet-hops per second | memory |\n|---|---|---|---|\n");
    for (name, hosts) in [
        ("permutation-k8-mtu1000", 128),
        ("permutation-k16", 1024),
        ("permutation-k32", 8192),
        ("days-e5", 8192),
    ] {
        let row = speed.row(name);
        let _ = writeln!(
            table,
            "| `{name}` | {hosts} | {} | {} |",
            row.hops_per_s(),
            row.megabytes()
        );
    }
    table
}

fn threads(speed: &Speed) -> String {
    let mut table = String::from(
        "| workload | threads | one thread, s (min to max) | that many, s (min to max) | speed-up |\n|---|---|---|---|---|\n",
    );
    let elapsed = |time: &Elapsed| format!("{:.2} ({:.2} to {:.2})", time.median, time.min, time.max);
    for row in &speed.threads {
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} | {:.2} |",
            row.workload,
            row.parts,
            elapsed(&row.one_thread),
            elapsed(&row.threads),
            row.speedup,
        );
    }
    table
}

#[test]
fn speed_is_printed_as_it_was_measured() {
    let data = fs::read_to_string(super::book().join("data/speed.json")).unwrap();
    let speed: Speed = serde_json::from_str(&data).unwrap();
    super::keep("data/speed.md", &readme(&speed));
    super::keep("data/speed-peers.md", &peers(&speed));
    super::keep("data/speed-sizes.md", &sizes(&speed));
    super::keep("data/speed-threads.md", &threads(&speed));
}
