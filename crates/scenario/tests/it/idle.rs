//! Settings without effect cause a warning with the reason before the run.

use std::collections::BTreeSet;

use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, Resolved, load_text};

const WORKLOAD: &str = "[[workload]]\nincast = { fan-in = 2, receiver = 3 }\n";

fn load(rest: &str) -> Resolved {
    let workload = if rest.contains("[[workload]]") {
        ""
    } else {
        WORKLOAD
    };
    let text = format!(
        "name = \"idle\"\nduration = \"1ms\"\n[topology.star]\nhosts = 4\n{workload}[cc]\nscheme = \"dcqcn\"\n{rest}"
    );
    load_text("idle.toml", &text, &Overrides::default()).unwrap()
}

#[test]
fn what_does_nothing_is_told() {
    for (written, got) in [
        (
            "[network.irn]\nrto-low = \"10us\"\n",
            "idle.toml:10:11: [network.irn] has no effect: network.recovery is `go-back-n`",
        ),
        (
            "[network]\nqp-scheduling = \"max-min\"\nqp-quantum = \"9KB\"\n",
            "idle.toml:11:14: network.qp-quantum has no effect: network.qp-scheduling is `max-min`",
        ),
        (
            "[network.flowlet]\ngap = \"10us\"\n",
            "idle.toml:10:7: [network.flowlet] has no effect: network.load-balancing is `ecmp`",
        ),
        (
            "[network]\nload-balancing = \"adaptive\"\nirn.reordering = 64\nrecovery = \"irn\"\n[network.flowlet]\ngap = \"10us\"\n",
            "idle.toml:14:7: [network.flowlet] has no effect: network.adaptive.per is `packet`",
        ),
        (
            "[network]\nload-balancing = \"flowlet\"\nadaptive.per = \"flowlet\"\n",
            "idle.toml:11:16: [network.adaptive] has no effect: network.load-balancing is `flowlet`",
        ),
        (
            "[network]\nflow-control = \"none\"\n[network.pfc]\npause = \"1us\"\n",
            "idle.toml:12:9: [network.pfc] has no effect: network.flow-control is `none`",
        ),
        (
            "[network.pfc]\npause = \"1us\"\n",
            "idle.toml:10:9: network.pfc.pause has no effect: network.pfc.mode is `on-off`",
        ),
        (
            "[network.pfc]\nresume-offset = \"1KB\"\nstatic = { xoff = \"9KB\", xon = \"8KB\" }\n",
            "idle.toml:10:17: network.pfc.resume-offset has no effect: network.pfc.static is `{ xoff = 9KB, xon = 8KB }`",
        ),
        (
            "[network]\nflow-control = \"none\"\nheadroom = { fixed = \"1KB\" }\n",
            "idle.toml:11:12: network.headroom has no effect: network.flow-control is `none`",
        ),
        (
            "[network.drop]\npolicy = \"tail\"\npackets = 9\n",
            "idle.toml:11:11: [network.drop] has no effect: network.lossless is `[1, 2, 3, 4, 5, 6, 7]`",
        ),
        (
            "[network]\nflow-control = \"none\"\ndrop = { policy = \"tail\", limit = \"9KB\", alpha = 2.0, headers = \"1KB\" }\n",
            "idle.toml:11:50: network.drop.alpha has no effect: network.drop.policy is `tail`",
        ),
        (
            "[[network.failure]]\nlink = 0\nat = \"2ms\"\n",
            "idle.toml:11:6: the failure at 2ms has no effect: the run ends at 1ms",
        ),
        (
            "[[network.pause-storm]]\nnode = 1\nat = \"1ms\"\n",
            "idle.toml:11:6: the pause storm at 1ms has no effect: the run ends at 1ms",
        ),
        (
            "[[workload]]\nincast = { fan-in = 2, receiver = 3, period = \"10us\" }\n",
            "idle.toml:8:47: workload.0.incast.period has no effect: workload.0.incast.rounds is `1`",
        ),
        (
            "[network.detection]\nkind = \"np-ecn\"\nepsilon = 0.1\n",
            "idle.toml:11:11: network.detection.epsilon has no effect: network.detection.kind is `np-ecn`",
        ),
        (
            "[network.detection]\nkind = \"tcd\"\ntimes = 3\n",
            "idle.toml:11:9: network.detection.times has no effect: network.detection.variant is `thesis`",
        ),
        (
            "[network]\nlossless = [5]\n[network.detection]\nkind = \"tcd\"\n",
            "idle.toml:11:1: network.detection has no effect: it observes pauses, and the flows' classes (3) are lossy: \
             `network.lossless` is [5]",
        ),
        (
            "[network.detection]\nkind = \"red\"\nclass = [{ priority = 5, kind = \"tcd\" }]\n",
            "idle.toml:11:23: the detector of class 5 has no effect: no flow is in it",
        ),
        (
            "[record]\nstates = \"5us\"\n",
            "idle.toml:10:10: record.states has no effect: no port has a detector (network.detection)",
        ),
        (
            "[cc.windows]\ntimely = \"fixed\"\n",
            "cc.windows.timely is not used: no flow runs under timely",
        ),
    ] {
        let resolved = load(written);
        assert!(
            lines(&resolved.warnings).iter().any(|line| line == got),
            "{written}: {:?}, not `{got}`",
            lines(&resolved.warnings)
        );
    }
}

