//! Critical paths of jobs by traces, computed by hand.

use std::path::PathBuf;

use paceline_lab::files::RunData;
use paceline_lab::results::{CollectiveRow, PathKind, PathRow};
use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Overrides, Resolved, load, load_text};

fn data(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data");
    folder.canonicalize().unwrap().join(name).display().to_string()
}

fn run(scenario: &str) -> (Resolved, Finished) {
    let input = load_text("paths.toml", scenario, &Overrides::default()).unwrap();
    let finished = execute(&input, &mut |_| Control::Continue).unwrap();
    (input, finished)
}

fn rows(run: &(Resolved, Finished)) -> Vec<PathRow> {
    RunData::new(&run.0, &run.1).tables.rows().to_vec()
}

const STAR: &str = "duration = '10ms'\ncheck = true\ntopology.star.hosts = 16\ncc.scheme = 'none'\n";

/// Rank 0 computes 500 ns and sends; rank 1 computes until long after that message has come, and then 250 ns more. Rank
/// 2 waits for a message of rank 1: the path does not lead to rank 0.
const GOAL: &str = "num_ranks 3\nrank 0 {\na: calc 500\nb: send 952b to 1 tag 3\nb requires a\n}\n\
    rank 1 {\na: calc 9000 cpu 1\nr: recv 952b from 0 tag 3\nb: calc 250\nb requires a\nb requires r\n\
    c: send 952b to 2 tag 4\nc requires b\n}\nrank 2 {\nr: recv 952b from 1 tag 4\nd: calc 70\nd requires r\n}\n";

/// A packet of 1000 bytes over two links of 1 us: at 100 Gbit/s 80 ns each.
#[test]
fn a_path_of_goal_by_hand() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), GOAL).unwrap();
    let scenario = |more: &str| {
        format!(
            "{STAR}{more}[[job]]\nlabel = 'mpi'\nhosts = [1, 2, 3]\ngoal = {:?}\n",
            file.path()
        )
    };
    let of = |rows: &[PathRow]| -> Vec<(PathKind, Option<u32>, u64, u64)> {
        let row = |row: &PathRow| (row.what, row.rank, row.start_ps / 1000, row.time_ps() / 1000);
        rows.iter().map(row).collect()
    };
    let plain = run(&scenario(""));
    let way = 2 * (80 + 1000);
    let expected = |way: u64| {
        vec![
            (PathKind::Computing, Some(1), 0, 9250),
            (PathKind::Message, Some(1), 9250, way),
            (PathKind::Computing, Some(2), 9250 + way, 70),
        ]
    };
    assert_eq!(of(&rows(&plain)), expected(way));
    let path = plain.1.summary.jobs[0].path.clone().unwrap();
    assert!((path.time_us - (9250 + way + 70) as f64 / 1e3).abs() < 1e-9);
    let sums: Vec<(&str, u64)> = path
        .sums
        .iter()
        .map(|one| (one.what.as_str(), one.count))
        .collect();
    assert_eq!(sums, [("computing", 3), ("message", 1)]);
    let [link] = &path.links[..] else {
        panic!("{:?}", path.links)
    };
    assert_eq!(
        (link.link.as_str(), link.rate_gbps, link.messages),
        ("host", 100.0, 1)
    );
    assert_eq!(link.contention_us, 0.0);
    // Links twice as fast.
    let faster = run(&scenario("network.rate-factor.host = 2\n"));
    assert_eq!(of(&rows(&faster)), expected(2 * (40 + 1000)));
    let one = run(&scenario("network.rate-factor.\"0-3\" = 2\n"));
    assert_eq!(of(&rows(&one)), expected(80 + 40 + 2000));
}

