use paceline_congestion::learned::shipped;

use super::*;
use crate::adpg::CASES;

fn quick() -> Options {
    Options {
        trees: 30,
        ..Options::default().quick()
    }
}

/// With few, short episodes: the bytes are the same on any number of threads, the forest approximates its
/// teacher, and its notes are complete.
#[test]
fn a_short_distillation_is_near_its_teacher_and_the_same_again() {
    let teacher = shipped::find("adpg").unwrap();
    let of = |threads| {
        let options = Options { threads, ..quick() };
        distill(
            "test",
            &teacher,
            &options,
            "paceline forest distill adpg",
            &mut |_| Control::Continue,
        )
        .unwrap()
    };
    let (one, two) = (of(1), of(3));
    let [one_forest, two_forest] = [&one, &two].map(|one| one.model.forest().unwrap().to_json());
    assert_eq!(one_forest, two_forest);
    let rounds = &one.rounds;
    assert_eq!((rounds.len(), rounds[0].error), (3, 0.0));
    let last = rounds[2];
    assert!(last.error < 0.2 && last.rows > 1000, "{rounds:?}");
    assert_eq!(one.judged.len(), JUDGES.len());
    let card = one.model.card();
    assert_eq!(
        (card.data.sources.len(), &*card.training.command),
        (5, "paceline forest distill adpg")
    );
    // It brakes behind a queue, and speeds up without one.
    let act = |z: f32| one.model.act(&[0.0, z, 0.0, z]);
    assert!(act(-0.8) > 0.1 && act(3.0) < -0.3, "{} {}", act(-0.8), act(3.0));
}

/// Seeds for judging are not used for learning.
#[test]
fn judges_are_apart() {
    let uses = [Use::Learning, Use::Choosing, Use::Judging];
    for (k, one) in uses.iter().enumerate() {
        for other in &uses[k + 1..] {
            assert!(one.seeds().end <= other.seeds().start, "{one:?} {other:?}");
        }
    }
    for judge in JUDGES {
        let same = |case: &&crate::adpg::Case| (case.scenario, case.set) == (judge.scenario, judge.set);
        assert!(CASES.iter().find(same).is_none(), "{}", judge.label);
    }
}

#[test]
fn only_a_policy_can_be_distilled() {
    let refused = |name: &str| {
        let teacher = shipped::find(name).unwrap();
        distill("test", &teacher, &quick(), "", &mut |_| Control::Continue)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("rtt-lstm"),
        "`rtt-lstm` is of kind lstm; expected a policy of kind adpg, or a network of kind decc"
    );
}
