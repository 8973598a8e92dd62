//! Fat trees: tiers with radices, speeds and latencies.

use paceline_kernel::{BitRate, Span};

use crate::diagnostics::{Diagnostics, Location, Problem, Problems, Source, suggestion};
use crate::ns3::tokens::Read;
use crate::topology::{Net, Topology};
use crate::warning::{Warning, WarningKind};

use super::Words;

/// Upper limits that only a typing error exceeds.
const MOST_HOSTS: u32 = 1_000_000;
const MOST_LINKS: u32 = 10_000_000;

/// Value of a key, and its position.
type Given = (u32, Location);

/// Switches of a tier; tiers are numbered from the hosts upwards.
#[derive(Default)]
struct Tier {
    /// Position of the line that opens the tier.
    location: Option<Location>,
    values: [Option<Given>; KEYS.len()],
}

/// Keys of a tier. Speeds and latencies are those of the links below it.
const KEYS: [&str; 7] = [
    "Downlink_speed_Gbps",
    "Radix_Down",
    "Radix_Up",
    "Downlink_Latency_ns",
    "Switch_Latency_ns",
    "Oversubscribed",
    "Bundle",
];
const SPEED: usize = 0;
const DOWN: usize = 1;
const UP: usize = 2;
const LATENCY: usize = 3;
const SWITCH: usize = 4;
const OVERSUBSCRIBED: usize = 5;
const BUNDLE: usize = 6;

impl Tier {
    fn or(&self, key: usize, default: u32) -> u32 {
        self.values[key].as_ref().map_or(default, |(value, _)| *value)
    }

    fn speed(&self) -> BitRate {
        BitRate::from_gbps(self.or(SPEED, 0).into())
    }

    /// Returns the latency of its switches.
    fn latency(&self) -> Span {
        Span::from_ns(self.or(SWITCH, 0).into())
    }

    fn delay(&self) -> Span {
        Span::from_ns(self.or(LATENCY, 0).into())
    }
}

const HEADER: [&str; 3] = ["Nodes", "Tiers", "Podsize"];

/// Parses a fat tree. Hosts are numbered first, then the switches tier by tier.
pub(crate) fn read(source: &Source, warnings: &mut Vec<Warning>) -> Result<Net, Diagnostics> {
    let mut problems = Problems::default();
    let mut header: [Option<Given>; 3] = Default::default();
    let mut tiers: [Tier; 3] = Default::default();
    let mut current: Option<usize> = None;
    for line in Words::of_lines(source) {
        let result = read_line(&line, &mut header, &mut tiers, &mut current);
        problems.take(result);
    }
    for (name, given) in HEADER.iter().zip(&header) {
        if given.is_none() {
            problems.push(Problem::new(format!("the topology has no {name}")).at(&source.end()));
        }
    }
    let count = |i: usize| header[i].as_ref().map_or(0, |(value, _)| *value);
    let (hosts, depth, pod) = (count(0), count(1) as usize, count(2));
    if let Some((depth, location)) = header[1].as_ref().filter(|(depth, _)| !(2..=3).contains(depth)) {
        problems.push(Problem::new(format!("{depth} tiers: expected 2 or 3")).at(location));
    }
    for (i, tier) in tiers.iter().enumerate().take(depth.min(3)) {
        let location = tier.location.clone().unwrap_or_else(|| source.end());
        let top = i + 1 == depth;
        for key in [SPEED, DOWN, UP, LATENCY] {
            if tier.values[key].is_none() && !(top && key == UP) {
                problems.push(Problem::new(format!("tier {i} has no {}", KEYS[key])).at(&location));
            }
        }
    }
    // Building needs all values, so the problems so far come first.
    problems.or(())?;
    let tree = Tree {
        source,
        tiers: &tiers[..depth],
        hosts,
        pod,
    };
    let net = tree.build()?;
    if tiers[..depth].iter().any(|tier| tier.or(SWITCH, 0) > 0) {
        let text =
            "Switch_Latency_ns is put on links, half of it on each side of a switch: paths take as long";
        warnings.push(Warning::new(WarningKind::Reading, text).of_file(source));
    }
    Ok(net)
}

