//! Several names of schemes in one scenario, each with its own parameters, written and read again.

use paceline_congestion::registry::SCHEMES;
use paceline_scenario::{Overrides, Resolved, load_text};

/// Returns two incasts under two schemes, with `rest` at the end of `[cc]`.
fn scenario(first: &str, second: &str, rest: &str) -> String {
    format!(
        "duration = '20ms'\n[topology.star]\nhosts = 9\n\
         [[workload]]\nlabel = 'a'\nincast = {{ fan-in = 4, receiver = 9, size = '500KB' }}\n\
         [[workload]]\nlabel = 'b'\nscheme = '{second}'\npriority = 4\n\
         incast = {{ senders = [5, 6, 7, 8], receiver = 9, size = '500KB' }}\n\
         [cc]\nscheme = '{first}'\n{rest}"
    )
}

fn load(text: &str) -> Result<Resolved, String> {
    load_text("two.toml", text, &Overrides::default()).map_err(|error| error.to_string())
}

/// Loads a scenario, and checks that its resolved text loads as the same run.
fn twice(text: &str) -> Resolved {
    let resolved = load(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let again = load(&resolved.toml).unwrap_or_else(|error| panic!("{}: {error}", resolved.toml));
    assert!(again.run == resolved.run, "{}", resolved.toml);
    assert_eq!(again.toml, resolved.toml);
    assert_eq!(again.schemes, resolved.schemes);
    resolved
}

fn value(resolved: &Resolved, scheme: usize, key: &str) -> String {
    let values = resolved.run.schemes[scheme].config.values();
    let found = values.into_iter().find(|(name, _)| name == key);
    found.unwrap_or_else(|| panic!("there is no parameter {key}")).1
}

/// Returns the warnings about unused blocks.
fn unused(resolved: &Resolved) -> Vec<String> {
    let got = resolved.warnings.iter().map(ToString::to_string);
    got.filter(|said| said.contains("is not used")).collect()
}

#[test]
fn every_ordered_pair_is_the_same_run_again() {
    let names: Vec<&str> = SCHEMES
        .iter()
        .flat_map(|scheme| std::iter::once(scheme.name).chain(scheme.aliases.iter().map(|alias| alias.name)))
        .collect();
    let (mut fit, mut pairs) = (0, 0);
    for first in &names {
        for second in names.iter().filter(|second| *second != first) {
            let text = scenario(first, second, "");
            pairs += 1;
            // Some pairs cannot share a network, because their switches behave differently.
            if load(&text).is_ok() {
                twice(&text);
                fit += 1;
            }
        }
    }
    assert!(fit * 4 > pairs * 3, "{fit} of {pairs} pairs can share a network");
}

#[test]
fn an_alias_has_its_own_block_where_it_differs() {
    // There is one block if all names run with the same parameters.
    let shared = twice(&scenario("dcqcn", "dcqcn-win", "[cc.dcqcn]\ng = 0.01\n"));
    assert!(!shared.toml.contains("[cc.dcqcn-win]"), "{}", shared.toml);
    let paper = twice(&scenario("dcqcn", "dcqcn-paper", "[cc.dcqcn]\ng = 0.01\n"));
    assert!(paper.toml.contains("[cc.dcqcn-paper]"), "{}", paper.toml);
    assert_eq!(
        (value(&paper, 0, "g"), value(&paper, 1, "g")),
        ("0.01".into(), "0.01".into())
    );
    assert_ne!(value(&paper, 0, "flavour"), value(&paper, 1, "flavour"));
}

#[test]
fn a_block_of_an_alias_says_what_is_different_in_it() {
    let rest = "[cc.dcqcn]\ng = 0.01\nrate-ai = '7Mbps'\n[cc.dcqcn-paper]\ng = 0.25\n";
    let resolved = twice(&scenario("dcqcn", "dcqcn-paper", rest));
    assert_eq!(
        (value(&resolved, 0, "g"), value(&resolved, 1, "g")),
        ("0.01".into(), "0.25".into())
    );
    assert_eq!(value(&resolved, 1, "rate-ai"), value(&resolved, 0, "rate-ai"));
    assert!(unused(&resolved).is_empty(), "{:?}", resolved.warnings);
    // The same works on the command line.
    let overrides = Overrides {
        set: vec!["cc.dcqcn-paper.g=0.5".into()],
        ..Overrides::default()
    };
    let set = load_text("two.toml", &scenario("dcqcn", "dcqcn-paper", rest), &overrides).unwrap();
    assert_eq!(
        (value(&set, 0, "g"), value(&set, 1, "g")),
        ("0.01".into(), "0.5".into())
    );
    // A block that no flow uses causes a warning.
    let unused = unused(&twice(&scenario("dcqcn", "hpcc", rest)));
    assert_eq!(unused.len(), 1, "{unused:?}");
    assert!(
        unused[0].ends_with("[cc.dcqcn-paper] is not used: no flow runs under dcqcn-paper"),
        "{unused:?}"
    );
}

#[test]
fn mistakes_in_a_block_of_an_alias_have_their_place() {
    let said = |rest: &str| {
        load(&scenario("dcqcn", "dcqcn-paper", rest))
            .err()
            .unwrap_or("it is taken".into())
    };
    let error = said("[cc.dcqcn-paper]\nh = 1\n");
    assert!(error.starts_with("two.toml:15:1: unknown key `h`"), "{error}");
    let error = said("[cc.dcqcn-paper]\ng = 7.0\n");
    assert!(
        error.starts_with("two.toml:15:5: dcqcn: parameter `g`"),
        "{error}"
    );
    let error = said("[cc.dcqcn-papr]\ng = 0.5\n");
    assert!(error.contains("did you mean `dcqcn-paper`?"), "{error}");
    // A parameter that the alias itself sets cannot be changed.
    let resolved = load(&scenario(
        "dcqcn",
        "dcqcn-paper",
        "[cc.dcqcn-paper]\nflavour = 'nic'\n",
    ))
    .unwrap();
    let got = |said: &paceline_scenario::Warning| {
        said.to_string()
            .contains("cc.dcqcn-paper.flavour = `nic` has no effect")
    };
    assert!(resolved.warnings.iter().any(got), "{:?}", resolved.warnings);
}

#[test]
fn variants_of_one_scheme_keep_their_own_values() {
    let text = scenario(
        "dcqcn:g=0.5",
        "dcqcn:g=0.25:rate-ai=7Mbps",
        "[cc.dcqcn]\nrate-hai = '70Mbps'\n",
    );
    let two = twice(&text);
    assert_eq!(two.schemes, ["dcqcn:g=0.5", "dcqcn:g=0.25:rate-ai=7Mbps"]);
    assert_eq!([value(&two, 0, "g"), value(&two, 1, "g")], ["0.5", "0.25"]);
    assert_eq!(
        [value(&two, 0, "rate-ai"), value(&two, 1, "rate-ai")],
        ["auto", "7Mbps"]
    );
    assert_eq!(value(&two, 1, "rate-hai"), "70Mbps");
    assert_eq!(unused(&two), Vec::<String>::new());
}

#[test]
fn a_variant_reads_the_model_that_it_names() {
    let text = scenario("decc", "decc", "").replacen("scheme = 'decc'\n", "", 1);
    let default = load(&text).unwrap();
    let (_, model) = default.run.schemes[0]
        .config
        .values()
        .into_iter()
        .find(|(key, _)| key == "model")
        .unwrap();
    let named = twice(&text.replace("scheme = 'decc'", &format!("scheme = 'decc:model={model}'")));
    assert_eq!(
        named.run.schemes[0].config.values(),
        default.run.schemes[0].config.values()
    );
    let missing = load(&text.replace("scheme = 'decc'", "scheme = 'decc:model=no/such'")).unwrap_err();
    assert!(missing.contains("no/such"), "{missing}");
}
