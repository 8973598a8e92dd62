//! Job traces: results of LogGOPSim, ATLAHS, ASTRA-sim and SimAI on samples, compared with ours.
//!
//! Each sample runs as users run it: as the only job of a scenario, or with its own `SimAI.conf`.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use paceline_lab::results::Summary;
use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Overrides, Resolved, load, load_text};

use super::verdict::Verdict;

/// Returns the folder of the samples in the repository.
pub(crate) fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data")
}

/// A published iteration that is not in `answers.csv`: workload, topology, nanoseconds at rank 0.
const GPT_13B: (&str, &str, u64) = (
    "b4-gpt13b-w128-tp8-pp2-gbs8.txt",
    "Spectrum-X_128g_8gps_100Gbps_A100",
    315_442_327,
);

/// Accepted relative difference of a SimAI iteration.
const TOLERANCE: f64 = 0.003;

const HEAD: &str = "\
## Traces of jobs

Samples of `crates/traces/tests/data`, run as jobs of a scenario, and what the programs of their formats made of them
(`answers.csv` of each folder). The table is printed by

    cargo run --release -p paceline-parity --example validate -- --reference-traces
";

const SUMMARY: &str = "
In all:

| program | tried | equal | different |
|---|---:|---:|---|
";

const COST_MODELS: &str = "\
On a cost model the end of every rank is compared, in nanoseconds: GOAL with the parameters `default`, `fast`, `alps` and
`overhead` under LogGOPSim and ATLAHS (`network = \"loggops\"`), Chakra under ASTRA-sim's analytical network
(`network = \"chunks\"`). Samples that a program refuses are refused here, too. A row shows the last rank's end in the
sample's first run.

| sample | program | runs | every rank the same | expected | ours |
|---|---|---:|---:|---:|---:|
";

const PACKETS: &str = "\
On packets (fidelity `simai`), the iteration of rank 0, in nanoseconds, and the messages that have the same sender, receiver
and size, start and end at the nanosecond. SimAI's send latency is 3 µs where no other is said.

| workload | GPUs | expected | ours | difference | messages | the same |
|---|---:|---:|---:|---:|---:|---:|
";

/// Runs a scenario and returns the ends of its only job's ranks, ns.
fn ends(input: &Resolved) -> Result<Vec<u64>, String> {
    let finished = execute(input, &mut |_| Control::Continue).map_err(|error| error.to_string())?;
    ends_of(&finished)
}

fn ends_of(finished: &Finished) -> Result<Vec<u64>, String> {
    let Summary { jobs, .. } = &finished.summary;
    let job = jobs.first().ok_or("there is no job")?;
    if !job.stuck.is_empty() || job.by_rank.is_empty() {
        return Err(format!("it does not run: {}", job.stuck.join("; ")));
    }
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    Ok(job.by_rank.iter().map(|rank| ns(rank.end_s)).collect())
}

/// Runs a job on a cost model and returns the ends of its ranks, ns.
fn on_a_model(job: &str) -> Result<Vec<u64>, String> {
    let scenario =
        format!("duration = \"1s\"\ntopology.star.hosts = 32\ncc.scheme = \"none\"\n[[job]]\n{job}");
    let input =
        load_text("trace.toml", &scenario, &Overrides::default()).map_err(|error| error.to_string())?;
    ends(&input)
}

/// A program's run on a sample, and the job that repeats it here.
struct Sample {
    name: String,
    program: &'static str,
    /// End of each rank, ns; `None` if the program refuses the sample.
    expected: Option<Vec<u64>>,
    job: String,
}

/// Reads the rows of a table without its header.
fn rows(path: &Path) -> Result<Vec<Vec<String>>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let row = |line: &str| line.split(',').map(str::to_string).collect();
    Ok(text.lines().skip(1).map(row).collect())
}

fn expected(ranks: &str) -> Option<Vec<u64>> {
    (ranks.split(' ')).map(|number| number.parse().ok()).collect()
}

