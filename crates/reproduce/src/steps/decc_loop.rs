//! Step of `decc-loop`: DECC's training loop in a network for which its law was not searched.

use std::sync::Arc;

use paceline_congestion::learned::{ModelRef, shipped};
use paceline_lab::run::{Control, Resources, execute_on};
use paceline_learn::Checkpoints;
use paceline_learn::continual::{Deployed, Event, Options, Start, continual};
use paceline_learn::experience::Experience;
use paceline_learn::search::Costs;
use paceline_scenario::{Overrides, load_text};

use crate::{Metrics, Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "DECC, episode by episode",
    title: "running, refining and deploying DECC's law",
    work,
};

/// Parameters as in `paceline train decc continual far.toml --episodes 4 --rounds 5`.
const EPISODES: u32 = 4;
const GENERATIONS: u32 = 5;
const SCENARIO: &str = include_str!("../../experiments/decc-loop/far.toml");

impl From<paceline_learn::Error> for StepError {
    fn from(error: paceline_learn::Error) -> Self {
        Self::of(error)
    }
}

fn run(number: u32, deployed: &Deployed) -> Result<Option<Experience>, StepError> {
    let overrides = Overrides {
        set: vec![
            format!("cc.decc.model={}", deployed.name),
            "record.latency=true".into(),
        ],
        scheme: Some("decc".into()),
        seed: Some(u64::from(number)),
        models: vec![ModelRef::read_from(&*deployed.name, Arc::clone(&deployed.model))],
        ..Overrides::default()
    };
    let input = load_text("far", SCENARIO, &overrides).map_err(StepError::of)?;
    let finished =
        execute_on(&input, Resources::ONE_THREAD, &mut |_| Control::Continue).map_err(StepError::of)?;
    let met = Experience::of(&input, &finished.summary, &finished.flows);
    met.map(Some).map_err(StepError::of)
}

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let options = Options {
        episodes: EPISODES,
        generations: GENERATIONS,
        threads: work.jobs,
        ..Options::default()
    };
    let first = shipped::find("decc-law").ok_or_else(|| StepError::of("no law ships"))?;
    let mut generations = 0;
    let mut watch = |event: &Event<'_>| {
        generations += u32::from(matches!(event, Event::Refined(_)));
        let share = f64::from(generations) / f64::from(EPISODES * GENERATIONS);
        let words = format!("generation {generations} of {}", EPISODES * GENERATIONS);
        work.inform(share, &words)
            .map_or(Control::Stop, |()| Control::Continue)
    };
    let done = continual(
        &options,
        Start {
            first: &first,
            scenario: "far",
            command: "",
        },
        &mut run,
        &Checkpoints::none(),
        &mut watch,
    )?;
    let (false, Some((before, _))) = (done.stopped, done.before) else {
        return Err(StepError::Stopped);
    };
    let mut numbers = Metrics::default();
    let after = done.episodes.iter().map(|episode| episode.costs.0);
    let costs: Vec<Costs> = [before].into_iter().chain(after).collect();
    let indices = || (0u32..).map(f64::from);
    let mut draw = |name: &str, of: &dyn Fn(&Costs) -> f64| {
        numbers.draw(name, indices().zip(costs.iter().map(of)));
    };
    draw("cost in the new network", &|costs| costs.experience);
    draw("cost in the old networks", &|costs| costs.old);
    draw("forgotten", &|costs| costs.forgotten(&before));
    let runs = done.episodes.iter().map(|episode| episode.experience.result.cost);
    numbers.draw("cost of the run", indices().zip(runs));
    Ok(numbers)
}
