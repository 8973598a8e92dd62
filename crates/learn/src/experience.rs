//! Experience: the network and result of a run under DECC, for a search that refines its law there
//! ([`crate::search::refine`]).
//!
//! A file describes the network in the search's terms ([`Network`]), the model that decided, and the result.
//! It contains no packets or decisions, because the search judges a law by its own complete runs.

use std::fs;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_congestion::learned::Model;
use paceline_congestion::learned::sha256;
use paceline_fabric::spec::FlowControl;
use paceline_kernel::order::Sort as _;
use paceline_kernel::rng::Rng;
use paceline_lab::files::{OutputError, write_file};
use paceline_lab::release;
use paceline_lab::results::{FlowRows, Summary};
use paceline_lab::stats::jain;
use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::search::{Network, Quality};
use met::Derived;
pub use met::{Met, Spread};

mod met;

/// Version of the file format.
const FORMAT: u32 = 1;
/// Name of such a file in errors.
const EXPECTED: &str = "experience";
/// Upper limit of flows to one host in drawn networks: more than the search ever uses take too long.
pub(crate) const MOST_FLOWS: u32 = 8192;

/// Upper limit of packets in flight at line rate.
const MOST_UNDER_WAY: f64 = 1e6;

/// Experience from one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experience {
    /// Version of the file format.
    pub format: u32,
    /// Version of Paceline that made the run.
    pub version: String,
    /// Run from which it comes.
    pub run: Origin,
    /// Model that decided in the run.
    pub model: Decided,
    /// Network of the run.
    pub network: Met,
    /// Result of the run.
    pub result: Went,
}

/// Identification of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Seed of the run.
    pub seed: u64,
    /// Digest of its events.
    pub digest: String,
}

/// Model that decided in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// Name of the model.
    pub name: String,
    /// SHA-256 of its weights.
    pub sha256: String,
    /// Names of its inputs.
    pub features: Vec<String>,
}

/// Result of a whole run, in the quantities of the search's cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Went {
    /// Cost of the run.
    pub cost: f64,
    /// Delivered payload, as a share of the capacity of receivers' links.
    pub goodput: f64,
    /// 99th percentile of one-way latency, in us.
    pub p99_us: f64,
    /// Jain's index of the rates of flows while they were active.
    pub jain: f64,
    /// Lost packets as a share of those sent.
    pub loss: f64,
}

impl Experience {
    /// Checks, before a run, that it can give experience.
    ///
    /// # Errors
    /// The reason for which it cannot.
    pub fn check(input: &Resolved) -> Result<(), String> {
        model_of(input)?;
        let mtu = input.run.packet.mtu.get() as f64;
        within("network.mtu", mtu, MTU).map_err(|error| format!("`{}`: {error}", input.name))?;
        match input.run.switch.flow_control {
            FlowControl::Credits => Err(format!(
                "`{}` is a network under credits, and the search for DECC's law has none; expected flow-control = \"none\" or \
                 \"pfc\"",
                input.name
            )),
            FlowControl::None | FlowControl::Pfc(_) => Ok(()),
        }
    }

