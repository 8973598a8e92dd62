//! From `[network.ecn]` to marking curves.

use paceline_congestion::registry::Marking;
use paceline_fabric::spec::EcnCurve;
use paceline_kernel::{BitRate, Bytes};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema;
use crate::topology::Net;

use super::Cx;
use super::fill::fill_at;
use super::network::{above_zero, probability};

/// Rates of links that leave a switch, each once, with the first link of that rate.
fn switch_rates(net: &Net) -> Vec<(BitRate, usize)> {
    let mut rates: Vec<(BitRate, usize)> = Vec::new();
    for (i, link) in net.topology.links.iter().enumerate() {
        let leaves_switch = !net.topology.is_host(link.a) || !net.topology.is_host(link.b);
        if leaves_switch && !rates.iter().any(|(rate, _)| *rate == link.rate) {
            rates.push((link.rate, i));
        }
    }
    rates.sort_unstable();
    rates
}

/// The marking curve of every rate in the network; `marking` where the scenario says nothing.
pub(super) fn resolve(
    cx: &Cx<'_>,
    n: &mut schema::Network,
    net: &Net,
    marking: Marking,
) -> Result<Vec<EcnCurve>, Problem> {
    let spanned = n
        .ecn
        .get_or_insert_with(|| Spanned::new(0..0, schema::Ecn::default()));
    let place = cx.texts.of_value(spanned);
    let ecn = spanned.get_mut();
    let scaled =
        ecn.kmin.is_some() || ecn.kmax.is_some() || ecn.pmax.is_some() || ecn.reference_rate.is_some();
    if let Some(curves) = &ecn.curves {
        if scaled {
            let message = "ECN is either `curves`, or `kmin`, `kmax`, `pmax` and `reference-rate`, not both";
            return Err(Problem::new(message).at(&place));
        }
        return listed(cx, curves, net, &place);
    }
    let kmin = fill_at(&mut ecn.kmin, marking.kmin);
    let kmax = fill_at(&mut ecn.kmax, marking.kmax);
    let reference = fill_at(&mut ecn.reference_rate, marking.line);
    let reference = above_zero(cx, &reference, "the reference rate")?;
    let pmax = fill_at(&mut ecn.pmax, marking.pmax);
    check_curve(cx, &kmin, &kmax, &pmax)?;
    let scale = |bytes: Bytes, rate: BitRate| {
        let scaled = u128::from(bytes.get()) * u128::from(rate.as_bps()) / u128::from(reference.as_bps());
        Bytes::new(u64::try_from(scaled).unwrap_or(u64::MAX))
    };
    let curves: Vec<_> = switch_rates(net)
        .iter()
        .map(|&(rate, _)| EcnCurve {
            rate,
            kmin: scale(*kmin.get_ref(), rate),
            kmax: scale(*kmax.get_ref(), rate),
            pmax: *pmax.get_ref(),
        })
        .collect();
    *ecn = schema::Ecn {
        curves: Some(curves.iter().map(written_curve).collect()),
        ..schema::Ecn::default()
    };
    Ok(curves)
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

fn listed(
    cx: &Cx<'_>,
    written: &[Spanned<schema::Curve>],
    net: &Net,
    place: &crate::diagnostics::Place,
) -> Result<Vec<EcnCurve>, Problem> {
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
    let needed = if curves.is_empty() {
        Vec::new()
    } else {
        switch_rates(net)
    };
    for (rate, link) in needed {
        if curves.iter().any(|curve| curve.rate == rate) {
            continue;
        }
        let known: Vec<_> = curves.iter().map(|curve| curve.rate.to_string()).collect();
        let message = format!(
            "there is no ECN curve for links of {rate}, only for {}",
            known.join(", ")
        );
        let problem = Problem::new(message)
            .at(place)
            .label(format!("nothing for {rate}"));
        return Err(match net.places.get(link) {
            Some(link) => problem.see(link, format!("a link of {rate} is here")),
            None => problem,
        });
    }
    Ok(curves)
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
