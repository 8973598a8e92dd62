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

/// The data in a page's script element.
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

/// 320 hosts whose every port does something else in each of 512 bins, and 100,000 flows.
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