    /// Extracts the experience of a completed run.
    ///
    /// # Errors
    /// The run gives none.
    pub fn of(input: &Resolved, summary: &Summary, flows: &FlowRows) -> Result<Self, String> {
        Self::check(input)?;
        let model = model_of(input)?;
        let end = (summary.simulated_s * 1e12) as u64;
        let seen = Derived::of(&input.run, flows, end).ok_or_else(|| {
            format!(
                "no flow of `{}` sent anything: there is nothing to learn from",
                input.name
            )
        })?;
        let network = Met {
            base_rtt_us: summary.base_rtt_us,
            ..seen.network
        };
        let missing = || {
            format!(
                "`{}` delivered nothing: there is nothing to learn from",
                input.name
            )
        };
        let p99_us = summary
            .latency_us
            .as_ref()
            .and_then(|latency| latency.p99)
            .ok_or_else(missing)?;
        let lost = summary.drops as f64;
        let loss = lost / (lost + summary.counters.data_received as f64).max(1.0);
        let measured = Quality {
            goodput: summary.goodput_share.map_or(0.0, |share| share.of_links),
            // Over the empty network's latency, so that networks of different lengths compare.
            p99: (p99_us / network.network(1).empty_us()).max(1.0),
            jain: jain(&seen.rates).unwrap_or(0.0),
            loss,
        };
        let card = model.card();
        let experience = Self {
            format: FORMAT,
            version: paceline_lab::version().into(),
            run: Origin {
                scenario: input.name.clone(),
                scheme: input.scheme.clone(),
                seed: input.seed,
                digest: summary.digest.clone(),
            },
            model: Decided {
                name: card.name.clone(),
                sha256: card.weights_sha256.to_lowercase(),
                features: card.features.clone(),
            },
            network,
            result: Went {
                cost: measured.cost(),
                goodput: measured.goodput,
                p99_us,
                jain: measured.jain,
                loss,
            },
        };
        // Refused here, by the run: a training that reads the file may be far away from it.
        experience
            .sane()
            .and_then(|()| experience.drawable())
            .map_err(|error| format!("`{}`: {error}", input.name))?;
        Ok(experience)
    }

    /// Checks that a search can build similar networks.
    ///
    /// # Errors
    /// A network cannot be built.
    fn drawable(&self) -> Result<(), String> {
        let Spread { p10, max, .. } = self.network.flows;
        let met = &self.network;
        let like = |flows: u32| [Some(met.network(flows)), met.messages(flows)];
        [p10, max]
            .into_iter()
            .flat_map(|flows| like(flows.min(MOST_FLOWS)).into_iter().flatten())
            .try_for_each(|network| network.resolve(1).map(|_| ()))
            .map_err(|error| format!("no network like that of the run can be drawn: {error}"))
    }

    /// Returns a description of the networks that a search draws from it, and of the model that decided.
    pub fn summary(&self) -> String {
        let Met {
            gbps,
            base_rtt_us,
            buffer,
            flows,
            message,
            ..
        } = &self.network;
        let messages = message.map_or_else(String::new, |bytes| format!(" of {bytes} B"));
        format!(
            "`{}` decided at cost {:.2}; for networks of {gbps} Gbit/s, base round trips of {base_rtt_us:.2} us, {buffer} B of \
             buffer, {} to {} flows{messages} to a host",
            self.model.name,
            self.result.cost,
            flows.p10,
            flows.max.min(MOST_FLOWS)
        )
    }

    /// Returns a warning about properties of the run that drawn networks lack.
    pub fn warnings(&self) -> Option<String> {
        let most = self.network.flows.max;
        (most > MOST_FLOWS)
            .then(|| format!("it has up to {most} flows to a host: at most {MOST_FLOWS} are drawn"))
    }

