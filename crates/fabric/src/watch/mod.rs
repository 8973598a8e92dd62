//! Recorders of a run, called by the core.

pub(crate) mod account;
pub(crate) mod blame;
pub(crate) mod deadlock;
pub(crate) mod drops;
pub(crate) mod flow_probe;
pub(crate) mod probe;
pub(crate) mod record;
mod view;

use crate::core::credits::CbfcLane;
use crate::core::isolated::IsolatedFlow;
use crate::core::port::Ports;
use crate::core::retry::LlrPort;
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

/// Tables that the engine records.
pub const TABLES: &[&Declared] = &[
    Waited::DECLARED,
    CbfcLane::DECLARED,
    IsolatedFlow::DECLARED,
    LlrPort::DECLARED,
    LostPacket::DECLARED,
];

/// Returns the probes that a run requests.
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

/// All recorders of a run.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) recorder: Recorder,
    pub(crate) accounts: Accounts,
    pub(crate) flow_probes: FlowProbes,
    pub(crate) probes: Probes,
    pub(crate) deadlock: crate::watch::deadlock::Watch,
}

impl Watch {
    /// Creates the recorders that a run's description requests. There will be up to `packets` packets at a time.
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
        // Traced packets take no short cuts through queues: flow probes and some other probes need every step too.
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

    /// Returns true if accounts alone have to see answers before senders react; a trace would show them too.
    #[inline]
    pub(crate) fn accounts_alone(&self) -> bool {
        self.accounts.on() && !self.recorder.tracing
    }

    /// Returns true if accounts, flow probes or traces have to see the reasons for which senders wait.
    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        self.recorder.tracing || self.accounts.on()
    }
}
