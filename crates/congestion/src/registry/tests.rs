use super::*;
use crate::params::Condition;

const HEADINGS: [&str; 6] = [
    "# What it does",
    "# Signal it needs",
    "# Equations",
    "# Parameters",
    "# Where we differ from the paper or public code",
    "# References",
];

#[test]
fn every_scheme_has_a_page_with_the_same_headings() {
    for scheme in SCHEMES {
        let page = scheme.page();
        let headings: Vec<_> = page.lines().filter(|line| line.starts_with("# ")).collect();
        assert_eq!(headings, HEADINGS, "{}", scheme.name);
    }
}

#[test]
fn every_parameter_has_help_and_a_source() {
    for scheme in SCHEMES {
        for doc in (scheme.params)() {
            let name = (scheme.name, doc.name);
            assert!(!doc.help.is_empty() && !doc.source.is_empty(), "{name:?}");
        }
    }
}

#[test]
fn names_are_unique_and_aliases_work() {
    let names = UnknownScheme::new("").names;
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    for name in names {
        let config = SchemeParams::default().configure(name).unwrap();
        assert_eq!(config.label(), name);
        assert_eq!(config.validate(), Ok(()), "{name}");
        for (key, value) in config.alias.map_or(&[][..], |alias| alias.settings) {
            assert!(
                config.values().contains(&(key.to_string(), value.to_string())),
                "{name}: {key}"
            );
        }
    }
    let with_window = SchemeParams::default().configure("dcqcn-win").unwrap();
    assert_eq!(with_window.name(), "dcqcn");
    assert_eq!(with_window.default_window(), WindowMode::Variable);
}

#[test]
fn an_unknown_name_gets_a_hint() {
    let error = SchemeParams::default().configure("HPPC").unwrap_err();
    assert_eq!(error.nearest, Some("hpcc"));
    assert!(
        error.to_string().starts_with(
            "unknown scheme `HPPC` (did you mean `hpcc`?); expected one of: none, fixed, dcqcn,"
        )
    );
    assert_eq!(
        SchemeParams::default()
            .configure("reno-vegas")
            .unwrap_err()
            .nearest,
        None
    );
}

#[test]
fn explicit_parameters_read_back_as_the_same_scheme() {
    for scheme in SCHEMES {
        let config = SchemeParams::default().configure(scheme.name).unwrap();
        let text = toml::to_string(&config.explicit_params()).unwrap();
        let read: SchemeParams = toml::from_str(&text).unwrap();
        let again = read.configure(scheme.name).unwrap();
        assert_eq!(again.values(), config.values(), "{text}");
        assert_eq!(again.explicit_params(), config.explicit_params());
        // Every documented parameter with an effect is in the text.
        let acts = |doc: &ParamDoc| {
            let holds = |condition: &Condition| {
                let name = condition.key.trim_start_matches('.');
                let line = text
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
                line.is_some_and(|value| {
                    condition.values.contains(&value.trim_matches('"')) != condition.except
                })
            };
            doc.when.is_empty() || doc.when.iter().any(|case| case.iter().all(holds))
        };
        for doc in (scheme.params)().into_iter().filter(acts) {
            assert!(
                text.contains(&format!("{} = ", doc.name)),
                "{}: {}\n{text}",
                scheme.name,
                doc.name
            );
        }
    }
}

#[test]
fn values_out_of_range_are_errors() {
    for (scheme, key, value) in [
        ("hpcc", "eta", "0"),
        ("hpcc", "min-rate", "0bps"),
        ("hpcc-pint", "log-base", "1"),
        ("dctcp", "g", "0"),
        ("dcqcn", "alpha-interval", "0s"),
        ("timely", "min-rtt", "0s"),
        ("timely", "t-low", "600us"),
    ] {
        let mut config = SchemeParams::default().configure(scheme).unwrap();
        config.set(key, value).unwrap();
        assert_eq!(config.validate().unwrap_err().param, key, "{scheme}");
    }
}

#[test]
fn a_misspelt_block_or_key_points_at_its_place() {
    let text = "[hpcc]\netta = 0.9\n";
    let error = toml::from_str::<SchemeParams>(text).unwrap_err();
    assert_eq!(&text[error.span().unwrap()], "etta");
    assert!(toml::from_str::<SchemeParams>("[hpc]\n").is_err());
}

#[test]
fn limits_of_delay_follow_the_parameters() {
    let limit = |name: &str, settings: &[(&str, &str)]| {
        let mut config = SchemeParams::default().configure(name).unwrap();
        for (key, value) in settings {
            config.set(key, value).unwrap();
        }
        let limit = config.delay_limit(4);
        limit.map(|limit| (limit.param, limit.rtt.as_us_f64()))
    };
    assert_eq!(limit("lstm-pid", &[]), Some(("target", 5.0)));
    // A target that follows the flow's round trips excludes no path.
    assert_eq!(limit("lstm-pid-rttch", &[]), None);
    assert_eq!(limit("timely", &[]), Some(("t-high", 500.0)));
    // 10us, 1us per link, and the flow scaling of the smallest window.
    assert_eq!(limit("swift", &[]), Some(("base-delay", 114.0)));
    let fixed = limit("swift", &[("flow-scaling", "false")]);
    assert_eq!(fixed, Some(("base-delay", 14.0)));
    assert_eq!(limit("hpcc", &[]), None);
}

#[test]
fn needs_follow_the_parameters() {
    let needs = |name| SchemeParams::default().configure(name).unwrap().needs();
    assert_eq!(needs("none"), Requirements::default());
    assert!(needs("hpcc").int && needs("hpcc").repaces);
    assert!(needs("hpcc-pint").pint && !needs("hpcc-pint").int);
    assert!(needs("timely").timestamp && !needs("timely").repaces);
    assert!(needs("dctcp").ecn);
    let code = |name| SchemeParams::default().configure(name).unwrap().pint_code();
    assert!(code("hpcc").is_none() && code("hpcc-pint").is_some());
    let half = |name| {
        let config = SchemeParams::default().configure(name).unwrap();
        config.receiver_half().is_some()
    };
    assert!(half("pcn") && half("dcqcn-paper") && !half("dcqcn") && !half("hpcc"));
}
