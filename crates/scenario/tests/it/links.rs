//! Errors of links and link-level retry: effects, errors and warnings.

use paceline_fabric::spec::{Fault, FlowControl, Headroom, LinkRetry, NoiseKind, Numbers};
use paceline_kernel::{Bytes, Span};
use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, Resolved, load_text};

const SCENARIO: &str = r#"
duration = "1ms"
topology.leaf-spine = { leaves = 2, spines = 2, hosts-per-leaf = 2, rate = "800Gbps", delay = "175ns" }
[[workload]]
incast = { fan-in = 2, receiver = 3, size = "100KB" }
[network]
mtu = "4130B"
framing = "20B"
[network.llr]
links = ["host"]
[cc]
scheme = "none"
"#;

fn load(text: &str, set: &[&str]) -> Result<Resolved, String> {
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    load_text("links.toml", text, &overrides).map_err(|problem| problem.to_string())
}

fn told(set: &[&str]) -> String {
    lines(&load(SCENARIO, set).unwrap().warnings).join("\n")
}

#[track_caller]
fn refused(rest: &str, says: &str) {
    let message = load(&format!("{SCENARIO}{rest}"), &[])
        .err()
        .unwrap_or("it is taken".into());
    assert!(message.contains(says), "{message}");
}

/// By default the replay buffer holds what the full rate takes: 83.56 ns for a frame with its preamble and gap, twice 175 ns,
/// and 20.56 ns until the acknowledgement.
#[test]
fn retry_fits_the_link_by_default() {
    let resolved = load(SCENARIO, &[]).unwrap();
    let run = &resolved.run;
    assert_eq!(
        run.retries.iter().map(|(link, _)| *link).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    let outstanding = Span::from_ps(41_980 + 2 * 175_000 + 20_560);
    let retry = run.retries[0].1;
    assert_eq!(retry.timer, outstanding * 2);
    assert_eq!(retry.bytes, Bytes::new(41_254 + 4178));
    assert_eq!(
        (retry.frames, retry.count),
        (LinkRetry::NUMBERS / 2, LinkRetry::NO_LIMIT)
    );
    assert!(resolved.warnings.is_empty(), "{:?}", resolved.warnings);
    // Replays obey no pause.
    let FlowControl::Pfc(_) = run.switch.flow_control else {
        panic!("PFC")
    };
    let Headroom::PerLink { factor, extra } = run.switch.headroom else {
        panic!("by link")
    };
    let covers = 100_000.0 * 0.175 * factor + extra.get() as f64;
    assert!(covers >= (retry.bytes.get() + 2 * 4178) as f64, "{covers}");
}

/// Settings that do not fit are warned of, with what would.
#[test]
fn settings_that_do_not_fit() {
    assert!(
        told(&["network.llr.replay-timer=400ns"])
            .contains("a frame is outstanding for up to 412.54ns on link")
    );
    assert!(told(&["network.llr.outstanding-bytes=20KB"]).contains("45.432KB would do"));
    assert!(told(&["network.llr.outstanding-frames=9"]).contains("needs 10 outstanding frames"));
    assert!(told(&["network.headroom.fixed=10KB"]).contains("headroom lacks"));
    let at_500_m = told(&["topology.leaf-spine.delay=2650ns", "network.llr.replay-timer=5us"]);
    assert!(at_500_m.contains("5362.54ns"), "{at_500_m}");
    assert_eq!(told(&["network.llr.outstanding-frames=10"]), "");
}

#[test]
fn errors_of_links() {
    let with = |rest: &str| {
        load(&format!("{SCENARIO}[[network.link-error]]\n{rest}"), &[])
            .unwrap()
            .run
    };
    let all = with("bits = 1e-9");
    assert_eq!(all.noise.len(), 2 * all.links.len());
    assert!(
        all.noise
            .iter()
            .all(|noise| noise.kind == NoiseKind::Hits { bits: 1, hit: 1e-9 })
    );
    let one =
        with("links = ['host 1-leaf 0']\ntowards = 'leaf 0'\nfault = 'bad'\nframes = [3, 9]\nat = '1us'");
    let [noise] = &one.noise[..] else {
        panic!("{:?}", one.noise)
    };
    let frames = Some(Numbers { first: 3, last: 9 });
    assert_eq!(noise.kind, NoiseKind::Script(Fault::Bad, frames));
    let end = if noise.at_b {
        one.links[noise.link].b
    } else {
        one.links[noise.link].a
    };
    assert_eq!(end.0, 4, "the first leaf");
    // Four codewords at 800 Gbit/s; a burst of 1 us is 39 groups of them.
    let bursts =
        with("links = ['leaf-spine']\nbits = 1e-5\nburst-bits = 2e-3\nfec = 'kp4'\nburst-every = '100us'");
    let NoiseKind::Bursts { bits, hit, change } = bursts.noise[0].kind else {
        panic!("bursts")
    };
    assert_eq!(bits, 4 * 640 * 8);
    assert!(hit[0] < 1e-20 && hit[1] > 0.1, "{hit:?}");
    assert!(
        (change[0] - 2.56e-4).abs() < 1e-9 && (change[1] - 0.0256).abs() < 1e-9,
        "{change:?}"
    );
}

#[test]
fn mistakes_have_places() {
    let error = |rest: &str| format!("[[network.link-error]]\n{rest}");
    refused(
        &error("links = ['spines']\nbits = 1e-9"),
        "neither a tier of links nor a link `spines`",
    );
    refused(&error("bits = 2.0"), "the probability of a wrong bit is 2");
    refused(&error("at = '1us'"), "either `bits`");
    refused(&error("bits = 1e-9\nfault = 'bad'"), "either `bits`");
    refused(
        &error("fault = 'bad'\nframes = [9, 3]"),
        "the first comes after the last",
    );
    refused(
        &error("bits = 1e-9\nat = '2us'\nuntil = '1us'"),
        "no later than they begin",
    );
    refused(
        &error("links = ['leaf-spine']\ntowards = 0\nbits = 1e-9"),
        "no link that is named leads towards",
    );
    let llr = |set: &str| load(SCENARIO, &[set]).err().unwrap_or("it is taken".into());
    assert!(llr("network.llr.links=['hosts']").contains("nor a link `hosts`"));
    assert!(llr("network.llr.outstanding-bytes=2KB").contains("does not hold a packet of 4.178KB"));
    assert!(llr("network.llr.replay-count=0").contains("expected 1 to 255"));
    assert!(llr("network.llr.outstanding-frames=600000").contains("expected 1 to 524288"));
    let through = SCENARIO.replace("framing = \"20B\"", "flow-control = \"credits\"");
    let message = load(&through, &[]).err().unwrap_or("it is taken".into());
    assert!(message.contains("once it knows that it is good"), "{message}");
}
