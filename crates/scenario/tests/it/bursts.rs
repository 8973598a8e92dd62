//! Bursts in clusters: load, shape, and correlation are those that were asked for.

use paceline_fabric::spec::FlowSpec;
use paceline_kernel::sorted::SortedSet;
use paceline_scenario::{Overrides, load_text};

fn flows(keys: &str) -> Result<Vec<FlowSpec>, String> {
    let text = format!(
        "duration = '100ms'\ncc.scheme = 'none'\n[topology.star]\nhosts = 32\nrate = '100Gbps'\n[[workload]]\n\
         bursts = {{ {keys} }}\n"
    );
    let run = load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())?;
    Ok(run.run.flows.clone())
}

/// Variance over mean of the bytes that start in bins of this many us.
fn dispersion(flows: &[FlowSpec], us: u64) -> f64 {
    let mut bins = vec![0.0; (100_000 / us) as usize];
    for flow in flows {
        let bin = flow.start.as_ns() / (1000 * us);
        if let Some(bin) = bins.get_mut(bin as usize) {
            *bin += flow.size.get() as f64;
        }
    }
    let mean = bins.iter().sum::<f64>() / bins.len() as f64;
    let variance = bins.iter().map(|bin| (bin - mean).powi(2)).sum::<f64>() / bins.len() as f64;
    variance / mean
}

/// Bursts of any shape have the load that was asked for.
#[test]
fn loads_are_met() {
    for keys in [
        "load = 0.3",
        "load = 0.3, senders = 1, bursts = 1",
        "load = 0.3, senders = 16, targets = 4, duration = '40us', amplitude = 0.5",
        "load = 0.3, bursts = 10, gap = '5us', stay = false, size = '10KB'",
    ] {
        let bytes: u64 = flows(keys).unwrap().iter().map(|flow| flow.size.get()).sum();
        let load = bytes as f64 * 8.0 / (32.0 * 100e9 * 0.1);
        assert!((load / 0.3 - 1.0).abs() < 0.1, "{keys}: {load}");
    }
}

/// A burst of 10 us at half of 100 Gbit/s is 62,500 bytes of each sender: messages of 20,000 bytes every 3.2 us.
#[test]
fn a_burst_by_hand() {
    let all = flows(
        "load = 0.001, senders = 4, targets = 2, amplitude = 0.5, duration = '10us', bursts = 1, size = '20KB'",
    );
    let all = all.unwrap();
    let (first, of_first) = (all[0].start, all[0].src);
    let one: Vec<_> = all.iter().filter(|flow| flow.src == of_first).take(4).collect();
    let starts: Vec<u64> = one.iter().map(|flow| (flow.start - first).as_ns()).collect();
    assert_eq!(starts, [0, 3200, 6400, 9600]);
    assert_eq!(
        one.iter().map(|flow| flow.size.get()).collect::<Vec<_>>(),
        [20_000, 20_000, 20_000, 2500]
    );
    let burst: Vec<_> = all.iter().filter(|flow| flow.start == first).collect();
    assert_eq!(burst.len(), 4);
    assert_eq!(
        burst.iter().map(|flow| flow.dst).collect::<SortedSet<_>>().len(),
        2
    );
    assert!(all.iter().all(|flow| flow.src != flow.dst));
}

/// More senders at a time and more bursts in a cluster make traffic burstier, at the same load.
#[test]
fn dimensions_are_measured() {
    let of = |keys: &str, us| dispersion(&flows(&format!("load = 0.2, {keys}")).unwrap(), us);
    for us in [10, 100, 1000] {
        let (one, many) = (
            of("senders = 1, bursts = 1", us),
            of("senders = 16, bursts = 1", us),
        );
        assert!(many > 8.0 * one, "{us} us: {one} and {many}");
    }
    // A cluster spans milliseconds here: only long bins see it.
    let alone = |us| of("senders = 4, bursts = 1", us);
    let together = |us| of("senders = 4, bursts = 20, gap = '50us'", us);
    assert!(together(10) < 1.5 * alone(10));
    assert!(together(5000) > 5.0 * alone(5000));
}

#[test]
fn what_is_refused() {
    for (keys, expected) in [
        ("load = 0.1, senders = 33", "33 senders and 1 targets of a burst"),
        ("load = 0.1, senders = 30, targets = 3", "2 receivers beyond them"),
        ("load = 0.1, senders = 2, targets = 3", "3 targets for 2 senders"),
        ("load = 0.1, amplitude = 1.5", "an amplitude of 1.5"),
        ("load = 0.1, duration = '0s'", "sends nothing in a burst"),
        ("senders = 3", "has no `load`"),
    ] {
        let said = flows(keys).err().unwrap_or_default();
        assert!(said.contains(expected), "{keys}: {said}");
    }
}
