//! Credits in `[network.credit]`: effects, errors and warnings.

use paceline_fabric::spec::{Binding, Detection, EcmpHash, FlowControl, Forwarding, Phase, Release};
use paceline_kernel::{Bytes, Span};
use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, Resolved, load_text};

const SCENARIO: &str = r#"
duration = "1ms"
topology.star = { hosts = 4, rate = "100Gbps", delay = "1us" }
[[workload]]
incast = { fan-in = 3, receiver = 4, size = "100KB" }
[network]
flow-control = "credits"
[network.credit]
binding = "ib"
lanes = 2
[cc]
scheme = "none"
"#;

fn load(text: &str) -> Result<Resolved, String> {
    load_text("test.toml", text, &Overrides::default()).map_err(|problem| problem.to_string())
}

fn with(from: &str, to: &str) -> Result<Resolved, String> {
    assert!(SCENARIO.contains(from), "{from}");
    let text = match to.contains("binding") {
        true => SCENARIO.replace("binding = \"ib\"\n", ""),
        false => SCENARIO.to_string(),
    };
    load(&text.replace(from, to))
}

#[track_caller]
fn refused(to: &str, says: &str) {
    let message = with("lanes = 2", to).err().unwrap_or("it is taken".into());
    assert!(message.contains(says), "{message}");
}

#[test]
fn infinibands_defaults() {
    let resolved = load(SCENARIO).unwrap();
    let run = &resolved.run;
    let lanes = run.lanes.as_ref().unwrap();
    assert_eq!(run.switch.flow_control, FlowControl::Credits);
    assert_eq!(
        lanes.binding,
        Binding::Ib {
            period: Span::from_ps(4_096_000),
            phase: Phase::Aligned
        }
    );
    assert_eq!((lanes.lanes(), lanes.lane_of), (2, [0, 0, 1, 0, 1, 0, 1, 0]));
    let header = Bytes::new(20);
    assert_eq!(lanes.forwarding, Forwarding::CutThrough { header });
    assert_eq!(lanes.release, Release::Start);
    assert_eq!((run.packet.mtu.get(), run.packet.data_header.get()), (2048, 26));
    assert_eq!((run.nic.ack_class, run.ecmp_hash), (None, EcmpHash::PerSwitch));
    assert_eq!(lanes.first_header.get(), 16);
    // 4.096 us, two packets, an update and two cables at 100 Gbit/s, and another packet, all of them first packets of
    // messages: 6.431 us and 2090 bytes.
    let round = 4_096_000 + 2 * 167_200 + 640 + 2_000_000;
    let bytes: u64 = round / 80 + 2090;
    assert_eq!(lanes.buffers, [bytes.div_ceil(64) as u32; 2]);
    assert_eq!(lines(&resolved.warnings), Vec::<String>::new());
}

