//! Distributions of flow sizes: built-in, from files, or given in the scenario.

use paceline_kernel::Bytes;
use toml::Spanned;

use crate::diagnostics::{Location, Problem, suggestion};
use crate::schema::{Share, Sizes};
use crate::traffic::{DISTRIBUTIONS, SizeDistribution};

use super::maker::Maker;

impl Maker<'_, '_> {
    pub(super) fn sizes(&mut self, sizes: &mut Spanned<Sizes>) -> Result<SizeDistribution, Problem> {
        let location = self.cx.texts.of_value(sizes);
        match sizes.get_mut() {
            Sizes::Named(name) => self.distribution(name, &location),
            Sizes::Mix(shares) => self.mix(shares, &location),
        }
    }

    fn mix(&self, shares: &[Spanned<Share>], location: &Location) -> Result<SizeDistribution, Problem> {
        let mut list = Vec::with_capacity(shares.len());
        for written in shares {
            let of = self.cx.texts.of_value(written);
            let missing = |key: &str| Problem::new(format!("the size of a mix has no `{key}`")).at(&of);
            let size = written.get_ref().size.as_ref().ok_or_else(|| missing("size"))?;
            let share = written.get_ref().share.as_ref().ok_or_else(|| missing("share"))?;
            list.push((self.size(size)?, self.share(share)?));
        }
        self.mixed(&list, "sizes", location)
    }

    /// Returns the share of one size or length in a mix.
    pub(super) fn share(&self, share: &Spanned<f64>) -> Result<f64, Problem> {
        let value = *share.get_ref();
        if (0.0..=1.0).contains(&value) {
            return Ok(value);
        }
        Err(Problem::new(format!("a share of {value}: expected 0 to 1"))
            .at(&self.cx.texts.of_value(share))
            .label("expected 0 to 1"))
    }

    /// Returns the distribution of a mix of sizes or lengths, which `what` names.
    pub(super) fn mixed(
        &self,
        list: &[(Bytes, f64)],
        what: &str,
        location: &Location,
    ) -> Result<SizeDistribution, Problem> {
        SizeDistribution::mix(list).map_err(|sum| {
            Problem::new(format!("the shares of the {what} add up to {sum}: expected 1"))
                .at(location)
                .label("these shares")
        })
    }

    /// Returns a built-in distribution, or reads one from a file.
    fn distribution(&mut self, name: &mut String, location: &Location) -> Result<SizeDistribution, Problem> {
        if let Some(sizes) = SizeDistribution::builtin(name) {
            return Ok(sizes);
        }
        let source = self
            .cx
            .files
            .read(name, "the flow size distribution", location)
            .map_err(|problem| {
                // With a dot or a slash, a file was meant.
                if name.contains(['.', '/']) {
                    return problem;
                }
                Problem::new(format!("there is no flow size distribution `{name}`"))
                    .at(location)
                    .help(suggestion(name, DISTRIBUTIONS.map(|(name, ..)| name)))
            })?;
        let sizes = SizeDistribution::parse(&source)?;
        *name = self.cx.keep("sizes", "txt", &source);
        Ok(sizes)
    }
}
