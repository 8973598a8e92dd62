//! What is written down of a run, as the core sees it happen.

pub(crate) mod account;
pub(crate) mod blame;
pub(crate) mod deadlock;
pub(crate) mod drops;
pub(crate) mod flow_probe;
pub(crate) mod probe;
pub(crate) mod record;
mod view;

use crate::core::port::Ports;
use crate::watch::account::Accounts;
use crate::watch::blame::Blames;
use crate::watch::drops::{Drops, LostPacket};
use crate::watch::flow_probe::FlowProbes;
use crate::watch::probe::Probes;
use crate::watch::record::Recorder;
use crate::world::classes::Classes;
use crate::world::links::Profiles;
use paceline_run::outcome::blame::Waited;
use paceline_run::spec::{Blame, RecordSpec, RunSpec};
use paceline_run::table::{Declared, Row};

/// Tables of the probes.
pub const TABLES: &[&Declared] = &[Waited::DECLARED, LostPacket::DECLARED];

/// The probes that a run asks for.
fn probes(record: &RecordSpec, ports: &Ports) -> Probes {
    let mut probes = Probes::default();
    if record.blame != Blame::Off {
        probes.add(Blames::new(record.blame, ports.len()));
    }
    if record.drops {
        probes.add(Drops::default());
    }
    probes
}

/// What is written down of a run.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) recorder: Recorder,
    pub(crate) accounts: Accounts,
    pub(crate) flow_probes: FlowProbes,
    pub(crate) probes: Probes,
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
        let probes = probes(record, ports);
        // What is traced takes no short cuts through queues: closeups and some probes see every step, too.
        recorder.tracing |= !record.flow_probes.is_empty() || probes.follow_packets();
        let sizes = (ports.len(), classes.count());
        Self {
            recorder,
            accounts: Accounts::new(spec, sizes, packets),
            flow_probes: FlowProbes::new(&record.flow_probes, spec.flow_ids()),
            probes,
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
