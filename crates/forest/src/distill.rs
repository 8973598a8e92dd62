//! Distillation: a forest that does what a policy does, where the forest leads.
//!
//! A forest that was taught only where its teacher goes knows nothing of where its own small mistakes take it. So rounds
//! follow each other (DAgger): the forest decides, the teacher says of everything that the forest met what it would have
//! done, and the next forest learns from all rounds' rows. In round 0 the teacher itself decides. Which of the forests is
//! kept is decided by what its own decisions were worth, not by how near it is to the teacher.
//!
//! S. Ross, G. Gordon, D. Bagnell, "A Reduction of Imitation Learning and Structured Prediction to No-Regret Online
//! Learning", AISTATS 2011.

use paceline_congestion::learned::forest::Forest;

use crate::train::{Options, Rows, Shape, TrainError, train};

/// What decides: features in, an action out.
pub type Policy<'a> = dyn FnMut(&[f32]) -> f32 + 'a;

/// Where policies decide: an episode of that number under a policy, and what it was worth.
pub type World<'a, E> = dyn FnMut(usize, &mut Policy<'_>) -> Result<f64, E> + 'a;

/// How to distil.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Rounds in which the forest decides.
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
    /// What its decisions were worth.
    pub worth: f64,
    /// How far they were from the teacher's: root of the mean square.
    pub error: f64,
    /// How many.
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
    /// What was learned from last.
    pub rows: Rows,
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
pub fn distill<E>(
    shape: &Shape,
    teacher: &mut Policy<'_>,
    world: &mut World<'_, E>,
    plan: &Plan,
) -> Result<Distilled, DistillError<E>> {
    let mut seen: Vec<Rows> = Vec::new();
    let mut rounds: Vec<Round> = Vec::new();
    let mut best: Option<(f64, usize, Forest)> = None;
    let mut forest: Option<Forest> = None;
    for number in 0..=plan.rounds.max(1) {
        let mut rows = Rows::default();
        let mut squares = 0.0;
        let mut decide = |features: &[f32]| {
            let wanted = teacher(features);
            rows.push(features, wanted);
            let done = forest.as_ref().map_or(wanted, |forest| forest.decide(features));
            squares += f64::from(done - wanted).powi(2);
            done
        };
        let worth = world(number, &mut decide).map_err(DistillError::World)?;
        rounds.push(Round {
            number,
            worth,
            error: (squares / rows.len().max(1) as f64).sqrt(),
            rows: rows.len(),
        });
        if let Some(forest) = forest.take()
            && best.as_ref().is_none_or(|(most, ..)| worth > *most)
        {
            best = Some((worth, number, forest));
        }
        seen.push(rows);
        if number < plan.rounds.max(1) {
            thin(&mut seen, plan.most);
            forest = Some(train(shape, &joined(&seen), &plan.options)?.forest);
        }
    }
    let (_, best, forest) = best.expect("a forest decided in the last round");
    Ok(Distilled {
        forest,
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
    fn mass(number: usize, policy: &mut Policy<'_>) -> Result<f64, Infallible> {
        let mut rng = Rng::stream(number as u64, Purpose::Training, 0);
        let (mut place, mut speed, mut away) = (1.0f32, 0.0f32, 0.0f64);
        for step in 0..2000 {
            speed += 0.1 * policy(&[place, speed]);
            if step % 100 == 0 {
                speed += rng.next_f64() as f32 - 0.5;
            }
            place += 0.1 * speed;
            away += f64::from(place.abs());
        }
        Ok(-away)
    }

    fn teach(x: &[f32]) -> f32 {
        (-x[0] - 1.5 * x[1]).clamp(-0.5, 0.5)
    }

    #[test]
    fn a_forest_does_what_its_teacher_does() {
        let distilled = distill(&shape(), &mut |x| teach(x), &mut mass, &plan()).unwrap();
        let rounds = &distilled.rounds;
        assert_eq!(rounds.len(), 5);
        assert_eq!((rounds[0].error, rounds[0].rows), (0.0, 2000));
        // Nearer to the teacher where the forest itself goes, and worth nearly as much.
        assert!(rounds[4].error < 0.7 * rounds[1].error, "{rounds:?}");
        let best = rounds[distilled.best];
        assert!(rounds[1..].iter().all(|round| round.worth <= best.worth));
        assert!(best.worth > 1.3 * rounds[0].worth, "{rounds:?}");
        assert!(distilled.rows.len() <= 3000 + 2000);
        let again = distill(&shape(), &mut |x| teach(x), &mut mass, &plan()).unwrap();
        assert_eq!(again.forest, distilled.forest);
    }

    #[test]
    fn a_world_that_refuses_is_heard() {
        let mut refuse = |number: usize, _: &mut Policy<'_>| match number {
            0 => Ok(0.0),
            _ => Err("closed"),
        };
        let error = distill(&shape(), &mut |x| teach(x), &mut refuse, &plan()).unwrap_err();
        assert_eq!(error.to_string(), "the number of rows is 0; expected 2 at least");
        let mut refuse = |_: usize, _: &mut Policy<'_>| Err("closed");
        let error = distill(&shape(), &mut |x| teach(x), &mut refuse, &plan()).unwrap_err();
        assert_eq!(error.to_string(), "closed");
    }
}
