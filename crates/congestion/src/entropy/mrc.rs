//! Selector that keeps a state for each value: MRC's sets of entropy values.
//!
//! Multipath Reliable Connection 1.0 (Open Compute Project), as summaries of it and of "Resilient AI Supercomputer
//! Networking using MRC and SRv6" (arXiv:2605.04333) describe it. The number of values in use and the time between
//! probes are not public: both are settings.

use std::collections::VecDeque;

use super::Draw;
use super::{Mrc, PathFeedback};
use paceline_kernel::Time;

/// State of a value in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Used in its turn.
    Good,
    /// Passed over once, after a mark or a trimmed packet.
    Skip,
}

/// Values of a sender in one plane. Those in use take turns, spare ones replace those that are assumed to be bad, and
/// bad ones are probed.
#[derive(Clone, Debug)]
pub struct ValueSet {
    settings: Mrc,
    /// Largest number of values in use.
    wanted: usize,
    in_use: Vec<(u16, State)>,
    turn: usize,
    spare: VecDeque<u16>,
    /// Bad values and the times of their next probes, in order of time.
    bad: VecDeque<(u16, Time)>,
}

impl ValueSet {
    /// Creates the set of a sender with `values` values, in random order.
    pub(super) fn new(values: u32, settings: Mrc, draw: &mut impl Draw) -> Self {
        let mut all: Vec<u16> = (0..values).map(|value| value as u16).collect();
        for last in (1..all.len()).rev() {
            all.swap(last, draw.draw() as usize % (last + 1));
        }
        let wanted = settings.in_use.clamp(1, values) as usize;
        Self {
            settings,
            wanted,
            spare: all.split_off(wanted).into(),
            in_use: all.into_iter().map(|value| (value, State::Good)).collect(),
            turn: 0,
            bad: VecDeque::new(),
        }
    }

    /// Returns true if a value is in use.
    pub(super) fn has_values(&self) -> bool {
        !self.in_use.is_empty()
    }

    /// Returns the value whose turn it is; 0 if all are bad.
    pub(super) fn next(&mut self) -> u16 {
        loop {
            let turn = self.turn;
            self.turn = if turn + 1 < self.in_use.len() { turn + 1 } else { 0 };
            match self.in_use.get_mut(turn) {
                Some((value, State::Good)) => return *value,
                Some((_, state)) => *state = State::Good,
                None => return 0,
            }
        }
    }

    pub(super) fn on_feedback(&mut self, now: Time, value: u16, feedback: PathFeedback) {
        match feedback {
            PathFeedback::Good if self.bad.is_empty() => {}
            PathFeedback::Good => self.recover(value, State::Good),
            PathFeedback::Marked | PathFeedback::Trimmed => {
                match self.in_use.iter_mut().find(|(other, _)| *other == value) {
                    Some((_, state)) => *state = State::Skip,
                    None => self.recover(value, State::Skip),
                }
            }
            PathFeedback::Timeout => self.give_up(now, value),
        }
    }

    /// Assumes that a value in use is bad, and puts a spare one in its turn.
    fn give_up(&mut self, now: Time, value: u16) {
        let Some(index) = self.in_use.iter().position(|&(other, _)| other == value) else {
            return;
        };
        match self.spare.pop_front() {
            Some(spare) => self.in_use[index] = (spare, State::Good),
            None => {
                self.in_use.remove(index);
                self.turn -= usize::from(self.turn > index);
                if self.turn >= self.in_use.len() {
                    self.turn = 0;
                }
            }
        }
        self.bad.push_back((value, now + self.settings.probe_interval));
    }

    /// Takes a bad value back, since a packet came through.
    fn recover(&mut self, value: u16, state: State) {
        let Some(index) = self.bad.iter().position(|&(other, _)| other == value) else {
            return;
        };
        self.bad.remove(index);
        if self.in_use.len() < self.wanted {
            self.in_use.push((value, state));
        } else {
            self.spare.push_back(value);
        }
    }

    /// Returns the time of the next probe.
    pub(super) fn next_probe(&self) -> Option<Time> {
        self.bad.front().map(|&(_, at)| at)
    }

    /// Returns a value to be probed now.
    pub(super) fn probe(&mut self, now: Time) -> Option<u16> {
        let (value, _) = *self.bad.front().filter(|&&(_, at)| at <= now)?;
        self.bad.pop_front();
        self.bad.push_back((value, now + self.settings.probe_interval));
        Some(value)
    }
}