/// Invalid tiers, links and factors are refused.
#[test]
fn factors_of_rates_are_checked() {
    let refused = |line: &str| {
        let text = format!("{STAR}{line}\n[[workload]]\nincast = {{ receiver = 1, fan-in = 2 }}\n");
        load_text("t.toml", &text, &Overrides::default())
            .unwrap_err()
            .to_string()
    };
    let message = refused("network.rate-factor.hosts = 2");
    assert!(
        message.contains("neither a tier of links nor a link `hosts`"),
        "{message}"
    );
    let message = refused("network.rate-factor.host = 0");
    assert!(message.contains("the rate of `host` times 0"), "{message}");
}

/// SimAI's own example on a server of eight GPUs: 556 us of computing before each of two all-reduces of 14 steps. Each
/// step waits 10 ns and SimAI's send latency of 6 us; the rest is messages inside the server.
#[test]
fn a_path_of_simai_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let conf = std::fs::read_to_string(data("simai/SimAI.conf")).unwrap();
    let text = format!(
        "TOPOLOGY_FILE {}\nWORKLOAD_FILE {}\n{conf}",
        data("simai/Rail_Opti_SingleToR_8g_8gps_200Gbps_H20"),
        data("simai/microAllReduce.txt"),
    );
    let path = folder.path().join("SimAI.conf");
    std::fs::write(&path, text).unwrap();
    let input = load(path.to_str().unwrap(), &Overrides::default()).unwrap();
    let finished = execute(&input, &mut |_| Control::Continue).unwrap();
    let done = (input, finished);
    let rows = rows(&done);
    let kinds: Vec<(PathKind, u64)> = rows.iter().map(|row| (row.what, row.count)).collect();
    assert_eq!(kinds[0], (PathKind::Computing, 1));
    assert_eq!(
        (kinds[1], kinds[3]),
        ((PathKind::Collective, 14), (PathKind::Collective, 14))
    );
    assert_eq!((rows[0].time_ps(), rows.len()), (556_000_000, 5));
    for row in [&rows[1], &rows[3]] {
        assert_eq!(row.time_ps() - row.messages_ps, 14 * 6_010_000);
        assert_eq!((row.link.as_str(), row.group), ("server", Some(0)));
    }
    let path = done.1.summary.jobs[0].path.clone().unwrap();
    assert!((path.time_us - 1_772.03).abs() < 1e-9, "{}", path.time_us);
    let sum: f64 = path.sums.iter().map(|one| one.time_us).sum();
    assert!((sum - path.time_us).abs() < 1e-6);
}

/// With many collectives, the summary has sums and the slowest ones; `collectives.csv` has all. The path is that of the
/// last iteration.
#[test]
fn collectives_of_long_traces() {
    let text = format!(
        "{STAR}[[job]]\niterations = 30\nchakra = {:?}\n[[workload]]\nincast = {{ receiver = 1, fan-in = 5, size = '1MB' }}\n",
        data("chakra/microbenchmarks/all_reduce/8npus_1MB/all_reduce")
    );
    let done = run(&text);
    let summary = &done.1.summary;
    assert_eq!(summary.collectives.len(), 20);
    let [sum] = &summary.collective_sums[..] else {
        panic!("{:?}", summary.collective_sums)
    };
    assert_eq!(
        (sum.label.as_str(), sum.collectives.completed),
        ("job-0/all-reduce", 30)
    );
    assert_eq!(sum.bytes, 30 << 20);
    let slowest = summary.collectives.iter().filter_map(|one| one.time_us);
    assert_eq!(slowest.fold(0.0, f64::max), sum.time_us.max.unwrap());
    let data = RunData::new(&done.0, &done.1);
    let of_traces = data.tables.rows::<CollectiveRow>();
    assert_eq!(of_traces.len(), 30);
    assert_eq!((of_traces[29].iteration, of_traces[29].members), (29, 8));
    let path = summary.jobs[0].path.clone().unwrap();
    let times = &summary.jobs[0].iterations_us;
    let slowest = (0..30).fold(0, |best, i| if times[i] > times[best] { i } else { best });
    assert_eq!(path.iteration as usize, slowest);
    assert!(
        (path.time_us - times[slowest]).abs() < 1e-6,
        "{} {}",
        path.time_us,
        times[29]
    );
}
