//! Parsing and values of parameters.

use super::*;

fn parsed(text: &str) -> Parameter {
    Parameter::parse(text).unwrap()
}

#[test]
fn ranges_have_units_and_scales() {
    let kmin = parsed("network.ecn.kmin=5KB..400KB");
    assert_eq!(kmin.domain_text(), "5KB..400KB:log");
    assert_eq!(
        [0.0, 0.5, 1.0].map(|at| kmin.value(at)),
        ["5KB", "44.7KB", "400KB"]
    );
    assert!((kmin.position("44.7KB").unwrap() - 0.5).abs() < 1e-3);
    assert_eq!((kmin.position("1KB"), kmin.position("1us")), (None, None));
    let pmax = parsed("network.ecn.pmax=0.1..0.5");
    assert_eq!(pmax.domain_text(), "0.1..0.5:linear");
    assert_eq!([0.0, 0.3, 1.0].map(|at| pmax.value(at)), ["0.1", "0.22", "0.5"]);
    let zero = parsed("x=0..2us");
    assert_eq!([0.0, 0.5].map(|at| zero.value(at)), ["0ps", "1us"]);
    let rate = parsed("a.rate-ai=5Mbps..200Mbps:linear");
    assert_eq!(rate.value(0.5), "102.5Mbps");
    assert_eq!(
        (rate.edge("200Mbps"), rate.edge("100Mbps")),
        (Some("upper"), None)
    );
}

#[test]
fn whole_numbers_stay_whole() {
    let Domain::Range(range) = parsed("x=1..16").domain else {
        panic!()
    };
    let range = Range { whole: true, ..range };
    assert_eq!(
        [0.0, 0.5, 0.51, 1.0].map(|at| range.value(at)),
        ["1", "4", "4", "16"]
    );
}

#[test]
fn choices_have_the_order_of_the_list() {
    let scheme = parsed("cc.scheme=hpcc,dcqcn,none");
    assert_eq!(
        [0.0, 0.4, 1.0].map(|at| scheme.value(at)),
        ["hpcc", "dcqcn", "none"]
    );
    assert_eq!(scheme.position("dcqcn"), Some(0.5));
    let lists = parsed("a,b=[1, 2],[3]");
    assert_eq!(
        lists.settings(&lists.value(0.0)).collect::<Vec<_>>(),
        ["a=[1, 2]", "b=[1, 2]"]
    );
}

#[test]
fn refusals() {
    for (text, expected) in [
        ("kmin", "expected KEY=LOW..HIGH"),
        ("=1..2", "expected KEY=LOW..HIGH"),
        ("kmin=5KB", "expected KEY=LOW..HIGH"),
        ("kmin=5KB..", "`` is no number"),
        ("kmin=5KB..2us", "`5KB` and `2us` have different units"),
        ("kmin=5..400KB", "`5` and `400KB` have different units"),
        ("kmin=5KB..5KB", "the lower end `5KB` is not below `5KB`"),
        ("kmin=0..5KB:log", "`0` has no logarithm"),
        ("kmin=1KB..5KB:lin", "`:lin`: expected :log or :linear"),
        ("kmin=1KB,2KB,1KB", "`1KB` is listed twice"),
    ] {
        let error = Parameter::parse(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
