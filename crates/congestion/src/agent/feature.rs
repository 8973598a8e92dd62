//! Observations of agents: named features, each a number in a range.

use super::Unknown;
use super::measure::Measured;
use crate::aurora;
use crate::external::Feedback;

/// Number that an agent observes.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Name in scenario files and model cards.
    pub name: &'static str,
    /// Unit, empty for a plain number.
    pub unit: &'static str,
    /// Smallest and largest value; measurements are clamped to it.
    pub range: (f32, f32),
    /// Description that help shows.
    pub help: &'static str,
    /// Feedback that the feature needs from switches; none with [`Feedback::Ack`].
    pub feedback: Feedback,
    of: fn(&Measured) -> f64,
}

/// Returns log2 of a share divided by 16; shares below 2^-16 count as 2^-16.
fn log16(share: f64) -> f64 {
    libm::log2(share.max(1.0 / 65_536.0)) / 16.0
}

/// Returns ADPG's error z: the distance of the normalised delay from the one that fits the rate.
pub fn adpg(measured: &Measured) -> f64 {
    let share = measured.rate_gbps / measured.line_gbps.max(1e-9);
    f64::from(crate::adpg::error(measured.latency(), share))
}

const fn feature(
    name: &'static str,
    unit: &'static str,
    range: (f32, f32),
    help: &'static str,
    of: fn(&Measured) -> f64,
) -> Feature {
    Feature {
        name,
        unit,
        range,
        help,
        feedback: Feedback::Ack,
        of,
    }
}

/// Declares a feature that needs feedback from switches.
const fn by(feedback: Feedback, feature: Feature) -> Feature {
    Feature { feedback, ..feature }
}

/// All features, in the order in which help lists them.
static FEATURES: &[Feature] = &[
    feature(
        "rtt",
        "base RTTs",
        (0.0, 100.0),
        "mean round-trip time since the last question, over the empty network's",
        Measured::latency,
    ),
    feature(
        "rtt-min",
        "base RTTs",
        (0.0, 100.0),
        "the smallest round-trip time since the last question, over the empty network's",
        |m| m.rtt_min_us / m.base_rtt_us.max(1e-9),
    ),
    feature(
        "rtt-growth",
        "",
        (-10.0, 10.0),
        "by how much the mean round-trip time is longer than at the last question, over the time since: 1 where a queue \
         grows as fast as its line could send",
        |m| aurora::growth(m.rtt_us, m.rtt_before_us, m.span_us),
    ),
    feature(
        "delivered",
        "of the line",
        (0.0, 2.0),
        "payload acknowledged since the last question, over what the sender's line carries in that time",
        |m| m.delivered_gbps / m.line_gbps.max(1e-9),
    ),
    feature(
        "sent",
        "of what was delivered",
        (0.0, 10.0),
        "the rate at which packets may leave, over what was delivered since the last question; 1 where nothing was",
        |m| aurora::sent(m.rate_gbps, m.delivered_gbps),
    ),
    feature(
        "delivered-log2",
        "",
        (-1.0, 1.0),
        "log2 of `delivered` over 16: small rates differ as large ones do",
        |m| log16(m.delivered_gbps / m.line_gbps.max(1e-9)),
    ),
    feature(
        "loss",
        "of acknowledgements",
        (0.0, 1.0),
        "share of acknowledgements that told of a gap; 1 after a timeout",
        |m| m.loss,
    ),
    feature(
        "marks",
        "of acknowledgements",
        (0.0, 1.0),
        "share of acknowledgements whose packet was marked (ECN)",
        |m| m.marked,
    ),
    by(
        Feedback::Int,
        feature(
            "queue",
            "base RTTs",
            (0.0, 100.0),
            "how long the longest queue on the way takes to drain, by telemetry (INT), over the empty network's \
             round trip",
            |m| m.queue_us / m.base_rtt_us.max(1e-9),
        ),
    ),
    by(
        Feedback::SwitchAck,
        feature(
            "switch-queue",
            "base RTTs",
            (0.0, 100.0),
            "how long the longest queue takes to drain of which a switch's answer told since the last question, over \
             the empty network's round trip; 0 without an answer",
            |m| m.switch_queue_us / m.base_rtt_us.max(1e-9),
        ),
    ),
    by(
        Feedback::SwitchAck,
        feature(
            "switch-growth",
            "of the line",
            (-1.0, 100.0),
            "how fast that queue grows, over its line's rate: 1 where twice as much comes as can leave; 0 without an \
             answer",
            |m| m.switch_growth,
        ),
    ),
    by(
        Feedback::SwitchAck,
        feature(
            "switch-utilisation",
            "of the line",
            (0.0, 1.1),
            "the largest share of a line that was used, of which a switch's answer told since the last question; 0 \
             without an answer",
            |m| m.switch_utilisation,
        ),
    ),
    by(
        Feedback::SwitchAck,
        feature(
            "switch-answers",
            "",
            (0.0, 1000.0),
            "answers of switches since the last question",
            |m| m.switch_answers,
        ),
    ),
    feature(
        "rate",
        "of the line",
        (0.0, 1.0),
        "the rate at which packets may leave, over the line's",
        |m| m.rate_gbps / m.line_gbps.max(1e-9),
    ),
    feature("rate-log2", "", (-1.0, 0.0), "log2 of `rate` over 16", |m| {
        log16(m.rate_gbps / m.line_gbps.max(1e-9))
    }),
    feature(
        "in-flight-log2",
        "",
        (-2.0, 2.0),
        "log2 of the bytes in flight over the bandwidth-delay product, over 8",
        |m| libm::log2((m.in_flight / m.bdp.max(1.0)).max(1.0 / 65_536.0)) / 8.0,
    ),
    feature(
        "latency-log2",
        "",
        (-0.25, 2.0),
        "log2 of a round trip over the empty network's, over 4, by the newest news: with answers of switches since the last \
         question the empty network's and the longest queue that they report, else `rtt`",
        |m| {
            let answered = m.base_rtt_us + m.switch_queue_us;
            let newest = if m.switch_answers > 0.0 {
                answered
            } else {
                m.rtt_us
            };
            libm::log2((newest / m.base_rtt_us.max(1e-9)).max(1e-9)) / 4.0
        },
    ),
    feature(
        "action",
        "",
        (-1.0, 1.0),
        "the last action; 0 before the first",
        |m| m.action,
    ),
    feature(
        "span",
        "base RTTs",
        (0.0, 1000.0),
        "time since the last question, over the empty network's round trip",
        |m| m.span_us / m.base_rtt_us.max(1e-9),
    ),
    feature(
        "adpg",
        "",
        (-1.0, 100.0),
        "ADPG's error, 12.5 (max(rtt - 1.5, 0) sqrt(rate) - 0.064): below 0 there is room",
        adpg,
    ),
];

