//! Worked examples of vendors' values with their documents, and vendors' whole files.

use paceline_scenario::{Overrides, Resolved, WarningKind, load_text_with};

const FILES: [(&str, &str); 4] = [
    ("config_db.json", include_str!("../vendor-files/config_db.json")),
    ("mlxconfig.txt", include_str!("../vendor-files/mlxconfig.txt")),
    ("opensm.conf", include_str!("../vendor-files/opensm.conf")),
    ("cc_mgr.conf", include_str!("../vendor-files/cc_mgr.conf")),
];

fn load(scheme: &str, rest: &str, more: &[(&str, &str)]) -> Result<Resolved, String> {
    let text = format!(
        "name = \"v\"\nduration = \"1ms\"\n[topology.star]\nhosts = 4\nrate = \"100Gbps\"\n\
         [[workload]]\nincast = {{ fan-in = 2, receiver = 3 }}\n[cc]\nscheme = \"{scheme}\"\n{rest}"
    );
    let files: Vec<(&str, &str)> = more.iter().chain(&FILES).copied().collect();
    load_text_with("v.toml", &text, &files, &Overrides::default()).map_err(|error| error.to_string())
}

fn told(run: &Resolved) -> Vec<(WarningKind, String)> {
    let all = run.warnings.iter();
    all.map(|warning| (warning.id, warning.to_string())).collect()
}

/// Vendor's settings, the equivalent under Paceline's names, and the document.
struct Example {
    scheme: &'static str,
    there: &'static str,
    here: &'static str,
    from: &'static str,
}

const NICS: &str = "NVIDIA, DCQCN CC Parameters";
const HEADROOM: &str = "SONiC, doc/qos/dynamically-headroom-calculation.md: buffer model";
const SAI: &str = "SAI, saibuffer.h";
const SM: &str = "OpenSM, the options file that it writes";
const CCMGR: &str = "Mellanox OFED user manual, Congestion Control Manager";

