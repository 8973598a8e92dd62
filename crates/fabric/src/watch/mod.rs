//! What is written down of a run, as the core sees it happen.

pub(crate) mod account;
pub(crate) mod blame;
pub(crate) mod deadlock;
pub(crate) mod flow_probe;
pub(crate) mod record;

use crate::core::port::Ports;
use crate::watch::account::Accounts;
use crate::watch::blame::Blames;
use crate::watch::flow_probe::FlowProbes;
use crate::watch::record::Recorder;
use crate::world::classes::Classes;
use crate::world::links::Profiles;
use paceline_run::spec::{Blame, RunSpec};

/// What is written down of a run.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) recorder: Recorder,
    pub(crate) accounts: Accounts,
    pub(crate) flow_probes: FlowProbes,
    pub(crate) blames: Blames,
    pub(crate) deadlock: crate::watch::deadlock::Watch,
}

impl Watch {
    /// What a run's description asks for; there will be up to `packets` packets at a time.
    pub(crate) fn of(
        spec: &RunSpec,
        ports: &Ports,
        profiles: &Profiles,
        classes: &Classes,
        packets: usize,
    ) -> Self {
        let record = &spec.record;
        let mut recorder = Recorder::new(spec, ports, profiles, classes);
        // What is traced takes no short cuts through queues: closeups, and accounts of who makes whom wait, are told of
        // every step, too.
        recorder.tracing |= !record.flow_probes.is_empty() || record.blame != Blame::Off;
        let sizes = (ports.len(), classes.count());
        Self {
            recorder,
            accounts: Accounts::new(spec, sizes, packets),
            flow_probes: FlowProbes::new(&record.flow_probes, spec.flow_ids()),
            blames: Blames::new(record.blame, ports.len()),
            deadlock: crate::watch::deadlock::Watch::of(spec),
        }
    }

    /// Whether accounts, and no traces, are to be told what senders are about to learn.
    #[inline]
    pub(crate) fn accounts_alone(&self) -> bool {
        self.accounts.on() && !self.recorder.tracing
    }

    /// Whether accounts, closeups or traces are to be told what senders wait for.
    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        self.recorder.tracing || self.accounts.on()
    }
}
