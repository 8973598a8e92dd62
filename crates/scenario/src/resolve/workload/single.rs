//! Flows that a scenario lists one by one.

use paceline_kernel::Time;
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::resolve::fill::fill;
use crate::schema;
use crate::traffic::Message;

use super::maker::{Made, Maker};

impl Maker<'_, '_> {
    pub(super) fn flows(&self, flows: &mut [Spanned<schema::Flow>]) -> Result<Made, Problem> {
        let mut locations = Vec::with_capacity(flows.len());
        let mut messages = Vec::with_capacity(flows.len());
        for spanned in flows {
            let location = self.cx.texts.of_value(spanned);
            let flow = spanned.get_mut();
            let missing = |key: &str| Problem::new(format!("the flow has no `{key}`")).at(&location);
            messages.push(Message {
                src: self.host(flow.src.as_ref().ok_or_else(|| missing("src"))?)?,
                dst: self.host(flow.dst.as_ref().ok_or_else(|| missing("dst"))?)?,
                size: self.size(flow.size.as_ref().ok_or_else(|| missing("size"))?)?,
                start: fill(&mut flow.start, Time::ZERO),
            });
            locations.push(location);
        }
        Ok(Made {
            locations,
            ..messages.into()
        })
    }
}
