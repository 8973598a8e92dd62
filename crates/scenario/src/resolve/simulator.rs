//! Interface between resolving and simulators with their own network models.

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

/// Parts of a scenario that a simulator may set before anything else is read.
pub struct Given<'a> {
    /// Seed of the run, if set.
    pub seed: &'a mut Option<u64>,
    /// Duration of the run, if set.
    pub duration: &'a mut Option<Spanned<Span>>,
    /// Tables of simulators under `[parity]`.
    pub parity: &'a mut Parity,
}

/// Inputs for the model of a network.
pub struct Around<'a> {
    /// Nodes, links and groups.
    pub net: &'a Net,
    /// Links with their error rates.
    pub links: &'a [LinkSpec],
    /// Sizes of packets and headers.
    pub packet: &'a PacketFormat,
    /// Flows in the order of their starts.
    pub flows: &'a mut [FlowSpec],
    /// Indices of flows in the order in which they were written ([`crate::guest::Profile::keeps_order`]).
    pub written: &'a [u32],
    /// Stop times of the flows' senders, in the order in which they were written; empty unless files have such times.
    pub stops: &'a [Time],
    /// Messages that each host sends ([`crate::guest::Profile::paced_messages`]).
    pub sources: Vec<PacedSource>,
}

/// Network and flows of a simulator that has its own transport and reads its own files.
pub struct OwnRun {
    /// Nodes and links of its network.
    pub net: Net,
    /// Connections with their dependencies.
    pub flows: Matrix,
    /// File that the flows come from.
    pub connections: Source,
    /// Model that runs the network.
    pub model: Model,
    /// Name of its transport in results.
    pub scheme: &'static str,
}

/// Hooks that resolving calls for a run under the simulator's fidelity, unless stated otherwise.
pub trait Simulator: Sync {
    /// Returns the name of its fidelity.
    fn name(&self) -> &'static str;

    /// Creates its table from a configuration of its program.
    ///
    /// # Errors
    /// If a value is invalid.
    fn of_configuration(&self, _config: &Config) -> Result<Option<Box<dyn OwnTable>>, Problem> {
        Ok(None)
    }

    /// Checks its table in a run with another fidelity, where the table has no effect.
    ///
    /// # Errors
    /// If a value is invalid.
    fn check_unused(&self, _cx: &Cx<'_>, _parity: &Parity) -> Result<(), Problem> {
        Ok(())
    }

    /// Applies the parts of its table that concern the whole scenario, before anything else is read.
    ///
    /// # Errors
    /// If a value is invalid.
    fn prepare(&self, _cx: &Cx<'_>, _given: Given<'_>) -> Result<(), Problem> {
        Ok(())
    }

    /// Creates the whole run, for a simulator with its own transport and congestion control.
    ///
    /// # Errors
    /// If a value is invalid.
    fn own_run(
        &self,
        _cx: &mut Cx<'_>,
        _parity: &mut Parity,
        _duration: Option<&Spanned<Span>>,
    ) -> Result<Option<OwnRun>, Problem> {
        Ok(None)
    }

    /// Creates the model of the network.
    ///
    /// # Errors
    /// If a value is invalid.
    fn model(
        &self,
        _cx: &mut Cx<'_>,
        _parity: &mut Parity,
        _around: Around<'_>,
    ) -> Result<Option<Model>, Problem> {
        Ok(None)
    }

    /// Rejects features that the simulator does not have.
    ///
    /// # Errors
    /// If the run has one.
    fn check(&self, _cx: &Cx<'_>, _run: &RunSpec) -> Result<(), Problem> {
        Ok(())
    }
}

static ADDED: OnceLock<Vec<&'static dyn Simulator>> = OnceLock::new();

/// Adds simulators; returns false if they have been looked up already.
pub(crate) fn add(simulators: Vec<&'static dyn Simulator>) -> bool {
    ADDED.set(simulators).is_ok()
}

/// Returns all known simulators.
pub(super) fn simulators() -> &'static [&'static dyn Simulator] {
    ADDED.get_or_init(Vec::new)
}

/// Returns the simulator of a fidelity, if it has one.
pub(crate) fn of(fidelity: Fidelity) -> Option<&'static dyn Simulator> {
    let mut all = simulators().iter().copied();
    all.find(|simulator| simulator.name() == fidelity.name())
}

/// Returns true if all packets of a flow take the same path.
pub fn one_way(run: &RunSpec) -> bool {
    run.load_balancing == LoadBalancing::Ecmp && run.entropy.is_none()
}
