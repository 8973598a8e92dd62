use paceline_congestion::learned::forest::{Scale, Tree};
use paceline_congestion::testkit::forests;

use super::*;

const BUDGET: u64 = 100_000;

/// Returns a forest of one tree. Its first feature, x, has a trend and is in quarters; leaves are in
/// sixteenths.
fn forest(splits: &[(usize, i32)], leaves: &[i32], limits: Option<[i64; 2]>) -> Forest {
    let split = |&(feature, above)| Split { feature, above };
    let tree = Tree {
        splits: splits.iter().map(split).collect(),
        leaves: leaves.to_vec(),
    };
    let features = [("latency[t]", Scale::Fixed(2)), ("rate[t]", Scale::Fixed(2))];
    let mut parts = forests::parts(&features, vec![tree]);
    parts.limits = limits;
    Forest::new(parts).unwrap()
}

fn got(forest: &Forest, claim: &str) -> Finding {
    prove_claim(forest, &parse(claim).unwrap(), BUDGET).unwrap()
}

#[test]
fn bounds() {
    let forest = forest(&[(0, 4), (1, -4)], &[8, 4, -8, 9], None);
    assert_eq!(got(&forest, "-0.5..0.5625").verdict, Verdict::Holds);
    let Verdict::Refuted(Counterexample::At(point)) = got(&forest, "-0.5..0.5").verdict else {
        panic!("it reaches 9/16");
    };
    assert_eq!(point.output, 0.5625);
    assert!(point.features[0] > 1.0 && point.features[1] > -1.0);
    assert_eq!(f64::from(forest.decide(&point.features)), point.output);
    // The claim is true on a part of the range.
    assert_eq!(got(&forest, "latency=..1 => -0.5..0.5").verdict, Verdict::Holds);
    assert_eq!(
        got(&forest, "latency[t]=..1, rate=-3..-1 => 0.5").verdict,
        Verdict::Holds
    );
    assert!(matches!(
        got(&forest, "latency=..1 => 0.5").verdict,
        Verdict::Refuted(_)
    ));
    assert!(matches!(got(&forest, "-0.4..").verdict, Verdict::Refuted(_)));
}

#[test]
fn limits_prove_bounds() {
    let cut = |limits| forest(&[(0, 4), (1, -4)], &[8, 4, -8, 9], Some(limits));
    let finding = got(&cut([-4, 4]), "-0.25..0.25");
    assert_eq!(
        (finding.verdict, &*finding.by, finding.ranges),
        (Verdict::Holds, "limits", 0)
    );
    assert!(matches!(
        got(&cut([-4, 5]), "-0.25..0.25").verdict,
        Verdict::Refuted(_)
    ));
    assert!(matches!(
        got(&cut([6, 7]), "-0.25..0.25").verdict,
        Verdict::Refuted(_)
    ));
}

#[test]
fn trends() {
    let falling = |forest: &Forest| prove_trend(forest, 0, Trend::Falling, BUDGET).verdict;
    assert_eq!(
        falling(&forest(&[(0, 4), (1, -4)], &[8, 4, -8, -9], None)),
        Verdict::Holds
    );
    let broken = forest(&[(0, 4), (1, -4)], &[8, 4, -8, -7], None);
    let Verdict::Refuted(Counterexample::From {
        feature,
        before,
        after,
    }) = falling(&broken)
    else {
        panic!("it rises from -8 to -7");
    };
    assert_eq!((feature, before.features[0], after.features[0]), (0, 1.0, 1.25));
    assert_eq!(before.features[1], after.features[1]);
    assert!(after.output > before.output && before.features[1] > -1.0);
    // Above the higher threshold but not above the lower one is impossible, so that leaf does not matter.
    let nowhere = forest(&[(0, 4), (0, 8)], &[5, 3, 99, 1], None);
    assert_eq!(falling(&nowhere), Verdict::Holds);
}

/// A rising tree can be part of a falling forest.
#[test]
fn trends_are_of_the_sum() {
    let mut parts = forest(&[(0, 4), (1, 0)], &[0, 3, 0, -1], None).parts().clone();
    assert!(matches!(
        prove_trend(&Forest::new(parts.clone()).unwrap(), 0, Trend::Falling, BUDGET).verdict,
        Verdict::Refuted(_)
    ));
    let mut other = parts.trees[0].clone();
    other.leaves = vec![0, -3, 7, 7];
    parts.trees.push(other);
    let sum = Forest::new(parts).unwrap();
    assert_eq!(
        prove_trend(&sum, 0, Trend::Falling, BUDGET).verdict,
        Verdict::Holds
    );
    assert!(matches!(
        prove_trend(&sum, 0, Trend::Rising, BUDGET).verdict,
        Verdict::Refuted(_)
    ));
}

/// Compares proofs with the enumeration of all cells of small forests.
#[test]
fn proofs_are_what_enumeration_finds() {
    let mut verdicts = [0, 0];
    for seed in 0..60 {
        let scale = Scale::Fixed(2);
        let forest = Forest::new(forests::random(5, &[scale; 3], 3, seed)).unwrap();
        let all = || (0..20i32.pow(3)).map(|k| [k % 20 - 10, k / 20 % 20 - 10, k / 400 - 10]);
        let most = all().map(|x| forest.sum_at(&x)).max().unwrap();
        for (bound, holds) in [(most, true), (most - 1, false)] {
            let claim = format!("..{}", forest.value(bound));
            let verdict = got(&forest, &claim).verdict;
            assert_eq!(verdict == Verdict::Holds, holds, "{seed}");
        }
        let rises = |x: [i32; 3]| forest.sum_at(&[x[0] + 1, x[1], x[2]]) > forest.sum_at(&x);
        let holds = !all().any(rises);
        let verdict = prove_trend(&forest, 0, Trend::Falling, BUDGET).verdict;
        assert_eq!(verdict == Verdict::Holds, holds, "{seed}");
        verdicts[usize::from(holds)] += 1;
    }
    assert!(verdicts[0] > 10 && verdicts[1] > 0, "{verdicts:?}");
}

#[test]
fn what_takes_too_long_is_open() {
    let forest = Forest::new(forests::random(100, &[Scale::Fixed(13); 20], 6, 1)).unwrap();
    let claim = parse("..2000").unwrap();
    let finding = prove_claim(&forest, &claim, 50).unwrap();
    assert_eq!((finding.verdict, finding.ranges), (Verdict::Open, 50));
}

#[test]
fn claims_that_say_nothing_are_refused() {
    let forest = forest(&[(0, 4)], &[1, 2], None);
    let got = |text: &str| match parse(text) {
        Ok(claim) => prove_claim(&forest, &claim, BUDGET).unwrap_err(),
        Err(error) => error,
    };
    let all = [
        "",
        "=> ",
        "a..b",
        "1..0",
        "latency => 0..1",
        "latency=2..1 => 0..",
        "latncy=1 => 0..",
        "NaN..1",
        "q=1 => 0",
    ];
    insta::assert_snapshot!(all.map(|text| format!("{text}: {}", got(text))).join("\n"));
}