    /// Writes it to a folder, which is created if necessary. The same run replaces its own file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Error> {
        let path = folder.join(self.file_name());
        fs::create_dir_all(folder).map_err(|source| OutputError::Io {
            action: "create",
            path: folder.to_path_buf(),
            source,
        })?;
        let text = self.text()?;
        write_file(&path, |out| out.write_all(text.as_bytes()))?;
        Ok(path)
    }

    /// Returns the name of its file.
    pub fn file_name(&self) -> String {
        let run = &self.run;
        format!("{}-{}-{}-{}.json", run.scenario, run.scheme, run.seed, run.digest)
    }

    /// Returns the contents of its file.
    ///
    /// # Errors
    /// A number is not finite.
    pub fn text(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Options(error.to_string()))?;
        Ok(text + "\n")
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let wrong = |message: String| Error::Content {
            path: path.to_path_buf(),
            expected: EXPECTED,
            message,
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(wrong(
                "it is empty; expected a file as `paceline run --upload` writes it".into(),
            ));
        }
        // Another version may have other keys: check the version first.
        let value: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        let version = value.get("version").and_then(|version| version.as_str());
        if let Some(found) = version.filter(|version| release(version) != release(paceline_lab::version())) {
            return Err(Error::OtherVersion {
                path: path.to_path_buf(),
                found: found.into(),
                sources: value["run"]["scenario"].as_str().unwrap_or("unknown").into(),
            });
        }
        let experience: Self = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        experience.sane().map_err(wrong)?;
        Ok(experience)
    }

    /// Checks that numbers are in their ranges.
    fn sane(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("`format` is {}; expected {FORMAT}", self.format));
        }
        let (network, result) = (&self.network, &self.result);
        let flows = &network.flows;
        for (name, value, range) in [
            ("network.gbps", network.gbps, 0.001..=1e5),
            ("network.base_rtt_us", network.base_rtt_us, 0.001..=1e6),
            ("network.links", f64::from(network.links), 2.0..=4.0),
            ("network.mtu", f64::from(network.mtu), MTU),
            ("network.buffer", network.buffer as f64, 1.0..=1e12),
            ("network.hosts", f64::from(network.hosts), 2.0..=1e9),
            (
                "network.flows.p10",
                f64::from(flows.p10),
                1.0..=f64::from(flows.p50),
            ),
            (
                "network.flows.p50",
                f64::from(flows.p50),
                1.0..=f64::from(flows.p90),
            ),
            (
                "network.flows.p90",
                f64::from(flows.p90),
                1.0..=f64::from(flows.max),
            ),
            ("network.late", network.late, 0.0..=1.0),
            ("network.message", network.message.unwrap_or(1) as f64, 1.0..=1e15),
            ("result.cost", result.cost, 0.0..=1e9),
            ("result.goodput", result.goodput, 0.0..=1e9),
            ("result.p99_us", result.p99_us, 0.0..=1e12),
            ("result.jain", result.jain, 0.0..=1.0 + 1e-9),
            ("result.loss", result.loss, 0.0..=1.0),
        ] {
            within(name, value, range)?;
        }
        // The cost of simulating a network grows with the packets in flight.
        let packets = network.gbps * 1e3 * network.base_rtt_us / 8.0 / f64::from(network.mtu);
        within(
            "network.gbps times network.base_rtt_us, in packets of network.mtu",
            packets,
            0.0..=MOST_UNDER_WAY,
        )
    }
}

/// Range of a packet's payload, in bytes.
const MTU: RangeInclusive<f64> = 64.0..=65_536.0;

/// Checks that a number is in its range.
fn within(name: &str, value: f64, range: RangeInclusive<f64>) -> Result<(), String> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(format!(
            "`{name}` is {value}; expected {} to {}",
            range.start(),
            range.end()
        )),
    }
}

/// Returns the model that decides in a run under DECC.
fn model_of(input: &Resolved) -> Result<Arc<Model>, String> {
    let config = input.run.schemes.first().map(|scheme| &scheme.config);
    let Some(config) = config.filter(|config| config.name() == "decc") else {
        return Err(format!(
            "the scheme of `{}` is `{}`; expected `decc`, whose rate law can be refined: add --scheme decc",
            input.name, input.scheme
        ));
    };
    let model = config.models().first().and_then(|model| model.model().cloned());
    model.ok_or_else(|| format!("`{}` names no model", input.name))
}

/// Experience of several runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    /// Experience of each file, in the order of names.
    pub each: Vec<Experience>,
    /// SHA-256 of all files.
    pub sha256: String,
    /// Warnings about the folder.
    pub warnings: Vec<String>,
}