const EXAMPLES: [Example; 34] = [
    nic("DCE_TCP_G_P1 = 1019", "g = 0.0048828125"),
    nic("dce_tcp_rtt = 1", "alpha-interval = \"1us\""),
    nic("INITIAL_ALPHA_VALUE_P1 = 1023", "initial-alpha = 0.9990234375"),
    nic("rate_to_set_on_first_cnp = 0", "rate-on-first-cnp = 1.0"),
    nic("RPG_MIN_RATE_P1 = 1", "min-rate = \"1Mbps\""),
    nic("rate_reduce_monitor_period = 4", "cut-interval = \"4us\""),
    nic("CLAMP_TGT_RATE_P1 = \"True(1)\"", "clamp-target = true"),
    nic("CLAMP_TGT_RATE_P2 = \"False(0)\"", "clamp-target = false"),
    nic("rpg_threshold = 1", "fast-recovery-stages = 1"),
    nic("rpg_time_reset = 300", "increase-timer = \"300us\""),
    nic("RPG_BYTE_RESET_P1 = 32767", "byte-counter = \"32767B\""),
    nic("rpg_byte_reset = 0", ""),
    nic("rp_ai_rate = 5", "rate-ai = \"5Mbps\""),
    nic(
        "RPG_HAI_RATE_P1 = \"DEVICE_DEFAULT(50)\"",
        "rate-hai = \"50Mbps\"",
    ),
    nic("np_min_time_between_cnps = 4", "cnp-interval = \"4us\""),
    nic("RPG_AI_RATE_P1 = 5\nRPG_AI_RATE_P2 = 5", "rate-ai = \"5Mbps\""),
    // The pool does not include headroom.
    switch(
        "BUFFER_POOL.ingress_lossless_pool.size = \"1000000\"",
        "buffer.shared = \"1MB\"",
        HEADROOM,
    ),
    // Broadcom: size is the reserve.
    switch(
        "BUFFER_PROFILE.a = { size = \"1248\", xoff = \"165568\", xon = \"2288\", xon_offset = \"2288\" }",
        "port-reserve = \"1248B\"\nheadroom.fixed = \"165568B\"\npfc.resume-offset = \"2288B\"",
        SAI,
    ),
    // Mellanox: size is xon + xoff.
    switch(
        "BUFFER_PROFILE.a = { size = \"184320\", xoff = \"165888\", xon = \"18432\", xon_offset = \"2496\" }",
        "port-reserve = \"18432B\"\nheadroom.fixed = \"165888B\"\npfc.resume-offset = \"2496B\"",
        HEADROOM,
    ),
    // Without xon_offset pauses end at xon: when only the reserve is in use.
    switch(
        "BUFFER_PROFILE.a = { size = \"184320\", xoff = \"165888\", xon = \"18432\" }",
        "port-reserve = \"18432B\"\nheadroom.fixed = \"165888B\"\npfc.resume-offset = \"1GB\"",
        HEADROOM,
    ),
    // With a shared headroom pool, size is xon alone, however short the cable.
    switch(
        "BUFFER_PROFILE.a = { size = \"19456\", xoff = \"11264\", xon_offset = \"0\" }\nBUFFER_POOL.p = { xoff = \"1000000\" }",
        "port-reserve = \"19456B\"\nheadroom.fixed = \"11264B\"\npfc.resume-offset = \"0B\"",
        HEADROOM,
    ),
    switch(
        "BUFFER_PROFILE.a.dynamic_th = \"-3\"",
        "pfc.dynamic = { shift = 3, reference-rate = \"every\" }",
        SAI,
    ),
    switch(
        "BUFFER_PROFILE.a.dynamic_th = \"1\"",
        "pfc.dynamic = { shift = -1, reference-rate = \"every\" }",
        SAI,
    ),
    switch(
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER.AZURE.default_dynamic_th = \"0\"",
        "pfc.dynamic = { shift = 0, reference-rate = \"every\" }",
        HEADROOM,
    ),
    switch(
        "BUFFER_PROFILE.a = { static_th = \"100000\", size = \"2000\", xoff = \"50000\", xon_offset = \"3000\" }",
        "port-reserve = \"2000B\"\nheadroom.fixed = \"50000B\"\npfc.static = { xoff = \"102000B\", xon = \"99000B\" }",
        SAI,
    ),
    switch(
        "WRED_PROFILE.a = { green_min_threshold = \" 166912\", green_max_threshold = \"282624\", green_drop_probability = \"5\" }",
        "ecn = { kmin = \"166912B\", kmax = \"282624B\", pmax = 0.05, reference-rate = \"every\" }",
        "SONiC configuration: WRED_PROFILE",
    ),
    switch(
        "PORT_QOS_MAP.Ethernet0.pfc_enable = \"3,4\"",
        "lossless = [3, 4]",
        "SONiC configuration: PORT_QOS_MAP",
    ),
    switch(
        "PFC_WD.Ethernet0 = { action = \"forward\", detection_time = \"200\", restoration_time = \"400\" }",
        "pfc.watchdog = { action = \"forward\", detection = \"200ms\", restoration = \"400ms\" }",
        "SONiC configuration: PFC_WD",
    ),
    sm(
        "[vendor.opensm]\ncc_sw_cong_setting_packet_size = 8",
        "packet-size = \"512B\"",
        SM,
    ),
    sm(
        "[vendor.opensm]\ncc_ca_cong_setting_ccti_timer = [\"0 150\", \"1 150\"]",
        "ccti-timer = 150",
        SM,
    ),
    sm(
        "[vendor.opensm]\ncc_sw_cong_setting_victim_mask = \"0x1ffffffffe\"",
        "victim-mask = true",
        SM,
    ),
    sm(
        "[vendor.opensm]\ncc_cct = \"0:0,0:1,0:4,0:9,0:16\"",
        "ccti-limit = 4\ndelay = 16.0",
        SM,
    ),
    sm(
        "[vendor.ccmgr]\npacket_size = \"0x200\"",
        "packet-size = \"512B\"",
        CCMGR,
    ),
    sm(
        "[vendor.opensm]\npacket_size = \"0x200\"\nthreshold = \"0xf\"\nccti_timer = 0",
        "packet-size = \"512B\"\nthreshold = 15",
        CCMGR,
    ),
];

const fn nic(there: &'static str, here: &'static str) -> Example {
    Example {
        scheme: "dcqcn",
        there,
        here,
        from: NICS,
    }
}

const fn switch(there: &'static str, here: &'static str, from: &'static str) -> Example {
    Example {
        scheme: "none",
        there,
        here,
        from,
    }
}

const fn sm(there: &'static str, here: &'static str, from: &'static str) -> Example {
    Example {
        scheme: "ibcc",
        there,
        here,
        from,
    }
}

#[test]
fn what_a_vendors_value_is_here() {
    for one in EXAMPLES {
        let (there, here) = match one.scheme {
            "dcqcn" => (format!("[vendor.connectx]\n{}", one.there), "[cc.dcqcn]\n"),
            "none" => (format!("[vendor.sonic]\n{}", one.there), "[network]\n"),
            _ => (one.there.to_string(), "[cc.ibcc]\n"),
        };
        let run = load(one.scheme, &there, &[]).unwrap_or_else(|error| panic!("{there}: {error}"));
        let same = load(one.scheme, &format!("{here}{}", one.here), &[]).unwrap();
        assert_eq!(run.toml, same.toml, "{there}, by {}", one.from);
        assert!(run.run == same.run, "{there}, by {}", one.from);
        // A plain conversion causes no warning.
        let doubts: Vec<_> = told(&run)
            .into_iter()
            .filter(|(kind, text)| *kind != WarningKind::VendorValues && text.contains("vendor"))
            .filter(|(_, text)| !text.contains("BUFFER_POOL.xoff"))
            .collect();
        assert!(doubts.is_empty(), "{there}: {doubts:?}");
    }
}

