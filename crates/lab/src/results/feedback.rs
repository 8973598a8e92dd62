//! Unscheduled bytes, on which schemes cannot differ.

use paceline_fabric::{Outcome, RunSpec};
use serde::{Deserialize, Serialize};

use super::rows::{Entry, FlowRows};

/// Share from which summaries report it.
pub const WORTH_SAYING: f64 = 0.5;
/// Share above which a run shows how its flows start rather than how its scheme reacts.
const OUT_OF_HAND: f64 = 0.9;

/// Bytes that left their sender before any feedback on their flow (an acknowledgement or a notification): only the
/// scheme's start-up behaviour could limit them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unscheduled {
    /// Unscheduled bytes of flows whose scheme reacts to feedback.
    pub bytes: u64,
    /// All payload bytes that these flows sent, each counted once.
    pub sent_bytes: u64,
    /// Unscheduled bytes divided by sent bytes, 0 to 1.
    pub share: f64,
}

/// Sums over flows whose scheme reacts to feedback.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    bytes: u64,
    sent_bytes: u64,
}

impl Heard {
    pub(super) fn add(&mut self, flow: &Entry, times: u64) {
        self.bytes += times * flow.sent_unscheduled;
        self.sent_bytes += times * flow.sent;
    }

    /// Returns `None` if no flow reacts to feedback, or none sent anything.
    pub(super) fn share(&self) -> Option<Unscheduled> {
        (self.sent_bytes > 0).then(|| Unscheduled {
            bytes: self.bytes,
            sent_bytes: self.sent_bytes,
            share: self.bytes as f64 / self.sent_bytes as f64,
        })
    }
}

/// Returns for each scheme of a run whether it reacts to feedback.
pub(super) fn reacting(spec: &RunSpec) -> Vec<bool> {
    spec.schemes
        .iter()
        .map(|scheme| scheme.config.is_adaptive())
        .collect()
}

/// Warns of a run in which congestion control could not act; `all` covers all its flows.
pub(super) fn warning(
    spec: &RunSpec,
    outcome: &Outcome,
    flows: &FlowRows,
    all: Option<Unscheduled>,
) -> Option<String> {
    let all = all.filter(|all| all.share > OUT_OF_HAND)?;
    let is_adaptive = reacting(spec);
    let sent = |flow: &Entry| is_adaptive.get(flow.scheme as usize) == Some(&true) && flow.sent > 0;
    let mut sizes: Vec<u64> = flows.entries().filter(sent).map(|flow| flow.size).collect();
    let count = sizes.len();
    // A median needs no complete sort of what may be millions of flows.
    let (_, &mut median, _) = sizes.select_nth_unstable(count / 2);
    let median = paceline_kernel::Bytes::new(median);
    Some(format!(
        "{:.0}% of the bytes had left before their sender had heard anything of their flow ({}, median flow \
         {median}, bandwidth-delay product {}): congestion control could not act on them, and schemes \
         hardly differ here but in how they start.",
        (all.share * 100.0).floor(),
        if count == 1 {
            "1 flow".to_string()
        } else {
            format!("{count} flows")
        },
        outcome.bdp,
    ))
}

#[cfg(test)]
mod tests {
    use paceline_congestion::registry::{SchemeConfig, SchemeParams};
    use paceline_kernel::Bytes;
    use paceline_scenario::Resolved;

    use super::*;
    use crate::results::Group;
    use crate::sample;

    fn dcqcn() -> SchemeConfig {
        SchemeParams::default().configure("dcqcn").unwrap()
    }

    fn of(input: &Resolved, outcome: &Outcome) -> (Option<Unscheduled>, FlowRows) {
        let flows = sample::rows(input, outcome);
        let (all, _) = Group::all_and_parts(&flows, &reacting(&input.run));
        (all.unscheduled, flows)
    }

    #[test]
    fn flows_that_do_not_react_do_not_count() {
        let (mut input, outcome) = sample::incast();
        assert_eq!(of(&input, &outcome).0, None);
        input.run_mut().schemes[0].config = dcqcn();
        // The sample's flows: a quarter of 1000, 20000 and 4000 bytes.
        let expected = Unscheduled {
            bytes: 6250,
            sent_bytes: 25_000,
            share: 0.25,
        };
        let (all, flows) = of(&input, &outcome);
        assert_eq!(all, Some(expected));
        let (_, schemes) = Group::all_and_parts(&flows, &reacting(&input.run));
        let mice = schemes["none"].labels["mice"].unscheduled;
        assert_eq!(mice.map(|mice| (mice.bytes, mice.sent_bytes)), Some((250, 1000)));
    }

    #[test]
    fn it_is_said_above_ninety_percent() {
        let (mut input, mut outcome) = sample::incast();
        input.run_mut().schemes[0].config = dcqcn();
        let mut at = |unheard: [u64; 3]| {
            for (record, bytes) in outcome.flows.iter_mut().zip(unheard) {
                record.sent_unscheduled = Bytes::new(bytes);
            }
            let (all, flows) = of(&input, &outcome);
            warning(&input.run, &outcome, &flows, all)
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