fn read_line(
    line: &Words<'_>,
    header: &mut [Option<Given>; 3],
    tiers: &mut [Tier; 3],
    current: &mut Option<usize>,
) -> Result<(), Problem> {
    let mut words = line.iter();
    let Some((name, location)) = words.next() else {
        return Ok(());
    };
    let (word, at) = words
        .next()
        .ok_or_else(|| Problem::new(format!("{name} has no value")).at(&location))?;
    let value = u32::read(word).map_err(|why| why.problem(word, &format!("a value of {name}"), &at))?;
    let position = |names: &[&str]| names.iter().position(|known| known.eq_ignore_ascii_case(name));
    let slot = if let Some(i) = position(&HEADER) {
        &mut header[i]
    } else if name.eq_ignore_ascii_case("Tier") {
        if value > 2 {
            return Err(Problem::new(format!("tier {value}: expected 0 to 2")).at(&at));
        }
        *current = Some(value as usize);
        tiers[value as usize].location = Some(line.place());
        return Ok(());
    } else if let Some(i) = position(&KEYS) {
        let tier =
            current.ok_or_else(|| Problem::new(format!("{name} stands before any Tier")).at(&location))?;
        &mut tiers[tier].values[i]
    } else {
        let names = HEADER.into_iter().chain(["Tier"]).chain(KEYS);
        return Err(Problem::new(format!("unknown key `{name}`"))
            .at(&location)
            .label("no such key")
            .help(suggestion(name, names)));
    };
    if let Some((_, first)) = slot {
        return Err(Problem::new(format!("{name} is given twice"))
            .at(&location)
            .see(first, "the first is here"));
    }
    *slot = Some((value, at));
    Ok(())
}

/// Fat tree, given by its counts of switches and links.
pub struct Wiring {
    /// Number of hosts in all pods.
    pub hosts: u32,
    /// Hosts per switch of the lowest tier.
    pub hosts_per_tor: u32,
    /// Lowest-tier switches per pod.
    pub tors_per_pod: u32,
    /// Number of pods in the tree.
    pub pods: u32,
    /// Second-tier switches per pod.
    pub aggs_per_pod: u32,
    /// Core switches per second-tier switch; 0 in a tree of two tiers.
    pub cores_per_agg: u32,
    /// Parallel links between the first and the second tier, and between the second and the third.
    pub bundles: [u32; 2],
    /// Rate of the links below each tier.
    pub rates: [BitRate; 3],
    /// Delay of the links below each tier.
    pub links: [Span; 3],
    /// Latency of the switches of each tier.
    pub switches: [Span; 3],
}

impl Wiring {
    /// Returns the nodes and links: hosts first, then the switches tier by tier. Half of a switch's latency goes to
    /// the links on each side, so a path counts it once per switch.
    pub fn net(&self) -> Net {
        let (tors, aggs) = (self.tors_per_pod * self.pods, self.aggs_per_pod * self.pods);
        let cores = self.cores_per_agg * self.aggs_per_pod;
        let (first_tor, first_agg, first_core) = (self.hosts, self.hosts + tors, self.hosts + tors + aggs);
        let half = |tier: usize| Span::from_ps(self.switches[tier].as_ps() / 2);
        let delay = |tier: usize| {
            let below = if tier == 0 { Span::ZERO } else { half(tier - 1) };
            self.links[tier] + below + half(tier)
        };
        let mut topology = Topology::new(self.hosts, tors + aggs + cores);
        for host in 0..self.hosts {
            let tor = first_tor + host / self.hosts_per_tor;
            topology.link(host, tor, self.rates[0], delay(0));
        }
        for tor in 0..tors {
            let first = first_agg + tor / self.tors_per_pod * self.aggs_per_pod;
            for agg in first..first + self.aggs_per_pod {
                for _ in 0..self.bundles[0] {
                    topology.link(first_tor + tor, agg, self.rates[1], delay(1));
                }
            }
        }
        for agg in 0..aggs {
            // Aggregation switches with the same index in their pods have the same core switches.
            for link in 0..self.cores_per_agg {
                let core = first_core + agg % self.aggs_per_pod + self.aggs_per_pod * link;
                for _ in 0..self.bundles[1] {
                    topology.link(first_agg + agg, core, self.rates[2], delay(2));
                }
            }
        }
        Net {
            topology,
            parallel: self.bundles != [1, 1],
            ..Net::default()
        }
    }
}

struct Tree<'a> {
    source: &'a Source,
    tiers: &'a [Tier],
    hosts: u32,
    pod: u32,
}