/// Returns a GOAL job's `rules` for a named set of LogGOPS parameters (L, o, g, G, O, S), times in ns.
fn loggops(parameters: &str) -> Option<String> {
    let (latency, overhead, gap, per_byte, overhead_per_byte, eager) = match parameters {
        "default" => (2500, 1500, 1000, 6.0, 0, 65535),
        "fast" => (1000, 200, 700, 1.0, 0, 4096),
        "alps" => (3700, 200, 5, 0.04, 0, 0),
        "overhead" => (1000, 100, 50, 2.0, 3, 1000),
        _ => return None,
    };
    Some(format!(
        "latency = \"{latency}ns\", overhead = \"{overhead}ns\", gap = \"{gap}ns\", gap-per-byte = {per_byte:?}, \
         overhead-per-byte = {overhead_per_byte}, eager = \"{eager}B\""
    ))
}

fn goal(root: &Path) -> Result<Vec<Sample>, String> {
    let folder = root.join("goal");
    let sample = |row: Vec<String>| {
        let [name, parameters, variant, _, ranks] = &row[..] else {
            return Err(format!("goal/answers.csv: {row:?}"));
        };
        let rules =
            loggops(parameters).ok_or_else(|| format!("goal/answers.csv: parameters {parameters}"))?;
        let path = folder.join(format!("{name}.goal"));
        Ok(Sample {
            name: format!("goal/{name}"),
            program: if variant == "atlahs" {
                "ATLAHS"
            } else {
                "LogGOPSim"
            },
            expected: expected(ranks),
            job: format!(
                "goal = {path:?}\nnetwork = \"loggops\"\nrules = {{ variant = {variant:?}, {rules} }}\n"
            ),
        })
    };
    rows(&folder.join("answers.csv"))?
        .into_iter()
        .map(sample)
        .collect()
}

fn chakra(root: &Path) -> Result<Vec<Sample>, String> {
    let folder = root.join("chakra");
    let sample = |row: Vec<String>| {
        let [trace, system, network, model, _, ranks] = &row[..] else {
            return Err(format!("chakra/answers.csv: {row:?}"));
        };
        // A folder's files are named after its collective, or `trace`.
        let of_folder = folder.join(trace);
        let name = match trace.strip_prefix("microbenchmarks/") {
            Some(rest) => rest.split('/').next().unwrap_or_default(),
            None => "trace",
        };
        let groups = of_folder.join("groups.json");
        let groups = (groups.exists()).then(|| format!(", groups = {groups:?}"));
        Ok(Sample {
            name: format!("chakra/{trace}"),
            program: "ASTRA-sim",
            expected: expected(ranks),
            job: format!(
                "chakra = {:?}\nnetwork = \"chunks\"\nrules = {{ system = {:?}, links = {:?}, waits = {}{} }}\n",
                of_folder.join(name),
                folder.join("systems").join(format!("{system}.json")),
                folder.join("networks").join(network),
                model == "aware",
                groups.unwrap_or_default()
            ),
        })
    };
    rows(&folder.join("answers.csv"))?
        .into_iter()
        .map(sample)
        .collect()
}

/// A message: sender, receiver, start in ns, bytes, and completion time in ns.
type Message = [u64; 5];

