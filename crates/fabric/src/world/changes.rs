//! What changes at known times: links that fail or come back, links whose rate, delay or loss become others, and hosts that
//! compute more slowly.

use std::collections::BTreeMap;

use crate::ids::{LinkId, PortId, ProfileId};
use crate::world::World;
use crate::world::links::LinkProfile;
use paceline_run::spec::{NodeId, slowness};

/// A change of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// When, in ps.
    pub(crate) at: u64,
    pub(crate) link: LinkId,
    pub(crate) what: What,
}

/// What happens to a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// It goes down, or comes up.
    Up(bool),
    /// Routes follow: they leave it out, or take it in.
    Routed(bool),
    /// Its rate, delay and loss become these.
    Set(Setting),
}

/// What a link is from some time on: the profiles of its two ports, and the share of packets that it loses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) profiles: [ProfileId; 2],
    pub(crate) error_rate: f64,
}

/// By link, what it is from which time (ps) on, in order of time; only links that change.
pub(crate) type Settings = BTreeMap<LinkId, Vec<(u64, Setting)>>;

impl World {
    /// What a port's link was built with: what schemes are configured for, and what ideal times are reckoned by.
    pub(crate) fn nominal(&self, port: PortId) -> &LinkProfile {
        &self.profiles[self.routing.end(port).profile]
    }

    /// What a port's link is at a time, in ps.
    pub(crate) fn profile_at(&self, port: PortId, at: u64) -> &LinkProfile {
        let settings = self.settings.get(&port.link());
        let last = settings.and_then(|all| all.iter().rev().find(|(from, _)| *from <= at));
        match last {
            Some((_, setting)) => &self.profiles[setting.profiles[port.end()]],
            None => self.nominal(port),
        }
    }

    /// When the transmission of a packet began that arrives at `port` now: the latest time whose rate and delay give that.
    pub(crate) fn began(&self, port: PortId, now: u64, wire: u16) -> u64 {
        let began = |profile: &LinkProfile| now.saturating_sub(profile.delay + profile.serialise(wire).tx);
        let mut until = u64::MAX;
        for (from, setting) in self.settings.get(&port.link()).into_iter().flatten().rev() {
            let at = began(&self.profiles[setting.profiles[port.end()]]);
            if (*from..until).contains(&at) {
                return at;
            }
            until = *from;
        }
        began(self.nominal(port))
    }

    /// The shortest delay that a port's link ever has, in ps.
    pub(crate) fn least_delay(&self, port: PortId) -> u64 {
        let settings = self.settings.get(&port.link()).into_iter().flatten();
        let delays = settings.map(|(_, setting)| self.profiles[setting.profiles[port.end()]].delay);
        delays.fold(self.nominal(port).delay, u64::min)
    }

    /// Everything that a port's link ever is.
    pub(crate) fn profiles_of(&self, port: PortId) -> impl Iterator<Item = &LinkProfile> {
        let settings = self.settings.get(&port.link()).into_iter().flatten();
        let others = settings.map(move |(_, setting)| &self.profiles[setting.profiles[port.end()]]);
        std::iter::once(self.nominal(port)).chain(others)
    }

    /// When a host has done what takes it so long (ps) otherwise, if it begins at `from`.
    pub(crate) fn computed(&self, node: NodeId, from: u64, takes: u64) -> u64 {
        match self.spec.host_changes.is_empty() {
            true => from.saturating_add(takes),
            false => slowness(&self.spec.host_changes, node).end(from, takes),
        }
    }
}
