//! Simulators whose networks are models of their own: what resolving asks of each.

use std::sync::OnceLock;

use paceline_fabric::spec::{FlowSpec, LinkSpec, LoadBalancing, Model, PacketFormat, RunSpec};
use paceline_kernel::{Span, Time};
use toml::Spanned;

use crate::diagnostics::{Problem, Source};
use crate::htsim::matrix::Matrix;
use crate::ns3::keys::Config;
use crate::schema::{Fidelity, OwnTable, Parity};
use crate::topology::Net;
use crate::traffic::PacedSource;

use super::Cx;

/// What a scenario says that a simulator may set before anything else is read.
pub struct Given<'a> {
    /// The seed.
    pub seed: &'a mut Option<u64>,
    /// The duration.
    pub duration: &'a mut Option<Spanned<Span>>,
    /// The tables of simulators.
    pub parity: &'a mut Parity,
}

/// What the model of a network is made of.
pub struct Around<'a> {
    /// The network.
    pub net: &'a Net,
    /// Its links.
    pub links: &'a [LinkSpec],
    /// Sizes of packets.
    pub packet: &'a PacketFormat,
    /// The flows, in the order of their starts.
    pub flows: &'a mut [FlowSpec],
    /// The places of flows in the order in which they were written ([`crate::guest::Profile::keeps_order`]).
    pub written: &'a [u32],
    /// When the senders of flows stop, in the order in which they were written, where files say so.
    pub stops: &'a [Time],
    /// What each host sends ([`crate::guest::Profile::paced_messages`]).
    pub sources: Vec<PacedSource>,
}

/// Network and flows of a simulator with a transport of its own, which reads files of its own.
pub struct OwnRun {
    /// The network.
    pub net: Net,
    /// The flows.
    pub flows: Matrix,
    /// Where the flows are from.
    pub connections: Source,
    /// The network as it is run.
    pub model: Model,
    /// What results call its transport.
    pub scheme: &'static str,
}

/// What resolving asks of a simulator; each step is one of a run with its fidelity, unless it says otherwise.
pub trait Simulator: Sync {
    /// The name of its fidelity.
    fn name(&self) -> &'static str;

    /// Makes its table of a configuration of its program.
    ///
    /// # Errors
    /// What is wrong with a value.
    fn of_configuration(&self, _config: &Config) -> Result<Option<Box<dyn OwnTable>>, Problem> {
        Ok(None)
    }

    /// Checks its table in a run with another fidelity, which leaves it alone.
    ///
    /// # Errors
    /// What does not fit.
    fn check_unused(&self, _cx: &Cx<'_>, _parity: &Parity) -> Result<(), Problem> {
        Ok(())
    }

    /// Reads what its table says of the whole scenario, before anything else is looked at.
    ///
    /// # Errors
    /// What does not fit.
    fn prepare(&self, _cx: &Cx<'_>, _given: Given<'_>) -> Result<(), Problem> {
        Ok(())
    }

    /// Makes all of the run, where transport and control are the simulator's.
    ///
    /// # Errors
    /// What does not fit.
    fn own_run(
        &self,
        _cx: &mut Cx<'_>,
        _parity: &mut Parity,
        _duration: Option<&Spanned<Span>>,
    ) -> Result<Option<OwnRun>, Problem> {
        Ok(None)
    }

    /// Makes the model of the network.
    ///
    /// # Errors
    /// What does not fit.
    fn model(
        &self,
        _cx: &mut Cx<'_>,
        _parity: &mut Parity,
        _around: Around<'_>,
    ) -> Result<Option<Model>, Problem> {
        Ok(None)
    }

    /// Refuses what the simulator does not have.
    ///
    /// # Errors
    /// What does not fit.
    fn check(&self, _cx: &Cx<'_>, _run: &RunSpec) -> Result<(), Problem> {
        Ok(())
    }
}

static ADDED: OnceLock<Vec<&'static dyn Simulator>> = OnceLock::new();

/// Adds simulators; returns false if they have been looked up already.
pub(crate) fn add(simulators: Vec<&'static dyn Simulator>) -> bool {
    ADDED.set(simulators).is_ok()
}

/// All that are known.
pub(super) fn simulators() -> &'static [&'static dyn Simulator] {
    ADDED.get_or_init(Vec::new)
}

/// That of a fidelity, if it has one.
pub(crate) fn of(fidelity: Fidelity) -> Option<&'static dyn Simulator> {
    let mut all = simulators().iter().copied();
    all.find(|simulator| simulator.name() == fidelity.name())
}

/// Whether all packets of a flow go the same way.
pub fn one_way(run: &RunSpec) -> bool {
    run.load_balancing == LoadBalancing::Ecmp && run.entropy.is_none()
}