impl Gathered {
    /// Reads all files of a folder. The models that decided do not matter, because any law can be judged in
    /// networks drawn from them.
    ///
    /// # Errors
    /// There is no file, or one is damaged or from another version.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Io {
            action: "read",
            path: folder.to_path_buf(),
            source,
        };
        let entries = fs::read_dir(folder).map_err(failed)?;
        let mut paths = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        // A folder has no order of its own, and what is drawn from the experience depends on it.
        paths.order();
        let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let (files, others): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_json);
        let mut gathered = Self::default();
        for path in &files {
            let bytes =
                paceline_scenario::read_bytes(path).map_err(|error| Error::io("read", path, error))?;
            let one = Experience::parse(path, &bytes)?;
            let warning = one.warnings();
            gathered
                .warnings
                .extend(warning.map(|text| format!("{}: {text}", path.display())));
            gathered.add(one, &bytes);
        }
        if gathered.each.is_empty() {
            return Err(Error::Options(format!(
                "{} has no experience; expected files (.json) as `paceline run --scheme decc --upload {}` writes them",
                folder.display(),
                folder.display()
            )));
        }
        let code = paceline_lab::version();
        let each = gathered.each.iter().map(|one| one.version.as_str());
        let older: Vec<&str> = each.filter(|&version| version != code).collect();
        if let Some(version) = older.first() {
            gathered.warnings.push(format!(
                "{} of {} files are of runs by other code ({version}), this is {code}: under this code the runs may be \
                 different ones",
                older.len(),
                gathered.each.len()
            ));
        }
        if let Some(first) = others.first() {
            gathered.warnings.push(format!(
                "{} is not read: experience is in files that end in .json ({} others in {})",
                first.display(),
                others.len() - 1,
                folder.display()
            ));
        }
        Ok(gathered)
    }

    /// Adds the experience of a run, whose file is `bytes`.
    pub(crate) fn add(&mut self, one: Experience, bytes: &[u8]) {
        // A chain of hashes depends on all files and their order.
        self.sha256 = sha256(format!("{}{}", self.sha256, sha256(bytes)).as_bytes());
        self.each.push(one);
    }

    /// Returns the distinct names of the models that decided.
    pub fn models(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for one in &self.each {
            if !names.contains(&&*one.model.name) {
                names.push(&one.model.name);
            }
        }
        names
    }

    /// Draws networks for a generation, from few flows to many, each similar to one of the runs'.
    pub(crate) fn draw(&self, rng: &mut Rng, count: usize, most: u32) -> Vec<Network> {
        let mut one = |index: usize| {
            let met = &self.each[rng.below(self.each.len() as u64) as usize].network;
            let flows = met.flows;
            let (low, high) = (f64::from(flows.p10.min(most)), f64::from(flows.max.min(most)));
            // Each network gets its part of the range, so that no generation has few flows only.
            let share = (index as f64 + rng.next_f64()) / count as f64;
            let flows = (low * libm::pow(high / low, share)).round() as u32;
            // Recorded messages followed each other. Every second network starts them all at once, the others
            // have endless flows.
            let messages = (index % 2 == 1).then(|| met.messages(flows)).flatten();
            messages.unwrap_or_else(|| met.network(flows))
        };
        (0..count).map(&mut one).collect()
    }

    /// Returns the networks of trials: each recorded one with its median number of flows, then with the
    /// largest and the smallest. `count` in total, each equally often, with different seeds.
    pub(crate) fn trials(&self, count: usize, most: u32) -> Vec<Network> {
        let numbers: [fn(&Spread) -> u32; 3] = [|flows| flows.p50, |flows| flows.max, |flows| flows.p10];
        let mut all: Vec<Network> = Vec::new();
        for number in numbers {
            for met in self.each.iter().map(|one| &one.network) {
                let flows = number(&met.flows).min(most);
                for network in [Some(met.network(flows)), met.messages(flows)]
                    .into_iter()
                    .flatten()
                {
                    if !all.contains(&network) {
                        all.push(network);
                    }
                }
            }
        }
        let index = |k: usize| match all.len() > count {
            true => k * all.len() / count,
            false => k % all.len(),
        };
        let mut networks: Vec<Network> = (0..count).map(|k| all[index(k)].clone()).collect();
        // Runs start from the last to the first: the longest first.
        networks.order_by_key(Network::flows);
        networks
    }
}

#[cfg(test)]
pub(crate) mod tests;
