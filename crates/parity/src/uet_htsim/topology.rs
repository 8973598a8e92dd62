//! Topology files (`.topo`): fat trees described by tier.

use super::input::{InputError, Word, lines};
use super::matrix::MOST_HOSTS;
use super::spec::Tree;

const HEADER: [&str; 3] = ["Nodes", "Tiers", "Podsize"];
/// Keys of a tier. Values of links refer to the links below it.
const KEYS: [&str; 9] = [
    "Downlink_speed_Gbps",
    "Radix_Down",
    "Radix_Up",
    "Downlink_Latency_ns",
    "Switch_Latency_ns",
    "Oversubscribed",
    "Bundle",
    "Queue_up",
    "Queue_down",
];
const SPEED: usize = 0;
const DOWN: usize = 1;
const UP: usize = 2;
const LATENCY: usize = 3;
const SWITCH: usize = 4;
const RATIO: usize = 5;
const BUNDLE: usize = 6;
const QUEUE: usize = 7;
/// Largest latency of a link, ns: packets store it as a 32-bit number of picoseconds.
const MOST_LATENCY: u32 = 4_000_000;

#[derive(Default)]
struct Tier<'a> {
    line: Option<Word<'a>>,
    values: [Option<(u32, Word<'a>)>; 9],
}

impl Tier<'_> {
    fn or(&self, key: usize, default: u32) -> u32 {
        self.values[key].as_ref().map_or(default, |(value, _)| *value)
    }
}

