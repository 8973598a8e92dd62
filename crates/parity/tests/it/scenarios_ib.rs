//! Networks under credits: keys of scenarios, and errors.

use paceline_kernel::{Span, Time};
use paceline_parity::ib_omnet::{Control, CreditSpec, Source};
use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, load_shipped, load_text};

const SCENARIO: &str = r#"
fidelity = "ib-omnet"
duration = "1ms"
topology.star = { hosts = 4, rate = "32Gbps", delay = "0s" }
[[workload]]
label = "one"
messages = { senders = "1..3", receivers = 4, messages = 5, size = "4096B", gap = "2us", start = "10us" }
[parity.ib-omnet]
control = "rrcc"
[cc]
scheme = "none"
"#;

fn problem(text: &str) -> String {
    let loaded = load_text("test.toml", text, &Overrides::default());
    loaded
        .err()
        .map_or("it is taken".into(), |problem| problem.to_string())
}

#[track_caller]
fn refused(from: &str, to: &str, says: &str) {
    assert!(SCENARIO.contains(from), "{from}");
    let message = problem(&SCENARIO.replace(from, to));
    assert!(message.contains(says), "{message}");
}

#[test]
fn each_sender_is_a_source() {
    let resolved = load_text("test.toml", SCENARIO, &Overrides::default()).unwrap();
    let credits = CreditSpec::of(&resolved.run).unwrap();
    let source = |first| Source {
        first,
        count: 5,
        start: Time::from_ns(10_000),
        gap: Span::from_us(2),
        until: None,
    };
    assert_eq!(credits.sources, [source(0), source(5), source(10)]);
    assert_eq!((credits.buffer, credits.marking_rate), (32, 1));
    assert!(matches!(credits.control, Control::Rrcc(params) if params.threshold == 0.9));
}

#[test]
fn a_table_gives_the_sources_of_the_fat_trees() {
    for (name, sources, flows, controlled) in [
        ("infiniband-fat-tree-128", 120, 19_320, 32),
        ("infiniband-fat-tree-1024", 576, 77_760, 253),
    ] {
        let resolved = load_shipped(name, &Overrides::default()).unwrap();
        let credits = CreditSpec::of(&resolved.run).unwrap();
        let found = (
            credits.sources.len(),
            resolved.run.flows.len(),
            credits.controlled.len(),
        );
        assert_eq!(found, (sources, flows, controlled), "{name}");
    }
}

#[test]
fn what_it_does_not_have_is_refused_at_its_place() {
    refused(
        "[parity.ib-omnet]",
        "[network]\nflow-control = \"pfc\"\n[parity.ib-omnet]",
        "has nothing else",
    );
    refused("\"ib-omnet\"", "\"exact\"", "under credits only");
    refused(
        "scheme = \"none\"",
        "scheme = \"dcqcn\"",
        "`dcqcn` in ib-omnet fidelity",
    );
    refused(
        "control = \"rrcc\"",
        "lanes = 16",
        "virtual lanes is 16: expected 1 to 15",
    );
    refused(
        "control = \"rrcc\"",
        "weights = [1]",
        "1 weights for 2 virtual lanes",
    );
    refused("control = \"rrcc\"", "buffer = 0", "the buffer of a lane is 0");
    refused(
        "control = \"rrcc\"",
        "period = \"0s\"",
        "the period of flow control is zero",
    );
    refused("control = \"rrcc\"", "control = \"hpcc\"", "hpcc");
    refused("receivers = 4", "receivers = [3, 4]", "2 receivers for 3 senders");
    refused(
        "[parity.ib-omnet]",
        "[[workload]]\nmessages = { senders = 2, receivers = 1 }\n[parity.ib-omnet]",
        "host 2 sends messages of two workloads",
    );
    refused(
        "[parity.ib-omnet]",
        "[[workload]]\nincast = { fan-in = 2, receiver = 3 }\n[parity.ib-omnet]",
        "hosts send `messages`",
    );
}

