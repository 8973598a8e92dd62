//! Distillation of a policy into a forest, with training data from the forest's own decisions.
//!
//! A forest trained only on its teacher's states does not know the states to which its own small errors lead.
//! Therefore rounds follow each other as in DAgger: the forest decides, the teacher labels all states that
//! the forest met with its own actions, and the next forest learns from the rows of all rounds. In round 0
//! the teacher itself decides. The forest to keep is selected by the value of its decisions in separate
//! episodes, not by its distance to the teacher.
//!
//! S. Ross, G. Gordon, D. Bagnell, "A Reduction of Imitation Learning and Structured Prediction to No-Regret
//! Online Learning", AISTATS 2011.

use std::sync::Arc;

use paceline_congestion::learned::forest::Forest;

use crate::train::{Options, Rows, Shape, TrainError, Trained, train};

/// Policy as a function from features to an action. Senders of a run may share it.
pub type Policy = Arc<dyn Fn(&[f32]) -> f32 + Send + Sync>;

/// Environment in which policies decide.
pub trait World {
    /// Error of an episode.
    type Error;

    /// Runs an episode under a policy.
    ///
    /// # Errors
    /// The episode fails.
    fn episode(&mut self, stage: Stage, policy: &Policy) -> Result<Met, Self::Error>;
}

/// Purpose of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Episode for training data, in the round with this number.
    Learning(usize),
    /// Episode for the selection of a forest; the same in every round. The number is the round's.
    Choosing(usize),
}

/// Result of an episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Met {
    /// Features of all decisions in row-major order.
    pub features: Vec<f32>,
    /// Value of the decisions; higher is better.
    pub worth: f64,
}

/// Settings of a distillation.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Number of rounds in which a forest decides, at least one.
    pub rounds: usize,
    /// Upper limit of training rows. Above it every other row of the largest rounds is dropped.
    pub most: usize,
    /// Training options of each forest.
    pub options: Options,
}

/// Result of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Round number; 0 is the teacher's.
    pub number: usize,
    /// Value of its decisions in the selection episode.
    pub worth: f64,
    /// Root mean square difference from the teacher's actions there.
    pub error: f64,
    /// Number of its training rows before thinning.
    pub rows: usize,
}

/// Result of a distillation.
#[derive(Clone, Debug)]
pub struct Distilled {
    /// Forest with the highest value, the first of several.
    pub forest: Forest,
    /// Round in which this forest decided.
    pub best: usize,
    /// Results of all rounds.
    pub rounds: Vec<Round>,
    /// Remaining rows of all rounds after thinning.
    pub rows: Rows,
    /// Share of each feature in the total gain of the forest's training.
    pub gains: Vec<f64>,
}

