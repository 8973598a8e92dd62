//! Registration of this simulator's network model.

use std::any::Any;

use paceline_fabric::model::{Builder, NetworkModel, Site};
use paceline_fabric::outcome::ModelOutcome;
use paceline_fabric::spec::{CompletionLine, ModelSpec, OwnFile, RunSpec};

use crate::tcd_ns3::outcome::TcdNs3Record;
use crate::tcd_ns3::spec::TcdNs3Spec;
use crate::tcd_ns3::{TcdNs3, files};

/// Builds a network from its description.
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

    fn completion_line(&self) -> Option<CompletionLine> {
        Some(files::completion)
    }

    fn files<'a>(&'a self, run: &'a RunSpec, left: &'a ModelOutcome) -> Vec<OwnFile<'a>> {
        let record: Option<&TcdNs3Record> = left.get();
        record.map_or_else(Vec::new, |record| files::all(self, run, record))
    }
}
