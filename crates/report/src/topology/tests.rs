use paceline_kernel::{BitRate, Span};
use paceline_scenario::topology::hpcc_fat;

use super::*;
use crate::render;
use paceline_lab::files::Series;
use paceline_lab::results::FlowRow;
use paceline_lab::sample;

fn run() -> RunData {
    let (input, outcome) = sample::incast();
    RunData::new(&input, &sample::finished(&input, outcome))
}

/// Returns the data in a page's script element.
fn data(page: &str) -> serde_json::Value {
    let start = "id=\"topology-data\">";
    let text = &page[page.find(start).unwrap() + start.len()..];
    serde_json::from_str(&text[..text.find("</script>").unwrap()]).unwrap()
}

#[test]
fn a_page_has_the_network_and_its_ports_over_time() {
    let run = run();
    let data = data(&render(&[run]).unwrap());
    assert_eq!(data["nodes"].as_array().unwrap().len(), 5);
    assert_eq!(data["nodes"][0]["host"], false);
    assert_eq!(data["links"][1]["nodes"], serde_json::json!([0, 2]));
    assert_eq!(data["links"][1]["interfaces"], serde_json::json!([2, 1]));
    assert_eq!(data["links"][1]["bps"], 100_000_000_000u64);
    assert_eq!(data["flows"]["total"], 3);
    let queue = &data["timeline"]["quantities"][0];
    assert_eq!(
        (&queue["name"], &queue["top"]),
        (&"queue".into(), &2_096.0.into())
    );
}

/// Returns the rows of a quantity in a page's data, decoded like its script.
fn rows_of(data: &serde_json::Value, name: &str, ports: usize) -> Vec<Vec<u16>> {
    let timeline = &data["timeline"];
    let all = timeline["quantities"].as_array().unwrap();
    let quantity = all.iter().find(|quantity| quantity["name"] == name).unwrap();
    let bins = timeline["bins"].as_u64().unwrap() as usize;
    let bytes = crate::bytes::tests::unbase64(quantity["data"].as_str().unwrap());
    let two = quantity["bytes"] == 2;
    super::pack::tests::unpack(&bytes, two, bins, ports)
}

/// In each step of the slider a port has the state of its series at the end of the step, the largest over its
/// classes, and the last cause of a pause.
#[test]
fn states_on_the_page_are_those_of_the_series() {
    let mut run = run();
    let noise = |seed: u64, k: u64| (k * 2_654_435_761 + seed * 40_503) % 1_009;
    let steps = |seed: u64, every: u64, top: u64| -> Vec<(u64, f64)> {
        let at = |k: u64| (k * every, (noise(seed, k) % top) as f64);
        (0..40_000 / every).map(at).collect()
    };
    let port = |interface: u32| format!("port 0.{interface}->{interface}");
    run.series = vec![
        Series::new("run", "bin_ps", vec![(0, 100.0)]),
        Series::new(port(1), "state", steps(1, 37, 4)),
        Series::new(format!("{} class 3", port(2)), "state", steps(2, 53, 4)),
        Series::new(format!("{} class 5", port(2)), "state", steps(3, 10, 4)),
        Series::new("port 3.1->0", "paused_for", steps(4, 70, 5)),
    ];
    let data = data(&render(&[run.clone()]).unwrap());
    let bin = data["timeline"]["bin_ps"].as_u64().unwrap();
    let bins = data["timeline"]["bins"].as_u64().unwrap() as usize;
    assert_eq!((bin, bins), (100, 400));
    // Port `2i` is that of link `i`'s first node, port `2i + 1` that of its second; links are in the order of hosts.
    let (states, causes) = (rows_of(&data, "state", 8), rows_of(&data, "cause", 8));
    let at = |index: usize, ps: u64| {
        let points = &run.series[index].points;
        points
            .iter()
            .take_while(|point| point.0 <= ps)
            .last()
            .map_or(0.0, |point| point.1) as u16
    };
    for step in 0..bins {
        let (begin, end) = (step as u64 * bin, (step as u64 + 1) * bin);
        // Three of three is the largest number of a byte.
        assert_eq!(states[0][step], 85 * at(1, end - 1), "step {step}");
        assert_eq!(
            states[2][step],
            85 * at(2, end - 1).max(at(3, end - 1)),
            "step {step}"
        );
        let all: Vec<u16> = (begin..end).map(|ps| at(4, ps)).collect();
        let last = all.into_iter().rev().find(|&cause| cause > 0).unwrap_or(0);
        assert_eq!(causes[5][step], last, "step {step}");
    }
    assert!(states[0].contains(&85) && causes[5].contains(&4));
}

