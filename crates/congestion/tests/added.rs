//! Tests of schemes that a program adds. Schemes can be added once per program, so this is a separate one.

use paceline_congestion::example::Params as Aimd;
use paceline_congestion::none::Params as BuiltIn;
use paceline_congestion::params::{Parameters as _, Range};
use paceline_congestion::registry::{
    AddError, Addition, AnyParams, Definition, SCHEMES, Scheme, SchemeConfig, SchemeParams, add, find,
    schemes,
};
use paceline_congestion::switch::{
    Egress, EgressPort, Hooks, PacketView, PerPort, SwitchHalf, SwitchHalves, SwitchSupport, Verdict,
};
use paceline_congestion::{AckInfo, CongestionControl, Ctx, Outgoing, PathInfo, Requirements, SendLimits};
use paceline_kernel::rng::Rng;

/// Declares a scheme whose definition contradicts its halves.
macro_rules! wrong {
    ($name:literal, $Params:ident, $part:expr, $halves:expr, $Sender:ty) => {
        paceline_congestion::scheme_params! {
            /// Parameters.
            pub struct $Params {
                /// Something.
                share: f64 = 0.5, in Range::AboveUpTo(0.0, 1.0), from "ours";
            }
        }
        impl Definition for $Params {
            const SCHEME: Scheme = Scheme {
                name: $name,
                params: Self::docs,
                ..Aimd::SCHEME
            };
            fn needs(&self) -> Requirements {
                Requirements::default()
            }
            fn switch_part(&self) -> Option<SwitchSupport> {
                $part
            }
            fn switch_halves(
                &self,
                ports: &[Option<EgressPort>],
                rngs: &mut [Rng],
            ) -> Option<Box<dyn SwitchHalves>> {
                $halves(ports, rngs)
            }
            fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
                Box::new(<$Sender>::from(path))
            }
        }
    };
}

const ARRIVALS: SwitchSupport = SwitchSupport {
    task: "do something",
    params: &[],
    hooks: Hooks {
        arrivals: true,
        departures: false,
        pauses: false,
    },
    turns_back: false,
    signal: None,
    trims: false,
    marks: false,
};

/// Sender at line rate that writes `TAG` into packets.
#[derive(Clone, Debug)]
struct Sender<const TAG: u8>(SendLimits);

impl<const TAG: u8> From<&PathInfo> for Sender<TAG> {
    fn from(path: &PathInfo) -> Self {
        let aimd = Aimd::default().build(path);
        Self(aimd.limits())
    }
}

impl<const TAG: u8> CongestionControl for Sender<TAG> {
    fn limits(&self) -> SendLimits {
        self.0
    }
    fn on_ack(&mut self, _cx: &mut Ctx<'_>, _ack: &AckInfo<'_>) {}
    fn tag(&mut self, _cx: &mut Ctx<'_>, _packet: &Outgoing) -> u8 {
        TAG
    }
}

/// Switch half that writes `TAG`.
#[derive(Clone, Debug)]
struct Half<const TAG: u8>;

impl<const TAG: u8> SwitchHalf for Half<TAG> {
    fn on_arrival(&mut self, _at: &mut Egress<'_>, packet: &PacketView) -> Verdict {
        Verdict {
            tag: TAG,
            ..Verdict::pass(packet)
        }
    }
}

fn halves<const TAG: u8>(ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
    Some(PerPort::boxed(ports, rngs, |_, _| Half::<TAG>))
}

wrong!(
    "mute",
    Mute,
    Some(SwitchSupport {
        hooks: Hooks::default(),
        ..ARRIVALS
    }),
    halves::<0>,
    Sender<0>
);
wrong!("empty", Empty, Some(ARRIVALS), |_, _| None, Sender<0>);
wrong!("tagging", Tagging, None, |_, _| None, Sender<1>);
wrong!("scribbling", Scribbling, Some(ARRIVALS), halves::<2>, Sender<0>);

/// Mismatches that the engine would ignore silently are errors when the scheme is added.
fn halves_do_what_is_declared() {
    let refused = |addition| add(vec![addition]).unwrap_err().to_string();
    for (text, part) in [
        (
            refused(Addition::of::<Mute>()),
            "`mute`: no hook calls its switch half",
        ),
        (
            refused(Addition::of::<Empty>()),
            "`empty`: `switch_part` asks for hooks",
        ),
        (
            refused(Addition::of::<Tagging>()),
            "`tagging`: the sender writes tags",
        ),
        (
            refused(Addition::of::<Scribbling>()),
            "`scribbling`: the switch's half writes tags",
        ),
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn an_added_scheme_is_one_of_all() {
    // A refused addition adds nothing.
    let twice = vec![Addition::of::<Aimd>(), Addition::of::<Aimd>()];
    assert_eq!(add(twice), Err(AddError::Taken("aimd")));
    let built_in = add(vec![Addition::of::<BuiltIn>()]).unwrap_err();
    assert_eq!(
        built_in.to_string(),
        "there is a scheme or variant called `none` already"
    );

    halves_do_what_is_declared();

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
    // A whole number is accepted as a number, and JSON gives the same.
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
    let (quoted, message) = at("[aimd]\nbetta = 0.5\n");
    assert_eq!(quoted, "betta");
    assert_eq!(
        message,
        "unknown field `betta`, expected one of `threshold`, `rate-ai`, `beta`, `min-rate`"
    );
    let (quoted, message) = at("[aimd]\nbeta = \"0.5\"\n");
    assert_eq!(quoted, "\"0.5\"");
    assert_eq!(message, "invalid type: string \"0.5\", expected f64");
    let (quoted, message) = at("[aimd]\nrate-ai = \"fast\"\n");
    assert_eq!(quoted, "\"fast\"");
    assert!(message.starts_with("`fast` is not a rate"), "{message}");
    let (quoted, message) = at("[aimt]\n");
    assert_eq!(quoted, "aimt");
    assert!(message.ends_with("`decc`, `policy`, `aimd`"), "{message}");
}
