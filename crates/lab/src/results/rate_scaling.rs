//! Warnings about parameters that were published for other line rates than the run's, if no source defines how they
//! scale.

use paceline_congestion::registry::RateScaled;
use paceline_fabric::RunSpec;
use paceline_kernel::BitRate;
use paceline_kernel::sorted::SortedSet;

use super::rows::FlowRows;

/// Returns a warning for each scheme with such parameters, with the values in proportion to the rate.
pub(super) fn warnings(spec: &RunSpec, flows: &FlowRows) -> Vec<String> {
    let mut found = Vec::new();
    for (scheme, number) in spec.schemes.iter().zip(0..) {
        for line in lines(spec, flows, number) {
            let tuned = scheme.config.tuned(line);
            found.extend(sentence(scheme.config.label(), &tuned, line));
        }
    }
    found
}

/// Returns the rates of the first links of a scheme's flows.
pub(super) fn lines(spec: &RunSpec, flows: &FlowRows, scheme: u32) -> SortedSet<BitRate> {
    let flows = flows.distinct_entries().map(|(flow, _)| flow);
    let senders: SortedSet<u32> = (flows.filter(|flow| flow.scheme == scheme))
        .map(|flow| flow.src)
        .collect();
    let links = spec.links.iter();
    let of_senders = links.filter(|link| senders.contains(&link.a.0) || senders.contains(&link.b.0));
    of_senders.map(|link| link.rate).collect()
}

fn sentence(scheme: &str, tuned: &[RateScaled], line: BitRate) -> Option<String> {
    let meant = tuned.first()?.line;
    let of = |text: fn(&RateScaled) -> String| tuned.iter().map(text).collect::<Vec<_>>().join(", ");
    Some(format!(
        "{scheme}: {} {} published for lines of {meant}; for these of {line}, in proportion: {}.",
        of(|tuned| format!("`{}` {}", tuned.param, tuned.value)),
        if tuned.len() == 1 { "is" } else { "are" },
        of(|tuned| tuned.in_proportion.clone()),
    ))
}

#[cfg(test)]
mod tests {
    use paceline_congestion::registry::SchemeParams;

    use super::*;
    use crate::sample;

    /// Returns the warnings about a scheme on lines of `gbps` Gbit/s.
    fn of(scheme: &str, gbps: u64) -> Vec<String> {
        let mut spec = sample::spec();
        spec.schemes[0].config = SchemeParams::default().configure(scheme).unwrap();
        spec.links
            .iter_mut()
            .for_each(|link| link.rate = BitRate::from_gbps(gbps));
        let (input, outcome) = sample::incast();
        warnings(&spec, &sample::rows(&input, &outcome))
    }

    #[test]
    fn values_for_other_lines_are_named_with_what_would_fit() {
        assert_eq!(of("qcn", 100), Vec::<String>::new());
        assert_eq!(of("qcn-10g", 10), Vec::<String>::new());
        assert_eq!(
            of("lstm-pid", 400),
            [
                "lstm-pid: `initial-rate` 10Gbps, `min-rate` 1Gbps are published for lines of 100Gbps; for these of \
              400Gbps, in proportion: 40Gbps, 4Gbps."
            ]
        );
        assert_eq!(
            of("qcn", 400),
            [
                "qcn: `q-eq` 260KB, `timer` 1.5ms, `rate-ai` 50Mbps, `rate-hai` 500Mbps, `min-rate` 100Mbps are \
              published for lines of 100Gbps; for these of 400Gbps, in proportion: 1.04MB, 375us, 200Mbps, \
              2Gbps, 400Mbps."
            ]
        );
        assert!(of("qcn-10g", 100)[0].starts_with("qcn-10g: `q-eq` 26KB, "));
    }

    /// Parameters that scale with the line rate by definition cause no warning.
    #[test]
    fn other_schemes_follow_the_line() {
        for scheme in paceline_congestion::registry::SCHEMES {
            if !["qcn", "lstm-pid"].contains(&scheme.name) {
                assert_eq!(of(scheme.name, 400), Vec::<String>::new(), "{}", scheme.name);
            }
        }
    }
}
