//! How much left before anybody could have said anything: where schemes cannot differ.

use paceline_fabric::outcome::FlowRecord;
use paceline_fabric::spec::FlowSpec;
use paceline_fabric::{Outcome, RunSpec};
use serde::{Deserialize, Serialize};

/// From this share on it is said where a run is summed up.
pub const WORTH_SAYING: f64 = 0.5;
/// Above this share a run says more of its flows' start than of its scheme.
const OUT_OF_HAND: f64 = 0.9;

/// Bytes that left their sender before it had heard anything of their flow (an acknowledgement, a
/// notification): nothing could have held them back but how the scheme starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeforeFeedback {
    /// Those bytes, of flows whose scheme reacts to anything.
    pub bytes: u64,
    /// All payload bytes of these flows that were sent, each counted once.
    pub sent_bytes: u64,
    /// The ones over the others.
    pub share: f64,
}

impl BeforeFeedback {
    /// Of the flows that `of` picks; `None` if none of them reacts to anything, or sent anything.
    pub(super) fn of(spec: &RunSpec, outcome: &Outcome, of: impl Fn(&FlowSpec) -> bool) -> Option<Self> {
        let (mut bytes, mut sent_bytes) = (0, 0);
        for (_, record) in reacting(spec, outcome).filter(|(flow, _)| of(flow)) {
            bytes += record.sent_unheard.get();
            sent_bytes += record.sent.get();
        }
        (sent_bytes > 0).then(|| Self {
            bytes,
            sent_bytes,
            share: bytes as f64 / sent_bytes as f64,
        })
    }
}

/// Flows whose scheme reacts to what happens to their packets, with what became of them.
fn reacting<'a>(
    spec: &'a RunSpec,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (&'a FlowSpec, &'a FlowRecord)> {
    let reacts: Vec<bool> = spec.schemes.iter().map(|scheme| scheme.config.reacts()).collect();
    let flows = spec.flows.iter().zip(&outcome.flows);
    flows.filter(move |(flow, _)| reacts.get(usize::from(flow.scheme)).is_some_and(|&reacts| reacts))
}

/// What to know of a run in which congestion control could not act.
pub(super) fn warning(spec: &RunSpec, outcome: &Outcome) -> Option<String> {
    let all = BeforeFeedback::of(spec, outcome, |_| true).filter(|all| all.share > OUT_OF_HAND)?;
    let mut sizes: Vec<u64> = reacting(spec, outcome)
        .filter(|(_, record)| record.sent.get() > 0)
        .map(|(flow, _)| flow.size.get())
        .collect();
    sizes.sort_unstable();
    let median = paceline_kernel::Bytes::new(sizes[sizes.len() / 2]);
    Some(format!(
        "{:.0}% of the bytes had left before their sender had heard anything of their flow ({}, median flow \
         {median}, bandwidth-delay product {}): congestion control could not act on them, and schemes \
         hardly differ here but in how they start.",
        (all.share * 100.0).floor(),
        if sizes.len() == 1 {
            "1 flow".to_string()
        } else {
            format!("{} flows", sizes.len())
        },
        outcome.bdp,
    ))
}

#[cfg(test)]
mod tests {
    use paceline_congestion::registry::{SchemeConfig, SchemeParams};
    use paceline_kernel::Bytes;

    use super::*;
    use crate::sample;

    fn dcqcn() -> SchemeConfig {
        SchemeParams::default().configure("dcqcn").unwrap()
    }

    #[test]
    fn flows_that_do_not_react_do_not_count() {
        let (mut input, outcome) = sample::incast();
        let of = |spec: &RunSpec| BeforeFeedback::of(spec, &outcome, |_| true);
        assert_eq!(of(&input.run), None);
        input.run_mut().schemes[0].config = dcqcn();
        // The sample's flows: a quarter of 1000, 20000 and 4000 bytes.
        let expected = BeforeFeedback {
            bytes: 6250,
            sent_bytes: 25_000,
            share: 0.25,
        };
        assert_eq!(of(&input.run), Some(expected));
        let mice = BeforeFeedback::of(&input.run, &outcome, |flow| flow.label == 0);
        assert_eq!(mice.map(|mice| (mice.bytes, mice.sent_bytes)), Some((250, 1000)));
        assert_eq!(BeforeFeedback::of(&input.run, &outcome, |_| false), None);
    }

    #[test]
    fn it_is_said_above_ninety_percent() {
        let (mut input, mut outcome) = sample::incast();
        input.run_mut().schemes[0].config = dcqcn();
        let mut at = |unheard: [u64; 3]| {
            for (record, bytes) in outcome.flows.iter_mut().zip(unheard) {
                record.sent_unheard = Bytes::new(bytes);
            }
            warning(&input.run, &outcome)
        };
        assert_eq!(at([1000, 17_500, 4000]), None);
        let text = at([1000, 17_501, 4000]).unwrap();
        assert!(text.starts_with("90% of the bytes had left"), "{text}");
        assert!(
            text.contains("3 flows, median flow 20KB, bandwidth-delay product 52KB"),
            "{text}"
        );
    }
}
