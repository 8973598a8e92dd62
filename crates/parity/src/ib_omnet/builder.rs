//! Registration of this simulator's network model.

use std::any::Any;

use paceline_fabric::model::{Builder, NetworkModel, Site};
use paceline_fabric::spec::{ModelSpec, RunSpec};

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::check::check;
use crate::ib_omnet::spec::CreditSpec;

/// Builds a network from its description.
fn build(site: Site<'_>) -> Box<dyn NetworkModel> {
    let credits = CreditSpec::of(site.run).expect("a network is built of its own description");
    Box::new(InfiniBand::new(site, credits))
}

impl ModelSpec for CreditSpec {
    fn name(&self) -> &'static str {
        "ib-omnet"
    }
    fn check(&self, run: &RunSpec) -> Result<(), String> {
        check(run, self)
    }
    fn builder(&self) -> &'static dyn Any {
        static BUILDER: Builder = Builder(build);
        &BUILDER
    }
    fn credit_lanes(&self) -> u8 {
        self.lanes
    }
    /// Returns true: a host's messages to itself pass its switch.
    fn has_loopback(&self) -> bool {
        true
    }
}