#[test]
fn a_page_without_series_or_network_is_a_page() {
    let mut run = run();
    run.series.clear();
    assert!(data(&render(&[run.clone()]).unwrap())["timeline"].is_null());
    run.topology = None;
    let page = render(&[run.clone()]).unwrap();
    assert!(!page.contains("id=\"topology-data\""));
    // A comparison shows no network.
    run.topology = Some(Topology::default());
    assert!(
        !render(&[run.clone(), run])
            .unwrap()
            .contains("id=\"topology-data\"")
    );
}

/// Settings of a tier are listed only if they differ from those of all switches.
#[test]
fn tiers_are_told_where_the_scenario_has_some() {
    let mut run = run();
    let all = data(&render(&[run.clone()]).unwrap());
    assert!(all.get("tiers").is_none() && all["nodes"][0].get("of").is_none());
    run.scenario.push_str(
        "\n[network]\nbuffer = \"32MiB\"\nheadroom = { fixed = \"9KB\" }\n[network.tier.leaf]\nbuffer = \"64MB\"\n\
         headroom = { fixed = \"9KB\" }\npfc.dynamic.shift = 2\n\
         ecn.curves = [{ rate = \"100Gbps\", kmin = \"1KB\", kmax = \"2KB\", pmax = 0.5 }]\n",
    );
    let data = data(&render(&[run]).unwrap());
    let own = [
        "buffer 64MB",
        "PFC threshold dynamic shift 2",
        "marks at 100Gbps: 1KB to 2KB, probability 0.5",
    ];
    assert_eq!(data["tiers"], serde_json::json!([{ "name": "leaf", "own": own }]));
    assert_eq!(
        (&data["nodes"][0]["of"], data["nodes"][1].get("of")),
        (&0.into(), None)
    );
}

#[test]
fn labels_stay_text() {
    let mut run = run();
    let label = "</script><script>alert(1)</script>";
    run.flows = run.flows.changed(|flows| flows[0].label = label.into());
    let page = render(&[run]).unwrap();
    assert_eq!(page.matches("</script>").count(), 4);
    assert_eq!(
        data(&page)["flows"]["names"][0],
        "</script><script>alert(1)</script>"
    );
}

/// 320 hosts, with different activity at every port in each of 512 bins, and 100,000 flows.
#[test]
fn the_largest_page_is_below_eight_megabytes() {
    let mut run = run();
    let topology = hpcc_fat(BitRate::from_gbps(100), BitRate::from_gbps(400), Span::from_us(1));
    let rows = rows(&topology, &links(&topology));
    let noise = |i: usize, k: u64| (k * 2_654_435_761 + i as u64 * 40_503) % 1_009;
    run.series = [
        "utilisation",
        "queue_max_bytes",
        "paused",
        "marks",
        "buffer_bytes",
    ]
    .iter()
    .flat_map(|metric| rows.iter().map(move |(name, &i)| (metric, name, i)))
    .map(|(metric, name, i)| {
        let points = (0..512u64).map(|k| (k * 1_000_000, noise(i, k) as f64 / 1_009.0));
        Series::new(name.clone(), *metric, points.collect())
    })
    .collect();
    run.topology = Some(topology);
    let one = run.flows.get(0).unwrap().into_owned();
    let flow = |k: u32| FlowRow {
        flow_id: k,
        slowdown: Some(1.0 + f64::from(k % 997)),
        fct_ps: Some(u64::from(k) * 1_003),
        ..one.clone()
    };
    run.flows = (0..100_000).map(flow).collect();
    let page = render(&[run]).unwrap();
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    assert!(page.len() > 2 << 20, "the series are in it: {} bytes", page.len());
}
