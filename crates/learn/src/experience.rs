//! Experience: what a run under DECC met, for a search that goes on there ([`crate::search::refine`]).
//!
//! A file says in which network its flows decided, in the terms of the search's own ([`Network`]), by which model, and how
//! that went. It holds no packets and no decisions: the search judges a law by whole runs, which it makes itself.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_congestion::learned::Model;
use paceline_congestion::learned::sha256;
use paceline_fabric::spec::FlowControl;
use paceline_kernel::rng::Rng;
use paceline_lab::files::{OutputError, write_file};
use paceline_lab::release;
use paceline_lab::results::{FlowRows, Summary};
use paceline_lab::stats::jain;
use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::search::{Network, Quality};
use met::Seen;
pub use met::{Met, Spread};

mod met;

/// The format of files.
const FORMAT: u32 = 1;
/// What such a file is called in errors.
const EXPECTED: &str = "experience";
/// The most flows to one host that are drawn: more than the search ever has take too long.
pub(crate) const MOST_FLOWS: u32 = 8192;

/// The most packets that are under way in a round trip at line rate.
const MOST_UNDER_WAY: f64 = 1e6;

/// What a run met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experience {
    /// The format of the file.
    pub format: u32,
    /// The program's version.
    pub version: String,
    /// The run.
    pub run: Origin,
    /// The model that decided.
    pub model: Decided,
    /// The network.
    pub network: Met,
    /// How it went.
    pub result: Went,
}

/// Which run it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The scenario's name.
    pub scenario: String,
    /// The scheme.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// The digest of its events.
    pub digest: String,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// Its name.
    pub name: String,
    /// SHA-256 of its weights.
    pub sha256: String,
    /// What it sees.
    pub features: Vec<String>,
}

/// How a run went, all of it: the numbers of the search's cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Went {
    /// The cost.
    pub cost: f64,
    /// Payload delivered, of what receivers' links carry.
    pub goodput: f64,
    /// The 99th percentile of one-way latency, in us.
    pub p99_us: f64,
    /// Jain's index of the rates of flows while they were under way.
    pub jain: f64,
    /// Packets lost, of those that were sent.
    pub loss: f64,
}

impl Experience {
    /// Whether a run can leave some, as far as that is known before it is run.
    ///
    /// # Errors
    /// What keeps it from that.
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

    /// Of a run that ended.
    ///
    /// # Errors
    /// It leaves none.
    pub fn of(input: &Resolved, summary: &Summary, flows: &FlowRows) -> Result<Self, String> {
        Self::check(input)?;
        let model = model_of(input)?;
        let end = (summary.simulated_s * 1e12) as u64;
        let seen = Seen::of(&input.run, flows, end).ok_or_else(|| {
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
        experience
            .sane()
            .and_then(|()| experience.drawable())
            .map_err(|error| format!("`{}`: {error}", input.name))?;
        Ok(experience)
    }

    /// Builds networks like it, as a search would.
    ///
    /// # Errors
    /// One cannot be built.
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

    /// Says what networks a search draws from it, and which model decided.
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

    /// Says what of the run the networks that are drawn from it do not have.
    pub fn warnings(&self) -> Option<String> {
        let most = self.network.flows.max;
        (most > MOST_FLOWS)
            .then(|| format!("it has up to {most} flows to a host: at most {MOST_FLOWS} are drawn"))
    }

    /// Writes it into a folder, which is made: the same run replaces its own file.
    ///
    /// # Errors
    /// The system refuses.
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

    /// The name of its file.
    pub fn file_name(&self) -> String {
        let run = &self.run;
        format!("{}-{}-{}-{}.json", run.scenario, run.scheme, run.seed, run.digest)
    }

    /// What its file holds.
    ///
    /// # Errors
    /// A number is none.
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
        // Another version may have other keys: it is known by its version first.
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

    /// Whether numbers are where they can be.
    fn sane(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("`format` is {}; expected {FORMAT}", self.format));
        }
        let (network, result) = (&self.network, &self.result);
        let flows = &network.flows;
        for (name, value, (low, high)) in [
            ("network.gbps", network.gbps, (0.001, 1e5)),
            ("network.base_rtt_us", network.base_rtt_us, (0.001, 1e6)),
            ("network.links", f64::from(network.links), (2.0, 4.0)),
            ("network.mtu", f64::from(network.mtu), MTU),
            ("network.buffer", network.buffer as f64, (1.0, 1e12)),
            ("network.hosts", f64::from(network.hosts), (2.0, 1e9)),
            (
                "network.flows.p10",
                f64::from(flows.p10),
                (1.0, f64::from(flows.p50)),
            ),
            (
                "network.flows.p50",
                f64::from(flows.p50),
                (1.0, f64::from(flows.p90)),
            ),
            (
                "network.flows.p90",
                f64::from(flows.p90),
                (1.0, f64::from(flows.max)),
            ),
            ("network.late", network.late, (0.0, 1.0)),
            (
                "network.message",
                network.message.unwrap_or(1) as f64,
                (1.0, 1e15),
            ),
            ("result.cost", result.cost, (0.0, 1e9)),
            ("result.goodput", result.goodput, (0.0, 1e9)),
            ("result.p99_us", result.p99_us, (0.0, 1e12)),
            ("result.jain", result.jain, (0.0, 1.0 + 1e-9)),
            ("result.loss", result.loss, (0.0, 1.0)),
        ] {
            within(name, value, (low, high))?;
        }
        // What a search simulates of a network grows with what is under way in a round trip.
        let packets = network.gbps * 1e3 * network.base_rtt_us / 8.0 / f64::from(network.mtu);
        within(
            "network.gbps times network.base_rtt_us, in packets of network.mtu",
            packets,
            (0.0, MOST_UNDER_WAY),
        )
    }
}

