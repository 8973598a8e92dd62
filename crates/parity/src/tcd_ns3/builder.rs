//! How a network of this simulator is made of its description.

use std::any::Any;

use paceline_fabric::model::{Builder, NetworkModel, Site};
use paceline_fabric::spec::{ModelSpec, RunSpec};

use crate::tcd_ns3::TcdNs3;
use crate::tcd_ns3::spec::TcdNs3Spec;

/// A network of its description.
fn build(site: Site<'_>) -> Box<dyn NetworkModel> {
    let spec = TcdNs3Spec::of(site.run).expect("a network is built of its own description");
    Box::new(TcdNs3::new(site.run, spec, site.ports, site.classes))
}

impl ModelSpec for TcdNs3Spec {
    fn name(&self) -> &'static str {
        "tcd-ns3"
    }

    fn check(&self, _: &RunSpec) -> Result<(), String> {
        Ok(())
    }

    fn builder(&self) -> &'static dyn Any {
        static BUILDER: Builder = Builder(build);
        &BUILDER
    }
}
