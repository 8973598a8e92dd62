//! Questions about Bolt's runs, checked against the reference: from its lists they compute its numbers.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use paceline_query::{Cell, Run};

macro_rules! reference {
    ($path:literal) => {
        include_bytes!(concat!("../../../../validation/bolt-ns3/", $path)).as_slice()
    };
}

/// Returns a number of a reference run.
fn derived(run: &str, metric: &str) -> Option<f64> {
    let all = std::str::from_utf8(reference!("derived.tsv")).unwrap();
    let mut rows = all.lines().map(|line| line.split('\t'));
    rows.find_map(|mut row| {
        (row.next() == Some(run) && row.next() == Some(metric)).then(|| row.next()?.parse().ok())?
    })
}

/// Returns the rows of a list without its header.
fn rows(content: &[u8]) -> Vec<Vec<f64>> {
    let mut text = String::new();
    if content.starts_with(&[0x1f, 0x8b]) {
        GzDecoder::new(content).read_to_string(&mut text).unwrap();
    } else {
        text.push_str(std::str::from_utf8(content).unwrap());
    }
    let row = |line: &str| line.split('\t').map(|field| field.parse().unwrap()).collect();
    text.lines().skip(1).map(row).collect()
}

fn ps(ns: f64) -> i64 {
    (ns * 1e3).round() as i64
}

/// Returns a table with these columns that replaces the run's.
fn table(name: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rows: Vec<String> = rows.into_iter().map(|row| format!("({row})")).collect();
    format!("{name} AS (VALUES {})", rows.join(","))
}

fn queue(list: &[u8]) -> String {
    let rows = rows(list);
    let rows = rows.iter().map(|row| format!("{},{}", ps(row[0]), row[1]));
    table("port_queue(time_ps, queue_bytes)", rows)
}

/// A packet of 1502 bytes at 100 Gbit/s takes 120 ns there.
fn sent(list: &[u8]) -> String {
    let rows = rows(list);
    let rows = rows.iter().map(|row| format!("{:?},120.0", row[0]));
    table("port_sent(start_ns, takes_ns)", rows)
}

/// Returns the event of a flow's first or last packet at the port.
fn packet(flow: u32, ns: f64) -> String {
    let row = format!("'enqueue','data',{flow},{}", ps(ns));
    table("trace(event, packet, flow_id, time_ps)", [row])
}

fn windows(list: &[u8]) -> String {
    let rows = rows(list);
    let rows = rows.iter().map(|row| {
        let flow = row[1] as u32;
        format!("'flow {flow}','window_bytes',{},{:?}", ps(row[0]), row[2])
    });
    table("series(entity, metric, time_ps, value)", rows)
}

/// Answers a question with these tables instead of a run's.
fn ask(sql: &str, tables: &[String]) -> BTreeMap<String, f64> {
    let own = sql.trim_start();
    let own = own.strip_prefix("WITH RECURSIVE").or(own.strip_prefix("WITH"));
    let own = own.map_or(format!("\n{sql}"), |rest| format!(",{rest}"));
    let whole = format!("WITH RECURSIVE {}{own}", tables.join(","));
    let answer = Run::empty().ask(&whole).unwrap();
    match &answer.columns[..] {
        [name, value] if name == "name" && value == "value" => {
            let row = |row: &Vec<Cell>| match &row[..] {
                [Cell::Text(name), value] => Some((name.clone(), value.number()?)),
                _ => None,
            };
            answer.rows.iter().filter_map(row).collect()
        }
        names => {
            let row = names.iter().zip(&answer.rows[0]);
            row.filter_map(|(name, cell)| Some((name.clone(), cell.number()?)))
                .collect()
        }
    }
}

/// Returns the question of an experiment.
fn question(experiment: &str, name: &str) -> &'static str {
    let needs = paceline_reproduce::find(experiment).unwrap().needs();
    let mut all = needs.iter().flat_map(|need| &need.questions);
    &all.find(|one| one.name == name).unwrap().sql
}

/// Checks equality in the digits that the reference prints.
fn assert_is(ours: Option<&f64>, run: &str, metric: &str, unit: f64) {
    let theirs = derived(run, metric).unwrap_or_else(|| panic!("{run} has no {metric}"));
    let ours = ours.unwrap_or_else(|| panic!("no {metric}")) * unit;
    assert!(
        (ours - theirs).abs() <= 6e-6 * theirs.abs(),
        "{metric}: {ours}, {theirs}"
    );
}

/// The second flow's first packet: 1272 ns and 117 ns on the sender's link after 100 µs.
#[test]
fn a_join() {
    let join = 101_389.0;
    let tables = [
        packet(1, join),
        queue(reference!("join100_bolt/queue_events_90_190us.tsv")),
        sent(reference!("join100_bolt/tx_start_90_190us.tsv")),
    ];
    let taken = ask(question("bolt-b1", "flow-joins"), &tables);
    let is = |name: &str, metric, unit| assert_is(taken.get(name), "join100_bolt", metric, unit);
    is("peak", "queue_peak", 1e3);
    is("peak_bdp", "queue_peak_over_100kB_bdp", 1.0);
    is("peak_at", "queue_peak_time_after_first_pkt", 1.0);
    is("empty_rtts", "queue_zero_after_join_rtts", 1.0);
    for (from, to, metric) in [
        (0.0, 1.0, "util_rtt_0_1"),
        (1.0, 2.0, "util_rtt_1_2"),
        (2.0, 3.0, "util_rtt_2_3"),
        (4.0, 6.0, "util_rtt_4_6"),
    ] {
        let (from, to) = (join + from * 7995.0, join + to * 7995.0);
        let sql =
            format!("SELECT 100.0 * busy(start_ns, takes_ns, {from:?}, {to:?}) AS share FROM port_sent");
        assert_is(ask(&sql, &tables).get("share"), "join100_bolt", metric, 1.0);
    }
}