/// Payload of a packet, in bytes.
const MTU: (f64, f64) = (64.0, 65_536.0);

/// Whether a number is where it can be.
fn within(name: &str, value: f64, (low, high): (f64, f64)) -> Result<(), String> {
    match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(format!("`{name}` is {value}; expected {low} to {high}")),
    }
}

/// The model that decides in a run under DECC.
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
    /// Each file's, in the order of their names.
    pub each: Vec<Experience>,
    /// SHA-256 of all files.
    pub sha256: String,
    /// What to tell about the folder.
    pub warnings: Vec<String>,
}

impl Gathered {
    /// Reads all of a folder. Whichever models decided: networks are drawn from it, which any law can be judged in.
    ///
    /// # Errors
    /// There is none, or a file is damaged, or of another version.
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
        paths.sort();
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

    /// Adds that of a run; `bytes` are its file.
    pub(crate) fn add(&mut self, one: Experience, bytes: &[u8]) {
        self.sha256 = sha256(format!("{}{}", self.sha256, sha256(bytes)).as_bytes());
        self.each.push(one);
    }

    /// Names of the models that decided, each once.
    pub fn models(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for one in &self.each {
            if !names.contains(&&*one.model.name) {
                names.push(&one.model.name);
            }
        }
        names
    }

    /// Networks for a generation, from few flows to many, each like one of those that were met.
    pub(crate) fn draw(&self, rng: &mut Rng, count: usize, most: u32) -> Vec<Network> {
        let mut one = |place: usize| {
            let met = &self.each[rng.below(self.each.len() as u64) as usize].network;
            let flows = met.flows;
            let (low, high) = (f64::from(flows.p10.min(most)), f64::from(flows.max.min(most)));
            // A part of the range for each, so that no generation has few flows only.
            let share = (place as f64 + rng.next_f64()) / count as f64;
            let flows = (low * libm::pow(high / low, share)).round() as u32;
            // Messages are met one after the other: every other network has them at once, the others as if they never ended.
            let messages = (place % 2 == 1).then(|| met.messages(flows)).flatten();
            messages.unwrap_or_else(|| met.network(flows))
        };
        (0..count).map(&mut one).collect()
    }

    /// Networks of trials: of each that was met with the number of flows that it had half of the time, then with the
    /// most and the fewest; so many, each as often as the others, with other seeds.
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
        let place = |k: usize| match all.len() > count {
            true => k * all.len() / count,
            false => k % all.len(),
        };
        let mut networks: Vec<Network> = (0..count).map(|k| all[place(k)].clone()).collect();
        // Runs are made from the last to the first, the longest first.
        networks.sort_by_key(Network::flows);
        networks
    }
}

#[cfg(test)]
pub(crate) mod tests;
