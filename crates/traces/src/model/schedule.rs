//! Order in which a stage of a pipeline works on micro-batches.

use super::plan::Schedule;

/// Pass of a micro-batch through a virtual stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pass {
    Forward,
    /// Gradients of inputs and, unless the schedule splits them off, of weights.
    Backward,
    /// Gradients of weights that the schedule splits off.
    Weights,
}

/// Entry of a stage's schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) pass: Pass,
    /// Index of the stage's part of the model, from 0.
    pub(super) part: u32,
    pub(super) micro_batch: u32,
}

/// Position of a stage and the extent of its work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pipeline {
    pub(super) stages: u32,
    pub(super) parts: u32,
    pub(super) micro_batches: u32,
}

/// Returns the order of a stage.
pub(super) fn order(schedule: Schedule, pipeline: Pipeline, stage: u32) -> Vec<Slot> {
    let Pipeline {
        stages,
        parts,
        micro_batches,
    } = pipeline;
    let total = micro_batches * parts;
    // With several parts, micro-batches go through each part in blocks of as many as there are stages (Narayanan et
    // al. 2021, figure 4); with one part, in order.
    let slot = |pass: Pass, k: u32| {
        let (round, rest) = (k / (stages * parts), k % (stages * parts));
        let part = rest / stages;
        Slot {
            pass,
            part: if pass == Pass::Forward {
                part
            } else {
                parts - 1 - part
            },
            micro_batch: round * stages + rest % stages,
        }
    };
    let slot = |pass: Pass, k: u32| match parts {
        1 => Slot {
            pass,
            part: 0,
            micro_batch: k,
        },
        _ => slot(pass, k),
    };
    let later = stages - 1 - stage;
    let ahead = match (schedule, parts) {
        (Schedule::Gpipe, _) => total,
        (_, 1) => later.min(total),
        _ => (2 * later + (parts - 1) * stages).min(total),
    };
    // ZB-H1: the gradients of weights lag by as many micro-batches as the stage has predecessors, so that a stage
    // holds no more activations than under 1F1B.
    let lag = match schedule {
        Schedule::ZeroBubble => Some(stage.min(total)),
        _ => None,
    };
    let mut slots: Vec<Slot> = (0..ahead).map(|k| slot(Pass::Forward, k)).collect();
    for k in 0..total {
        slots.extend((ahead + k < total).then(|| slot(Pass::Forward, ahead + k)));
        slots.push(slot(Pass::Backward, k));
        let weights = lag.and_then(|lag| k.checked_sub(lag));
        slots.extend(weights.map(|k| slot(Pass::Weights, k)));
    }
    if let Some(lag) = lag {
        slots.extend((total - lag..total).map(|k| slot(Pass::Weights, k)));
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::{Pass, Pipeline, Schedule, order};

    fn text(schedule: Schedule, pipeline: (u32, u32, u32), stage: u32) -> String {
        let (stages, parts, micro_batches) = pipeline;
        let pipeline = Pipeline {
            stages,
            parts,
            micro_batches,
        };
        let words = order(schedule, pipeline, stage).into_iter().map(|slot| {
            let letter = match (slot.pass, slot.part) {
                (Pass::Forward, 0) => "F",
                (Pass::Forward, _) => "f",
                (Pass::Backward, 0) => "B",
                (Pass::Backward, _) => "b",
                (Pass::Weights, _) => "W",
            };
            format!("{letter}{}", slot.micro_batch)
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn orders_are_those_of_the_papers() {
        let one = Schedule::OneForwardOneBackward;
        assert_eq!(text(one, (3, 1, 4), 0), "F0 F1 F2 B0 F3 B1 B2 B3");
        assert_eq!(text(one, (3, 1, 4), 2), "F0 B0 F1 B1 F2 B2 F3 B3");
        assert_eq!(text(Schedule::Gpipe, (3, 1, 2), 0), "F0 F1 B0 B1");
        assert_eq!(
            text(one, (2, 2, 4), 0),
            "F0 F1 f0 f1 F2 b0 F3 b1 f2 B0 f3 B1 b2 b3 B2 B3"
        );
        assert_eq!(text(one, (2, 2, 2), 1), "F0 F1 f0 b0 f1 b1 B0 B1");
        let zero = Schedule::ZeroBubble;
        assert_eq!(text(zero, (3, 1, 4), 0), "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
        assert_eq!(text(zero, (3, 1, 4), 2), "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
    }
}
