//! Conversion of `[cc]` to schemes with parameters and windows.

use paceline_congestion::registry::variant::{self, Variant};
use paceline_congestion::registry::{SchemeConfig, WindowMode};
use paceline_fabric::spec::{NicSpec, SchemeSpec};
use paceline_kernel::sorted::SortedMap;
use toml::Spanned;

use crate::cc::{self, Blocks};
use crate::diagnostics::{Location, Problem};
use crate::schema;
use crate::warning::WarningKind;

use super::Cx;

/// Returns the window modes by scheme name, after checking the names.
fn windows(
    cx: &Cx<'_>,
    written: Option<&Spanned<SortedMap<String, WindowMode>>>,
) -> Result<SortedMap<String, WindowMode>, Problem> {
    let Some(written) = written else {
        return Ok(SortedMap::new());
    };
    for name in written.get_ref().keys() {
        Variant::parse(name).map_err(|unknown| {
            Problem::new(format!("cc.windows: {unknown}")).at(&cx.texts.of_value(written))
        })?;
    }
    Ok(written.get_ref().clone())
}

/// Schemes that control a rate but no window.
const BY_RATE: [&str; 7] = ["dcqcn", "timely", "qcn", "pcn", "rrcc", "lstm-pid", "fixed"];

/// Warns of rate-based schemes that have no effect because NICs do not pace and no window follows the rate.
pub(super) fn warn_of_unheeded(cx: &mut Cx<'_>, schemes: &[SchemeSpec], nic: &NicSpec) {
    let by_rate = |spec: &&SchemeSpec| {
        !nic.pacing && BY_RATE.contains(&spec.config.name()) && spec.window != WindowMode::Variable
    };
    for spec in schemes.iter().filter(by_rate) {
        let text = format!(
            "pacing is off and {} has no window: it behaves like `none`",
            spec.config.scheme().title
        );
        cx.warn(WarningKind::NoControl, None, text);
    }
}

/// Returns the block that sets a parameter of the scheme or alias `name`, its own or its scheme's, and the position.
fn written<'n>(cx: &Cx<'_>, name: &'n str, parameter: &str) -> Option<(&'n str, Location)> {
    let blocks = [Some(name), cc::scheme_of_alias(name)];
    let mut blocks = blocks.into_iter().flatten();
    blocks.find_map(|block| Some((block, cx.parameter(block, parameter)?)))
}

/// Adds blocks for the variants that the scenario names, and warns of settings in their names that change nothing.
pub(super) fn variants(cx: &mut Cx<'_>, scenario: &mut schema::Scenario) -> Result<(), Problem> {
    let of_workloads = scenario
        .workload
        .iter()
        .filter_map(|one| one.get_ref().scheme.as_ref());
    let of_jobs = scenario
        .job
        .iter()
        .filter_map(|one| one.get_ref().scheme.as_ref());
    let of_services = scenario
        .inference
        .iter()
        .filter_map(|one| one.get_ref().scheme.as_ref());
    let named = scenario
        .cc
        .scheme
        .iter()
        .chain(of_workloads)
        .chain(of_jobs)
        .chain(of_services);
    // Before the variants get blocks: afterwards each would look like one that a run wrote.
    let mut idle = SortedMap::new();
    for name in named.clone() {
        let Ok(parsed) = Variant::parse(name.get_ref()) else {
            continue;
        };
        let name = name.get_ref().as_str();
        // If the variant has a block, a run wrote it, with a value for every parameter.
        if !scenario.cc_blocks.aliases.contains_key(name) {
            let found = parsed.idle(scenario.cc_blocks.of(variant::base(name)));
            idle.extend(
                found
                    .into_iter()
                    .map(|(key, value)| ((name.to_string(), key.to_string()), value)),
            );
        }
    }
    let named = named.map(|name| (name.get_ref().as_str(), cx.texts.of_value(name)));
    let named: Vec<_> = named.collect();
    cc::add_variants(&mut scenario.cc_blocks, named)?;
    for ((name, key), value) in idle {
        let text = format!("`{name}`: {key} has no effect: it is `{value}` without it");
        cx.warn(WarningKind::UnusedVariant, None, text);
    }
    Ok(())
}

/// Schemes of a run, in the order in which they are first named.
pub(super) struct Schemes<'a> {
    blocks: &'a Blocks,
    /// Window mode of every scheme, if set.
    window: Option<WindowMode>,
    windows: SortedMap<String, WindowMode>,
    named: Vec<(String, SchemeSpec)>,
}

impl<'a> Schemes<'a> {
    pub(super) fn of(cx: &mut Cx<'_>, written: &mut schema::Cc, blocks: &'a Blocks) -> Result<Self, Problem> {
        let Some(scheme) = &written.scheme else {
            return Err(Problem::new("the scenario names no congestion control scheme")
                .at(&cx.texts.main().end())
                .help("write for example `cc.scheme = \"dcqcn\"`; `none` is one too"));
        };
        let mut schemes = Self {
            blocks,
            window: written.window.as_ref().map(|window| *window.get_ref()),
            windows: windows(cx, written.windows.as_ref())?,
            named: Vec::new(),
        };
        let config = schemes.add(cx, scheme.get_ref(), &cx.texts.of_value(scheme))?;
        if let Some(window) = &written.window
            && *window.get_ref() == WindowMode::Off
            && config.default_window() != WindowMode::Off
        {
            let location = cx.texts.of_value(window);
            let text = format!(
                "{} is made for a window; without one its rate alone holds it back",
                config.scheme().title
            );
            cx.warn(WarningKind::NoControl, &location, text);
        }
        Ok(schemes)
    }

