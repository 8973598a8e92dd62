//! Registration of this simulator's network model.

use std::any::Any;
use std::collections::BTreeMap;

use paceline_congestion::registry::SchemeFactory;
use paceline_fabric::model::{Builder, NetworkModel, Site};
use paceline_fabric::spec::{ModelSpec, RunSpec};

use crate::bolt_ns3::spec::{BoltNs3Spec, has_scheme};
use crate::bolt_ns3::{BoltNs3, schemes};

/// Builds a network from its description.
fn build(site: Site<'_>) -> Box<dyn NetworkModel> {
    let spec = BoltNs3Spec::of(site.run).expect("a network is built of its own description");
    Box::new(BoltNs3::new(site.run, spec, site.ports))
}

impl ModelSpec for BoltNs3Spec {
    fn name(&self) -> &'static str {
        "bolt-ns3"
    }

    fn check(&self, run: &RunSpec) -> Result<(), String> {
        match run
            .schemes
            .iter()
            .find(|scheme| !has_scheme(scheme.config.name()))
        {
            Some(other) => Err(format!(
                "the simulator of Bolt's authors has no `{}`",
                other.config.name()
            )),
            None => Ok(()),
        }
    }

    fn builder(&self) -> &'static dyn Any {
        static BUILDER: Builder = Builder(build);
        &BUILDER
    }

    fn senders(&self, run: &RunSpec) -> BTreeMap<u16, SchemeFactory> {
        let own = (0..).zip(&run.schemes).filter_map(|(index, scheme)| {
            let factory = schemes::factory(scheme.config.params(), self)?;
            Some((index, factory))
        });
        own.collect()
    }
}
