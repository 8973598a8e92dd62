//! Defaults that depend on the scheme, on the rates of links, and on the fidelity.

use paceline_fabric::spec::EcnCurve;
use paceline_kernel::BitRate;
use paceline_scenario::{Overrides, Resolved, load_text};

fn star(rate: &str, scheme: &str, set: &[&str]) -> Resolved {
    let text = format!(
        "[topology.star]\nhosts = 3\nrate = '{rate}'\n[[workload]]\n\
         incast = {{ fan-in = 2, receiver = 3, size = '1MB' }}\n[cc]\nscheme = '{scheme}'\n"
    );
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    load_text("test.toml", &text, &overrides).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Returns Kmin and Kmax in bytes, and Pmax.
fn marking(resolved: &Resolved) -> (u64, u64, f64) {
    let [EcnCurve { kmin, kmax, pmax, .. }] = resolved.run.switch.ecn[..] else {
        panic!("one rate, one curve")
    };
    (kmin.get(), kmax.get(), pmax)
}

/// DCQCN's paper marks from 5 to 200 KB with 1 % at 40 Gbit/s; HPCC's launcher marks from 100 to 400 KB with 20 % at
/// 25 Gbit/s, and for DCTCP at 30 KB at 10 Gbit/s.
#[test]
fn marking_is_the_schemes() {
    let of = |rate, scheme| marking(&star(rate, scheme, &[]));
    assert_eq!(of("40Gbps", "dcqcn-paper"), (5_000, 200_000, 0.01));
    assert_eq!(of("100Gbps", "dcqcn-paper"), (12_500, 500_000, 0.01));
    assert_eq!(of("100Gbps", "dcqcn"), (400_000, 1_600_000, 0.2));
    assert_eq!(of("100Gbps", "dctcp"), (300_000, 300_000, 1.0));
    assert_eq!(of("400Gbps", "pcn"), (1_200_000, 1_200_000, 1.0));
    // The default follows the flavour, regardless of the scheme's name; settings in the scenario override it.
    let by_flavour = star("40Gbps", "dcqcn", &["cc.dcqcn.flavour=paper"]);
    assert_eq!(marking(&by_flavour), (5_000, 200_000, 0.01));
    let own = star(
        "40Gbps",
        "dcqcn-paper",
        &["network.ecn={ kmin = '7KB', kmax = '9KB', pmax = 0.5, reference-rate = '40Gbps' }"],
    );
    assert_eq!(marking(&own), (7_000, 9_000, 0.5));
}

fn value(resolved: &Resolved, param: &str) -> String {
    let values = resolved.run.schemes[0].config.values();
    values.into_iter().find(|(name, _)| name == param).unwrap().1
}

/// DCTCP's step is a packet per round trip, except under ns-3 fidelity, where it is as in HPCC's launcher; the
/// resolved scenario says which.
#[test]
fn steps_follow_the_fidelity() {
    let exact = star("400Gbps", "dctcp", &[]);
    let ns3 = star("400Gbps", "dctcp", &["fidelity=ns3-hpcc"]);
    assert_eq!(value(&exact, "rate-ai"), "auto");
    assert_eq!(value(&ns3, "rate-ai"), "615Mbps");
    assert!(ns3.toml.contains("rate-ai = \"615Mbps\""), "{}", ns3.toml);
    let own = star(
        "400Gbps",
        "dctcp",
        &["fidelity=ns3-hpcc", "cc.dctcp.rate-ai=1Gbps"],
    );
    assert_eq!(value(&own, "rate-ai"), "1Gbps");
    // Values that scale with the line rate stay `auto`: the launcher scales them too.
    let dcqcn = star("400Gbps", "dcqcn", &["fidelity=ns3-hpcc"]);
    assert_eq!(
        (value(&dcqcn, "rate-ai"), value(&dcqcn, "rate-hai")),
        ("auto".into(), "auto".into())
    );
    assert_eq!(dcqcn.run.switch.ecn[0].rate, BitRate::from_gbps(400));
}

/// A file that a run wrote has the values of its fidelity: under another one they stay, with a warning.
#[test]
fn a_written_scenario_keeps_the_values_of_its_fidelity() {
    use paceline_scenario::{EXACT, Fidelity, NS3_HPCC, WarningKind};
    let got = |text: &str, fidelity: Fidelity| {
        let overrides = Overrides {
            fidelity: Some(fidelity),
            ..Overrides::default()
        };
        let mut warnings = load_text("again.toml", text, &overrides).unwrap().warnings;
        warnings.retain(|warning| warning.id == WarningKind::OtherDefaults);
        warnings
    };
    let written = star("400Gbps", "dctcp", &["fidelity=ns3-hpcc"]).toml;
    let [warning] = &got(&written, EXACT)[..] else {
        panic!("one warning")
    };
    let text = warning.to_string();
    assert!(text.contains("was written with fidelity ns3-hpcc"), "{text}");
    assert!(
        text.contains("quirks (on: ack-nic-class, ack-threshold, "),
        "{text}"
    );
    assert!(got(&written, NS3_HPCC).is_empty());
    let own = "fidelity = 'ns3-hpcc'\n[topology.star]\nhosts = 3\n[[workload]]\n\
               incast = { fan-in = 2, receiver = 3, size = '1MB' }\n[cc]\nscheme = 'dctcp'\n";
    assert!(got(own, EXACT).is_empty());
}
