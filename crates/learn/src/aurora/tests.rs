use paceline_congestion::learned::Model;

use super::*;

fn quick(threads: usize) -> TrainedPolicy {
    let options = Options {
        threads,
        rounds: 2,
        trial: 1,
        ..options()
    };
    train(&options, &Checkpoints::none(), &mut |_| Control::Continue).unwrap()
}

/// The bytes are the same on one thread and on two, and the written model decides like the trained policy.
#[test]
fn the_same_seed_gives_the_same_policy() {
    use paceline_congestion::learned::layers::Policy as _;
    let [one, two] = [1, 2].map(quick);
    assert_eq!(one.policy, two.policy);
    assert_eq!(one.updates, two.updates);
    assert!(one.updates[1].decisions >= DRIVERS * DECISIONS * 9 / 10);
    let written = files("aurora-test", &one, "paceline train aurora").unwrap();
    let model = Model::parse(&written.card, &written.weights).unwrap();
    let seen = [0.3; paceline_congestion::aurora::INPUTS];
    assert_eq!(model.decides().unwrap().decide(&seen), one.policy.decide(&seen));
    assert_eq!(
        model.card().data.train as usize,
        one.updates.iter().map(|update| update.decisions).sum::<usize>()
    );
}

/// The best policy in trials is kept, including the one before the first round.
#[test]
fn the_best_in_trials_is_kept() {
    let trained = quick(2);
    let best = trained.updates.iter().filter_map(|update| update.trial);
    let best = best.fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(trained.updates.last().unwrap().best, best);
    assert_eq!(trial(&trained.policy, 2).unwrap(), best);
}

#[test]
fn it_can_be_stopped() {
    let options = options();
    let mut reported = 0;
    let trained = train(&options, &Checkpoints::none(), &mut |update| {
        reported += 1;
        match update.round {
            1 => Control::Stop,
            _ => Control::Continue,
        }
    });
    let trained = trained.unwrap();
    assert!(trained.stopped);
    assert_eq!((reported, trained.updates.len()), (2, 2));
}