    fn add(&mut self, cx: &Cx<'_>, name: &str, location: &Location) -> Result<SchemeConfig, Problem> {
        let mut config = self.configured(cx, name, location)?;
        if cx.profile().script_defaults || cx.ns3_source {
            config = config.hpcc_script_defaults();
        }
        let windows = [name, variant::base(name)];
        let window = windows.iter().find_map(|name| self.windows.get(*name));
        let window = window.copied().or(self.window);
        let spec = SchemeSpec {
            window: window.unwrap_or_else(|| config.default_window()),
            config: config.clone(),
        };
        self.named.push((name.to_string(), spec));
        Ok(config)
    }

    fn configured(&self, cx: &Cx<'_>, name: &str, location: &Location) -> Result<SchemeConfig, Problem> {
        // A setting in a variant's name has the position of that name.
        let in_name = Variant::parse(name)
            .map(|parsed| parsed.settings)
            .unwrap_or_default();
        cc::configure(self.blocks, name, location, |parameter| {
            if in_name.iter().any(|(key, _)| *key == parameter) {
                return None;
            }
            let (_, location) = written(cx, name, parameter)?;
            Some(location)
        })
    }

    /// Warns of each block whose scheme no flow uses. The block is still checked, so that an invalid value is found
    /// before its scheme is used.
    pub(super) fn warn_of_unused(&self, cx: &mut Cx<'_>) -> Result<(), Problem> {
        let schemes = self.blocks.schemes.present().into_iter();
        let schemes = schemes.filter(|name| self.all().all(|config| config.name() != *name));
        let aliases = self.blocks.aliases.keys().map(String::as_str);
        let aliases = aliases.filter(|name| self.named.iter().all(|(known, _)| known != name));
        for name in schemes.chain(aliases) {
            let location = cx.place_of(&format!("cc.{name}")).map(|span| cx.texts.at(span));
            self.configured(cx, name, location.as_ref().unwrap_or(&cx.texts.main().end()))?;
            let text = format!("[cc.{name}] is not used: no flow runs under {name}");
            cx.warn(WarningKind::UnusedScheme, location.as_ref(), text);
        }
        for name in self.windows.keys() {
            let is_of = |(known, _): &(String, SchemeSpec)| known == name || variant::base(known) == name;
            if !self.named.iter().any(is_of) {
                let text = format!("cc.windows.{name} is not used: no flow runs under {name}");
                cx.warn(WarningKind::UnusedScheme, None, text);
            }
        }
        Ok(())
    }

    /// Warns of parameters that an alias overrides, since a value without effect must not appear to be in use.
    pub(super) fn warn_of_overruled(&self, cx: &mut Cx<'_>) {
        for (name, spec) in &self.named {
            let scheme = spec.config.name();
            for (key, value, runs) in self.blocks.of(name).overruled(name) {
                if let Some((block, index)) = written(cx, name, key) {
                    let text = format!(
                        "cc.{block}.{key} = `{value}` has no effect: the alias {name} is {scheme} with {key} = \
                         `{runs}`; use the scheme {scheme} to set it"
                    );
                    cx.warn(WarningKind::OverruledParameter, &index, text);
                }
            }
        }
    }

    /// Returns the scheme of `[cc]`.
    pub(super) fn first(&self) -> &SchemeConfig {
        &self.named[0].1.config
    }

    /// Returns the configurations of all schemes.
    pub(super) fn all(&self) -> impl Iterator<Item = &SchemeConfig> {
        self.named.iter().map(|(_, spec)| &spec.config)
    }

    /// Returns the index of the scheme that a workload names, or of the scenario's scheme.
    pub(super) fn index(&mut self, cx: &Cx<'_>, name: Option<&Spanned<String>>) -> Result<u16, Problem> {
        match name {
            Some(name) => self.index_of(cx, name.get_ref(), &cx.texts.of_value(name)),
            None => Ok(0),
        }
    }

    /// Returns the index of the scheme named at `location`, adding the scheme if it is new.
    pub(super) fn index_of(&mut self, cx: &Cx<'_>, name: &str, location: &Location) -> Result<u16, Problem> {
        if let Some(index) = self.named.iter().position(|(known, _)| known == name) {
            return Ok(index as u16);
        }
        self.add(cx, name, location)?;
        Ok(self.named.len() as u16 - 1)
    }

    /// Returns the schemes and their names; writes every scheme's window into the scenario.
    pub(super) fn finish(self, written: &mut schema::Cc) -> (Vec<SchemeSpec>, Vec<String>) {
        let first = self.named[0].1.window;
        // Windows that are all alike are written as one value, as users write them.
        if self.named.iter().all(|(_, spec)| spec.window == first) {
            written.window = Some(Spanned::new(0..0, first));
            written.windows = None;
        } else {
            let windows = self.named.iter().map(|(name, spec)| (name.clone(), spec.window));
            written.window = None;
            written.windows = Some(Spanned::new(0..0, windows.collect()));
        }
        let (names, schemes) = self.named.into_iter().unzip();
        (schemes, names)
    }
}
