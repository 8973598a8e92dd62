use paceline_congestion::learned::shipped;

use super::*;
use crate::experience::tests::ran;

fn quick(deploys: Deploys) -> Options {
    Options {
        deploys,
        ..Options::default().quick()
    }
}

/// Runs a loop in one network; `stop` returns true for the event after which it is stopped.
fn gone_through(options: &Options, stop: &dyn Fn(&Event<'_>) -> bool) -> (Continued, Vec<String>) {
    let (_, met) = ran(|network| network.gbps = 800.0);
    let first = shipped::find(options.deploys.first()).unwrap();
    let mut under = Vec::new();
    let mut run = |number: u32, deployed: &Deployed| {
        under.push(deployed.name.clone());
        let mut met = met.clone();
        met.run.seed = u64::from(number);
        Ok::<_, Error>(Some(met))
    };
    let mut watch = |event: &Event<'_>| match stop(event) {
        true => Control::Stop,
        false => Control::Continue,
    };
    let done = continual(
        options,
        Start {
            first: &first,
            scenario: "scenario",
            command: "paceline train decc continual",
        },
        &mut run,
        &Checkpoints::none(),
        &mut watch,
    );
    (done.unwrap(), under)
}

/// Each episode runs the model that the previous one deployed, and all are judged in the same networks.
#[test]
fn what_is_deployed_runs_next() {
    let (done, under) = gone_through(&quick(Deploys::Law), &|_| false);
    assert!(!done.stopped);
    assert_eq!(done.episodes.len(), 2);
    assert_eq!(under, ["decc-law", &done.episodes[0].deployed]);
    let before = done.before.unwrap().0;
    for (episode, forgotten) in done.episodes.iter().zip(done.forgotten()) {
        assert_eq!(episode.costs.0, episode.costs.1, "a law is what it is made of");
        assert_eq!(episode.costs.0.forgotten(&before), forgotten);
        match episode.models.last() {
            Some(made) => assert_eq!(made.model().unwrap().card().name, episode.deployed),
            None => assert_eq!(episode.trials.0, episode.trials.1),
        }
    }
    assert!(done.summary().contains("`decc-law` ran at first"));
}

/// A stopped loop contains the episodes completed before.
#[test]
fn one_that_is_stopped_has_what_was_over() {
    let (done, _) = gone_through(&quick(Deploys::Law), &|event| {
        matches!(event, Event::Begins(2, _))
    });
    assert!(done.stopped && done.episodes.len() == 1);
    let (done, _) = gone_through(&quick(Deploys::Law), &|event| matches!(event, Event::Refined(_)));
    assert!(done.stopped && done.episodes.is_empty() && done.forgotten().is_empty());
    assert_eq!(done.summary(), "No episode came to its end.");
    // Stopped after the last episode, it is complete.
    let (done, _) = gone_through(
        &quick(Deploys::Law),
        &|event| matches!(event, Event::Ended(episode) if episode.number == 2),
    );
    assert!(!done.stopped && done.episodes.len() == 2);
}
