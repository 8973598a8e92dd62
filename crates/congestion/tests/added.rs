//! Schemes that a program adds. They are added once in a program, so this is one of its own.

use paceline_congestion::example::Params as Aimd;
use paceline_congestion::none::Params as Shipped;
use paceline_congestion::registry::{
    AddError, Addition, AnyParams, Definition as _, SCHEMES, SchemeConfig, SchemeParams, add, find, schemes,
};

#[test]
fn an_added_scheme_is_one_of_all() {
    // What is refused adds nothing.
    let twice = vec![Addition::of::<Aimd>(), Addition::of::<Aimd>()];
    assert_eq!(add(twice), Err(AddError::Taken("aimd")));
    let shipped = add(vec![Addition::of::<Shipped>()]).unwrap_err();
    assert_eq!(
        shipped.to_string(),
        "there is a scheme or variant called `none` already"
    );

    assert_eq!(add(vec![Addition::of::<Aimd>()]), Ok(()));
    assert_eq!(add(Vec::new()), Err(AddError::TooLate));

    let names: Vec<_> = schemes().map(|scheme| scheme.name).collect();
    assert_eq!(names.len(), SCHEMES.len() + 1);
    assert_eq!(names.last(), Some(&"aimd"));
    assert_eq!(find("aimd").unwrap().0.title, "AIMD");
    assert_eq!(find("aimt").unwrap_err().nearest, Some("aimd"));
    is_read_and_written();
    answers_as_its_definition();
    is_refused_with_its_place();
}

fn is_read_and_written() {
    let text = "[dcqcn]\ng = 0.125\n[aimd]\nbeta = 0.25\nthreshold = \"5KB\"\n";
    let params: SchemeParams = toml::from_str(text).unwrap();
    assert_eq!(params.present(), ["dcqcn", "aimd"]);
    let again: SchemeParams = toml::from_str(&toml::to_string(&params).unwrap()).unwrap();
    assert_eq!(again, params);
    let config = params.configure("aimd").unwrap();
    let AnyParams::Added(added) = config.params() else {
        panic!("it was added");
    };
    let own = added.of::<Aimd>().unwrap();
    assert_eq!((own.beta, own.threshold.get()), (0.25, 5000));
    assert_eq!(config.values()[2], ("beta".to_string(), "0.25".to_string()));
    // A whole number is a number, and JSON is no different.
    let json = serde_json::to_string(&config).unwrap();
    let read: SchemeConfig = serde_json::from_str(&json).unwrap();
    assert_eq!(read, config);
    let whole: SchemeParams = toml::from_str("[aimd]\nbeta = 1\n").unwrap();
    assert_eq!(whole.configure("aimd").unwrap().values()[2].1, "1");
    let default = SchemeParams::default().configure("aimd").unwrap();
    assert_ne!(default, config);
    assert_eq!(default.explicit_params().present(), ["aimd"]);
}

fn answers_as_its_definition() {
    let mut config = SchemeParams::default().configure("aimd").unwrap();
    let own = Aimd::default();
    assert_eq!((config.name(), config.label()), ("aimd", "aimd"));
    assert_eq!(config.scheme().title, "AIMD");
    assert_eq!(config.needs(), own.needs());
    assert_eq!(config.switch_part(), own.switch_part());
    assert!(config.receiver_half().is_some());
    let path = paceline_congestion::testkit::star_path();
    assert_eq!(config.build(&path).limits(), own.build(&path).limits());
    assert_eq!(config.validate(), Ok(()));
    config.set("beta", "0").unwrap();
    assert_eq!(config.validate().unwrap_err().param, "beta");
    assert!(config.set("alpha", "0").is_err());
}

fn is_refused_with_its_place() {
    let at = |text: &str| {
        let error = toml::from_str::<SchemeParams>(text).unwrap_err();
        (
            text[error.span().unwrap()].to_string(),
            error.message().to_string(),
        )
    };
    let (place, message) = at("[aimd]\nbetta = 0.5\n");
    assert_eq!(place, "betta");
    assert_eq!(
        message,
        "unknown field `betta`, expected one of `threshold`, `rate-ai`, `beta`, `min-rate`"
    );
    let (place, message) = at("[aimd]\nbeta = \"0.5\"\n");
    assert_eq!(place, "\"0.5\"");
    assert_eq!(message, "invalid type: string \"0.5\", expected f64");
    let (place, message) = at("[aimd]\nrate-ai = \"fast\"\n");
    assert_eq!(place, "\"fast\"");
    assert!(message.starts_with("`fast` is not a rate"), "{message}");
    let (place, message) = at("[aimt]\n");
    assert_eq!(place, "aimt");
    assert!(message.ends_with("`decc`, `policy`, `aimd`"), "{message}");
}