#[test]
fn ethernets_defaults() {
    let resolved = with("lanes = 2", "binding = \"cbfc\"").unwrap();
    let lanes = resolved.run.lanes.as_ref().unwrap();
    assert_eq!(lanes.forwarding, Forwarding::StoreAndForward);
    assert_eq!(lanes.release, Release::End);
    assert_eq!(
        (resolved.run.packet.mtu.get(), lanes.first_header),
        (1000, Bytes::ZERO)
    );
    assert_eq!(resolved.run.ecmp_hash, EcmpHash::PerSwitch);
    // Two packets, two cables and an update at its least distance; packets of 1048 bytes take 17 cells each, 16 if they
    // count for 30 bytes less.
    let round: u64 = 2 * 1048 + 2 * 12_500 + 808;
    assert_eq!(lanes.buffers, [((round + 1048).div_ceil(1048) * 17) as u32]);
    let less = with(
        "lanes = 2",
        "binding = \"cbfc\"\nunit = \"512B\"\npacket-overhead = -16",
    )
    .unwrap();
    assert_eq!(less.run.lanes.as_ref().unwrap().units(1040), 2);
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    refused(
        "buffer = \"2000B\"",
        "a packet of 2.09KB takes 33: nothing could be sent",
    );
    refused(
        "first-header = \"70KB\"",
        "the extra header of a message's first packet is 70KB: expected at most 65000B",
    );
    refused(
        "first-header = \"64KB\"",
        "may have 66.074KB: expected at most 65535B",
    );
    refused("first_headr = \"16B\"", "did you mean `first-header`?");
    refused("lanes = 8", "expected 1 to 7");
    refused(
        "sl-to-vl = [0, 0, 0]",
        "expected one for each priority from 1 to 7",
    );
    refused(
        "sl-to-vl = [0, 0, 0, 0, 0, 0, 1]",
        "sl-to-vl names lane 1: expected 0 to 0",
    );
    refused("low = [[1, 2]]", "`low` names lane 1: expected 0 to 0");
    refused("unit = \"0B\"", "a credit is 0B");
    refused("period = \"0s\"", "the period of flow-control packets is zero");
    let cbfc = |key: &str, says: &str| refused(&format!("binding = \"cbfc\"\n{key}"), says);
    cbfc("cf-min = \"7B\"", "cf-min is 7B: expected 8B at least");
    cbfc("cf-max = \"500B\"", "cf-max is 500B: expected at least 800B");
    cbfc("cc-timer = \"0s\"", "the interval of CC_Updates is zero");
    cbfc("packet-overhead = -17", "expected -16 to 127");
    cbfc("buffer = \"1000B\"", "takes 17: nothing could be sent");
    refused("bufer = \"1MB\"", "did you mean `buffer`?");
    let message = with("\"credits\"", "\"credits\"\nack-class = 0").unwrap_err();
    assert!(message.contains("in class 0"), "{message}");
    let message = with("scheme = \"none\"", "scheme = \"bolt\"").unwrap_err();
    assert!(message.contains("packets that arrive"), "{message}");
    let message = load(&format!("fidelity = \"ns3-hpcc\"\n{SCENARIO}")).unwrap_err();
    assert!(message.contains("credits in ns3-hpcc fidelity"), "{message}");
}

/// A table that leaves out a lane with traffic is refused.
#[test]
fn a_lane_that_starves_is_refused() {
    // Priority 3 uses lane 0 of two.
    let message = with(
        "lanes = 2",
        "lanes = 2\nsl-to-vl = [0, 0, 1, 0, 0, 0, 0]\nlow = [[0, 64]]",
    )
    .unwrap_err();
    assert!(
        message.contains("priority 3 goes: it would never be served"),
        "{message}"
    );
}

/// A lane that only the low-priority table names waits for the others if the high-priority one has no limit.
#[test]
fn a_lane_that_may_starve_is_told() {
    let tables = |high: &str, limit: u8| {
        let text = SCENARIO
            .replace(
                "[network]\n",
                "[[workload]]\npriority = 4\nincast = { fan-in = 2, receiver = 4, size = \"1KB\" }\n[network]\n",
            )
            .replace("lanes = 2", &format!("lanes = 2\nhigh = {high}\nlow = [[1, 64]]\nlimit = {limit}"));
        lines(&load(&text).unwrap().warnings)
    };
    // Priority 3 uses lane 0, and priority 4 lane 1.
    let got = tables("[[0, 64]]", 255);
    assert!(
        got.len() == 1
            && got[0].contains("lanes [1] are sent from only while lanes [0] have nothing to send"),
        "{got:?}"
    );
    assert_eq!(tables("[[0, 64]]", 254), Vec::<String>::new());
    assert_eq!(tables("[[0, 64], [1, 1]]", 255), Vec::<String>::new());
}

#[test]
fn a_rate_out_of_reach_is_told() {
    // In 6.42848 us, 100 Gbit/s carry 80 356 bytes: 40 000 are half of that.
    let resolved = with("lanes = 2", "buffer = \"40000B\"").unwrap();
    assert!(
        lines(&resolved.warnings)[0].contains("carries about 49.7Gbps"),
        "{:?}",
        lines(&resolved.warnings)
    );
    // 400 Gbit/s need more credits than 12 bits can express.
    let resolved = load(&SCENARIO.replace("100Gbps", "400Gbps")).unwrap();
    assert!(
        lines(&resolved.warnings)[0].contains("a link of 400Gbps carries about"),
        "{:?}",
        lines(&resolved.warnings)
    );
}