impl Tree {
    /// Reads a topology file.
    pub fn read(text: &str) -> Result<Self, InputError> {
        let mut header: [Option<(u32, Word<'_>)>; 3] = [None, None, None];
        let mut tiers: [Tier<'_>; 3] = Default::default();
        let mut current = None;
        for words in lines(text) {
            let name = &words[0];
            let Some(word) = words.get(1) else {
                return Err(name.wrong(format!("{} has no value", name.text), "expected a number"));
            };
            let position = |names: &[&str]| names.iter().position(|own| own.eq_ignore_ascii_case(name.text));
            if name.text.eq_ignore_ascii_case("Tier") {
                let tier: u32 = word.number("a tier", 0..=2)?;
                current = Some(tier as usize);
                tiers[tier as usize].line = Some(name.clone());
            } else if let Some(index) = position(&HEADER) {
                header[index] = Some((
                    word.number("a number of hosts or tiers", 1..=MOST_HOSTS)?,
                    word.clone(),
                ));
            } else if let Some(index) = position(&KEYS) {
                let Some(tier) = current else {
                    return Err(name.wrong(
                        format!("{} stands before any tier", name.text),
                        "expected `Tier 0` first",
                    ));
                };
                if index < QUEUE {
                    let least = u32::from(index != SWITCH);
                    let most = if index == LATENCY {
                        MOST_LATENCY
                    } else {
                        10_000_000
                    };
                    let value = word.number("a value of this key", least..=most)?;
                    tiers[tier].values[index] = Some((value, word.clone()));
                }
            } else {
                let message = format!("unknown key `{}`", name.text);
                return Err(name
                    .wrong(message, "expected a key")
                    .among(HEADER.into_iter().chain(["Tier"]).chain(KEYS)));
            }
        }
        build(&header, &tiers, text.trim_end().len())
    }
}

fn build(
    header: &[Option<(u32, Word<'_>)>; 3],
    tiers: &[Tier<'_>; 3],
    end: usize,
) -> Result<Tree, InputError> {
    let missing =
        |what: String| InputError::new(end..end, format!("the topology has no {what}"), "expected it");
    let get = |index: usize| {
        let given = header[index].as_ref();
        given.ok_or_else(|| missing(HEADER[index].to_string()))
    };
    let ((hosts, hosts_at), (depth, depth_at)) = (get(0)?, get(1)?);
    let (hosts, depth) = (*hosts, *depth);
    if !(2..=3).contains(&depth) {
        return Err(depth_at.wrong(format!("{depth} tiers"), "expected 2 or 3"));
    }
    let used = &tiers[..depth as usize];
    for (i, tier) in used.iter().enumerate() {
        for key in [SPEED, DOWN, UP, LATENCY] {
            // The top tier has no links up.
            let is_top = i + 1 == used.len();
            if tier.values[key].is_none() && !(is_top && key == UP) {
                let span = tier.line.as_ref().map_or(end..end, |line| line.span.clone());
                let message = format!("tier {i} has no {}", KEYS[key]);
                return Err(InputError::new(span, message, "expected one"));
            }
        }
    }
    let (pod, pod_at) = match &header[2] {
        Some((pod, at)) => (*pod, at),
        None if depth == 2 => (hosts, hosts_at),
        None => return Err(missing("Podsize".to_string())),
    };
    if depth == 2 && pod != hosts {
        return Err(pod_at.wrong(
            format!("Podsize {pod} in a tree of two tiers"),
            format!("expected {hosts}, the number of hosts"),
        ));
    }
    let of = |tier: usize, key: usize| u64::from(tiers[tier].or(key, 1));
    let at = |tier: usize, key: usize| tiers[tier].values[key].as_ref().map(|(_, word)| word);
    let divides = |whole: u64, part: u64, word: Option<&Word<'_>>, what: &str| {
        if part > 0 && whole.is_multiple_of(part) && whole >= part {
            return Ok(whole / part);
        }
        let word = word.unwrap_or(hosts_at);
        Err(word.wrong(
            format!("{what}: {whole} by {part} leaves a rest"),
            format!("expected a divisor of {whole}"),
        ))
    };
    let pods = divides(hosts.into(), pod.into(), Some(pod_at), "pods of equal size")?;
    let hosts_per_tor = of(0, DOWN);
    let tors_per_pod = divides(pod.into(), hosts_per_tor, at(0, DOWN), "switches of a pod")?;
    let uplinks = divides(
        u64::from(hosts) * of(0, SPEED),
        of(1, SPEED) * of(0, RATIO),
        at(0, RATIO),
        "links above the first tier",
    )?;
    let aggs_per_pod = divides(
        uplinks,
        pods * of(1, DOWN),
        at(1, DOWN),
        "aggregation switches of a pod",
    )?;
    let fits = |found: u64, tier: usize, key: usize, what: &str| {
        let given = of(tier, key);
        match at(tier, key) {
            Some(word) if given != found => Err(word.wrong(
                format!("{} of tier {tier} is {given}", KEYS[key]),
                format!("expected {found}, {what}"),
            )),
            _ => Ok(()),
        }
    };
    fits(
        aggs_per_pod * of(1, BUNDLE),
        0,
        UP,
        "as many as aggregation switches of a pod times the bundle",
    )?;
    fits(
        tors_per_pod * of(1, BUNDLE),
        1,
        DOWN,
        "as many as first switches of a pod times the bundle",
    )?;
    let (mut cores, mut cores_per_agg) = (0, 0);
    if depth == 3 {
        let links = divides(
            uplinks * of(1, SPEED),
            of(2, SPEED) * of(1, RATIO),
            at(1, RATIO),
            "links above the second tier",
        )?;
        cores = divides(links, of(2, DOWN), at(2, DOWN), "core switches")?;
        cores_per_agg = divides(of(1, UP), of(2, BUNDLE), at(2, BUNDLE), "cores of a switch")?;
        fits(pods * of(2, BUNDLE), 2, DOWN, "as many as pods times the bundle")?;
        if cores_per_agg * aggs_per_pod != cores {
            let word = at(1, UP).unwrap_or(hosts_at);
            return Err(word.wrong(
                format!("{aggs_per_pod} switches of a pod reach {cores_per_agg} cores each, of {cores}"),
                "expected each core to be reached once",
            ));
        }
    }
    let all = |key: usize, scale: u64| {
        [0, 1, 2].map(|tier| match tier < depth as usize {
            true => u64::from(tiers[tier].or(key, 0)) * scale,
            false => 0,
        })
    };
    let (links, switches) = (all(LATENCY, 1000), all(SWITCH, 1000));
    let mut diameter = 2 * (links[0] + links[1]) + 2 * switches[0] + switches[1];
    if depth == 3 {
        diameter += 2 * links[2] + switches[1] + switches[2];
    }
    let ratio = of(0, RATIO) * if depth == 3 { of(1, RATIO) } else { 1 };
    Ok(Tree {
        hosts,
        tiers: depth,
        hosts_per_tor: hosts_per_tor as u32,
        tors_per_pod: tors_per_pod as u32,
        pods: pods as u32,
        aggs_per_pod: aggs_per_pod as u32,
        cores: cores as u32,
        cores_per_agg: cores_per_agg as u32,
        bundles: [
            of(1, BUNDLE) as u32,
            if depth == 3 { of(2, BUNDLE) as u32 } else { 1 },
        ],
        rates: all(SPEED, 1_000_000_000),
        links,
        switches,
        oversubscription: ratio as u32,
        diameter,
        is_from_file: true,
    })
}