#[test]
fn a_table_is_refused_where_it_is_wrong() {
    let folder = std::env::temp_dir().join(format!("paceline-credits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("messages.csv");
    let with_file = SCENARIO.replace(
        "messages = { senders = \"1..3\", receivers = 4, messages = 5, size = \"4096B\", gap = \"2us\", start = \"10us\" }",
        &format!("messages.file = {:?}", file.display().to_string()),
    );
    let header = "src_lid,dst_lid,msg_bytes,n_msgs,gap_ns,start_ms";
    for (table, says) in [
        ("a,b\n1,2\n".to_string(), "the columns are `a,b`"),
        (
            format!("{header}\n1,9,4096,5,1,0\n"),
            "`9` as dst_lid: expected a whole number from 1 to 4",
        ),
        (format!("{header}\n1,2,0,5,1,0\n"), "`0` as msg_bytes"),
        (format!("{header}\n1,2,4096,5,1,-1\n"), "`-1` as start_ms"),
        (format!("{header}\n1,2,4096\n"), "messages"),
        (
            format!("{header}\n2,1,4096,5,1,0\n1,2,4096,5,1,0\n2,3,4096,5,1,0\n"),
            "messages.csv:4:1: another line for host 2 of the file",
        ),
        (format!("{header}\n1,2,4096,5,1,0.5\n"), "it is taken"),
    ] {
        std::fs::write(&file, &table).unwrap();
        let message = problem(&with_file);
        assert!(message.contains(says), "{table}: {message}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Checks a scenario's warnings after replacing `from` by `to`.
#[track_caller]
fn warned(from: &str, to: &str, says: &[&str]) {
    assert!(SCENARIO.contains(from), "{from}");
    let text = SCENARIO.replace(from, to);
    let resolved = load_text("test.toml", &text, &Overrides::default()).unwrap();
    let all = lines(&resolved.warnings).join("\n");
    for part in says {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert_eq!(
        lines(&resolved.warnings).len(),
        usize::from(!says.is_empty()),
        "{all}"
    );
}

#[test]
fn a_rate_that_cannot_be_reached_is_told() {
    let with = |what: &str| format!("control = \"rrcc\"\n{what}");
    let warns = |what: &str, says: &[&str]| warned("control = \"rrcc\"", &with(what), says);
    warns(
        "period = \"13us\"\nbuffer = 4",
        &[
            "a buffer of 4 packets of 2KiB with an update every 13us limits a lane to 5.041 Gbit/s",
            "26 packets are enough (parity.ib-omnet.buffer), or a period of 2.048us",
        ],
    );
    // A buffer of rate times period is enough.
    warns("buffer = 8", &[]);
    warns("buffer = 7", &["28.000 Gbit/s", "8 packets are enough"]);
    warns(
        "host-packet = \"1us\"",
        &[
            "a host creates a packet of 2KiB in 1us, which limits it to 16.384 Gbit/s",
            "512ns is enough",
        ],
    );
    warns("update = \"1KB\"", &["take up to 12 % of links of 32Gbps"]);
    let message = problem(&SCENARIO.replace("control = \"rrcc\"", "update = \"10KB\""));
    assert!(message.contains("nothing else could be sent"), "{message}");
}

/// Keys with OpenSM's names have the same meaning; times have units.
#[test]
fn names_of_opensm() {
    let with = "control = \"ibcc\"\ncc_sw_cong_setting_marking_rate = \"7\"\nibcc = { ccti_timer = \"20us\", ccti_limit = 90 }";
    let text = SCENARIO.replace("control = \"rrcc\"", with);
    let resolved = load_text("test.toml", &text, &Overrides::default()).unwrap();
    let credits = CreditSpec::of(&resolved.run).unwrap();
    assert_eq!(credits.marking_rate, 7);
    assert!(
        matches!(credits.control, Control::Ibcc(params) if params.timer == Span::from_us(20) && params.limit == 90)
    );
    // Setting a key under both names is an error.
    let message = problem(&text.replace("ccti_limit = 90", "ccti_limit = 90, limit = 80"));
    assert!(message.contains("limit"), "{message}");
}