impl Feature {
    /// Returns the feature called `name`.
    ///
    /// # Errors
    /// No feature has that name.
    pub fn find(name: &str) -> Result<&'static Self, Unknown> {
        let found = FEATURES.iter().find(|feature| feature.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = FEATURES.iter().map(|feature| feature.name).collect();
            Unknown::new("observation", name, &names)
        })
    }

    /// Returns all features, in the order in which help lists them.
    pub fn all() -> &'static [Self] {
        FEATURES
    }

    /// Returns the feature's value, clamped to its range; the lower bound if it is not a number.
    pub fn value(&self, measured: &Measured) -> f32 {
        let value = (self.of)(measured) as f32;
        // Clamping would keep NaN.
        if value.is_nan() {
            return self.range.0;
        }
        value.clamp(self.range.0, self.range.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_mistakes_are_told() {
        for feature in Feature::all() {
            assert_eq!(Feature::find(feature.name).unwrap().name, feature.name);
        }
        let error = Feature::find("rt").unwrap_err().to_string();
        assert!(
            error.contains("unknown observation `rt` (did you mean `rtt`?)"),
            "{error}"
        );
    }

    /// For any measurement, an empty one included, each feature is a number in its range.
    #[test]
    fn values_stay_in_their_ranges() {
        let wild = Measured {
            rtt_us: 1e9,
            base_rtt_us: 5.0,
            delivered_gbps: 1e6,
            line_gbps: 100.0,
            rate_gbps: f64::NAN,
            in_flight: 1e18,
            ..Measured::default()
        };
        for feature in Feature::all() {
            for measured in [Measured::default(), wild] {
                let value = feature.value(&measured);
                assert!(
                    (feature.range.0..=feature.range.1).contains(&value),
                    "{}: {value}",
                    feature.name
                );
            }
        }
    }

    /// ACKs give two base round trips, a switch's reply four: 8 us, and 24 us in its queue.
    #[test]
    fn latency_is_that_of_the_newest_news() {
        let feature = Feature::find("latency-log2").unwrap();
        let by_ack = Measured {
            rtt_us: 16.0,
            base_rtt_us: 8.0,
            switch_queue_us: 24.0,
            ..Measured::default()
        };
        let by_answer = Measured {
            switch_answers: 1.0,
            ..by_ack
        };
        assert_eq!([by_ack, by_answer].map(|m| feature.value(&m)), [0.25, 0.5]);
    }

    #[test]
    fn adpg_rests_where_its_flows_are_fair() {
        // N fair flows settle at base (1.5 + .064 sqrt N).
        for n in [1.0f64, 4.0, 8192.0] {
            let at_rest = Measured {
                rtt_us: 8.0 * (1.5 + 0.064 * n.sqrt()),
                base_rtt_us: 8.0,
                rate_gbps: 100.0 / n,
                line_gbps: 100.0,
                ..Measured::default()
            };
            assert!(adpg(&at_rest).abs() < 1e-5, "{n}");
        }
    }
}
