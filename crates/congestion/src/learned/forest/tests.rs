use super::*;
use crate::testkit::forests::{parts, random as drawn};
use paceline_kernel::rng::{Purpose, Rng};

const SCALES: [Scale; 3] = [Scale::Fixed(13), Scale::Float, Scale::Fixed(8)];

/// Random trees over features of all scales.
fn random(trees: usize, features: usize, depth: usize, seed: u64) -> Parts {
    let scales: Vec<Scale> = SCALES.into_iter().cycle().take(features).collect();
    drawn(trees, &scales, depth, seed)
}

fn tree(splits: &[(usize, i32)], leaves: &[i32]) -> Tree {
    let split = |&(feature, above)| Split { feature, above };
    Tree {
        splits: splits.iter().map(split).collect(),
        leaves: leaves.to_vec(),
    }
}

/// Two trees that can be evaluated by hand.
fn small() -> Parts {
    let y = |x| Scale::Float.position(x);
    let trees = vec![
        tree(&[(0, 128), (1, y(0.25))], &[1, 2, 4, 8]),
        tree(&[(0, -1), (0, 255)], &[-16, 16, 0, 32]),
    ];
    parts(&[("x", Scale::Fixed(8)), ("y", Scale::Float)], trees)
}

#[test]
fn trees_by_hand() {
    let mut forest = Forest::new(small()).unwrap();
    // x = 0.75 is position 192 and y is above: leaf 3 of the first tree; above -1 but not 255: leaf 1 of the
    // second.
    assert_eq!(forest.sum(&[0.75, 0.3]), 8 + 16);
    assert_eq!(forest.decide(&[0.75, 0.3]), 1.5);
    // A position equal to the threshold is not above it.
    assert_eq!(forest.sum(&[0.5, 0.25]), 1 + 16);
    assert_eq!(forest.sum(&[0.5, 0.25f32.next_up()]), 4 + 16);
    assert_eq!(forest.sum(&[-1.0, 0.0]), 1 - 16);
    assert_eq!(forest.sum(&[1.0, f32::NAN]), 2 + 32);
    assert_eq!(forest.sum(&[f32::NAN, f32::INFINITY]), 4 - 16);
    forest.parts.limits = Some([-10, 20]);
    assert_eq!((forest.sum(&[0.75, 0.3]), forest.sum(&[-1.0, 0.0])), (20, -10));
}

#[test]
fn side_by_side_is_one_by_one() {
    let sizes = [
        (1, 1, 1, 1),
        (7, 3, 6, 1),
        (64, 30, 6, 1),
        (300, 30, 6, 1),
        // Leaves of more than 16 bits, deeper trees, and cases too large for bytes: depth, and thresholds.
        (65, 4, 6, 1_000_000),
        (41, 64, 8, 1),
        (41, 64, 10, 1),
        (300, 2, 6, 1),
    ];
    for (trees, features, depth, times) in sizes {
        let mut parts = random(trees, features, depth, trees as u64);
        parts.start = -77;
        let leaves = parts.trees.iter_mut().flat_map(|tree| &mut tree.leaves);
        leaves.for_each(|leaf| *leaf *= times);
        let forest = Forest::new(parts).unwrap();
        let mut rng = Rng::stream(5, Purpose::Training, 1);
        for _ in 0..500 {
            // Includes values on thresholds, which are hundredths.
            let hundredths = |x: f64| ((x * 500.0).floor() / 100.0 - 2.5) as f32;
            let x: Vec<f32> = (0..features).map(|_| hundredths(rng.next_f64())).collect();
            assert_eq!(forest.sum(&x), forest.sum_at(&forest.positions(&x)), "{x:?}");
        }
    }
}

/// A machine that rounds differently gives another sum.
#[test]
fn sums_are_the_same_everywhere() {
    let forest = Forest::new(random(100, 12, 6, 3)).unwrap();
    let sum: i64 = (0..2000i32)
        .map(|k| {
            let x: [f32; 12] =
                std::array::from_fn(|f| ((k * 37 + f as i32 * 101) % 997) as f32 * 4.1e-3 - 2.0);
            forest.sum(&x) * i64::from(k % 13 + 1)
        })
        .sum();
    assert_eq!(sum, -34_018_363);
}

#[test]
fn a_file_is_read_back() {
    let mut parts = small();
    parts.limits = Some([-8, 8]);
    parts.features[0].trend = Some(Trend::Falling);
    parts.claims = vec![Claim {
        what: "bounded".into(),
        within: vec![("x".into(), [0.1, 0.5])],
        output: [-0.5, 0.5],
    }];
    parts.about.insert("command".into(), "paceline".into());
    let forest = Forest::new(parts).unwrap();
    let json = forest.to_json();
    let again = Forest::parse(json.as_bytes()).unwrap();
    assert_eq!((again.parts(), again.to_json()), (forest.parts(), json));
    let big = Forest::new(random(50, 30, 6, 9)).unwrap();
    assert_eq!(Forest::parse(big.to_json().as_bytes()).unwrap(), big);
    assert!(forest.reads(&["x", "y"]).is_ok());
    let refusals = [forest.reads(&["x"]), forest.reads(&["x", "z"])].map(|r| r.unwrap_err().to_string());
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    the number of features is 2; expected 1
    features[1].name is "y"; expected "z"
    "#);
}

#[test]
fn what_is_no_forest_is_refused() {
    let good = Forest::new(small()).unwrap().to_json();
    let got = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}: {good}");
        let changed = good.replacen(from, to, 1);
        let error = Forest::parse(changed.as_bytes()).expect_err(to);
        format!("{to}: {error}")
    };
    let all = [
        got("{", "["),
        got("\"kind\":", "\"kin\":"),
        got("\"format\": 1", "\"format\": 2"),
        got("\"name\":\"y\"", "\"name\":\"x\""),
        got("\"fraction\":8", "\"fraction\":16"),
        got("\"fraction\":8", "\"fraction\":-1"),
        got("\"fraction\":4", "\"fraction\":41"),
        got("[0,128]", "[2,128]"),
        got("[0,128]", "[0,32767]"),
        got("[0,128]", "[0,128.5]"),
        got("[0,128]", "[0,\"high\"]"),
        got("[0,128]", "[0,null]"),
        got("[0,128]", "[0,NaN]"),
        got("[1,0.25]", "[1,1e40]"),
        got("[1,0.25]", "[1,null]"),
        got("[1,2,4,8]", "[1,2,4]"),
        got("[1,2,4,8]", "[1,2,4,3000000000]"),
        got("[1,2,4,8]", "[1,2,4,9]"),
        got("[0,128]", "[0,127]"),
        got("\"limits\":null", "\"limits\":[3,1]"),
        got(
            "\"claims\": []",
            "\"claims\": [{\"what\":\"w\",\"within\":{},\"output\":[1,0]}]",
        ),
        got("\"sha256\": \"", "\"sha256\": \"0"),
    ];
    insta::assert_snapshot!(all.join("\n"));
}
