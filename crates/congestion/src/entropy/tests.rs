use super::*;

/// Source that returns the given draws, then zeros.
struct Given(Vec<u32>);

impl Draw for Given {
    fn draw(&mut self) -> u32 {
        if self.0.is_empty() { 0 } else { self.0.remove(0) }
    }
}

fn selector(selector: Selector, values: u32, draw: &mut Given) -> PathSelector {
    Entropy { selector, values }.build(draw)
}

fn take(selector: &mut PathSelector, draw: &mut Given, count: usize) -> Vec<u16> {
    (0..count).map(|_| selector.next(draw)).collect()
}

#[test]
fn oblivious_takes_each_value_once_a_round() {
    // High bits 0x1230; the first round flips with 2, the second with 1.
    let mut draw = Given(vec![0x1234, 2, 1]);
    let mut all = selector(Selector::Oblivious, 4, &mut draw);
    let round = |flip: u16| (0..4).map(move |step: u16| 0x1234 | (step ^ flip));
    let expected: Vec<u16> = round(2).chain(round(1)).collect();
    assert_eq!(take(&mut all, &mut draw, 8), expected);
    all.on_feedback(Time::ZERO, 0x1235, PathFeedback::Timeout);
    assert_eq!(take(&mut all, &mut draw, 1), [0x1234]);
}

#[test]
fn a_penalty_skips_a_value_and_wears_off() {
    let mut draw = Given(vec![]);
    let mut bitmap = selector(Selector::Bitmap, 4, &mut draw);
    bitmap.on_feedback(Time::ZERO, 1, PathFeedback::Marked);
    bitmap.on_feedback(Time::ZERO, 2, PathFeedback::Trimmed);
    // Value 1 has one point, which is taken off when it is skipped. Value 2, skipped in the same call, keeps
    // its four.
    assert_eq!(take(&mut bitmap, &mut draw, 4), [0, 3, 0, 1]);
    // Value 2 loses one point per round: three are left.
    assert_eq!(take(&mut bitmap, &mut draw, 3), [3, 0, 1]);
    for _ in 0..3 {
        assert_eq!(take(&mut bitmap, &mut draw, 3), [3, 0, 1]);
    }
    assert_eq!(take(&mut bitmap, &mut draw, 4), [2, 3, 0, 1]);
}

#[test]
fn with_all_values_penalised_one_is_taken_all_the_same() {
    let mut draw = Given(vec![]);
    let mut bitmap = selector(Selector::Bitmap, 2, &mut draw);
    for value in [0, 1] {
        bitmap.on_feedback(Time::ZERO, value, PathFeedback::Timeout);
        bitmap.on_feedback(Time::ZERO, value, PathFeedback::Timeout);
    }
    assert_eq!(take(&mut bitmap, &mut draw, 1), [0]);
}

#[test]
fn reps_recycles_the_oldest_good_value_once() {
    let mut draw = Given(vec![7, 8]);
    let mut reps = selector(Selector::Reps, 16, &mut draw);
    assert_eq!(take(&mut reps, &mut draw, 1), [7]);
    reps.on_feedback(Time::ZERO, 3, PathFeedback::Good);
    reps.on_feedback(Time::ZERO, 4, PathFeedback::Marked);
    reps.on_feedback(Time::ZERO, 5, PathFeedback::Good);
    assert_eq!(take(&mut reps, &mut draw, 3), [3, 5, 8]);
}

#[test]
fn reps_freezes_after_a_timeout_and_explores_when_that_ends() {
    let mut draw = Given(vec![]);
    let mut reps = selector(Selector::Reps, 16, &mut draw);
    for value in [3, 5] {
        reps.on_feedback(Time::ZERO, value, PathFeedback::Good);
    }
    reps.on_feedback(Time::ZERO, 9, PathFeedback::Timeout);
    assert_eq!(take(&mut reps, &mut draw, 5), [3, 5, 3, 5, 3]);
    let later = Time::ZERO + FREEZE + Span::from_ps(1);
    reps.on_feedback(later, 9, PathFeedback::Marked);
    draw.0 = (0..16).collect();
    assert_eq!(take(&mut reps, &mut draw, 16), (0..16).collect::<Vec<u16>>());
    reps.on_feedback(later, 11, PathFeedback::Good);
    assert_eq!(take(&mut reps, &mut draw, 1), [11]);
}

#[test]
fn mixed_falls_back_to_the_bitmap() {
    let mut draw = Given(vec![]);
    let mut mixed = selector(Selector::Mixed, 4, &mut draw);
    mixed.on_feedback(Time::ZERO, 2, PathFeedback::Good);
    mixed.on_feedback(Time::ZERO, 0, PathFeedback::Marked);
    assert_eq!(take(&mut mixed, &mut draw, 3), [2, 1, 2]);
}
