//! Distillation of DECC's network: random networks for learning, those of the law's trials for selection,
//! others for judging.

use std::sync::Arc;

use paceline_congestion::decc::features::NAMES;
use paceline_congestion::decc::law::Law;
use paceline_congestion::learned::card::LAW;
use paceline_congestion::learned::forest::{Claim, Feature, Forest, Scale, Trend};
use paceline_congestion::learned::layers::Policy as Decides;
use paceline_congestion::learned::{Model, ModelKind};
use paceline_forest::distill::{Met, Policy, Stage};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::run::side_by_side;

use super::judge::score;
use super::{Compared, Episodes, Judged, Options, Score, Subject};
use crate::Error;
use crate::decc::{EVALUATION, Manner, Transition, episodes, fixed, practise_all};
use crate::policy;
use crate::search::{Measured, Network, Shape, Trials, decc_of};

pub(super) const SUBJECT: Subject = Subject {
    kind: ModelKind::Decc,
    teach,
    features,
    claims,
    sources: |options| policy::data(0, &["drawn"], options.seed).sources,
    world,
    judge,
};

fn teach(teacher: &Arc<Model>) -> Policy {
    let teacher = Arc::clone(teacher);
    Arc::new(move |seen| teacher.decides().map_or(0.0, |policy| policy.decide(seen)))
}

/// Fractional bits of a feature. All are from -1 to 1, or a little beyond.
const BITS: u8 = 14;

fn features() -> Vec<Feature> {
    let feature = |name: &&str| Feature {
        name: (*name).into(),
        scale: Scale::Fixed(BITS),
        trend: name.starts_with("queue, ").then_some(Trend::Falling),
    };
    NAMES.iter().map(feature).collect()
}

fn claims() -> Vec<Claim> {
    let within = |name: &str, range: [f32; 2]| (name.to_string(), range);
    vec![
        Claim {
            what: "the action is one".into(),
            within: Vec::new(),
            output: [-1.0, 1.0],
        },
        Claim {
            what: "no stall: without a queue or a loss the rate rises".into(),
            within: vec![
                within("queue, mean", [0.0, 0.0]),
                within("queue, newest", [0.0, 0.0]),
                within("queue before", [0.0, 0.0]),
                within("loss", [0.0, 0.0]),
                within("silence", [0.0, 0.0]),
            ],
            output: [0.0001, 1.0],
        },
    ]
}

/// Function as a policy that senders share.
struct Function(Policy);

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Function")
    }
}

impl Decides for Function {
    fn decide(&self, features: &[f32]) -> f32 {
        (self.0)(features)
    }
}

/// Approximate number of decisions that a network contributes; `FEW` limits its flows with `--quick`.
const ROWS: usize = 4000;
const FEW: u32 = 64;
/// First number of the streams that draw networks.
const STREAMS: u64 = 5 << 20;

fn law_of(teacher: &Model) -> Result<Law, Error> {
    let law = teacher.law().copied();
    law.ok_or_else(|| Error::Options(format!("`{}` has no rate law", teacher.card().name)))
}

/// Returns the runs for learning, in networks drawn for each round, and for selection, in those of the law's
/// trials: the value of a policy is its mean reward, with the same weight for each network.
fn world(teacher: &Arc<Model>, options: &Options) -> Result<Episodes, Error> {
    let (law, options) = (law_of(teacher)?, options.clone());
    let (networks, most) = if options.quick { (2, FEW) } else { (0, 8192) };
    let trials = Trials::networks_of(networks);
    Ok(Box::new(move |stage: Stage, policy: &Policy| {
        let decides = Arc::new(Function(Arc::clone(policy)));
        let manner = |noise| Manner::instead(&law, decides.clone(), noise, ROWS);
        let met = match stage {
            Stage::Learning(round) => {
                let mut rng = Rng::stream(options.seed, Purpose::Training, STREAMS + round as u64);
                let mut all = Vec::new();
                for _ in 0..2 {
                    let drawn = episodes(&mut rng, most);
                    all.extend(practise_all(&drawn, &manner(0.03), options.threads)?);
                }
                all
            }
            Stage::Choosing(_) => practise_all(&fixed(&trials), &manner(0.0), options.threads)?,
        };
        let worth = |one: &Vec<Transition>| {
            let sum: f64 = one.iter().map(Transition::worth).sum();
            sum / one.len().max(1) as f64
        };
        Ok(Met {
            worth: met.iter().map(worth).sum::<f64>() / met.len().max(1) as f64,
            features: met.iter().flatten().flat_map(|one| one.seen).collect(),
        })
    }))
}

/// Numbers of flows to one host at 400 Gbit/s, for judging.
const FLOWS: [u32; 4] = [2, 32, 256, 2048];

type Quantity = (&'static str, &'static str, fn(&Measured) -> f64);
const QUANTITIES: [Quantity; 4] = [
    ("cost", "", |run| run.settled.cost()),
    ("goodput", "%", |run| 100.0 * run.settled.goodput),
    ("p99 of one-way latency", "us", |run| run.p99_us),
    ("Jain's index", "", |run| run.settled.jain),
];

/// Compares teacher and forest as decisions of the scheme.
fn judge(teacher: &Arc<Model>, compared: Compared<'_>, options: &Options) -> Result<Vec<Judged>, Error> {
    let mut parts = compared.forest.parts().clone();
    let law = serde_json::to_value(law_of(teacher)?.values());
    let law = law.map_err(|error| Error::Options(error.to_string()))?;
    parts.about.insert(LAW.into(), law);
    let forest = Forest::new(parts).map_err(|error| Error::Options(error.to_string()))?;
    let forest = Model::of_forest(forest).map_err(|error| Error::Options(error.to_string()))?;
    let forest = Arc::new(forest);
    let models = [teacher, &forest];
    // An interval needs two values.
    let seeds = options.judging.max(2);
    let flows = if options.quick { &FLOWS[..2] } else { &FLOWS };
    let runs: Vec<(u32, usize, u64)> = flows
        .iter()
        // Runs with the most flows take longest, so they start first.
        .rev()
        .flat_map(|&flows| (0..2).flat_map(move |who| (0..seeds).map(move |seed| (flows, who, seed))))
        .collect();
    let each = side_by_side(runs.len(), options.threads, &|index| {
        let (flows, who, seed) = runs[index];
        let network = Network::plain(Shape::LeafSpine(flows));
        let input = network.resolve(EVALUATION + 1 + seed)?;
        Measured::of(&network, &input, decc_of(Arc::clone(models[who])))
    });
    let each = each.into_iter().collect::<Result<Vec<Measured>, Error>>()?;
    let mut judged = Vec::new();
    for (flows, measured) in flows.iter().rev().zip(each.chunks_exact(2 * seeds as usize)) {
        let (of_teacher, of_forest) = measured.split_at(seeds as usize);
        let one = |&(measure, unit, of): &Quantity| {
            let of_teacher = of_teacher.iter().map(of).collect();
            score(measure, unit, of_teacher, of_forest.iter().map(of).collect())
        };
        let scores: Option<Vec<Score>> = QUANTITIES.iter().map(one).collect();
        let scores = scores.ok_or_else(|| Error::Options("a run that judges measured nothing".into()))?;
        judged.push(Judged {
            scenario: format!("{flows} flows to one host"),
            scores,
        });
    }
    // Back into the order of the numbers of flows.
    judged.reverse();
    Ok(judged)
}
