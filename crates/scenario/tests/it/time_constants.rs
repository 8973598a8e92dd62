//! Timeouts and timers compared with the network's round trip: defaults grow with it, and shorter settings cause
//! warnings.

use paceline_fabric::spec::Recovery;
use paceline_kernel::Span;
use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, Resolved, WarningKind, load_text};

/// Two sites 500 km apart: a round trip takes 5.003 ms.
const SITES: &str = r#"
duration = "400ms"
[topology.graph]
nodes = 4
switches = [2, 3]
links = [
  { a = 0, b = 2, rate = "100Gbps", delay = "500ns" },
  { a = 1, b = 3, rate = "100Gbps", delay = "500ns" },
  { a = 2, b = 3, rate = "100Gbps", delay = "2500us" },
]
[network]
mtu = "4096B"
buffer = "400MB"
[[workload]]
flows = [{ src = 0, dst = 1, size = "500MB", start = "0s" }]
[cc]
scheme = "none"
"#;

fn load(text: &str, set: &[&str]) -> Resolved {
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    load_text("sites.toml", text, &overrides).unwrap()
}

fn told(resolved: &Resolved) -> Vec<String> {
    let found = resolved.warnings.iter();
    lines(found.filter(|warning| warning.id == WarningKind::TimeConstant))
}

/// Three round trips, rounded up to three digits; ten for IRN's longer timeout, two between two NACKs.
#[test]
fn defaults_follow_the_round_trip() {
    let sites = load(SITES, &[]);
    assert_eq!(sites.run.nic.rto, Some(Span::from_us(15_100)));
    assert_eq!(sites.run.nic.nack_interval, Span::from_us(10_100));
    assert_eq!(told(&sites), [""; 0]);
    let irn = load(SITES, &["network.recovery=irn"]);
    let Recovery::SelectiveRepeat(irn) = irn.run.nic.recovery else {
        panic!("no selective repeat");
    };
    assert_eq!(irn.rto_low, Span::from_us(15_100));
    assert_eq!(irn.rto_high, Span::from_us(50_100));
    let rud = load(SITES, &["network.recovery=rud"]);
    let Recovery::Rud(rud) = rud.run.nic.recovery else {
        panic!("no reliable unordered delivery");
    };
    assert_eq!(rud.rto, Span::from_us(15_100));
    // The resolved scenario is the same run without further warnings.
    let again = load(&sites.toml, &[]);
    assert_eq!(again.run.nic, sites.run.nic);
    assert_eq!(told(&again), [""; 0]);
    // Within one building nothing changes.
    let near = load(&SITES.replace("2500us", "500ns"), &[]);
    assert_eq!(near.run.nic.rto, Some(Span::from_us(4000)));
    // A longer link counts, and so does the hosts' processing time.
    let detour = "[[network.link-change]]\nlink = 2\nat = '1ms'\nuntil = '2ms'\ndelay = '10ms'\n[[workload]]";
    let slow = load(&SITES.replace("[[workload]]", detour), &[]);
    assert_eq!(slow.run.nic.rto, Some(Span::from_us(60_300)));
    let busy = load(SITES, &["network.endpoint.delay=1ms"]);
    assert_eq!(busy.run.nic.rto, Some(Span::from_us(18_100)));
}

/// A setting below the round trip causes a warning with both numbers, for every kind of recovery.
#[test]
fn short_timeouts_are_told() {
    for (key, others, value) in [
        ("network.rto", &[][..], "4ms"),
        ("network.nack-interval", &[], "500us"),
        ("network.irn.rto-low", &["network.recovery=irn"], "100us"),
        ("network.irn.rto-high", &["network.recovery=irn"], "4ms"),
        ("network.rud.rto", &["network.recovery=rud"], "100us"),
    ] {
        let set = format!("{key}={value}");
        let sites = load(SITES, &[others, &[&set]].concat());
        let told = told(&sites);
        assert_eq!(told.len(), 1, "{key}: {told:?}");
        for part in [key, value, "takes up to 5.01ms"] {
            assert!(told[0].contains(part), "{part}: {told:?}");
        }
    }
    // No flow uses the long path.
    let near = SITES
        .replace("nodes = 4", "nodes = 5")
        .replace("switches = [2, 3]", "switches = [2, 3]\n")
        .replace(
            "links = [",
            "links = [\n  { a = 4, b = 2, rate = \"100Gbps\", delay = \"500ns\" },",
        )
        .replace("dst = 1", "dst = 4");
    assert_eq!(told(&load(&near, &["network.rto=4ms"])), [""; 0]);
    // Twenty milliseconds are enough, and so is no timeout at all.
    assert_eq!(told(&load(SITES, &["network.rto=20ms"])), [""; 0]);
    assert_eq!(told(&load(SITES, &["network.rto=off"])), [""; 0]);
}

/// Timers of schemes that expire many times in a round trip cause warnings.
#[test]
fn fast_timers_are_told() {
    let of = |scheme: &str, parts: &[&str]| {
        let sites = load(&SITES.replace("\"none\"", &format!("{scheme:?}")), &[]);
        let told = told(&sites);
        assert_eq!(told.len(), parts.len(), "{scheme}: {told:?}");
        for (line, part) in told.iter().zip(parts) {
            assert!(line.contains(part) && line.contains("5.01ms"), "{part}: {line}");
        }
    };
    of(
        "dcqcn",
        &["every 300us by default (`increase-timer`)", "(`alpha-interval`)"],
    );
    of("dcqcn-paper", &["(`increase-timer`)", "(`cnp-interval`)"]);
    of("qcn", &["(`timer`)"]);
    of("pcn", &["(`period`)"]);
    of("hpcc", &[]);
    let near = SITES.replace("2500us", "500ns");
    assert_eq!(told(&load(&near.replace("none", "dcqcn"), &[])), [""; 0]);
}

/// On a cable of 20 km, starting and ending a pause takes 200 us.
#[test]
fn a_watchdog_takes_ordinary_pauses_for_storms() {
    let near = SITES.replace("2500us", "100us");
    let short = load(&near, &["network.pfc.watchdog.detection=150us"]);
    let told_of = told(&short);
    assert!(
        told_of.len() == 1 && told_of[0].contains("watchdog.detection"),
        "{told_of:?}"
    );
    assert!(
        told_of[0].contains("150us") && told_of[0].contains("201us"),
        "{told_of:?}"
    );
    assert_eq!(
        told(&load(&near, &["network.pfc.watchdog.detection=1ms"])),
        [""; 0]
    );
}
