//! Conversion of `[network.ecn]` to marking curves.

use paceline_congestion::registry::{Marking, SchemeConfig};
use paceline_fabric::spec::{EcnCurve, NodeId, SwitchSpec};
use paceline_kernel::{BitRate, Bytes};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema::{self, OrEvery};
use crate::topology::Net;
use crate::warning::{Warning, WarningKind};

use super::Cx;
use super::fill::fill_at;
use super::numbers::{above_zero, probability};
use super::tiers::Common;

/// Returns the distinct rates of links at switches selected by `is_one`, each with the first link of that rate.
fn switch_rates(net: &Net, is_one: &dyn Fn(NodeId) -> bool) -> Vec<(BitRate, usize)> {
    let mut rates: Vec<(BitRate, usize)> = Vec::new();
    for (i, link) in net.topology.links.iter().enumerate() {
        let leaves_one = is_one(link.a) || is_one(link.b);
        if leaves_one && !rates.iter().any(|(rate, _)| *rate == link.rate) {
            rates.push((link.rate, i));
        }
    }
    rates.sort_unstable();
    rates
}

/// Returns the marking curve for every rate in the network; without settings these follow `marking`. `is_read` is
/// true if a scheme reads the marks.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    n: &mut schema::Network,
    net: &Net,
    marking: Marking,
    is_read: bool,
) -> Result<Vec<EcnCurve>, Problem> {
    let rates = switch_rates(net, &|node| !net.topology.is_host(node));
    let spanned = n
        .ecn
        .get_or_insert_with(|| Spanned::new(0..0, schema::Ecn::default()));
    let location = cx.texts.of_value(spanned);
    let ecn = spanned.get_mut();
    // Switches inside servers need no curves.
    let inner = |node: &NodeId| net.topology.inner.binary_search(node).is_ok();
    let outer = switch_rates(net, &|node| !net.topology.is_host(node) && !inner(&node));
    // Listed curves hold for their own rates, so neither scaling nor its warning applies.
    if let Some(curves) = listed(cx, ecn, &outer, net, &location)? {
        return Ok(curves);
    }
    if is_read {
        warn_of_scaling(cx, ecn, &rates, marking.line);
    }
    let kmin = fill_at(&mut ecn.kmin, marking.kmin);
    let kmax = fill_at(&mut ecn.kmax, marking.kmax);
    let reference = reference(cx, &mut ecn.reference_rate, Some(marking.line))?;
    let pmax = fill_at(&mut ecn.pmax, marking.pmax);
    check_curve(cx, &kmin, &kmax, &pmax)?;
    let curves: Vec<_> = rates
        .iter()
        .map(|&(rate, _)| EcnCurve {
            rate,
            kmin: scaled(*kmin.get_ref(), rate, reference),
            kmax: scaled(*kmax.get_ref(), rate, reference),
            pmax: *pmax.get_ref(),
        })
        .collect();
    write(ecn, &curves);
    Ok(curves)
}

/// Returns the curves for the switches of a tier. Settings that the tier leaves out are those of all switches, or of
/// the scheme if these mark nothing.
pub(super) fn of_tier(
    cx: &Cx<'_>,
    written: &mut Option<Spanned<schema::Ecn>>,
    switches: &[NodeId],
    net: &Net,
    common: &Common<'_>,
) -> Result<Vec<EcnCurve>, Problem> {
    let (of_all, marking) = (&common.spec.ecn, common.marking);
    let Some(spanned) = written else {
        return Ok(of_all.to_vec());
    };
    let rates = switch_rates(net, &|node| switches.contains(&node));
    let location = cx.texts.of_value(spanned);
    let ecn = spanned.get_mut();
    if let Some(curves) = listed(cx, ecn, &rates, net, &location)? {
        return Ok(curves);
    }
    let reference = reference(cx, &mut ecn.reference_rate, common.line)?;
    if let Some(pmax) = &ecn.pmax {
        probability(cx, pmax, "pmax")?;
    }
    let own = |bytes: &Option<Spanned<Bytes>>, rate| {
        let bytes = bytes.as_ref().map(|bytes| *bytes.get_ref());
        bytes.map(|bytes| scaled(bytes, rate, reference))
    };
    let mut curves = Vec::new();
    for &(rate, _) in &rates {
        let all = of_all.iter().find(|curve| curve.rate == rate).copied();
        let all = all.unwrap_or_else(|| EcnCurve {
            rate,
            kmin: scaled(marking.kmin, rate, Some(marking.line)),
            kmax: scaled(marking.kmax, rate, Some(marking.line)),
            pmax: marking.pmax,
        });
        let curve = EcnCurve {
            rate,
            kmin: own(&ecn.kmin, rate).unwrap_or(all.kmin),
            kmax: own(&ecn.kmax, rate).unwrap_or(all.kmax),
            pmax: ecn.pmax.as_ref().map_or(all.pmax, |pmax| *pmax.get_ref()),
        };
        // Both may come from different tables, so only their combination can be checked.
        if curve.kmin > curve.kmax {
            let message = format!(
                "kmin ({}) is above kmax ({}) for links of {rate}",
                curve.kmin, curve.kmax
            );
            return Err(Problem::new(message)
                .at(&location)
                .help("what a tier does not say is as in [network.ecn]"));
        }
        curves.push(curve);
    }
    write(ecn, &curves);
    Ok(curves)
}

