//! Changes at known times: links that fail or come back, links whose rate, delay or loss change, and hosts that compute
//! more slowly.

use std::collections::BTreeMap;

use crate::ids::{LinkId, PortId, ProfileId};
use crate::world::World;
use crate::world::links::LinkProfile;
use paceline_run::spec::{NodeId, slowness};

/// A change of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Time of the change, in ps.
    pub(crate) at: u64,
    pub(crate) link: LinkId,
    pub(crate) what: LinkChange,
}

/// Kind of a change of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LinkChange {
    /// Failure (false) or return (true) of the link.
    Up(bool),
    /// Reaction of the routes: they leave the link out (false) or use it again (true).
    Routed(bool),
    /// Change of rate, delay and loss.
    Set(Setting),
}

/// Properties of a link from some time on: the profiles of its two ports, and the share of packets that it loses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) profiles: [ProfileId; 2],
    pub(crate) error_rate: f64,
}

/// Settings of links that change: times in ps and the properties from then on, in order of time.
pub(crate) type Settings = BTreeMap<LinkId, Vec<(u64, Setting)>>;

impl World {
    /// Returns the original profile of a port's link, for which schemes are configured and ideal times computed.
    pub(crate) fn nominal(&self, port: PortId) -> &LinkProfile {
        &self.profiles[self.routing.end(port).profile]
    }

    /// Returns the profile of a port's link at a time, in ps.
    pub(crate) fn profile_at(&self, port: PortId, at: u64) -> &LinkProfile {
        let settings = self.settings.get(&port.link());
        let last = settings.and_then(|all| all.iter().rev().find(|(from, _)| *from <= at));
        match last {
            Some((_, setting)) => &self.profiles[setting.profiles[port.end()]],
            None => self.nominal(port),
        }
    }

    /// Returns the start of the transmission of a packet that arrives at `port` now: the latest time whose rate and
    /// delay give that arrival.
    pub(crate) fn began(&self, port: PortId, now: u64, wire: u16) -> u64 {
        let began = |profile: &LinkProfile| now.saturating_sub(profile.delay + profile.serialise(wire).tx);
        let mut until = u64::MAX;
        // From the last setting back, since the latest start that fits is the right one.
        for (from, setting) in self.settings.get(&port.link()).into_iter().flatten().rev() {
            let at = began(&self.profiles[setting.profiles[port.end()]]);
            if (*from..until).contains(&at) {
                return at;
            }
            until = *from;
        }
        began(self.nominal(port))
    }

    /// Returns the shortest delay that a port's link ever has, in ps.
    pub(crate) fn least_delay(&self, port: PortId) -> u64 {
        let settings = self.settings.get(&port.link()).into_iter().flatten();
        let delays = settings.map(|(_, setting)| self.profiles[setting.profiles[port.end()]].delay);
        delays.fold(self.nominal(port).delay, u64::min)
    }

    /// Returns all profiles that a port's link ever has.
    pub(crate) fn profiles_of(&self, port: PortId) -> impl Iterator<Item = &LinkProfile> {
        let settings = self.settings.get(&port.link()).into_iter().flatten();
        let others = settings.map(move |(_, setting)| &self.profiles[setting.profiles[port.end()]]);
        std::iter::once(self.nominal(port)).chain(others)
    }

    /// Returns the time at which a host that starts at `from` has done work that normally takes `takes` ps.
    pub(crate) fn computed(&self, node: NodeId, from: u64, takes: u64) -> u64 {
        match self.spec.host_changes.is_empty() {
            true => from.saturating_add(takes),
            false => slowness(&self.spec.host_changes, node).end(from, takes),
        }
    }
}
