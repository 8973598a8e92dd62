//! What is written down of a run, as the core sees it happen.

pub(crate) mod account;
pub(crate) mod closeup;
pub(crate) mod record;
pub(crate) mod standstill;

use crate::core::port::Ports;
use crate::spec::RunSpec;
use crate::watch::account::Accounts;
use crate::watch::closeup::CloseUps;
use crate::watch::record::Recorder;
use crate::world::classes::Classes;
use crate::world::links::Profiles;

/// What is written down of a run.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) recorder: Recorder,
    pub(crate) accounts: Accounts,
    pub(crate) closeups: CloseUps,
    pub(crate) standstill: crate::watch::standstill::Watch,
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
        let (record, flows) = (&spec.record, spec.flow_count());
        let mut recorder = Recorder::new(spec, ports, profiles, classes);
        // What is traced takes no short cuts through queues: closeups are told of every step, too.
        recorder.tracing |= !record.closeups.is_empty();
        let sizes = (ports.len(), classes.count());
        Self {
            recorder,
            accounts: Accounts::new(spec, sizes, packets),
            closeups: CloseUps::new(&record.closeups, flows),
            standstill: crate::watch::standstill::Watch::of(spec),
        }
    }

    /// Whether accounts, and no traces, are to be told what senders are about to learn.
    #[inline]
    pub(crate) fn accounts_alone(&self) -> bool {
        self.accounts.on() && !self.recorder.tracing
    }

    /// Whether accounts, closeups or traces are to be told what senders wait for.
    #[inline]
    pub(crate) fn is_told(&self) -> bool {
        self.recorder.tracing || self.accounts.on()
    }
}
