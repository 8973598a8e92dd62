//! Report pages of DECC: a search for a rate law or Swift's parameters, a residual network, and a clone.

pub(super) mod pictures;

use paceline_congestion::decc::law::Law;
use paceline_report::{Axis, Chart, ChartKind, Grid, Line, Part, Sheet, Tile, Width, render_sheet};

use super::{PolicyPage, chart};
use crate::Error;
use crate::decc::{Cloned, Round, TrainedPolicy, Update};
use crate::search::{CostChange, FORGETS, Found, Refined, Start, Subject};

/// Renders the page of a search.
///
/// # Errors
/// The template is faulty.
pub fn search(page: &PolicyPage<'_, Found>) -> Result<String, Error> {
    let found = page.trained;
    let mut parts = vec![over_time(found)];
    if found.options.subject == Subject::Law {
        let values: Vec<f32> = found.values.iter().map(|&value| value as f32).collect();
        parts.push(pictures::pictures(&Law::new(&values).map_err(Error::Options)?));
    }
    parts.push(numbers(found.options.subject, &found.values, None));
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: match found.options.subject {
            Subject::Law => "DECC's rate law".into(),
            Subject::Swift => "Swift's parameters".into(),
        },
        story: story(found),
        warnings: stopped(found.stopped),
        tiles: tiles(found),
        parts,
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

fn story(found: &Found) -> String {
    let lines = &found.lines;
    format!(
        "In {} generations of {} candidates the search moved {} numbers to lower the cost of runs: unused line, latency, \
         unfairness, losses and what messages take, in networks drawn at random. Costs are relative to a reference's: where \
         flows never end, an oracle that knows how many there are; where there are messages, the better of Bolt and HPCC. \
         In trials, whose networks taught nothing, the cost went from {:.2} to {:.2}. Swift as set by hand has {:.2}, and \
         Swift as tuned by search {:.2}.",
        found.updates.len(),
        found.options.candidates,
        found.values.len(),
        lines.start,
        found.best(),
        lines.by_hand,
        lines.searched,
    )
}

pub(super) fn stopped(is: bool) -> Vec<String> {
    let text = "It was stopped before its end.".to_string();
    is.then_some(text).into_iter().collect()
}

pub(super) fn cost_tile(name: &str, value: f64, note: &str) -> Tile {
    Tile {
        name: name.into(),
        value: format!("{value:.2}"),
        note: note.into(),
    }
}

fn tiles(found: &Found) -> Vec<Tile> {
    vec![
        cost_tile(
            "cost in trials",
            found.best(),
            "times the reference's; of the best trial, which was kept",
        ),
        cost_tile("Swift's, tuned", found.lines.searched, "by the same search"),
    ]
}

fn over_time(found: &Found) -> Part {
    let points = |of: &dyn Fn(&crate::search::Update) -> Option<f64>| -> Vec<(f64, f64)> {
        let updates = found.updates.iter();
        updates
            .filter_map(|update| Some((f64::from(update.generation), of(update)?)))
            .collect()
    };
    // Generation 0 is the start, to which all others are compared.
    let mut trials = vec![(0.0, found.lines.start)];
    trials.extend(points(&|update| update.trial.map(|(middle, _)| middle)));
    let last = found.updates.len();
    let lines = |title: &str, note: &str, y: &str, lines: Vec<Line>| {
        wide(title, note, Axis::new("generation", ""), Axis::new(y, ""), lines)
    };
    Part {
        title: "Generation by generation".into(),
        text: "Each generation has networks of its own, so costs in it differ by these as well. Trials are always in the same \
               networks."
            .into(),
        charts: vec![
            lines(
                "Cost in trials, over the reference's",
                "Of the middle of the search.",
                "cost",
                vec![
                    Line::new("middle", 0, &trials),
                    level("reference", 7, 1.0, last),
                    level("Swift, tuned", 2, found.lines.searched, last),
                    level("Swift, by hand", 1, found.lines.by_hand, last),
                ],
            ),
            lines(
                "Cost in the generation, over the reference's",
                "Of the best candidate, and of the median one.",
                "cost",
                vec![
                    Line::new("best", 0, &points(&|update| Some(update.best))),
                    Line::new("median", 1, &points(&|update| Some(update.median))),
                ],
            ),
            lines(
                "Step of the search",
                "In lengths of an axis.",
                "deviation",
                vec![Line::new("deviation", 2, &points(&|update| Some(update.sigma)))],
            ),
        ],
        tables: Vec::new(),
    }
}

/// Returns the part with the values found; `from` are the initial values, if they differ from the usual ones.
pub(super) fn numbers(subject: Subject, found: &[f64], from: Option<&[f64]>) -> Part {
    let axes = subject.axes().iter().zip(found).enumerate();
    let row = |(index, (axis, value)): (usize, (&paceline_congestion::decc::law::Coefficient, &f64))| {
        vec![
            axis.name.to_string(),
            from.map_or_else(|| format!("{}", axis.start), |from| format!("{:.4}", from[index])),
            format!("{value:.4}"),
            format!("{} to {}", axis.range.0, axis.range.1),
        ]
    };
    Part {
        title: "The numbers".into(),
        text: String::new(),
        charts: Vec::new(),
        tables: vec![Grid {
            head: ["name", "start", "found", "searched in"]
                .map(String::from)
                .to_vec(),
            rows: axes.map(row).collect(),
            ..Grid::default()
        }],
    }
}

/// Renders the page of a refined law.
///
/// # Errors
/// The template is faulty.
pub fn refined(page: &PolicyPage<'_, Refined>, start: &Start) -> Result<String, Error> {
    let refined = page.trained;
    let CostChange {
        before,
        after,
        measured,
    } = refined.costs();
    let values: Vec<f32> = refined.values.iter().map(|&value| value as f32).collect();
    let forgotten = after.forgotten(&before);
    let cost = |name: &str, value: f64, before: f64| {
        cost_tile(name, value, &format!("times the reference's; {before:.2} before"))
    };
    let last = refined.steps.len();
    let tried = |of: &dyn Fn(&crate::search::Costs) -> f64| -> Vec<(f64, f64)> {
        let steps = refined.steps.iter();
        let trials =
            steps.filter_map(|step| Some((f64::from(step.generation), of(&step.trial.as_ref()?.costs))));
        [(0.0, of(&refined.trials.0))].into_iter().chain(trials).collect()
    };
    let run = |one: &crate::experience::Experience| {
        let (network, result) = (&one.network, &one.result);
        vec![
            format!("{}, seed {}", one.run.scenario, one.run.seed),
            one.model.name.clone(),
            format!("{}", network.gbps),
            format!("{:.2}", network.base_rtt_us),
            format!("{}", network.buffer),
            if network.pfc { "yes" } else { "no" }.to_string(),
            format!("{} to {}", network.flows.p10, network.flows.max),
            format!("{:.2}", result.cost),
        ]
    };
    let mut warnings = stopped(refined.stopped);
    // Without a law at the start there was nothing to forget.
    if start.law.is_some() && forgotten > 100.0 * FORGETS {
        warnings.push(format!(
            "It forgets {forgotten:.1} % in the old networks, {measured}: more than the {} % that trials allow.",
            100.0 * FORGETS
        ));
    }
    if refined.trials.0 == refined.trials.1 {
        warnings.push("No trial was better than the start, which is kept.".into());
    }
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: "DECC's rate law, refined by experience".into(),
        story: format!("{}.", refined.summary()),
        warnings,
        tiles: vec![
            cost(
                "cost in the experience's networks",
                after.experience,
                before.experience,
            ),
            cost("cost in the old networks", after.old, before.old),
            Tile {
                name: "forgotten".into(),
                value: format!("{forgotten:.1} %"),
                note: "of the cost in the old networks".into(),
            },
        ],
        parts: vec![
            Part {
                title: "Generation by generation".into(),
                text: "Trials choose what is kept, so the costs above are of other seeds.".into(),
                charts: vec![wide(
                    "Cost in trials, over the reference's",
                    "Of the middle of the search, or of a point nearer to the start where that forgets too much.",
                    Axis::new("generation", ""),
                    Axis::new("cost", ""),
                    vec![
                        Line::new(
                            "in the experience's networks",
                            0,
                            &tried(&|costs| costs.experience),
                        ),
                        Line::new("in the old networks", 1, &tried(&|costs| costs.old)),
                        level("reference", 7, 1.0, last),
                    ],
                )],
                tables: Vec::new(),
            },
            Part {
                title: "The experience".into(),
                text: "Costs are of the whole runs that were uploaded, not over a reference's.".into(),
                charts: Vec::new(),
                tables: vec![Grid {
                    head: [
                        "run",
                        "model",
                        "Gbit/s",
                        "base RTT, us",
                        "buffer, B",
                        "PFC",
                        "flows to a host",
                        "cost",
                    ]
                    .map(String::from)
                    .to_vec(),
                    rows: start.experience.each.iter().map(run).collect(),
                    ..Grid::default()
                }],
            },
            pictures::pictures(&Law::new(&values).map_err(Error::Options)?),
            numbers(
                Subject::Law,
                &refined.values,
                start.law.as_ref().map(|law| &law.values[..]),
            ),
        ],
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

/// Returns a line chart of the page's full width.
pub(super) fn wide(title: &str, note: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Chart {
    Chart {
        kind: ChartKind::Lines,
        width: Width::Full,
        ..chart(title, note, x, y, lines)
    }
}

/// Returns a wide line chart over rounds.
fn over_rounds(title: &str, note: &str, y: &str, lines: Vec<Line>) -> Chart {
    wide(title, note, Axis::new("round", ""), Axis::new(y, ""), lines)
}

/// Returns a horizontal line at a cost.
pub(super) fn level(name: &str, colour: usize, cost: f64, rounds: usize) -> Line {
    Line {
        dash: 1,
        guide: true,
        ..Line::new(name, colour, &[(0.0, cost), (rounds.max(1) as f64, cost)])
    }
}

/// Renders the page of a policy's training: of a residual, or of the paper's policy.
///
/// # Errors
/// The template is faulty.
pub fn residual(page: &PolicyPage<'_, TrainedPolicy>) -> Result<String, Error> {
    let trained = page.trained;
    let (law, swift) = trained.lines;
    let rounds = trained.updates.len();
    let points = |of: &dyn Fn(&Update) -> Option<f64>| -> Vec<(f64, f64)> {
        let updates = trained.updates.iter();
        updates
            .filter_map(|update| Some((update.round as f64, of(update)?)))
            .collect()
    };
    let printed = trained.options.by.is_printed();
    let critics = trained.options.critics();
    let mut trials = vec![(0.0, trained.first)];
    trials.extend(points(&|update| update.trial.map(|(cost, _)| cost)));
    let charts = vec![
        over_rounds(
            "Cost in trials, over the reference's",
            "Lower is better.",
            "cost",
            vec![
                Line::new(if printed { "policy" } else { "law and network" }, 0, &trials),
                level("law alone", 1, law, rounds),
                level("Swift, tuned", 2, swift, rounds),
                level("reference", 7, 1.0, rounds),
            ],
        ),
        over_rounds(
            "Reward of a decision",
            "In the networks of the round, which differ from one to the next.",
            "reward",
            vec![Line::new("reward", 0, &points(&|update| Some(update.reward)))],
        ),
        over_rounds(
            "Loss of the critics",
            "",
            "loss",
            vec![Line::new("loss", 2, &points(&|update| Some(update.loss)))],
        ),
        over_rounds(
            "How far the policy has moved",
            "The distance of its weights from the first ones, over their length.",
            "distance",
            vec![Line::new("moved", 1, &points(&|update| Some(update.moved)))],
        ),
    ];
    // The printed policy works without a law, so it cannot improve one.
    let gained = match trained.best() < law {
        _ if printed => format!(
            "Its cost in trials went from {:.2} to {:.2} at best; the law's is {law:.2}.",
            trained.first,
            trained.best()
        ),
        true => format!(
            "The network lowers the law's cost in trials from {law:.3} to {:.3}.",
            trained.best()
        ),
        false => format!(
            "No network was better in trials than the law alone, which costs {law:.3}: what is kept does nothing."
        ),
    };
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: match printed {
            true => "DECC's policy as printed",
            false => "A network beside DECC's rate law",
        }
        .into(),
        story: format!(
            "{} {gained} Trials chose what is kept, so they do not judge it.",
            match printed {
                true =>
                    "A network with a long short-term memory learns to move a window, from nothing, by the paper's rewards.",
                false =>
                    "A residual network moves the rate by up to 22 % beside the law; at first it does nothing.",
            }
        ),
        warnings: stopped(trained.stopped),
        tiles: vec![
            cost_tile(
                "cost in trials",
                trained.best(),
                "times the reference's; of the best trial",
            ),
            cost_tile("the law's", law, "alone"),
            cost_tile("Swift's, tuned", swift, "by the law's search"),
        ],
        parts: vec![Part {
            title: "Round by round".into(),
            text: match critics {
                0 => String::new(),
                critics => format!("In the first rounds only the critics learn: {critics}."),
            },
            charts,
            tables: Vec::new(),
        }],
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

/// Renders the page of a clone.
///
/// # Errors
/// The template is faulty.
pub fn clone(page: &PolicyPage<'_, Cloned>) -> Result<String, Error> {
    let cloned = page.trained;
    let rounds = cloned.rounds.len();
    let points = |of: &dyn Fn(&Round) -> f64| -> Vec<(f64, f64)> {
        let rounds = cloned.rounds.iter();
        rounds.map(|round| (round.number as f64, of(round))).collect()
    };
    let charts = vec![
        over_rounds(
            "Cost in trials, over the reference's",
            "Lower is better.",
            "cost",
            vec![
                Line::new("clone", 0, &points(&|round| round.cost)),
                level("teacher", 1, cloned.teacher, rounds),
                level("reference", 7, 1.0, rounds),
            ],
        ),
        over_rounds(
            "Distance from the teacher",
            "Root of the mean square difference of actions, on what was learned from.",
            "actions apart",
            vec![Line::new("apart", 2, &points(&|round| round.off))],
        ),
    ];
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: "A network that does what DECC's rate law does".into(),
        story: format!(
            "In {rounds} rounds a network learned from {} decisions of its own what the law would have done. It costs {:.3} \
             times what the reference costs in trials, its teacher {:.3}. Trials chose the round, so they do not judge it.",
            cloned.decisions,
            cloned.best(),
            cloned.teacher
        ),
        warnings: stopped(cloned.stopped),
        tiles: vec![
            cost_tile("cost in trials", cloned.best(), "times the reference's; of the best round"),
            cost_tile("the teacher's", cloned.teacher, "the law"),
        ],
        parts: vec![Part {
            title: "Round by round".into(),
            text: "In the first round the law decides; then the network does, and the law says what it would have done.".into(),
            charts,
            tables: Vec::new(),
        }],
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}