/// An alias is a scheme with fixed settings, which override the scenario's with a warning.
#[test]
fn what_an_alias_overrules_is_told() {
    let load = |scheme: &str, set: &str| {
        let text = format!(
            "name = \"idle\"\n[topology.star]\nhosts = 4\n{WORKLOAD}[cc.dcqcn]\ntcd = \"aggressive\"\ng-factor = 3\n"
        );
        let overrides = Overrides {
            scheme: Some(scheme.to_string()),
            set: vec![set.to_string()],
            ..Overrides::default()
        };
        load_text("idle.toml", &text, &overrides).unwrap()
    };
    let overruled = |resolved: &Resolved| -> Vec<String> {
        let all = lines(&resolved.warnings).into_iter();
        all.filter(|line| line.contains("has no effect: the alias"))
            .collect()
    };
    let alias = load("dcqcn-tcd", "cc.dcqcn.flavour=nic");
    assert_eq!(
        overruled(&alias),
        [
            "--set:1:18: cc.dcqcn.flavour = `nic` has no effect: the alias dcqcn-tcd is dcqcn with flavour = \
             `paper`; use the scheme dcqcn to set it",
            "idle.toml:7:7: cc.dcqcn.tcd = `aggressive` has no effect: the alias dcqcn-tcd is dcqcn with tcd = \
             `hold`; use the scheme dcqcn to set it",
        ]
    );
    // A value equal to the alias's, or one that the alias does not set, is no contradiction; nor is the alias's own
    // resolved scenario.
    let same = load("dcqcn-tcd", "cc.dcqcn.tcd=hold");
    assert_eq!(overruled(&same), Vec::<String>::new());
    assert_eq!(
        overruled(&load("dcqcn", "cc.dcqcn.flavour=paper")),
        Vec::<String>::new()
    );
    let again = load_text("idle.toml", &alias.toml, &Overrides::default()).unwrap();
    assert_eq!(overruled(&again), Vec::<String>::new());
}

#[test]
fn what_is_there_twice_is_told() {
    let twice = "[[workload]]\nlabel = \"a\"\nincast = { senders = [1, 2, 1], receiver = 3 }\n";
    let resolved = load(twice);
    assert_eq!(
        lines(&resolved.warnings),
        ["idle.toml:9:22: sender 1 is named twice: a host sends once for each time"]
    );
    let resolved = load(&format!(
        "{twice}[[workload]]\nlabel = \"a\"\npermutation = {{}}\n"
    ));
    let got = "idle.toml:10:1: another workload has the label `a` (idle.toml:7:1): results show both as one";
    assert!(
        lines(&resolved.warnings).iter().any(|line| line == got),
        "{:?}",
        lines(&resolved.warnings)
    );
}

