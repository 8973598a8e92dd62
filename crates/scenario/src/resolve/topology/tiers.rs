//! Leaf-spine and rail networks, whose upper tier may be given by its oversubscription.

use paceline_kernel::{BitRate, Span};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::resolve::Cx;
use crate::resolve::fill::{fill_at, fill_value};
use crate::schema::{self, OrOff, Ratio};
use crate::topology::{self, Net, Rails, Topology};

use super::{G100, US, count, rate};

/// Upper limit that only a typing error exceeds.
const MOST_SPINES: u32 = 1000;

pub(super) fn leaf_spine(cx: &Cx<'_>, t: &mut schema::LeafSpine) -> Result<Topology, Problem> {
    let leaves = count(cx, &mut t.leaves, 4, "leaves", 1..=1000)?;
    let hosts = count(cx, &mut t.hosts_per_leaf, 8, "hosts per leaf", 1..=1000)?;
    let host = (rate(cx, &mut t.rate, G100)?, fill_value(&mut t.delay, US));
    let uplinks = Uplinks {
        spines: &mut t.spines,
        rate: &mut t.spine_rate,
        ratio: &mut t.oversubscription,
    };
    let (spines, rate) = uplinks.resolve(cx, hosts, host.0, 2, 1)?;
    let spine = (rate, fill_value(&mut t.spine_delay, host.1));
    Ok(topology::leaf_spine(leaves, spines, hosts, host, spine))
}

pub(super) fn rail(cx: &Cx<'_>, t: &mut schema::Rail) -> Result<Net, Problem> {
    let servers = count(cx, &mut t.servers, 4, "servers", 1..=4096)?;
    let gpus = count(cx, &mut t.gpus, 8, "GPUs per server", 1..=64)?;
    let servers_per_pod = count(
        cx,
        &mut t.servers_per_pod,
        servers,
        "servers per pod",
        1..=servers,
    )?;
    if !servers.is_multiple_of(servers_per_pod) {
        let message = format!("{servers} servers in pods of {servers_per_pod}: expected pods of equal size");
        let written = fill_at(&mut t.servers_per_pod, servers);
        return Err(Problem::new(message).at(&cx.texts.of_value(&written)));
    }
    let g400 = BitRate::from_gbps(400);
    let host = (rate(cx, &mut t.rate, g400)?, fill_value(&mut t.delay, US));
    // By default the spines carry all that the hosts send.
    if t.spines.is_none() && t.oversubscription.is_none() {
        t.oversubscription = Some(Spanned::new(0..0, Ratio::to_one(1)));
    }
    let uplinks = Uplinks {
        spines: &mut t.spines,
        rate: &mut t.spine_rate,
        ratio: &mut t.oversubscription,
    };
    let (spines, spine_rate) = uplinks.resolve(cx, servers_per_pod, host.0, 0, 0)?;
    let inside = fill_at(&mut t.server_rate, OrOff(None)).get_ref().0;
    let delay = fill_value(&mut t.server_delay, Span::from_ns(200));
    if inside.is_some_and(|rate| rate.as_bps() == 0) {
        let written = fill_at(&mut t.server_rate, OrOff(None));
        return Err(Problem::new("a link with a rate of zero carries nothing")
            .at(&cx.texts.of_value(&written))
            .label("expected a rate above zero, or \"off\""));
    }
    let topology = topology::rail(&Rails {
        servers,
        gpus,
        servers_per_pod,
        spines,
        host,
        spine: (spine_rate, fill_value(&mut t.spine_delay, host.1)),
        server: inside.map(|rate| (rate, delay)),
    });
    let note = "rails, and pods, meet in spines only (`topology.rail.spines`), and hosts do not forward";
    Ok(Net {
        topology,
        note: (spines == 0).then(|| note.to_string()),
        ..Net::default()
    })
}

/// Links from a leaf to its spines: their number, rate and oversubscription.
struct Uplinks<'a> {
    spines: &'a mut Option<Spanned<u32>>,
    rate: &'a mut Option<Spanned<BitRate>>,
    ratio: &'a mut Option<Spanned<Ratio>>,
}

impl Uplinks<'_> {
    /// Returns the number of spines, at least `least`, and the rate of each of their links. Clears the ratio, which
    /// follows from these.
    fn resolve(
        self,
        cx: &Cx<'_>,
        hosts: u32,
        rate_of_host: BitRate,
        default: u32,
        least: u32,
    ) -> Result<(u32, BitRate), Problem> {
        if let Some(ratio) = self.ratio.take() {
            let below = u128::from(hosts) * u128::from(rate_of_host.as_bps());
            // Number of spines times their rate times this ratio equals the rate from below.
            let Ratio { of, to } = *ratio.get_ref();
            let above =
                |spines: u32, rate: BitRate| u128::from(spines) * u128::from(rate.as_bps()) * u128::from(of);
            let wanted = below * u128::from(to);
            let location = cx.texts.of_value(&ratio);
            let hosts = format!("{hosts} hosts of {rate_of_host}");
            match (&*self.spines, &*self.rate) {
                (Some(spines), Some(rate)) if above(*spines.get_ref(), *rate.get_ref()) != wanted => {
                    let message = format!(
                        "{hosts} over {} spines of {} are not {}",
                        spines.get_ref(),
                        rate.get_ref(),
                        ratio.get_ref()
                    );
                    return Err(Problem::new(message)
                        .at(&location)
                        .help("leave out one of `spines`, `spine-rate` and `oversubscription`"));
                }
                (Some(_), Some(_)) => {}
                (Some(spines), None) => {
                    let each = above(*spines.get_ref(), BitRate::from_bps(1));
                    let whole = (each > 0 && wanted % each == 0).then(|| wanted / each);
                    let rate = whole.and_then(|rate| u64::try_from(rate).ok()).ok_or_else(|| {
                        let message = format!(
                            "{hosts} over {} spines at {}: no rate of whole bits per second does that",
                            spines.get_ref(),
                            ratio.get_ref()
                        );
                        Problem::new(message).at(&location)
                    })?;
                    *self.rate = Some(Spanned::new(0..0, BitRate::from_bps(rate)));
                }
                (None, _) => {
                    let rate = rate(cx, self.rate, rate_of_host)?;
                    let each = above(1, rate);
                    if wanted % each != 0 {
                        let message = format!(
                            "{hosts} over spines of {rate} at {}: that would be {:.2} spines",
                            ratio.get_ref(),
                            wanted as f64 / each as f64
                        );
                        return Err(Problem::new(message)
                            .at(&location)
                            .label("expected a whole number of spines")
                            .help("give `spines`, and the rate of their links follows"));
                    }
                    // Too many spines are reported below, with the limit.
                    let spines = u32::try_from(wanted / each).unwrap_or(u32::MAX);
                    *self.spines = Some(Spanned::new(ratio.span(), spines));
                }
            }
        }
        let spines = count(cx, self.spines, default, "spines", least..=MOST_SPINES)?;
        Ok((spines, rate(cx, self.rate, rate_of_host)?))
    }
}
