//! Samples of each class of each port: the states that detectors find, and the credits of each lane.
//!
//! Samples are no events: see [`super::ports`].

use serde::{Deserialize, Serialize};
use std::mem::take;

use paceline_kernel::Span;
use paceline_kernel::ids::List;

use crate::core::port::Ports;
use crate::ids::PortId;
use crate::world::classes::{Classes, STRICT};
use paceline_run::outcome::{Binned, PortRef, Room, StateRecord};
use paceline_run::spec::RunSpec;

/// Upper limit of the bins of all series together: 20 MB.
const BINS_MAX: usize = 1 << 19;

/// Recorder of classes; empty if it is not requested, or if nothing detects or has credits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClassRecorder {
    /// Time of the next sample, in ps; `u64::MAX` for none.
    due: u64,
    period: u64,
    room: Room,
    followed: Vec<Followed>,
}

/// A recorded class of a port.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Followed {
    port: PortId,
    class: u8,
    priority: u8,
    series: Binned,
}

impl ClassRecorder {
    /// Creates a recorder of detectors' states, for the classes of switch ports that carry data and have a detector.
    /// Under credits they are named by their lanes, no matter which priorities use these.
    pub(super) fn of_states(spec: &RunSpec, ports: &Ports, classes: &Classes) -> Self {
        let detected = spec.switch.detectors().into_iter();
        let detected = detected.fold(0, |mask, (priorities, _)| mask | priorities);
        let data = spec
            .flow_classes()
            .fold(0u8, |mask, priority| mask | 1 << priority);
        let mask = classes.of(detected & data);
        let switches = ports.numbered().filter(|(_, port)| !port.is_host);
        let name = |class| match spec.lanes {
            Some(_) => class - STRICT - 1,
            None => classes.priority(class),
        };
        let of_port = |(port, _)| {
            let named = (0..16u8).filter(move |class| mask >> class & 1 == 1);
            named.map(move |class| (port, class, name(class)))
        };
        Self::new(spec.record.state_every, spec, switches.flat_map(of_port))
    }

    /// Creates a recorder of credits, for every lane of every port.
    pub(super) fn of_credits(spec: &RunSpec, ports: &Ports) -> Self {
        let (lanes, first) = match (&spec.model, &spec.lanes) {
            (Some(model), _) => (model.credit_lanes(), 0),
            (None, Some(lanes)) => (lanes.lanes(), STRICT + 1),
            (None, None) => (0, 0),
        };
        let of_port = |port| (0..lanes).map(move |lane| (port, first + lane, lane));
        Self::new(spec.record.credit_every, spec, ports.ids().flat_map(of_port))
    }

    /// Creates a recorder of these ports and classes, with the classes' names.
    fn new(every: Option<Span>, spec: &RunSpec, of: impl Iterator<Item = (PortId, u8, u8)>) -> Self {
        let (Some(every), Some(first)) = (every, spec.first_start()) else {
            return Self::nothing();
        };
        let period = every.as_ps().max(1);
        let number = first.as_ps() / period + 1;
        let due = number.saturating_mul(period);
        let series = Binned::new(0, period, number, due);
        let followed = |(port, class, priority)| Followed {
            port,
            class,
            priority,
            series: series.clone(),
        };
        let followed: Vec<Followed> = of.map(followed).collect();
        Self {
            due: if followed.is_empty() { u64::MAX } else { due },
            period,
            room: Room::new(BINS_MAX, followed.len()),
            followed,
        }
    }

    fn nothing() -> Self {
        Self {
            due: u64::MAX,
            period: 1,
            room: Room::new(BINS_MAX, 0),
            followed: Vec::new(),
        }
    }

    /// Returns the records so far, and leaves an empty recorder.
    pub(crate) fn end_with(&mut self) -> Self {
        std::mem::replace(self, Self::nothing())
    }

    /// Returns the time of the next sample, in ps.
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// Takes the sample that is due. It is the last one if no packet is in the network any more.
    pub(crate) fn sample(&mut self, is_over: bool, value: impl Fn(PortId, u8, u64) -> u64) {
        let number = self.due / self.period;
        for one in &mut self.followed {
            let value = value(one.port, one.class, self.due);
            self.room.sample(&mut one.series, number, value);
        }
        // All series share one memory budget, so the longest are thinned.
        if self.room.is_exceeded() {
            let all = self.followed.iter_mut().map(|one| &mut one.series);
            self.room.thin(all.collect());
        }
        // No packet is left, so the values stay as they are.
        if is_over {
            self.end(number + 1);
        } else {
            self.due = self.due.saturating_add(self.period);
        }
    }

    /// Ends all series before sample `end`.
    fn end(&mut self, end: u64) {
        self.due = u64::MAX;
        self.followed.iter_mut().for_each(|one| one.series.finish(end));
    }

    /// Adds the records of another part of the network, up to the same instant, for the ports that belong to it.
    pub(super) fn merge(&mut self, other: Self, theirs: &dyn Fn(PortId) -> bool) {
        for (mine, record) in self.followed.iter_mut().zip(other.followed) {
            if theirs(mine.port) {
                *mine = record;
            }
        }
        let all = self.followed.iter_mut().map(|one| &mut one.series);
        self.room.merge(&other.room, all.collect());
    }

    /// Ends the recorder at `now`, and returns the series of ports and classes for which `notifies` returns true.
    pub(crate) fn finish(
        mut self,
        now: u64,
        ports: &List<PortId, PortRef>,
        notifies: impl Fn(PortId, u8) -> bool,
    ) -> Vec<StateRecord> {
        if self.due != u64::MAX {
            self.end(now / self.period + 1);
        }
        let record = |one: Followed| StateRecord {
            port: ports[one.port],
            priority: one.priority,
            series: one.series,
        };
        let got = take(&mut self.followed).into_iter();
        got.filter(|one| notifies(one.port, one.class))
            .map(record)
            .collect()
    }
}
