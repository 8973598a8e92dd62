use super::super::value::{Data, Expr, Leaf, Value};
use super::*;
use paceline_scenario::diagnostics::Source;

/// Two cases with three seeds each, and a curve.
struct Fixed;

impl Data for Fixed {
    fn measure(&self, run: usize, name: &str) -> Option<Value> {
        let points = || vec![(1.0, 4.0), (2.0, 2.0), (3.0, 9.0)];
        match name {
            "curve" => Some(Value::Curve(points())),
            "x" => [1.0, 2.0, 6.0, 2.0, 8.0, 32.0]
                .get(run)
                .map(|x| Value::Number(*x)),
            _ => None,
        }
    }

    fn step(&self, step: &str, name: &str) -> Option<Value> {
        (step == "train").then_some(Value::Number(name.len() as f64))
    }
}

/// Returns the runs of a case.
fn from(first: usize, end: usize) -> Range<usize> {
    first..end
}

/// Resolves names as cases: `a` and `b`, both in `all`.
fn looked_up(written: &Written) -> Expr {
    let leaf = |measure: &str, runs: &[Range<usize>], list| {
        Expr::Measure(Leaf {
            measure: measure.to_string(),
            runs: runs.iter().cloned().map(Some).collect(),
            list,
            partial: false,
        })
    };
    match written {
        Written::Number(number) => Expr::Number(*number),
        Written::Curve(points) => Expr::Known(Value::Curve(points.clone())),
        Written::Name { path, .. } => match path[0].as_str() {
            "a" => leaf("x", &[from(0, 3)], false),
            "b" => leaf("x", &[from(3, 6)], false),
            "all" => leaf("x", &[0..3, 3..6], true),
            other => leaf(other, &[from(0, 1)], false),
        },
        Written::Negative(one) => Expr::Negative(Box::new(looked_up(one))),
        Written::Binary(operator, a, b) => {
            Expr::Binary(*operator, Box::new(looked_up(a)), Box::new(looked_up(b)))
        }
        Written::Call(Function::Step, arguments, _) => {
            let index = Source::new("", "").end();
            let [step, name] = texts(Function::Step, arguments, &index).unwrap();
            Expr::Step(step, name)
        }
        Written::Call(function, all, _) => Expr::Call(*function, all.iter().map(looked_up).collect()),
    }
}

fn place(text: &str) -> Location {
    let source = Source::new("here", text);
    source.at(0..text.len())
}

fn number(text: &str) -> Option<f64> {
    looked_up(&read(text, &place(text)).unwrap()).number(&Fixed)
}

#[test]
fn values_by_hand() {
    let all = [
        // The means over seeds are 3 and 14.
        ("b / a", 14.0 / 3.0),
        ("1 + 2 * 3 - -a", 10.0),
        ("(1 + 2) * 3", 9.0),
        ("8 / 4 / 2", 1.0),
        ("1.5e1 + 1_000", 1015.0),
        ("max(all)", 14.0),
        ("sum(all * 2)", 34.0),
        ("mean(all - a)", 5.5),
        ("a < b", 1.0),
        ("if(a > b, 5, 7)", 7.0),
        ("count(all)", 2.0),
        // By seed: 2, 4 and 16/3.
        ("max(per_seed(b / a))", 16.0 / 3.0),
        ("median(per_seed(b / a))", 4.0),
        ("at(curve, 2)", 2.0),
        ("min(curve)", 2.0),
        ("last(curve)", 9.0),
        ("same(curve, between(curve, 1, 2))", 2.0),
        ("max(between(curve, 1, 2))", 4.0),
        ("median(sorted(curve))", 4.0),
        ("abs(a - b)", 11.0),
        ("deviation(sorted(curve)) * deviation(sorted(curve))", 26.0 / 3.0),
        ("given(a, a < b)", 3.0),
        ("sum(where(all, all > 5))", 14.0),
        ("ceil(b / a)", 5.0),
        ("step('train', 'four')", 4.0),
    ];
    for (text, expected) in all {
        assert_eq!(number(text), Some(expected), "{text}");
    }
    let geomean = number("geomean(per_seed(b / a))").unwrap();
    assert!((geomean - (2.0 * 4.0 * 16.0 / 3.0_f64).cbrt()).abs() < 1e-12);
    assert_eq!(number("missing / a"), None);
    assert_eq!(number("given(a, a > b)"), None);
    assert_eq!(number("a / (b - b)"), Some(f64::INFINITY));
    // A list is not a number.
    assert_eq!(number("all"), None);
}

#[test]
fn mistakes_have_places() {
    let wrong = |text: &str| {
        let problem = read(text, &place(text)).unwrap_err();
        (
            problem.place().unwrap().line_column().1,
            problem.message().to_string(),
        )
    };
    assert_eq!(
        wrong("a +"),
        (
            4,
            "expected a number, a measure or a function, found the end".into()
        )
    );
    assert_eq!(wrong("a / 0"), (5, "divides by zero".into()));
    assert_eq!(wrong("maxi(a)"), (1, "unknown function `maxi`".into()));
    assert_eq!(wrong("a['x"), (5, "expected a closing `'`, found the end".into()));
    assert_eq!(wrong("abs(a, b)"), (1, "`abs` has 1 arguments, found 2".into()));
    assert_eq!(
        wrong("a b"),
        (3, "expected an operator or the end, found `b`".into())
    );
}

#[test]
fn the_guide_has_every_function() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/guide/experiments.md");
    let guide = std::fs::read_to_string(path).unwrap();
    for (_, name, ..) in FUNCTIONS {
        let is_named = [format!("`{name}`"), format!("`{name}("), format!("{name}(")];
        assert!(is_named.iter().any(|text| guide.contains(text)), "{name}");
    }
}

/// Parsing needs little stack however long an expression is, and the error states the limit.
#[test]
fn expressions_are_bounded() {
    let read_all = |text: &str| read(text, &place(text)).map_err(|problem| problem.message().to_string());
    let brackets = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert!(read_all(&brackets(90)).is_ok() && read_all(&vec!["1"; 900].join(" + ")).is_ok());
    for deep in [brackets(20_000), "-".repeat(20_000) + "1"] {
        let error = read_all(&deep).unwrap_err();
        assert!(error.contains("more than 100 deep"), "{error}");
    }
    let error = read_all(&vec!["1"; 20_000].join(" * ")).unwrap_err();
    assert!(error.contains("more than 1000 numbers"), "{error}");
}
