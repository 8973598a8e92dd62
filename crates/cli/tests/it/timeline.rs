//! `--format perfetto`: the timeline agrees with the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{folder_with, json, stdout};
use paceline_lab::files::{QUEUE, RunData};
use paceline_traces::wire::{Cursor, Field, Raw};
use serde_json::{Value, json};

/// Two rings at a time, and an incast that triggers PFC.
const SCENARIO: &str = r#"name = "busy"
[topology.star]
hosts = 9
[[workload]]
label = "ring"
all-reduce = { hosts = [1, 2, 3, 4], size = "400KB", iterations = 2 }
[[workload]]
label = "incast"
incast = { senders = [1, 2, 5, 6, 7, 8], receiver = 9, size = "2MB" }
[cc]
scheme = "none"
[record]
queue = "1us"
[network]
buffer = "2MiB"
"#;

/// Runs a scenario and returns the events of its timeline: slices (`X`), ends of arrows (`i`) and counters (`C`), with
/// times in ns.
fn timeline(folder: &Path, more: &[&str]) -> Vec<Value> {
    let run = [
        "run",
        "busy.toml",
        "--format",
        "perfetto,csv",
        "--out",
        "r",
        "-q",
        "--force",
    ];
    stdout(folder, &[&run[..], more].concat());
    decoded(&fs::read(folder.join("r/timeline.pftrace")).unwrap())
}