/// Returns the warnings about settings and schemes without effect.
fn unused(resolved: &Resolved) -> Vec<String> {
    lines(
        resolved
            .warnings
            .iter()
            .filter(|warning| warning.id.is_of_all_runs()),
    )
}

/// A resolved scenario has every default, including those without effect, and causes no warnings.
#[test]
fn defaults_are_not_told() {
    for rest in [
        "",
        "[network]\nflow-control = \"none\"\n",
        "[network]\nlossless = [3]\n",
        "[network]\nrecovery = \"irn\"\n",
        "[network]\nload-balancing = \"flowlet\"\n",
        "[network.pfc]\nstatic = { xoff = \"9KB\", xon = \"8KB\" }\n",
        "[network]\nflow-control = \"credits\"\ncredit.binding = \"ib\"\n",
        "[network.detection]\nkind = \"red\"\n",
        "[network.detection]\nkind = \"tcd\"\n",
        "[[workload]]\nincast = { fan-in = 2, receiver = 3, period = \"0s\" }\n",
        "[network.detection]\nkind = \"tcd\"\nvariant = \"adaptive\"\nclass = [{ priority = 3, kind = \"np-ecn\" }]\n",
    ] {
        let resolved = load(rest);
        assert_eq!(unused(&resolved), Vec::<String>::new(), "{rest}");
        let again = load_text("again.toml", &resolved.toml, &Overrides::default()).unwrap();
        assert_eq!(unused(&again), Vec::<String>::new(), "{rest}");
        let texts =
            |of: &Resolved| -> Vec<String> { of.warnings.iter().map(|one| one.text.clone()).collect() };
        assert_eq!(texts(&again), texts(&resolved), "{rest}");
    }
}

/// Parameters of ConnectX's table under the default flavour, where the byte counter has no effect.
#[test]
fn parameters_without_effect_in_the_chosen_flavour_are_told() {
    let got = |scheme: &str, set: &[&str]| unused(&resolved(scheme, set).unwrap());
    let by_flavour = |scheme: &str, set: &str, says: &str| {
        let got = got(scheme, &[set]);
        assert!(got.len() == 1 && got[0].contains(says), "{scheme} {set}: {got:?}");
    };
    by_flavour(
        "dcqcn",
        "cc.dcqcn.byte-counter=32767B",
        "cc.dcqcn.byte-counter has no effect: cc.dcqcn.flavour is `nic`, and it acts with `paper` only",
    );
    for set in ["cut-interval=50us", "clamp-target=true", "rate-on-first-cnp=0.5"] {
        by_flavour(
            "dcqcn-paper",
            &format!("cc.dcqcn.{set}"),
            "cc.dcqcn.flavour is `paper`",
        );
    }
    for set in ["alpha-floor=0.7", "g-factor=3.0", "cut-factor=0.5"] {
        by_flavour(
            "dcqcn-paper",
            &format!("cc.dcqcn.{set}"),
            "cc.dcqcn.tcd is `off`, and it acts with `aggressive` only",
        );
    }
    // Parameters that have an effect, or equal the default, cause no warnings.
    for (scheme, set) in [
        ("dcqcn-paper", "cc.dcqcn.byte-counter=32767B"),
        ("dcqcn", "cc.dcqcn.clamp-target=true"),
        ("dcqcn", "cc.dcqcn.byte-counter=10MB"),
        ("swift", "cc.swift.fs-range=50us"),
    ] {
        assert_eq!(got(scheme, &[set]), Vec::<String>::new(), "{set}");
    }
    let off = ["cc.swift.flow-scaling=false", "cc.swift.fs-range=50us"];
    assert_eq!(got("swift", &off).len(), 1);
    // The parameter has an effect under one of the run's two names.
    let both = ["cc.dcqcn.byte-counter=32767B", "workload.0.scheme=dcqcn-paper"];
    assert_eq!(got("dcqcn", &both), Vec::<String>::new());
    for (set, says) in [
        ("network.int-multi=2", "network.int-multi has no effect"),
        ("network.ack-chunk=8000B", "network.ack-chunk has no effect"),
    ] {
        by_flavour("hpcc", set, says);
        let quirks = [set, "quirks.int-wire-precision=true", "quirks.ack-threshold=true"];
        assert_eq!(got("hpcc", &quirks), Vec::<String>::new(), "{set}");
    }
}