/// The resolved scenario is read as the same run.
#[test]
fn a_pool_is_written_as_it_is() {
    let there = "[vendor.sonic]\nBUFFER_POOL.size = \"1000000\"\nBUFFER_PROFILE.dynamic_th = \"1\"\n";
    let run = load("none", there, &[]).unwrap();
    let again = load_text_with("again.toml", &run.toml, &[], &Overrides::default()).unwrap();
    assert!(run.run == again.run && run.toml == again.toml, "{}", again.toml);
}

#[test]
fn a_whole_config_db() {
    let run = load("dcqcn", "[vendor]\nsonic = \"config_db.json\"\n", &[]).unwrap();
    let own = "[network]\nbuffer.shared = \"11213696B\"\nport-reserve = \"1248B\"\nlossless = [3, 4]\n\
               headroom.fixed = \"165568B\"\n\
               pfc = { resume-offset = \"2288B\", dynamic = { shift = 4, reference-rate = \"every\" }, \
               watchdog = { action = \"drop\", detection = \"200ms\", restoration = \"200ms\" } }\n\
               ecn = { kmin = \"166912B\", kmax = \"282624B\", pmax = 0.05, reference-rate = \"every\" }\n";
    let same = load("dcqcn", own, &[]).unwrap();
    assert_eq!(run.toml, same.toml);
    assert!(run.run == same.run);
    let (notes, others): (Vec<_>, Vec<_>) = told(&run)
        .into_iter()
        .partition(|(kind, _)| *kind == WarningKind::VendorValues);
    // One note lists the translated settings, one the ignored ones; warnings cover those that could matter.
    assert_eq!(notes.len(), 2, "{notes:#?}");
    let ignored = &notes.iter().find(|(_, text)| text.contains("ignored")).unwrap().1;
    for words in [
        "CABLE_LENGTH, DEVICE_METADATA, PORT (tables that do not concern congestion)",
        "WRED_PROFILE.AZURE_LOSSY (no lossless queue uses it)",
        "BUFFER_PROFILE.pg_lossless_40000_40m_profile (no priority group uses it)",
        "BUFFER_PROFILE.ingress_lossy_profile (without headroom",
    ] {
        assert!(ignored.contains(words), "{words}: {ignored}");
    }
    let says: Vec<&str> = others.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        says.iter()
            .any(|text| text.contains("BUFFER_POOL.xoff = 3855488 has no counterpart")),
        "{says:?}"
    );
    assert_eq!(
        says.iter().filter(|text| text.contains("POLL_INTERVAL")).count(),
        1,
        "{says:?}"
    );
    assert!(
        says.iter()
            .all(|text| text.starts_with("config_db.json:") || !text.contains("vendor")),
        "{says:?}"
    );
}

/// Settings in the scenario override the file's.
#[test]
fn a_scenario_overrules_a_file() {
    let own = "[vendor.sonic]\nfile = \"config_db.json\"\nBUFFER_PROFILE.xoff = \"100000\"\n[network]\nlossless = [3]\n";
    let run = load("dcqcn", own, &[]).unwrap();
    assert!(
        run.toml.contains("fixed = \"100KB\"") && run.toml.contains("lossless = [3]"),
        "{}",
        run.toml
    );
    let said = told(&run);
    let says = "PORT_QOS_MAP.pfc_enable = 3,4 (the scenario sets the same by Paceline's name)";
    assert!(said.iter().any(|(_, text)| text.contains(says)), "{said:#?}");
}

#[test]
fn what_mlxconfig_prints_is_a_configuration() {
    let run = load("dcqcn", "[vendor]\nconnectx = \"mlxconfig.txt\"\n", &[]).unwrap();
    assert!(
        run.toml.contains("rate-ai = \"10Mbps\"") && run.toml.contains("clamp-target = false"),
        "{}",
        run.toml
    );
    let said = told(&run);
    assert!(
        said.iter()
            .any(|(_, text)| text.contains("(keys that Paceline does not know)")),
        "{said:#?}"
    );
    let doubts = said.iter().filter(|(kind, _)| *kind == WarningKind::LeftOut);
    assert_eq!(doubts.count(), 0, "{said:#?}");
}