/// Reads the packets of a trace, by the numbers of Perfetto's schema.
fn decoded(trace: &[u8]) -> Vec<Value> {
    let mut tracks: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    let mut events = Vec::new();
    for packet in fields(Cursor::new(trace)) {
        let packet = fields(packet.message().unwrap());
        let of = |number: u32| packet.iter().find(|field| field.number == number);
        assert_eq!(of(10).map(|field| field.number().unwrap()), Some(1));
        if let Some(track) = of(60) {
            let track = fields(track.message().unwrap());
            let number = |n: u32| {
                track
                    .iter()
                    .find(|field| field.number == n)
                    .map(|field| field.number().unwrap())
            };
            let name = track
                .iter()
                .find(|field| field.number == 2)
                .map(|field| field.text().unwrap());
            let process = number(5).or(number(1)).unwrap();
            let known = tracks.insert(
                number(1).unwrap(),
                (process, name.unwrap_or_default().to_string()),
            );
            assert_eq!(known, None, "two tracks of one number");
            continue;
        }
        let at = of(8).unwrap().number().unwrap();
        let event = fields(of(11).unwrap().message().unwrap());
        let number = |n: u32| {
            event
                .iter()
                .find(|field| field.number == n)
                .map(|field| field.number().unwrap())
        };
        let track = number(11).unwrap();
        let (process, name) = &tracks[&track];
        let fixed = |n: u32| -> Vec<u64> {
            let of = event.iter().filter(|field| field.number == n);
            of.map(|field| match field.value {
                Raw::Fixed64(bits) => bits,
                _ => panic!("field {n} has 8 bytes"),
            })
            .collect()
        };
        let text = event
            .iter()
            .find(|field| field.number == 23)
            .map(|field| field.text().unwrap());
        let mut value = json!({ "pid": process, "tid": track, "ts": at, "name": text });
        match number(9) {
            Some(1) => {
                let notes = event.iter().filter(|field| field.number == 4);
                for note in notes.map(|note| fields(note.message().unwrap())) {
                    let name = note
                        .iter()
                        .find(|field| field.number == 10)
                        .unwrap()
                        .text()
                        .unwrap();
                    let known = note.iter().find(|field| field.number == 3);
                    value["args"][name] = known.map_or(Value::Null, |field| json!(field.number().unwrap()));
                }
                value["to"] = json!(fixed(47));
                open.entry(track).or_default().push(value);
            }
            Some(2) => {
                let mut slice = open
                    .get_mut(&track)
                    .and_then(Vec::pop)
                    .expect("a slice that has begun");
                slice["dur"] = json!(at - slice["ts"].as_u64().unwrap());
                slice["ph"] = json!("X");
                events.push(slice);
            }
            Some(3) => {
                let slice = open[&track].last().expect("within a slice");
                value["args"] = slice["args"].clone();
                value["from"] = json!(fixed(48));
                value["ph"] = json!("i");
                events.push(value);
            }
            Some(4) => {
                value["args"] = json!({ "value": f64::from_bits(fixed(44)[0]) });
                value["name"] = json!(name);
                value["ph"] = json!("C");
                events.push(value);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "slices without an end");
    events
}

fn fields(mut message: Cursor<'_>) -> Vec<Field<'_>> {
    std::iter::from_fn(|| message.field().unwrap()).collect()
}

fn number(event: &Value, key: &str) -> f64 {
    event[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{event} has no {key}"))
}

/// Groups events of a kind by row, in the order of the file.
fn rows(events: &[Value], kind: &str) -> BTreeMap<String, Vec<Value>> {
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == kind) {
        let name = if kind == "C" {
            &event["name"]
        } else {
            &event["tid"]
        };
        let row = format!("{} {name}", event["pid"]);
        rows.entry(row).or_default().push(event.clone());
    }
    rows
}

#[test]
fn slices_follow_each_other_and_counters_go_on() {
    let folder = folder_with("busy.toml", SCENARIO);
    let events = timeline(folder.path(), &[]);
    let slices = rows(&events, "X");
    assert!(slices.len() > 8);
    for (row, slices) in &slices {
        for pair in slices.windows(2) {
            let end = number(&pair[0], "ts") + number(&pair[0], "dur");
            assert!(end <= number(&pair[1], "ts"), "{row}: {pair:?}");
        }
    }
    for (row, values) in rows(&events, "C") {
        let later = |pair: &[Value]| number(&pair[0], "ts") < number(&pair[1], "ts");
        assert!(values.windows(2).all(later), "{row}");
    }
}

#[test]
fn counts_are_those_of_the_run() {
    let folder = folder_with("busy.toml", SCENARIO);
    let path = folder.path();
    let events = timeline(path, &[]);
    let summary = json(&path.join("r/summary.json"));
    let flows: Vec<&Value> = events
        .iter()
        .filter(|event| event["ph"] == "X" && event["args"]["flow_id"].is_u64())
        .collect();
    assert_eq!(flows.len() as u64, summary["flows"]["total"].as_u64().unwrap());
    let table = std::fs::read_to_string(path.join("r/flows.csv")).unwrap();
    for flow in flows {
        let id = flow["args"]["flow_id"].as_u64().unwrap();
        let row: Vec<&str> = table.lines().nth(id as usize + 1).unwrap().split(',').collect();
        let [start, fct] = [7, 8].map(|column| row[column].parse::<u64>().unwrap());
        let [begin, end] = [start, start + fct].map(|ps| ((ps + 500) / 1000) as f64);
        assert_eq!(
            (number(flow, "ts"), number(flow, "dur")),
            (begin, end - begin),
            "{row:?}"
        );
    }
    let of = |process: u64| {
        let slices = events
            .iter()
            .filter(move |event| event["ph"] == "X" && event["pid"] == process);
        slices.collect::<Vec<_>>()
    };
    assert_eq!(of(3).len(), summary["collectives"].as_array().unwrap().len());
    let frames: u64 = of(2)
        .iter()
        .map(|pause| pause["args"]["frames"].as_u64().unwrap())
        .sum();
    let pauses = summary["pfc"]["pauses"].as_u64().unwrap();
    assert!(pauses > 0);
    assert_eq!(frames, pauses);
    let data = RunData::read(&path.join("r")).unwrap();
    let queues = || data.series.iter().filter(|series| series.metric == QUEUE);
    let counters = rows(&events, "C");
    assert_eq!(counters.len(), queues().count());
    for series in queues() {
        let values = &counters[&format!("1 \"{}\"", data.names.entity(&series.entity))];
        let mut changes = series.points.clone();
        changes.dedup_by_key(|point| point.1);
        let got = values
            .iter()
            .map(|event| (number(event, "ts"), event["args"]["value"].as_f64().unwrap()));
        let recorded = changes
            .iter()
            .map(|&(at, bytes)| (((at + 500) / 1000) as f64, bytes));
        assert!(got.eq(recorded), "{}", series.entity);
    }
}

/// Operations that have not ended when the run does end there in the timeline.
#[test]
fn a_run_that_is_cut_short_is_whole() {
    let folder = folder_with("busy.toml", SCENARIO);
    let events = timeline(folder.path(), &["--duration", "100us"]);
    let ends = events.iter().filter(|event| event["ph"] == "X");
    let ends: Vec<f64> = ends
        .map(|event| number(event, "ts") + number(event, "dur"))
        .collect();
    assert!(ends.iter().all(|&end| end <= 100_000.0));
    assert!(ends.iter().filter(|&&end| end == 100_000.0).count() > 4);
}

/// Each arrow has one beginning and one end, later or at the same time; those of a pause end at flows of the paused port
/// that were active, and those of a collective at its messages.
#[test]
fn arrows_lead_to_the_flows_that_were_stopped() {
    let folder = folder_with("busy.toml", SCENARIO);
    let events = timeline(folder.path(), &[]);
    let mut ends = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "i") {
        for arrow in event["from"].as_array().unwrap() {
            assert!(ends.insert(arrow.as_u64().unwrap(), event).is_none());
        }
    }
    let (mut of_pauses, mut of_collectives) = (0, 0);
    for event in events.iter().filter(|event| event["ph"] == "X") {
        for arrow in event["to"].as_array().into_iter().flatten() {
            let end = ends
                .remove(&arrow.as_u64().unwrap())
                .expect("an arrow has an end");
            assert!(number(end, "ts") >= number(event, "ts"));
            assert!(number(end, "ts") <= number(event, "ts") + number(event, "dur"));
            of_pauses += u32::from(event["pid"] == 2);
            of_collectives += u32::from(event["pid"] == 3);
        }
    }
    assert!(ends.is_empty());
    assert!(
        of_pauses > 5 && of_collectives > 5,
        "{of_pauses} {of_collectives}"
    );
}
