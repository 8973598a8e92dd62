use super::*;
use paceline_kernel::rng::Purpose;

/// Source that returns the given draws, then zeros.
struct Given(Vec<u32>);

impl Draw for Given {
    fn draw(&mut self) -> u32 {
        if self.0.is_empty() { 0 } else { self.0.remove(0) }
    }
}

fn selector(selector: Selector, values: u32, draw: &mut Given) -> PathSelector {
    Entropy {
        selector,
        values,
        mrc: None,
    }
    .build(1, draw)
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

/// Returns the selector of MRC with `in_use` of `values` values, which a random order leaves in place (draws of zero
/// swap each with the first: for 4 values, 1 2 3 0).
fn mrc(values: u32, in_use: u32, draw: &mut Given) -> PathSelector {
    let entropy = Entropy {
        selector: Selector::Mrc,
        values,
        mrc: Some(Mrc {
            in_use,
            probe_interval: Span::from_us(10),
        }),
    };
    entropy.build(1, draw)
}

#[test]
fn mrc_skips_once_replaces_and_takes_back() {
    let mut draw = Given(vec![]);
    let mut set = mrc(4, 3, &mut draw);
    assert_eq!(take(&mut set, &mut draw, 4), [1, 2, 3, 1]);
    // A mark passes the value over once.
    set.on_feedback(Time::ZERO, 2, PathFeedback::Marked);
    assert_eq!(take(&mut set, &mut draw, 5), [3, 1, 2, 3, 1]);
    // A timeout puts the spare value in its place, and a second one is no news.
    let at = Time::from_ns(1000);
    set.on_feedback(at, 3, PathFeedback::Timeout);
    set.on_feedback(at, 3, PathFeedback::Timeout);
    assert_eq!(take(&mut set, &mut draw, 4), [2, 0, 1, 2]);
    assert_eq!(set.next_probe(), Some(Time::from_ns(11_000)));
    assert_eq!(set.probe(Time::from_ns(10_999)), None);
    assert_eq!(set.probe(Time::from_ns(11_000)), Some(3));
    assert_eq!(set.next_probe(), Some(Time::from_ns(21_000)));
    // Without a spare one, fewer are in use; with none, none.
    for value in [0, 1, 2] {
        set.on_feedback(at, value, PathFeedback::Timeout);
    }
    assert!(!set.has_values());
    // What comes back is used again, the marked one a round later.
    set.on_feedback(at, 2, PathFeedback::Marked);
    assert_eq!(take(&mut set, &mut draw, 1), [2]);
    set.on_feedback(at, 3, PathFeedback::Good);
    assert_eq!(take(&mut set, &mut draw, 3), [2, 3, 2]);
}

proptest::proptest! {
    /// Each value is in one of the three places, and none that is bad is used while another is in use.
    #[test]
    fn mrc_agrees_with_a_plain_list(
        values in 1u32..20,
        in_use in 1u32..20,
        fates in proptest::collection::vec((0u16..20, 0u8..4), 0..200),
        seed: u64,
    ) {
        let mut rng = Rng::stream(seed, Purpose::Congestion, 0);
        let settings = Mrc { in_use, probe_interval: Span::from_us(1) };
        let entropy = Entropy { selector: Selector::Mrc, values, mrc: Some(settings) };
        let mut set = entropy.build(1, &mut rng);
        let mut bad = vec![false; values as usize];
        let mut used = vec![false; values as usize];
        for (step, &(of, fate)) in fates.iter().enumerate() {
            let now = Time::from_ns(step as u64);
            // Mostly of a value that was sent.
            let value = if of < values as u16 { of } else { set.next(&mut rng) };
            let index = usize::from(value);
            let feedback = [
                PathFeedback::Good,
                PathFeedback::Marked,
                PathFeedback::Trimmed,
                PathFeedback::Timeout,
            ][usize::from(fate)];
            // A spare value that times out late was in use before: it stays where it is.
            let was_in_use = take_all(&set, &mut rng, values).contains(&value);
            set.on_feedback(now, value, feedback);
            match feedback {
                PathFeedback::Timeout => bad[index] |= was_in_use,
                _ => bad[index] = false,
            }
            let next = take_all(&set, &mut rng, values);
            used.fill(false);
            next.iter().for_each(|&value| used[usize::from(value)] = true);
            proptest::prop_assert_eq!(set.has_values(), bad.iter().any(|is_bad| !is_bad));
            if set.has_values() {
                proptest::prop_assert!((0..values as usize).all(|value| !(used[value] && bad[value])));
            }
            let good = bad.iter().filter(|is_bad| !**is_bad).count();
            let in_use = used.iter().filter(|is_used| **is_used).count();
            proptest::prop_assert!(!set.has_values() || in_use == good.min(settings.in_use.min(values) as usize));
            let all = bad.iter().filter(|is_bad| **is_bad).count();
            let far = Time::from_ns(1_000_000);
            let mut copy = set.clone();
            let probed = std::iter::from_fn(|| copy.probe(far));
            proptest::prop_assert_eq!(probed.count(), all);
        }
    }
}

/// Returns what two rounds of a copy of the selector would use.
fn take_all(set: &PathSelector, rng: &mut Rng, values: u32) -> Vec<u16> {
    let mut copy = set.clone();
    (0..3 * values).map(|_| copy.next(rng)).collect()
}