#[test]
fn files_of_subnet_managers() {
    let run = load("ibcc", "[vendor]\nopensm = \"opensm.conf\"\n", &[]).unwrap();
    let own = "[cc.ibcc]\nthreshold = 15\npacket-size = \"512B\"\nmarking-rate = 10\nvictim-mask = true\nper-sl = false\n\
               ccti-timer = 150\nccti-increase = 1\nccti-min = 0\n";
    assert_eq!(run.toml, load("ibcc", own, &[]).unwrap().toml);
    let own = "[cc.ibcc]\nthreshold = 15\npacket-size = \"512B\"\nmarking-rate = 10\nper-sl = false\nccti-increase = 1\nccti-min = 0\n";
    let same = load("ibcc", own, &[]).unwrap();
    for vendor in ["ccmgr", "opensm"] {
        let run = load("ibcc", &format!("[vendor]\n{vendor} = \"cc_mgr.conf\"\n"), &[]).unwrap();
        assert_eq!(run.toml, same.toml, "{vendor}");
        let said = told(&run);
        let says = "ccti_timer = 0 (the manager computes it from the number of hosts";
        assert!(said.iter().any(|(_, text)| text.contains(says)), "{said:#?}");
    }
    let off = FILES[2]
        .1
        .replace("congestion_control TRUE", "congestion_control FALSE");
    let run = load("ibcc", "[vendor]\nopensm = \"off.conf\"\n", &[("off.conf", &off)]).unwrap();
    assert_eq!(run.toml, load("ibcc", "", &[]).unwrap().toml);
    let said = told(&run);
    assert!(
        said.iter()
            .any(|(_, text)| text.contains("turns congestion control off there")),
        "{said:#?}"
    );
    // A table of another shape causes a warning with the differences.
    let run = load("ibcc", "[vendor.opensm]\ncc_cct = \"0:0,0:10,0:20\"\n", &[]).unwrap();
    let said = told(&run);
    let says = "entry 1 is 10 packet times there and 5.0 here";
    assert!(
        said.iter()
            .any(|(kind, text)| *kind == WarningKind::LeftOut && text.contains(says)),
        "{said:#?}"
    );
}

#[test]
fn what_is_wrong_in_a_file_is_told_there() {
    let db = |from: &str, to: &str| FILES[0].1.replacen(from, to, 1);
    let conf = |from: &str, to: &str| FILES[2].1.replacen(from, to, 1);
    let sonic = "[vendor]\nsonic = \"it.json\"\n";
    let opensm = "[vendor]\nopensm = \"it.json\"\n";
    for (block, text, words) in [
        (
            sonic,
            db("\"dynamic_th\": \"-4\"", "\"dynamic_t\": \"-4\""),
            "it.json:18:14: unknown key `BUFFER_PROFILE.dynamic_t`",
        ),
        (
            sonic,
            db("\"dynamic_th\": \"-4\"", "\"dynamic_t\": \"-4\""),
            "did you mean `BUFFER_PROFILE.dynamic_th`?",
        ),
        (
            sonic,
            db("\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"3,4,6\""),
            "`PORT_QOS_MAP.Ethernet4.pfc_enable = 3,4` and `PORT_QOS_MAP.pfc_enable = 3,4,6` differ",
        ),
        (
            sonic,
            db("\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"3,4,6\""),
            "set network.lossless in the scenario",
        ),
        (
            sonic,
            db("\"size\": \"11213696\"", "\"size\": \"11MB\""),
            "`BUFFER_POOL.size` of SONiC: expected a whole number",
        ),
        (sonic, "{\"BUFFER_POOL\": ".to_string(), "it.json:1:"),
        (
            sonic,
            "{}".to_string(),
            "has no setting that `paceline explain sonic` lists",
        ),
        (
            opensm,
            conf("ccti_timer 1 150", "ccti_timer 1 30"),
            "it.json:29:31: `cc_ca_cong_setting_ccti_timer = 1 30` and",
        ),
        (
            opensm,
            conf(
                "0x000000000000000000000000000000000000000000000000001ffffffffe",
                "0x14",
            ),
            "this is ports 2, 4, and here all ports",
        ),
        (
            opensm,
            conf("cc_cct (null)", "cc_cct 0:0,0:0,0:0"),
            "OpenSM writes its first entry in place of all others",
        ),
        (
            "[vendor]\nsonic = \"none.json\"\n",
            String::new(),
            "`none.json` does not exist",
        ),
    ] {
        let error = load("ibcc", block, &[("it.json", &text)]).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
    // With profiles for two rates, the one for the topology's links counts.
    let both = db(
        "\"Ethernet4|3-4\": {\"profile\": \"pg_lossless_100000_5m_profile\"}",
        "\"Ethernet4|3-4\": {\"profile\": \"pg_lossless_40000_40m_profile\"}",
    );
    let run = load("dcqcn", sonic, &[("it.json", &both)]).unwrap();
    assert!(run.toml.contains("fixed = \"165.568KB\""), "{}", run.toml);
    let said = told(&run);
    let says = "pg_lossless_40000_40m_profile (not for links of 100000 Mbit/s, which the topology has)";
    assert!(said.iter().any(|(_, text)| text.contains(says)), "{said:#?}");
}