/// Automatic buffers below the marking threshold cause a warning: the queue of one input is never marked.
#[test]
fn buffers_below_the_marking_threshold_are_told() {
    // At 10 Gbit/s 6.429 us and four packets' times are 13.24 KB; DCQCN by default marks above 100 KB at the given
    // rate.
    let slow = SCENARIO
        .replace("100Gbps", "10Gbps")
        .replace("\"none\"", "\"dcqcn\"");
    let network = "[network]\necn = { kmin = \"64KB\", kmax = \"128KB\", reference-rate = \"10Gbps\" }\n";
    let slow = slow.replace("[network]\n", network);
    let resolved = load(&slow).unwrap();
    let lanes = resolved.run.lanes.as_ref().unwrap();
    let buffer = u64::from(lanes.buffers[0]) * 64;
    assert!(buffer < 64_000, "{buffer}");
    let got = format!(
        "a lane's buffer is {} (network.credit.buffer is `auto`), and ports of 10Gbps mark above 64KB (network.ecn.kmin): \
         packets are marked there only while those of {} inputs or more wait for one output",
        Bytes::new(buffer),
        64_000 / buffer + 1
    );
    assert_eq!(lines(&resolved.warnings), [got]);
    // No scheme reads marks; the threshold is below the buffer; the buffer is set explicitly.
    let quiet = [
        slow.replace("\"dcqcn\"", "\"none\""),
        slow.replace("64KB", "1KB"),
        slow.replace("lanes = 2", "buffer = \"14KB\""),
    ];
    for text in quiet {
        assert_eq!(lines(&load(&text).unwrap().warnings), Vec::<String>::new());
    }
}

/// Credits are recorded by default up to 64 ports, as under ib-omnet.
#[test]
fn credits_are_recorded() {
    assert_eq!(
        load(SCENARIO).unwrap().run.record.credit_every,
        Some(Span::from_us(1))
    );
    let many = SCENARIO.replace("hosts = 4", "hosts = 33");
    assert_eq!(load(&many).unwrap().run.record.credit_every, None);
    let pfc = SCENARIO.replace("\"credits\"", "\"pfc\"") + "[record]\ncredits = \"1us\"\n";
    let resolved = load(&pfc).unwrap();
    assert_eq!(resolved.run.record.credit_every, None);
    assert!(
        lines(&resolved.warnings)
            .iter()
            .any(|got| got.contains("record.credits has no effect: network.flow-control is `pfc`")),
        "{:?}",
        lines(&resolved.warnings)
    );
}

#[test]
fn keys_without_effect_are_told() {
    let resolved = with("flow-control = \"credits\"", "flow-control = \"pfc\"").unwrap();
    assert!(
        lines(&resolved.warnings)[0].contains("[network.credit] has no effect"),
        "{:?}",
        lines(&resolved.warnings)
    );
    let resolved = with("lanes = 2", "cc-timer = \"1us\"").unwrap();
    assert!(
        lines(&resolved.warnings)[0].contains("network.credit.cc-timer has no effect"),
        "{:?}",
        lines(&resolved.warnings)
    );
}

#[test]
fn opensm_names_are_answered_with_ours() {
    let text = SCENARIO.replace("\"none\"", "\"ibcc\"");
    for (name, own) in [
        ("cc_ca_cong_setting_ccti_timer", "ccti-timer"),
        ("cc_sw_cong_setting_marking_rate", "marking-rate"),
        ("cc_ca_cong_setting_port_control", "per-sl"),
    ] {
        let message = load(&format!("{text}[cc.ibcc]\n{name} = 1\n")).unwrap_err();
        assert!(message.contains(&format!("did you mean `{own}`?")), "{message}");
    }
}

#[test]
fn ternary_detection_ends_by_periods_or_by_formula() {
    let exit = |binding: &str, detection: &str| {
        let text = with(
            "lanes = 2",
            &format!("binding = \"{binding}\"\n[network.detection]\nkind = \"tcd\"\n{detection}"),
        );
        match text.map(|resolved| resolved.run.switch.detection) {
            Ok(Detection::Tcd(tcd)) => Ok(tcd.max_ton.unwrap()),
            Ok(_) => Err("no tcd".to_string()),
            Err(problem) => Err(problem),
        }
    };
    assert_eq!(exit("ib", "").unwrap(), Span::from_ps(5 * 4_096_000));
    assert_eq!(exit("ib", "periods = 1.16").unwrap(), Span::from_ps(4_751_360));
    // 4.096 us / 1.1, and two packets of 2090 bytes at 100 Gbit/s: 2048, LRH 8, BTH 12, RETH 16, ICRC 4, VCRC 2.
    assert_eq!(
        exit("ib", "exit = \"formula\"").unwrap(),
        Span::from_ps(3_723_636 + 2 * 2090 * 80)
    );
    // (83.84 ns + half of 2.16768 us) / 0.05, and 2.16768 us.
    assert_eq!(
        exit("cbfc", "").unwrap(),
        Span::from_ps((83_840 + 1_083_840) * 20 + 2_167_680)
    );
    // Headers of the scheme count too: HPCC's telemetry has 42 bytes.
    let text = SCENARIO.replace("\"none\"", "\"hpcc\"");
    let tcd = "[network.detection]\nkind = \"tcd\"\nexit = \"formula\"\n";
    match load(&format!("{text}{tcd}")).unwrap().run.switch.detection {
        Detection::Tcd(tcd) => assert_eq!(tcd.max_ton, Some(Span::from_ps(3_723_636 + 2 * 2132 * 80))),
        other => panic!("{other:?}"),
    }
    assert!(
        exit("cbfc", "exit = \"periods\"")
            .unwrap_err()
            .contains("have no periods")
    );
}

