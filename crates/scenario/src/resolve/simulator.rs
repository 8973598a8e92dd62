//! Simulators whose networks are models of their own: what resolving asks of each.

use paceline_fabric::spec::{LinkSpec, LoadBalancing, Model, PacketFormat, RunSpec};
use paceline_kernel::Span;
use toml::Spanned;

use crate::diagnostics::{Problem, Source};
use crate::htsim::matrix::Matrix;
use crate::schema::{Fidelity, Parity};
use crate::topology::Net;

use super::Cx;
use super::workload::Traffic;

/// What a scenario says that a simulator may set before anything else is read.
pub(super) struct Given<'a> {
    pub(super) seed: &'a mut Option<u64>,
    pub(super) duration: &'a mut Option<Spanned<Span>>,
    pub(super) parity: &'a mut Parity,
}

/// What the model of a network is made of.
pub(super) struct Around<'a> {
    pub(super) net: &'a Net,
    pub(super) links: &'a [LinkSpec],
    pub(super) packet: &'a PacketFormat,
    pub(super) traffic: &'a mut Traffic,
}

/// Network and flows of a simulator with a transport of its own, which reads files of its own.
pub(super) struct OwnRun {
    pub(super) net: Net,
    pub(super) flows: Matrix,
    /// Where the flows are from.
    pub(super) connections: Source,
    pub(super) model: Model,
    /// What results call its transport.
    pub(super) scheme: &'static str,
}

/// What resolving asks of a simulator; each step is one of a run with its fidelity, unless it says otherwise.
pub(super) trait Simulator: Sync {
    /// The name of its fidelity.
    fn name(&self) -> &'static str;

    /// Checks its table in a run with another fidelity, which leaves it alone.
    fn check_unused(&self, _cx: &Cx<'_>, _parity: &Parity) -> Result<(), Problem> {
        Ok(())
    }

    /// Reads what its table says of the whole scenario, before anything else is looked at.
    fn prepare(&self, _cx: &Cx<'_>, _given: Given<'_>) -> Result<(), Problem> {
        Ok(())
    }

    /// Makes all of the run, where transport and control are the simulator's.
    fn own_run(
        &self,
        _cx: &mut Cx<'_>,
        _parity: &mut Parity,
        _duration: Option<&Spanned<Span>>,
    ) -> Result<Option<OwnRun>, Problem> {
        Ok(None)
    }

    /// Makes the model of the network.
    fn model(
        &self,
        _cx: &mut Cx<'_>,
        _parity: &mut Parity,
        _around: Around<'_>,
    ) -> Result<Option<Model>, Problem> {
        Ok(None)
    }

    /// Refuses what the simulator does not have.
    fn check(&self, _cx: &Cx<'_>, _run: &RunSpec) -> Result<(), Problem> {
        Ok(())
    }
}

/// All that are known.
pub(super) fn simulators() -> [&'static dyn Simulator; 4] {
    [
        &super::bolt_ns3::BoltNs3,
        &super::tcd_ns3::TcdNs3,
        &super::ib_omnet::IbOmnet,
        &super::uet_htsim::UetHtsim,
    ]
}

/// That of a fidelity, if it has one.
pub(super) fn of(fidelity: Fidelity) -> Option<&'static dyn Simulator> {
    let mut all = simulators().into_iter();
    all.find(|simulator| simulator.name() == fidelity.name())
}

/// Whether all packets of a flow go the same way.
pub(super) fn one_way(run: &RunSpec) -> bool {
    run.load_balancing == LoadBalancing::Ecmp && run.entropy.is_none()
}
