//! Thresholds that cannot take effect cause warnings with the numbers.

use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, WarningKind, load_text};

const SCENARIO: &str = r#"
duration = "1ms"
[topology.star]
hosts = 4
rate = "100Gbps"
delay = "100ns"
[[workload]]
label = "lossless"
priority = 3
incast = { fan-in = 3, receiver = 4, size = "128KB" }
[[workload]]
label = "lossy"
priority = 1
incast = { fan-in = 3, receiver = 4, size = "128KB" }
[network]
mtu = "5000B"
lossless = [3, 4]
buffer = "2MB"
[cc]
scheme = "dcqcn"
"#;

/// Returns the warnings of this kind.
fn got(set: &[&str]) -> Vec<String> {
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    // Without flow control no class is lossless.
    let text = match set.contains(&"network.flow-control=none") {
        true => SCENARIO.replace("lossless = [3, 4]\n", ""),
        false => SCENARIO.to_string(),
    };
    let resolved = load_text("s.toml", &text, &overrides).unwrap();
    let found = resolved.warnings.iter();
    lines(found.filter(|warning| warning.id == WarningKind::Threshold))
}

#[track_caller]
fn one(set: &[&str], parts: &[&str]) {
    let got = got(set);
    assert_eq!(got.len(), 1, "{got:?}");
    for part in parts {
        assert!(got[0].contains(part), "{part}: {got:?}");
    }
}

const NONE: [String; 0] = [];

/// 2 MB less four ports' headroom (three times 1250 B, two packets of 5048 B and 42 B of telemetry, which any
/// scheme's packets may have) and reserve (4096 B) are 1 927 496 B; a single port gets a ninth of them.
#[test]
fn marks_above_what_pauses_allow() {
    one(
        &[],
        &[
            "leaf 0 (0): ports of 100Gbps mark above 400KB (network.ecn)",
            "a port that alone fills one asks for a pause at 214",
            "unless 3 ports or more fill a queue together",
        ],
    );
    one(
        &[
            "network.ecn.kmin=1MB",
            "network.ecn.kmax=2MB",
            "network.ecn.reference-rate=100Gbps",
        ],
        &["mark above 1MB", "however many of the 3 other ports"],
    );
    one(
        &[
            "network.pfc.static.xoff=30KB",
            "network.pfc.static.xon=20KB",
            "network.ecn.kmin=40KB",
            "network.ecn.kmax=400KB",
            "network.ecn.reference-rate=100Gbps",
        ],
        &["asks for a pause at 30KB", "unless 2 ports or more"],
    );
    // The threshold is lower, or no scheme reads marks: no warning.
    let low = [
        "network.ecn.kmin=50KB",
        "network.ecn.kmax=200KB",
        "network.ecn.reference-rate=100Gbps",
    ];
    assert_eq!(got(&low), NONE);
    assert_eq!(got(&["cc.scheme=hpcc"]), NONE);
    assert_eq!(got(&["network.buffer=32MB"]), NONE);
}

#[test]
fn marks_above_what_drops_allow() {
    let lossy = "network.flow-control=none";
    one(
        &[lossy, "network.buffer=200KB"],
        &[
            "mark above 400KB",
            "the ports share 183.616KB",
            "dropped before any is marked",
        ],
    );
    one(
        &[lossy, "network.drop.policy=tail", "network.drop.limit=100KB"],
        &["packets are dropped above 100KB (network.drop)"],
    );
    one(
        &[lossy, "network.drop.policy=dynamic", "network.drop.alpha=0.125"],
        &["packets are dropped above 220"],
    );
    assert_eq!(got(&[lossy]), NONE);
}

/// 1 us in each direction at 100 Gbit/s is 25 000 B, plus two packets of 5048 B.
#[test]
fn headroom_below_what_the_cable_needs() {
    let quiet = "cc.scheme=none";
    let long = "topology.star.delay=1us";
    one(
        &[quiet, long, "network.headroom.fixed=20KB"],
        &[
            "leaf 0 (0): a port's headroom is 20KB",
            "up to 35.096KB arrive",
            "100Gbps and 1us",
        ],
    );
    assert_eq!(got(&[quiet, long, "network.headroom.fixed=35096B"]), NONE);
    one(
        &[
            quiet,
            long,
            "network.headroom.fixed=35096B",
            "network.pfc.reaction-time=1us",
        ],
        &["up to 47.596KB arrive", "the response"],
    );
    assert_eq!(
        got(&[
            quiet,
            long,
            "network.headroom.fixed=20KB",
            "network.flow-control=none"
        ]),
        NONE
    );
    assert_eq!(got(&[quiet, long]), NONE);
}

#[test]
fn thresholds_for_links_of_another_rate() {
    let kmin = ["network.ecn.kmin=10KB", "network.ecn.kmax=40KB"];
    one(
        &kmin,
        &[
            "network.ecn.kmin = 10KB is for links of 25Gbps",
            "for links of 100Gbps it is 40KB",
            "reference-rate",
        ],
    );
    assert_eq!(got(&[&kmin[..], &["topology.star.rate=25Gbps"]].concat()), NONE);
    assert_eq!(
        got(&[&kmin[..], &["network.ecn.reference-rate=25Gbps"]].concat()),
        NONE
    );
}
