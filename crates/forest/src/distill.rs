//! Distillation: a forest that does what a policy does, where the forest leads.
//!
//! A forest that was taught only where its teacher goes knows nothing of where its own small mistakes take it. So rounds
//! follow each other (DAgger): the forest decides, the teacher says of everything that the forest met what it would have
//! done, and the next forest learns from all rounds' rows. In round 0 the teacher itself decides. Which of the forests is
//! kept is decided by what its decisions were worth in episodes of which nothing is learned, not by how near it is to the
//! teacher.
//!
//! S. Ross, G. Gordon, D. Bagnell, "A Reduction of Imitation Learning and Structured Prediction to No-Regret Online
//! Learning", AISTATS 2011.

use std::sync::Arc;

use paceline_congestion::learned::forest::Forest;

use crate::train::{Options, Rows, Shape, TrainError, Trained, train};

/// What decides: features in, an action out. Senders of a run may share it.
pub type Policy = Arc<dyn Fn(&[f32]) -> f32 + Send + Sync>;

/// Where policies decide.
pub trait World {
    /// Why it refuses.
    type Error;

    /// An episode under a policy.
    ///
    /// # Errors
    /// It refuses.
    fn episode(&mut self, stage: Stage, policy: &Policy) -> Result<Met, Self::Error>;
}

/// What an episode is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// To learn from, in the round of this number.
    Learning(usize),
    /// To choose by; the same for every round, whose number this is.
    Choosing(usize),
}

/// What a policy met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Met {
    /// Features, row by row.
    pub features: Vec<f32>,
    /// What its decisions were worth.
    pub worth: f64,
}

/// How to distil.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Rounds in which a forest decides, one at least.
    pub rounds: usize,
    /// Rows to learn from at most: of more, every other one of the fullest rounds goes.
    pub most: usize,
    /// Of each forest.
    pub options: Options,
}

/// A round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Its number; 0 is the teacher's.
    pub number: usize,
    /// What its decisions were worth in the episodes that choose.
    pub worth: f64,
    /// How far they were from the teacher's there: root of the mean square.
    pub error: f64,
    /// Decisions that were learned from.
    pub rows: usize,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Distilled {
    /// The forest whose decisions were worth most, the first of several.
    pub forest: Forest,
    /// The round that it decided in.
    pub best: usize,
    /// Round by round.
    pub rounds: Vec<Round>,
    /// What all rounds met, as far as it was not thinned.
    pub rows: Rows,
    /// What each feature's questions gained, as shares of all: of the forest's training.
    pub gains: Vec<f64>,
}

/// Why there is no forest.
#[derive(Debug, thiserror::Error)]
pub enum DistillError<E> {
    /// The world refused.
    #[error("{0}")]
    World(E),
    /// The rows, or the options, are none to learn with.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// Distils `teacher` into a forest.
///
/// # Errors
/// The world refuses, or what it showed is nothing to learn from.
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
        let decide: Policy = match &trained {
            Some(trained) => {
                let forest = trained.forest.clone();
                Arc::new(move |features| forest.decide(features))
            }
            None => Arc::clone(teacher),
        };
        let mut episode = |stage| world.episode(stage, &decide).map_err(DistillError::World);
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
        if let Some(trained) = trained.take()
            && best.as_ref().is_none_or(|(most, ..)| chosen.worth > *most)
        {
            best = Some((chosen.worth, number, trained));
        }
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

/// Halves the fullest until there are at most so many rows.
fn thin(seen: &mut [Rows], most: usize) {
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

    /// A mass that is to come to rest at 0, and is pushed now and then; what was worth more stayed nearer.
    struct Mass;

    impl World for Mass {
        type Error = Infallible;

        fn episode(&mut self, stage: Stage, policy: &Policy) -> Result<Met, Infallible> {
            let seed = match stage {
                Stage::Learning(number) => number as u64,
                Stage::Choosing(_) => 1000,
            };
            let mut rng = Rng::stream(seed, Purpose::Training, 0);
            let (mut place, mut speed) = (1.0f32, 0.0f32);
            let mut met = Met::default();
            for step in 0..2000 {
                met.features.extend([place, speed]);
                speed += 0.1 * policy(&[place, speed]);
                if step % 100 == 0 {
                    speed += rng.next_f64() as f32 - 0.5;
                }
                place += 0.1 * speed;
                met.worth -= f64::from(place.abs());
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
        // Nearer to the teacher than the first forest, in an episode of which nothing is learned, and worth nearly as much.
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

    /// A world that closes at a stage.
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