/// Reads the messages of SimAI's own run, if present.
fn recorded(root: &Path, workload: &str, latency: &str) -> Result<Option<Vec<Message>>, String> {
    let stem = workload.trim_end_matches(".txt");
    let path = root.join(format!("simai/{stem}-lat{latency}-messages.csv.gz"));
    let Ok(file) = fs::File::open(&path) else {
        return Ok(None);
    };
    let mut text = String::new();
    (flate2::read::GzDecoder::new(file).read_to_string(&mut text))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let message = |line: &str| {
        let fields: Vec<u64> = line.split(',').filter_map(|field| field.parse().ok()).collect();
        match fields[..] {
            [from, to, _, bytes, start, took] => Ok([from, to, start, bytes, took]),
            _ => Err(format!("{}: {line}", path.display())),
        }
    };
    text.lines()
        .skip(1)
        .map(message)
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Counts the messages that two runs have in common.
fn common(mut ours: Vec<Message>, mut theirs: Vec<Message>) -> usize {
    ours.sort_unstable();
    theirs.sort_unstable();
    let (mut i, mut same) = (0, 0);
    for message in &theirs {
        while ours.get(i).is_some_and(|one| one < message) {
            i += 1;
        }
        if ours.get(i) == Some(message) {
            (i, same) = (i + 1, same + 1);
        }
    }
    same
}

/// Runs a SimAI workload; returns the end of the iteration at rank 0, ns, and all messages.
fn iteration(
    root: &Path,
    workload: &str,
    topology: &str,
    latency: &str,
) -> Result<(u64, Vec<Message>), String> {
    let of = |error: std::io::Error| error.to_string();
    let data = root.join("simai").canonicalize().map_err(of)?;
    let conf = fs::read_to_string(data.join("SimAI.conf")).map_err(of)?;
    let folder = tempfile::tempdir().map_err(of)?;
    let path = folder.path().join("SimAI.conf");
    let at = |name: &str| data.join(name).display().to_string();
    let more = format!(
        "TOPOLOGY_FILE {}\nWORKLOAD_FILE {}\nAS_SEND_LAT {latency}\n",
        at(topology),
        at(workload)
    );
    fs::write(&path, more + &conf).map_err(of)?;
    let input =
        load(&path.display().to_string(), &Overrides::default()).map_err(|error| error.to_string())?;
    let finished = execute(&input, &mut |_| Control::Continue).map_err(|error| error.to_string())?;
    let end = *ends_of(&finished)?.first().ok_or("there is no rank")?;
    let messages = finished.flows.rows().map(|flow| {
        let took = flow.fct_ps.unwrap_or_default() / 1000;
        let (from, to) = (u64::from(flow.src), u64::from(flow.dst));
        [from, to, flow.start_ps / 1000, flow.size_bytes, took]
    });
    Ok((end, messages.collect()))
}

/// Counts of a program's runs: tried and equal ones, and names of those that differ.
struct Tally {
    what: String,
    tried: usize,
    equal: usize,
    different: Vec<String>,
}

impl Tally {
    fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            tried: 0,
            equal: 0,
            different: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, tried: usize, equal: usize) {
        self.tried += tried;
        self.equal += equal;
        if equal < tried {
            self.different
                .push(format!("{name} ({})", grouped((tried - equal) as u64)));
        }
    }

    fn row(&self) -> String {
        let (tried, equal) = (grouped(self.tried as u64), grouped(self.equal as u64));
        let different = match self.different.is_empty() {
            true => "–".into(),
            false => self.different.join(", "),
        };
        format!("| {} | {tried} | {equal} | {different} |\n", self.what)
    }
}

/// Adds a row per sample and program on cost models, and returns the counts.
fn cost_models(samples: &[Sample], verdict: &mut Verdict) -> Vec<Tally> {
    let mut tallies: Vec<Tally> = Vec::new();
    for runs in samples.chunk_by(|a, b| (&a.name, a.program) == (&b.name, b.program)) {
        let ours: Vec<Result<Vec<u64>, String>> = runs.iter().map(|run| on_a_model(&run.job)).collect();
        let mut same = 0;
        for (run, ours) in runs.iter().zip(&ours) {
            match (ours, &run.expected) {
                (Ok(ours), Some(expected)) if ours == expected => same += 1,
                (Err(_), None) => same += 1,
                (ours, expected) => verdict.fault(format!("{}: {ours:?} for {expected:?}", run.name)),
            }
        }
        let what = format!("{}: runs", runs[0].program);
        let index = tallies
            .iter()
            .position(|tally| tally.what == what)
            .unwrap_or_else(|| {
                tallies.push(Tally::new(what));
                tallies.len() - 1
            });
        tallies[index].add(&runs[0].name, runs.len(), same);
        let last = |ends: Option<&[u64]>| match ends.and_then(|ends| ends.iter().max()) {
            Some(end) => grouped(*end),
            None => "refused".into(),
        };
        let first = ours[0].as_deref().ok();
        writeln!(
            verdict.page,
            "| {} | {} | {} | {same} | {} | {} |",
            runs[0].name,
            runs[0].program,
            runs.len(),
            last(runs[0].expected.as_deref()),
            last(first)
        )
        .expect("memory takes everything");
    }
    tallies
}

/// Workload of SimAI that is compared on the packet network.
struct SimaiSample<'a> {
    workload: &'a str,
    topology: &'a str,
    /// Latency of links in µs.
    latency: &'a str,
    /// Duration of the iteration in SimAI, ns.
    expected: u64,
}

