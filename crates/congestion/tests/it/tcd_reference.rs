//! Compares ternary detection as coded by its authors with the ports' state changes in runs of their
//! simulator (`validation/tcd-ns3`): each change occurs at its nanosecond, and there is no other.
//!
//! The runs record when pauses start and end and when a port's state changes, with the queue. Departures in
//! between are filled in: a packet of 1020 bytes every 204 ns up to the next event, with linearly
//! interpolated queues. If a queue is nearly empty its port may be idle, and nothing is filled in. Random
//! outcomes of the curve between its thresholds are taken from the recorded state.

use std::collections::BTreeMap;

use paceline_congestion::detect::PortState;
use paceline_congestion::detect::tcd::{Machine, Rule, Variant, Verdict};
use paceline_kernel::{Span, Time};

const RULE: Rule = Rule {
    variant: Variant::AsCoded,
    max_ton: Span::from_us(97),
    threshold: 0,
};

/// Transmission time of a full packet at 40 Gbit/s, in ns.
const PACKET: u64 = 204;
/// Queue length above which more than two full packets wait behind the departing one, so that the port is
/// busy.
const BUSY: u64 = 2040;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Change {
    at: u64,
    old: PortState,
    new: PortState,
}

#[derive(Clone, Copy)]
enum LogEvent {
    On(u64),
    Off,
    Change(PortState, PortState, u64),
}

#[derive(Default)]
struct Port {
    events: Vec<(u64, LogEvent)>,
    samples: Vec<(u64, u64)>,
}

fn state(code: &str) -> PortState {
    match code {
        "0" => PortState::NotCongested,
        "1" => PortState::Checking,
        "2" => PortState::Undetermined,
        "3" => PortState::Congested,
        _ => panic!("`{code}` is no state"),
    }
}

fn read(name: &str) -> BTreeMap<String, Port> {
    let path = format!(
        "{}/../../validation/tcd-ns3/{name}.tsv",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).expect("the file is there");
    let mut ports = BTreeMap::<String, Port>::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields[i].parse::<u64>().expect("a number");
        let port = ports.entry(format!("{}-{}", fields[0], fields[1])).or_default();
        let what = match fields[3] {
            "Q" => {
                port.samples.push((number(2), number(4)));
                continue;
            }
            "ON" => LogEvent::On(number(4)),
            "OFF" => LogEvent::Off,
            "S" => LogEvent::Change(state(fields[4]), state(fields[5]), number(6)),
            other => panic!("`{other}` is no event"),
        };
        port.events.push((number(2), what));
    }
    ports
}

impl Port {
    /// Returns the queue, interpolated between two samples.
    fn queue(&self, at: u64) -> u64 {
        let after = self.samples.partition_point(|&(time, _)| time <= at);
        let (Some(&(t0, q0)), Some(&(t1, q1))) = (
            after.checked_sub(1).and_then(|i| self.samples.get(i)),
            self.samples.get(after),
        ) else {
            return 0;
        };
        let part = (at - t0) as f64 / (t1 - t0) as f64;
        (q0 as f64 + (q1 as f64 - q0 as f64) * part) as u64
    }

    fn recorded(&self) -> Vec<Change> {
        let changes = self.events.iter().filter_map(|&(at, what)| match what {
            LogEvent::Change(old, new, _) => Some(Change { at, old, new }),
            _ => None,
        });
        changes.collect()
    }

    fn found(&self, rule: &Rule) -> Vec<Change> {
        let mut machine = Machine::default();
        let mut found = Vec::new();
        let mut state = PortState::NotCongested;
        let mut leaves = |machine: &mut Machine, at: u64, left: u64, marked: bool| {
            let new = match machine.on_departure(rule, Time::from_ns(at), left as u32) {
                Verdict::Undetermined => PortState::Undetermined,
                Verdict::Spared => machine.found().unwrap_or(PortState::NotCongested),
                Verdict::Curve if !marked => PortState::NotCongested,
                Verdict::Congested | Verdict::Curve => PortState::Congested,
            };
            let old = std::mem::replace(&mut state, new);
            if new != old {
                found.push(Change { at, old, new });
            }
        };
        let (mut paused, mut before, mut congested) = (false, 0, false);
        for &(at, what) in &self.events {
            let packets = (at - before).saturating_sub(1) / PACKET;
            let mut left_to_come = (1..=packets).rev().map(|i| at - i * PACKET);
            while !paused
                && before > 0
                && machine.found().is_some()
                && let Some(time) = left_to_come.next()
            {
                let queue = self.queue(time);
                // The recorded packet decides whether the queue is gone.
                let shown = match machine.found() {
                    Some(PortState::Checking) => queue.max(3100),
                    _ => queue,
                };
                if queue > BUSY {
                    leaves(&mut machine, time, shown, congested);
                }
            }
            match what {
                LogEvent::On(queue) => {
                    machine.on_resume(Time::from_ns(at), queue as u32);
                    paused = false;
                }
                LogEvent::Off => {
                    machine.on_pause(rule, Time::from_ns(at), 0);
                    paused = true;
                }
                LogEvent::Change(_, new, left) => {
                    congested = new == PortState::Congested;
                    leaves(&mut machine, at, left, congested);
                }
            }
            before = at;
        }
        found
    }
}

/// Runs, and the total number of state changes of their ports.
const RUNS: [(&str, usize); 6] = [
    ("s1_single", 41),
    ("s1_single_150us", 62),
    ("s2_multi_150us", 29),
    ("b_burstflow_4x30us", 40),
    ("b_burstflow_f_15x150us", 49),
    ("b_testflow_17to1", 178),
];

#[test]
fn every_state_change_at_its_nanosecond_and_no_other() {
    for (name, count) in RUNS {
        let ports = read(name);
        let all: usize = ports.values().map(|port| port.recorded().len()).sum();
        assert_eq!(all, count, "{name}");
        for (port, facts) in &ports {
            assert_eq!(facts.found(&RULE), facts.recorded(), "{name}, port {port}");
        }
    }
}

/// With a period of one microsecond more or less the changes differ, so the test can fail.
#[test]
fn another_period_gives_others() {
    for us in [96, 98] {
        let rule = Rule {
            max_ton: Span::from_us(us),
            ..RULE
        };
        let ports = read("s1_single");
        assert!(
            ports.values().any(|port| port.found(&rule) != port.recorded()),
            "{us} us"
        );
    }
}
