//! Tests for the size of pages, which must stay small for all runs.

use super::{RunData, render};
use paceline_lab::files::Series;
use paceline_lab::results::FlowRow;
use paceline_lab::sample;

/// Largest size of a page, in bytes.
const BYTES_MAX: usize = 8_000_000;

/// Returns a run of many flows, with ports and flows recorded at the finest resolution.
fn large(flows: u32, ports: u32) -> RunData {
    let (input, outcome) = sample::incast();
    let mut data = RunData::new(&input, &sample::finished(&input, outcome));
    let one = data.flows.get(0).unwrap().into_owned();
    let flow = |id: u32| {
        let took = 10_000_000 + u64::from(id.wrapping_mul(2_654_435_761) % 977) * 1_234_567;
        FlowRow {
            flow_id: id,
            src: 1 + id % 3,
            size_bytes: 1000 + u64::from(id) * 37,
            start_ps: 1_000_000 * u64::from(id),
            fct_ps: Some(took),
            slowdown: Some(took as f64 / 9.87e6),
            ..one.clone()
        }
    };
    data.flows = (0..flows).map(flow).collect();
    let noise = |port: u32, at: u32| f64::from((port * 31 + at.wrapping_mul(7919)) % 65_521);
    let of_port = |port: u32| {
        ["queue_max_bytes", "utilisation", "paused"].map(|metric| {
            let value = |at: u32| match noise(port, at) / 65_521.0 {
                share if metric == "queue_max_bytes" => share * 1e6,
                share => share,
            };
            let points = (0..512).map(|at| (u64::from(at) * 200_000_000, value(at)));
            let name = format!("port 0.{}->{}", 1 + port % 4, 1 + port % 4);
            Series::new(name, metric, points.collect())
        })
    };
    // Each series has as many samples as a run keeps.
    let sampled = |entity: String, metric: &str, seed: u32| {
        let points = (0..1 << 16).map(|at| (u64::from(at) * 200_000, noise(seed, at * 31) * 1e6));
        Series {
            period_ps: 200_000,
            bin_ps: 200_000,
            ..Series::new(entity, metric, points.collect())
        }
    };
    data.series = (0..ports).flat_map(of_port).collect();
    let of_flow = |flow: u32| {
        ["goodput_bps", "rate_bps", "window_bytes", "rtt_us"]
            .map(|metric| sampled(format!("flow {flow}"), metric, flow))
    };
    let queues = (0..ports).map(|port| sampled(format!("port 0.{0}->{0}", 1 + port), "queue_bytes", port));
    data.series.extend(queues);
    data.series.extend((0..4).flat_map(of_flow));
    data.pauses_ns = (0..200_000).map(|k| k * 500).collect();
    data
}

#[test]
fn a_page_of_a_hundred_thousand_flows_is_small() {
    let data = large(100_000, 4);
    let page = render(std::slice::from_ref(&data)).unwrap();
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
    assert!(page.contains("Slowdown by flow size"));
    let eight = vec![data; 8];
    let page = render(&eight).unwrap();
    assert!(page.len() < BYTES_MAX, "{} bytes for eight runs", page.len());
}