/// Adds the row of a workload on the packet network.
fn packets(
    root: &Path,
    sample: &SimaiSample<'_>,
    iterations: &mut Tally,
    of_messages: &mut Tally,
    verdict: &mut Verdict,
) {
    let SimaiSample {
        workload,
        topology,
        latency,
        expected,
    } = *sample;
    let name = match latency {
        "3" => format!("simai/{workload}"),
        other => format!("simai/{workload}, {other} µs"),
    };
    let gpus = (topology.split('_')).find_map(|word| word.strip_suffix('g')?.parse::<u32>().ok());
    let theirs = match recorded(root, workload, latency) {
        Ok(theirs) => theirs,
        Err(error) => return verdict.fault(error),
    };
    match iteration(root, workload, topology, latency) {
        Ok((ours, messages)) => {
            iterations.add(&name, 1, usize::from(ours == expected));
            let same = theirs.as_ref().map(|theirs| {
                let same = common(messages, theirs.clone());
                of_messages.add(&name, theirs.len(), same);
                (theirs.len() as u64, same as u64)
            });
            let off = ours as f64 / expected as f64 - 1.0;
            if off.abs() > TOLERANCE {
                verdict.fault(format!("{name}: {ours} for {expected}"));
            }
            let off = match ours == expected {
                true => "0".into(),
                false => format!("{:+.2} %", 100.0 * off),
            };
            writeln!(
                verdict.page,
                "| {name} | {} | {} | {} | {off} | {} |",
                gpus.unwrap_or_default(),
                grouped(expected),
                grouped(ours),
                match same {
                    Some((all, same)) => format!("{} | {}", grouped(all), grouped(same)),
                    None => "not published | ".into(),
                }
            )
            .expect("memory takes everything");
        }
        Err(error) => {
            iterations.add(&name, 1, 0);
            verdict.fault(format!("{name}: {error}"));
        }
    }
}

/// Formats a number with commas at each thousand.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Compares the samples below `root` that run on cost models.
#[cfg_attr(not(test), allow(dead_code, reason = "tests ask for these alone"))]
pub(crate) fn on_cost_models(root: &Path) -> Verdict {
    counted_on_cost_models(root).0
}

fn counted_on_cost_models(root: &Path) -> (Verdict, Vec<Tally>) {
    let mut verdict = Verdict::new(format!("{HEAD}\n{COST_MODELS}"));
    let mut tallies = Vec::new();
    match goal(root).and_then(|goal| Ok((goal, chakra(root)?))) {
        Ok((mut samples, chakra)) => {
            samples.extend(chakra);
            samples.sort_by(|a, b| (&a.name, b.program).cmp(&(&b.name, a.program)));
            tallies = cost_models(&samples, &mut verdict);
        }
        Err(error) => verdict.fault(error),
    }
    (verdict, tallies)
}

/// Compares all samples below `root`.
pub(crate) fn section(root: &Path) -> Verdict {
    let (mut verdict, mut tallies) = counted_on_cost_models(root);
    let (mut iterations, mut messages) = (Tally::new("SimAI: iterations"), Tally::new("SimAI: messages"));
    verdict.page += "\n";
    verdict.page += PACKETS;
    match rows(&root.join("simai/answers.csv")) {
        Ok(rows) => {
            for row in &rows {
                let Some(expected) = row.get(4).and_then(|end| end.parse().ok()) else {
                    verdict.fault(format!("simai/answers.csv: {row:?}"));
                    continue;
                };
                let sample = SimaiSample {
                    workload: &row[0],
                    topology: &row[1],
                    latency: &row[2],
                    expected,
                };
                packets(root, &sample, &mut iterations, &mut messages, &mut verdict);
            }
        }
        Err(error) => verdict.fault(error),
    }
    let (workload, topology, expected) = GPT_13B;
    let of_13b = SimaiSample {
        workload,
        topology,
        latency: "3",
        expected,
    };
    packets(root, &of_13b, &mut iterations, &mut messages, &mut verdict);
    tallies.extend([iterations, messages]);
    verdict.page += SUMMARY;
    verdict.page.extend(tallies.iter().map(Tally::row));
    verdict
}