impl Tree<'_> {
    /// Returns `a / b`, which has to be a positive whole number.
    fn ratio(&self, a: u64, b: u64, what: &str, tier: usize) -> Result<u32, Problem> {
        if b == 0 || !a.is_multiple_of(b) || a == 0 {
            let location = self.tiers[tier].location.clone();
            return Err(
                Problem::new(format!("{what}: {a} / {b} is no whole number above zero"))
                    .at(&location.unwrap_or_else(|| self.source.end())),
            );
        }
        match u32::try_from(a / b) {
            Ok(count) if count <= MOST_LINKS => Ok(count),
            _ => Err(
                Problem::new(format!("{what}: {}, expected at most {MOST_LINKS}", a / b))
                    .at(&self.source.end()),
            ),
        }
    }

    fn build(&self) -> Result<Net, Problem> {
        let Self {
            hosts, pod, tiers, ..
        } = *self;
        if hosts > MOST_HOSTS {
            let message = format!("{hosts} nodes: expected at most {MOST_HOSTS}");
            return Err(Problem::new(message).at(&self.source.end()));
        }
        let wide = |key: usize, tier: usize, default: u32| u64::from(tiers[tier].or(key, default));
        let pods = self.ratio(hosts.into(), pod.into(), "pods (Nodes / Podsize)", 0)?;
        let tors_per_pod = self.ratio(
            pod.into(),
            wide(DOWN, 0, 0),
            "ToRs of a pod (Podsize / Radix_Down)",
            0,
        )?;
        if tiers[0].or(BUNDLE, 1) != 1 {
            let location = tiers[0].values[BUNDLE].as_ref().map(|(_, location)| location);
            let problem = Problem::new("Bundle of tier 0: a host has one link");
            return Err(location.map_or_else(|| problem.clone(), |location| problem.clone().at(location)));
        }
        // Enough uplinks to carry what the hosts send, divided by the oversubscription.
        let uplinks = self.ratio(
            u64::from(hosts) * wide(SPEED, 0, 0),
            wide(SPEED, 1, 0) * wide(OVERSUBSCRIBED, 0, 1),
            "links above the ToRs",
            0,
        )?;
        let aggs_per_pod = self.ratio(
            uplinks.into(),
            u64::from(pods) * wide(DOWN, 1, 0),
            "switches above the ToRs of a pod",
            1,
        )?;
        let tors = tors_per_pod * pods;
        let bundle = tiers[1].or(BUNDLE, 1);
        let links = u64::from(aggs_per_pod) * u64::from(bundle);
        self.check_radix(0, links)?;
        if links * u64::from(tors) != u64::from(uplinks) {
            let message = format!(
                "{tors} ToRs with {links} links each: speeds and oversubscription give {uplinks} links above the ToRs"
            );
            return Err(Problem::new(message).at(&self.source.end()));
        }
        let (cores, bundle_above) = if tiers.len() == 3 {
            let above = self.ratio(
                u64::from(uplinks) * wide(SPEED, 1, 0),
                wide(SPEED, 2, 0) * wide(OVERSUBSCRIBED, 1, 1),
                "links above the second tier",
                1,
            )?;
            let cores = self.ratio(above.into(), wide(DOWN, 2, 0), "core switches", 2)?;
            (cores, tiers[2].or(BUNDLE, 1).min(above))
        } else {
            (0, 1)
        };
        let mut cores_per_agg = 0;
        if cores > 0 {
            cores_per_agg = self.ratio(wide(UP, 1, 0), bundle_above.into(), "links to core switches", 1)?;
            let reached = u64::from(cores_per_agg) * u64::from(aggs_per_pod);
            if reached != u64::from(cores) {
                let message = format!(
                    "there are {cores} core switches, and the second tier's Radix_Up reaches {reached}"
                );
                return Err(Problem::new(message).at(&self.source.end()));
            }
        }
        let of = |i: usize| tiers.get(i);
        let wiring = Wiring {
            hosts,
            hosts_per_tor: tiers[0].or(DOWN, 1),
            tors_per_pod,
            pods,
            aggs_per_pod,
            cores_per_agg,
            bundles: [bundle, bundle_above],
            rates: [0, 1, 2].map(|i| of(i).map_or(BitRate::from_bps(0), Tier::speed)),
            links: [0, 1, 2].map(|i| of(i).map_or(Span::ZERO, Tier::delay)),
            switches: [0, 1, 2].map(|i| of(i).map_or(Span::ZERO, Tier::latency)),
        };
        Ok(wiring.net())
    }

    /// Checks that a switch has as many links upwards as its radix says.
    fn check_radix(&self, tier: usize, links: u64) -> Result<(), Problem> {
        let Some((radix, location)) = &self.tiers[tier].values[UP] else {
            return Ok(());
        };
        if u64::from(*radix) == links {
            return Ok(());
        }
        let message = format!(
            "Radix_Up of tier {tier} is {radix}, and speeds, radices and oversubscription give {links} links"
        );
        Err(Problem::new(message).at(location))
    }
}