/// The last packet of the flow that ends: its arrival at 197.422 µs less two links and 117 ns.
#[test]
fn a_leave() {
    let tables = [
        packet(0, 194_761.0),
        sent(reference!("leave200_bolt/tx_start_170_300us.tsv")),
        windows(reference!("leave200_bolt/cwnd.tsv")),
    ];
    let taken = ask(question("bolt-b2", "flow-leaves"), &tables);
    let is = |name: &str, metric, unit| assert_is(taken.get(name), "leave200_bolt", metric, unit);
    // The list ends 105 µs after the leave; the link is never idle after that.
    is("idle", "link_idle_time_600us_after_leave", 1.0);
    is("bdp95", "cwnd_reaches_95pct_of_97260B", 1.0);
    is("stable", "cwnd_reaches_98pct_of_max", 1.0);
    is("largest", "cwnd_max_after", 1e3);
}

#[test]
fn between_the_first_and_the_last_end() {
    let fct = rows(reference!("star5m1500_bolt/fct.tsv"));
    let tables = [
        queue(reference!("star5m1500_bolt/queue_events_0_260us.tsv")),
        sent(reference!("star5m1500_bolt/tx_start_0_260us.tsv")),
        table("flows(received_ps)", fct.iter().map(|row| ps(row[5]).to_string())),
        table("links(link, delay_ps)", ["0,1048000".to_string()]),
    ];
    let share = ask(question("bolt-b3", "between-ends"), &tables)["utilisation"];
    let theirs = derived("star5m1500_bolt", "util_first_to_last_completion").unwrap();
    // The last packets of messages are short; one at a boundary of the interval changes the result.
    assert!((share - theirs).abs() < 0.01, "{share}, {theirs}");
    let sql = "SELECT max(queue_bytes) AS peak, \
               time_average(queue_bytes, time_ps / 1e3, 167461.0 - 1048.0, 219872.0 - 1048.0) AS mean FROM port_queue";
    let taken = ask(sql, &tables);
    assert_is(
        taken.get("mean"),
        "star5m1500_bolt",
        "queue_mean_first_to_last",
        1.0,
    );
    assert_is(taken.get("peak"), "star5m1500_bolt", "queue_max", 1.0);
}

/// The reference averages over bins, and Paceline over time: the indices agree to a few 1e-4.
#[test]
fn shares_of_slots() {
    let tables = [
        windows(reference!("fair5_bolt/cwnd.tsv.gz")),
        table("flows(flow_id)", (0..5).map(|flow| flow.to_string())),
    ];
    let taken = ask(question("bolt-b8", "come-and-go"), &tables);
    for slot in 0..9 {
        let ours = taken[&format!("slot{slot}")];
        let theirs = derived("fair5_bolt", &format!("slot{slot}_1-2ms_jain_cwnd")).unwrap();
        assert!((ours - theirs).abs() < 3e-4, "slot {slot}: {ours}, {theirs}");
    }
}

#[test]
fn slowdowns_by_size() {
    let fct = rows(reference!("star16_fb_bolt/fct.tsv.gz"));
    let flows = fct
        .iter()
        .map(|row| format!("{},{},0,1", row[3] as u64, ps(row[6] - row[4])));
    let tables = [
        table("flows(size_bytes, fct_ps, src, dst)", flows),
        table(
            "links(link, rate_bps, delay_ps)",
            ["0,100000000000,1048000".to_string()],
        ),
    ];
    let taken = ask(question("bolt-fct", "bolt-slowdowns"), &tables);
    for (name, metric) in [
        ("p50_1k", "slowdown[0-1000]_p50"),
        ("p99_1k", "slowdown[0-1000]_p99"),
        ("p50_62k", "slowdown[10000-62420]_p50"),
        ("p99_300k", "slowdown[62420-300000]_p99"),
        ("p99_20m", "slowdown[2000000-20000000]_p99"),
        ("p50_all", "slowdown[all]_p50"),
        ("p99_all", "slowdown[all]_p99"),
    ] {
        assert_is(taken.get(name), "star16_fb_bolt", metric, 1.0);
    }
}

/// The reference reports for its ensemble paired differences of -4.74, -0.14 and -9.97 points.
#[test]
fn the_ensemble() {
    let patterns = rows(reference!("star5_ensemble_mtu1500.tsv"));
    assert_eq!(patterns.len(), 50);
    let differences = [8, 10, 12].map(|column| {
        let sum: f64 = patterns.iter().map(|row| row[column] - row[6]).sum();
        (sum / 50.0 * 100.0).round() / 100.0
    });
    assert_eq!(differences, [-4.74, -0.14, -9.97]);
}