/// Credits leave the routing unchanged; their other changes cause a warning if nothing says InfiniBand.
#[test]
fn what_credits_change_elsewhere_is_told() {
    let pfc = |set: &[&str]| {
        let text = SCENARIO.replace(
            "flow-control = \"credits\"\n[network.credit]\nbinding = \"ib\"\nlanes = 2",
            "",
        );
        let set = set.iter().map(ToString::to_string).collect();
        let overrides = Overrides {
            set,
            ..Overrides::default()
        };
        load_text("test.toml", &text, &overrides).unwrap()
    };
    let (before, after) = (pfc(&[]), pfc(&["network.flow-control=credits"]));
    assert_eq!(before.run.ecmp_hash, after.run.ecmp_hash);
    let got = lines(&after.warnings);
    assert_eq!(got.len(), 1, "{got:?}");
    for part in [
        "mtu is 2048B",
        "data-header is 26B",
        "ack-header is 30B",
        "ack-min is 0B",
        "ack-class is `flow`",
    ] {
        assert!(got[0].contains(part), "{part}: {got:?}");
    }
    // Each of these changes applies, and settings in the scenario cause no warning.
    let packet = after.run.packet;
    let sizes = [packet.mtu, packet.data_header, packet.ack_header, packet.ack_min];
    assert_eq!(sizes.map(Bytes::get), [2048, 26, 30, 0]);
    assert_eq!(after.run.nic.ack_class, None);
    let packet = before.run.packet;
    let sizes = [packet.mtu, packet.data_header, packet.ack_header, packet.ack_min];
    assert_eq!(sizes.map(Bytes::get), [1000, 48, 46, 60]);
    let got = lines(&pfc(&["network.flow-control=credits", "network.mtu=1000B"]).warnings);
    assert!(got.len() == 1 && !got[0].contains("mtu"), "{got:?}");
    let again = load(&after.toml).unwrap();
    assert_eq!(lines(&again.warnings), Vec::<String>::new());
}

/// A packet that needs more credits than counters can express could never be sent, regardless of the buffer.
#[test]
fn credits_that_can_never_pass_a_packet_are_refused() {
    for (lanes, says) in [
        (
            "unit = \"1B\"",
            "a packet of 2.09KB takes 2090 credits of 1B, and credit counters hold at most 2048",
        ),
        (
            "unit = \"1B\"\nbuffer = \"1MB\"",
            "credit counters hold at most 2048: nothing could be sent",
        ),
    ] {
        refused(lanes, says);
    }
    let large = |mtu: &str, unit: &str| {
        let text = SCENARIO
            .replace("[network]\n", &format!("[network]\nmtu = \"{mtu}\"\n"))
            .replace("lanes = 2", &format!("unit = \"{unit}\""));
        load(&text).err()
    };
    for (mtu, unit, least) in [
        ("4096B", "2B", "3B"),
        ("9000B", "2B", "5B"),
        ("9000B", "4B", "5B"),
    ] {
        let message = large(mtu, unit).expect("refused");
        assert!(message.contains("nothing could be sent"), "{message}");
        assert!(
            message.contains(&format!("must be {least} at least")),
            "{message}"
        );
        assert_eq!(large(mtu, least), None);
    }
    // With updates on events the counters have sixteen bits.
    assert!(load(&SCENARIO.replace("binding = \"ib\"", "binding = \"cbfc\"\nunit = \"1B\"")).is_ok());
}