/// Reason for which a distillation failed.
#[derive(Debug, thiserror::Error)]
pub enum DistillError<E> {
    /// Error of the environment.
    #[error("{0}")]
    World(E),
    /// Rows or options that are unsuitable for training.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// Distils `teacher` into a forest.
///
/// # Errors
/// An episode fails, or its data are unsuitable for training.
pub fn distill<W: World>(
    shape: &Shape,
    teacher: &Policy,
    world: &mut W,
    plan: &Plan,
) -> Result<Distilled, DistillError<W::Error>> {
    let width = shape.features.len();
    let mut seen: Vec<Rows> = Vec::new();
    let mut rounds: Vec<Round> = Vec::new();
    let mut trained: Option<Trained> = None;
    let mut best: Option<(f64, usize, Trained)> = None;
    for number in 0..=plan.rounds.max(1) {
        // The newest forest decides and the teacher labels: trained on the teacher's states alone, a forest would not
        // know those that its own errors lead to.
        let decide: Policy = match &trained {
            Some(trained) => {
                let forest = trained.forest.clone();
                Arc::new(move |features| forest.decide(features))
            }
            None => Arc::clone(teacher),
        };
        let mut episode = |stage| world.episode(stage, &decide).map_err(DistillError::World);
        // Two episodes: chosen by one that it learns from, a forest would look better than it is.
        let chosen = episode(Stage::Choosing(number))?;
        let met = episode(Stage::Learning(number))?;
        let squares = chosen.features.chunks_exact(width);
        let squares: f64 = squares.map(|x| f64::from(decide(x) - teacher(x)).powi(2)).sum();
        let mut rows = Rows::default();
        met.features
            .chunks_exact(width)
            .for_each(|x| rows.push(x, teacher(x)));
        rounds.push(Round {
            number,
            worth: chosen.worth,
            error: (squares / (chosen.features.len() / width).max(1) as f64).sqrt(),
            rows: rows.len(),
        });
        seen.push(rows);
        // A later forest may be worse, so the best in the choosing episodes stays.
        if let Some(trained) = trained.take()
            && best.as_ref().is_none_or(|(most, ..)| chosen.worth > *most)
        {
            best = Some((chosen.worth, number, trained));
        }
        // No forest would decide after the last round.
        if number < plan.rounds.max(1) {
            thin(&mut seen, plan.most);
            trained = Some(train(shape, &joined(&seen), &plan.options)?);
        }
    }
    let (_, best, trained) = best.expect("a forest decided in the last round");
    Ok(Distilled {
        forest: trained.forest,
        gains: trained.gains,
        best,
        rounds,
        rows: joined(&seen),
    })
}

/// Halves the largest round until all rounds have at most `most` rows.
fn thin(seen: &mut [Rows], most: usize) {
    // With a limit of at least two rows per round the largest round always has rows to drop.
    while seen.iter().map(Rows::len).sum::<usize>() > most.max(2 * seen.len()) {
        let Some(fullest) = seen.iter_mut().max_by_key(|rows| rows.len()) else {
            return;
        };
        let width = fullest.features.len() / fullest.len();
        let mut half = Rows::default();
        for row in (0..fullest.len()).step_by(2) {
            half.push(&fullest.features[row * width..][..width], fullest.targets[row]);
        }
        *fullest = half;
    }
}

fn joined(seen: &[Rows]) -> Rows {
    let mut all = Rows::default();
    for rows in seen {
        all.features.extend(&rows.features);
        all.targets.extend(&rows.targets);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use paceline_congestion::learned::forest::{Feature, Scale};
    use paceline_kernel::rng::{Purpose, Rng};

    use super::*;

    fn shape() -> Shape {
        let feature = |name: &str| Feature {
            name: name.into(),
            scale: Scale::Fixed(12),
            trend: None,
        };
        Shape {
            name: "test".into(),
            features: ["place", "speed"].map(feature).to_vec(),
            output: "push".into(),
        }
    }

    fn plan() -> Plan {
        Plan {
            rounds: 4,
            most: 3000,
            options: Options {
                trees: 40,
                depth: 4,
                ..Options::default()
            },
        }
    }

    /// Mass that should stay at 0 and is pushed at intervals. The value is higher for a smaller distance.
    struct Mass;

    impl World for Mass {
        type Error = Infallible;

        fn episode(&mut self, stage: Stage, policy: &Policy) -> Result<Met, Infallible> {
            let seed = match stage {
                Stage::Learning(number) => number as u64,
                Stage::Choosing(_) => 1000,
            };
            let mut rng = Rng::stream(seed, Purpose::Training, 0);
            let (mut position, mut speed) = (1.0f32, 0.0f32);
            let mut met = Met::default();
            for step in 0..2000 {
                met.features.extend([position, speed]);
                speed += 0.1 * policy(&[position, speed]);
                if step % 100 == 0 {
                    speed += rng.next_f64() as f32 - 0.5;
                }
                position += 0.1 * speed;
                met.worth -= f64::from(position.abs());
            }
            Ok(met)
        }
    }

    fn teach(x: &[f32]) -> f32 {
        (-x[0] - 1.5 * x[1]).clamp(-0.5, 0.5)
    }

    #[test]
    fn a_forest_does_what_its_teacher_does() {
        let teacher: Policy = Arc::new(teach);
        let distilled = distill(&shape(), &teacher, &mut Mass, &plan()).unwrap();
        let rounds = &distilled.rounds;
        assert_eq!(rounds.len(), 5);
        assert_eq!((rounds[0].error, rounds[0].rows), (0.0, 2000));
        // Its error is lower than that of the first forest in an episode without training data, and its value
        // is nearly the teacher's.
        assert!(
            rounds[2..].iter().all(|round| round.error < rounds[1].error),
            "{rounds:?}"
        );
        let best = rounds[distilled.best];
        assert!(rounds[1..].iter().all(|round| round.worth <= best.worth));
        assert!(best.worth > 1.3 * rounds[0].worth, "{rounds:?}");
        assert!(distilled.rows.len() <= 3000 + 2000);
        assert!((distilled.gains.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let again = distill(&shape(), &teacher, &mut Mass, &plan()).unwrap();
        assert_eq!(again.forest, distilled.forest);
    }

    /// Environment that fails at a stage.
    struct Closing(Stage);

    impl World for Closing {
        type Error = &'static str;

        fn episode(&mut self, stage: Stage, _: &Policy) -> Result<Met, &'static str> {
            match stage == self.0 {
                true => Err("closed"),
                false => Ok(Met::default()),
            }
        }
    }

    #[test]
    fn a_world_that_refuses_is_heard() {
        let got = |stage| {
            let error = distill(
                &shape(),
                &(Arc::new(teach) as Policy),
                &mut Closing(stage),
                &plan(),
            );
            error.unwrap_err().to_string()
        };
        assert_eq!(got(Stage::Learning(0)), "closed");
        assert_eq!(
            got(Stage::Learning(1)),
            "the number of rows is 0; expected 2 at least"
        );
    }
}