/// Warns of thresholds in bytes if links have another rate than `line`, the scheme's, and no setting says which rate
/// the thresholds are for.
fn warn_of_scaling(cx: &mut Cx<'_>, ecn: &schema::Ecn, rates: &[(BitRate, usize)], line: BitRate) {
    let written = [("kmin", &ecn.kmin), ("kmax", &ecn.kmax)];
    let written = written
        .into_iter()
        .find_map(|(key, value)| Some((key, value.as_ref()?)));
    let other = rates.iter().map(|&(rate, _)| rate).find(|&rate| rate != line);
    let (Some((key, value)), Some(rate), None) = (written, other, &ecn.reference_rate) else {
        return;
    };
    let text = format!(
        "network.ecn.{key} = {} is for links of {line}, the scheme's rate, since network.ecn.reference-rate is not \
         written: for links of {rate} it is {}",
        value.get_ref(),
        scaled(*value.get_ref(), rate, Some(line))
    );
    let location = cx.texts.of_value(value);
    cx.warn(WarningKind::Threshold, &location, text);
}

/// Returns the rate that thresholds in bytes refer to, by default `default`; `None` means every rate.
fn reference(
    cx: &Cx<'_>,
    slot: &mut Option<Spanned<OrEvery<BitRate>>>,
    default: Option<BitRate>,
) -> Result<Option<BitRate>, Problem> {
    let written = fill_at(slot, OrEvery(default));
    let rate = written.get_ref().0.map(|rate| Spanned::new(written.span(), rate));
    rate.map(|rate| above_zero(cx, &rate, "the reference rate"))
        .transpose()
}