/// NVIDIA's names of parameters lead to Paceline's, or to a note that they are not modelled.
#[test]
fn names_of_a_vendor_are_known() {
    for (set, says) in [
        (
            "cc.dcqcn.rpg_ai_rate=5",
            "did you mean `rate-ai`? `rpg_ai_rate` is in Mbit/s",
        ),
        (
            "cc.dcqcn.RPG_GD=11",
            "`rpg_gd` is not modelled: a cut takes alpha/2",
        ),
    ] {
        let message = resolved("dcqcn", &[set]).unwrap_err();
        assert!(message.contains(says), "{message}");
    }
    // Other schemes have no such names.
    let message = resolved("hpcc", &["cc.hpcc.rpg_ai_rate=5"]).unwrap_err();
    assert!(!message.contains("Mbit/s"), "{message}");
}

/// Loads the scenario of [`load`] under a scheme.
fn resolved(scheme: &str, set: &[&str]) -> Result<Resolved, String> {
    let text = format!(
        "name = \"idle\"\nduration = \"1ms\"\n[topology.star]\nhosts = 4\n{WORKLOAD}[cc]\nscheme = \"dcqcn\"\n"
    );
    let overrides = Overrides {
        scheme: Some(scheme.to_string()),
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    load_text("idle.toml", &text, &overrides).map_err(|error| error.to_string())
}

/// A parameter without effect, according to its warning, does not change the run at any value.
#[test]
fn parameters_that_are_said_to_do_nothing_do_nothing() {
    let digest = |scheme: &str, set: &[&str]| {
        let run = resolved(scheme, set)?.run;
        let mut simulation = paceline_fabric::Simulation::new(run).map_err(|error| error.to_string())?;
        while !simulation.advance(1_000_000).done {}
        Ok::<u64, String>(simulation.finish().digest)
    };
    let mut checked = BTreeSet::new();
    for scheme in paceline_congestion::registry::SCHEMES {
        let docs = (scheme.params)();
        let setting = |param: &str, value: &str| format!("cc.{}.{param}={value}", scheme.name);
        for (doc, when) in docs.iter().filter_map(|doc| Some((doc, doc.when.first()?))) {
            let [only] = when else { continue };
            let Some(param) = only.key.strip_prefix('.') else {
                continue;
            };
            let mut others = docs.iter().filter(|other| other.name == param);
            let range = &others.next().expect("another parameter").range;
            let choices = range.strip_prefix("one of ").unwrap_or("32KB");
            let idle = choices.split(", ").filter(|choice| !only.values.contains(choice));
            for choice in idle {
                let base = setting(param, choice);
                let Ok(before) = digest(scheme.name, &[&base]) else {
                    continue;
                };
                for value in ["7us", "33us", "1234B", "0.5", "0.75", "3", "17", "true", "mean"] {
                    let changed = setting(&doc.name, value);
                    if let Ok(after) = digest(scheme.name, &[&base, &changed]) {
                        assert_eq!(before, after, "{base}, {changed}");
                        checked.insert(format!("{} {}", scheme.name, doc.name));
                    }
                }
            }
        }
    }
    assert!(checked.len() >= 20, "{checked:?}");
}
