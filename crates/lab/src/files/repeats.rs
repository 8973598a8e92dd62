//! `repeats.json`: phases of a run that were simulated, and those that were taken from memory.

use std::io::{self, Write};

use paceline_fabric::outcome::{Repeats, StateRepeats};
use serde::Serialize;

use crate::results::Summary;

/// Content of the file; phases lead from one state of the network to the next.
#[derive(Serialize)]
struct File<'a> {
    /// Reason why no phase of the run could be reused, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<&'a str>,
    /// Reason why states with packets in flight were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    only_at_rest: Option<&'a str>,
    phases: Phases,
    events: Events,
    /// Number of distinct values of each part of a state.
    parts: serde_json::Map<String, serde_json::Value>,
    states: Vec<State>,
}

#[derive(Serialize)]
struct Phases {
    simulated: u64,
    kept: u64,
    checked: u64,
    taken: u64,
    left: u64,
}

#[derive(Serialize)]
struct Events {
    simulated: u64,
    taken: u64,
}

#[derive(Serialize)]
struct State {
    fingerprint: String,
    simulated: u64,
    taken: u64,
}

pub(super) fn write(out: &mut dyn Write, repeats: &Repeats, summary: &Summary) -> io::Result<()> {
    let Repeats {
        why_not,
        only_at_rest,
        simulated,
        kept,
        checked,
        taken,
        left,
        events_taken,
        ref parts,
        ref states,
    } = *repeats;
    let state = |state: &StateRepeats| State {
        fingerprint: format!("{:032x}", state.print),
        simulated: state.simulated,
        taken: state.taken,
    };
    let file = File {
        why_not,
        only_at_rest,
        phases: Phases {
            simulated,
            kept,
            checked,
            taken,
            left,
        },
        events: Events {
            simulated: summary.events - events_taken,
            taken: events_taken,
        },
        parts: parts
            .iter()
            .map(|&(part, different)| (part.to_string(), different.into()))
            .collect(),
        states: states.iter().map(state).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &file)?;
    writeln!(out)
}