/// Scales bytes from links of rate `reference` to those of `rate`; unchanged without a reference.
fn scaled(bytes: Bytes, rate: BitRate, reference: Option<BitRate>) -> Bytes {
    let Some(reference) = reference else { return bytes };
    let scaled = u128::from(bytes.get()) * u128::from(rate.as_bps()) / u128::from(reference.as_bps());
    Bytes::new(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// Replaces all settings by these curves.
fn write(ecn: &mut schema::Ecn, curves: &[EcnCurve]) {
    *ecn = schema::Ecn {
        curves: Some(curves.iter().map(written_curve).collect()),
        ..schema::Ecn::default()
    };
}

fn written_curve(curve: &EcnCurve) -> Spanned<schema::Curve> {
    let curve = schema::Curve {
        rate: Some(Spanned::new(0..0, curve.rate)),
        kmin: Some(Spanned::new(0..0, curve.kmin)),
        kmax: Some(Spanned::new(0..0, curve.kmax)),
        pmax: Some(Spanned::new(0..0, curve.pmax)),
    };
    Spanned::new(0..0, curve)
}

/// Returns the listed curves, if there are any: one for each of these rates, or an empty list.
fn listed(
    cx: &Cx<'_>,
    ecn: &schema::Ecn,
    rates: &[(BitRate, usize)],
    net: &Net,
    location: &crate::diagnostics::Location,
) -> Result<Option<Vec<EcnCurve>>, Problem> {
    let Some(written) = &ecn.curves else {
        return Ok(None);
    };
    if ecn.kmin.is_some() || ecn.kmax.is_some() || ecn.pmax.is_some() || ecn.reference_rate.is_some() {
        let message = "ECN is either `curves`, or `kmin`, `kmax`, `pmax` and `reference-rate`, not both";
        return Err(Problem::new(message).at(location));
    }
    let mut curves: Vec<EcnCurve> = Vec::new();
    for spanned in written {
        let at = cx.texts.of_value(spanned);
        let curve = spanned.get_ref();
        let missing = |key: &str| Problem::new(format!("the curve has no `{key}`")).at(&at);
        let rate = curve.rate.as_ref().ok_or_else(|| missing("rate"))?;
        let kmin = curve.kmin.as_ref().ok_or_else(|| missing("kmin"))?;
        let kmax = curve.kmax.as_ref().ok_or_else(|| missing("kmax"))?;
        let pmax = curve.pmax.as_ref().ok_or_else(|| missing("pmax"))?;
        check_curve(cx, kmin, kmax, pmax)?;
        if curves.iter().any(|c| c.rate == *rate.get_ref()) {
            let message = format!("a second ECN curve for {}", rate.get_ref());
            return Err(Problem::new(message).at(&cx.texts.of_value(rate)));
        }
        curves.push(EcnCurve {
            rate: *rate.get_ref(),
            kmin: *kmin.get_ref(),
            kmax: *kmax.get_ref(),
            pmax: *pmax.get_ref(),
        });
    }
    // An empty list turns marking off, for all rates.
    let needed = if curves.is_empty() { &[] } else { rates };
    for &(rate, link) in needed {
        if curves.iter().any(|curve| curve.rate == rate) {
            continue;
        }
        // A run writes curves for the rates before `network.rate-factor` applies, so the nearest one is scaled.
        let far = |curve: &&EcnCurve| {
            let (a, b) = (rate.max(curve.rate), rate.min(curve.rate));
            u128::from(a.as_bps()) * 1000 / u128::from(b.as_bps().max(1))
        };
        let nearest = curves.iter().filter(|_| net.has_rate_factors).min_by_key(far);
        if let Some(&curve) = nearest.filter(|curve| curve.rate > BitRate::default()) {
            curves.push(EcnCurve {
                rate,
                kmin: scaled(curve.kmin, rate, Some(curve.rate)),
                kmax: scaled(curve.kmax, rate, Some(curve.rate)),
                ..curve
            });
            continue;
        }
        let known: Vec<_> = curves.iter().map(|curve| curve.rate.to_string()).collect();
        let message = format!(
            "there is no ECN curve for links of {rate}, only for {}",
            known.join(", ")
        );
        let problem = Problem::new(message)
            .at(location)
            .label(format!("nothing for {rate}"));
        return Err(match net.locations.get(link) {
            Some(link) => problem.see(link, format!("a link of {rate} is here")),
            None => problem,
        });
    }
    Ok(Some(curves))
}

fn check_curve(
    cx: &Cx<'_>,
    kmin: &Spanned<Bytes>,
    kmax: &Spanned<Bytes>,
    pmax: &Spanned<f64>,
) -> Result<(), Problem> {
    probability(cx, pmax, "pmax")?;
    if kmin.get_ref() > kmax.get_ref() {
        let message = format!("kmin ({}) is above kmax ({})", kmin.get_ref(), kmax.get_ref());
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(kmin))
            .see(&cx.texts.of_value(kmax), "kmax is here"));
    }
    Ok(())
}

/// Warns if a scheme depends on marks that no switch sets.
pub(super) fn unmarked<'a>(
    cx: &Cx<'_>,
    n: &schema::Network,
    switch: &SwitchSpec,
    schemes: impl Iterator<Item = &'a SchemeConfig>,
) -> Option<Warning> {
    let schemes: Vec<&SchemeConfig> = schemes.collect();
    let others_mark =
        schemes.iter().any(|scheme| scheme.switch_part().is_some()) || !switch.detectors().is_empty();
    if !switch.ecn.is_empty() || others_mark || cx.profile().marks_anyway {
        return None;
    }
    let scheme = schemes.into_iter().find(|scheme| scheme.needs().ecn)?;
    let location = n.ecn.as_ref().map(Spanned::span).filter(|span| !span.is_empty());
    let location = location.map(|span| cx.texts.at(span));
    let text = format!(
        "no switch marks packets (ECN), so {} hears of no congestion and does not slow down",
        scheme.name()
    );
    Some(Warning::new(WarningKind::SchemeAndNetwork, text).at(location.as_ref()))
}
