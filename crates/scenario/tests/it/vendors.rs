//! Parameters under their vendors' names.

use paceline_congestion::registry::SchemeParams;
use paceline_scenario::vendor::vendors;
use paceline_scenario::{Overrides, Resolved, load_text};

fn load(rest: &str, set: &[&str]) -> Result<Resolved, String> {
    let text = format!(
        "name = \"vendors\"\nduration = \"1ms\"\n[topology.star]\nhosts = 4\nrate = \"100Gbps\"\n\
         [[workload]]\nincast = {{ fan-in = 2, receiver = 3 }}\n[cc]\nscheme = \"dcqcn\"\n{rest}"
    );
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    load_text("v.toml", &text, &overrides).map_err(|error| error.to_string())
}

fn told(run: &Resolved) -> Vec<String> {
    run.warnings.iter().map(ToString::to_string).collect()
}

const CONNECTX: &str = "[vendor.connectx]\nRPG_AI_RATE_P1 = 5\ndce_tcp_g = 1019\nrpg_time_reset = \"200\"\nrpg_gd = 11\nrp_hai_rate = 60\n";

#[test]
fn a_nics_parameters_are_ours_with_their_units() {
    let run = load(CONNECTX, &[]).unwrap();
    let own = "[cc.dcqcn]\nrate-ai = \"5Mbps\"\ng = 0.0048828125\nincrease-timer = \"200us\"\nrate-hai = \"60Mbps\"\n";
    let same = load(own, &[]).unwrap();
    assert!(run.run == same.run);
    assert_eq!(run.toml, same.toml);
    let told = told(&run);
    assert_eq!(told.len(), 1, "{told:?}");
    for words in [
        "rpg_ai_rate = 5 is cc.dcqcn.rate-ai = \"5Mbps\"",
        "dce_tcp_g = 1019 is cc.dcqcn.g = 0.0048828125",
        "rpg_hai_rate = 60 is",
    ] {
        assert!(told[0].contains(words), "{told:?}");
    }
}

#[test]
fn a_switchs_tables_are_those_of_its_configuration() {
    let tables = "[vendor.sonic.WRED_PROFILE.AZURE_LOSSLESS]\ngreen_min_threshold = \"400000\"\ngreen_max_threshold = \"1600000\"\n\
                  green_drop_probability = \"5\"\necn = \"ecn_all\"\n\
                  [vendor.sonic.BUFFER_PROFILE.pg_lossless]\ndynamic_th = \"-2\"\nxoff = \"60000\"\n\
                  [vendor.sonic.PORT_QOS_MAP.global]\npfc_enable = \"3,4\"\n\
                  [vendor.sonic.PFC_WD.GLOBAL]\nPOLL_INTERVAL = \"200\"\n";
    let run = load(tables, &[]).unwrap();
    let own = "[network]\nlossless = [3, 4]\nheadroom = { fixed = \"60000B\" }\n\
               pfc = { dynamic = { shift = 2, reference-rate = \"every\" } }\n\
               ecn = { kmin = \"400000B\", kmax = \"1600000B\", pmax = 0.05, reference-rate = \"every\" }\n";
    assert!(run.run == load(own, &[]).unwrap().run);
    let told = told(&run);
    let has = |words: &str| told.iter().any(|told| told.contains(words));
    assert!(
        has("WRED_PROFILE.green_max_threshold is network.ecn.reference-rate = \"every\""),
        "{told:?}"
    );
    assert!(
        has("PFC_WD.POLL_INTERVAL = 200 has no counterpart: a storm is detected at the detection time"),
        "{told:?}"
    );
}

#[test]
fn options_change_a_vendors_value() {
    let run = load(CONNECTX, &["vendor.connectx.rpg_time_reset=100"]).unwrap();
    assert!(run.toml.contains("increase-timer = \"100us\""), "{}", run.toml);
    let run = load(
        "",
        &[
            "vendor.opensm.cc_sw_cong_setting_packet_size=0x10",
            "cc.scheme=ibcc",
        ],
    )
    .unwrap();
    assert!(run.toml.contains("packet-size = \"1KiB\""), "{}", run.toml);
}

#[test]
fn mistakes_are_told_where_they_stand() {
    for (rest, words) in [
        (
            "[vendor.connectx]\nrpg_ai_rat = 5\n",
            "v.toml:11:1: unknown key `rpg_ai_rat` of NVIDIA ConnectX",
        ),
        (
            "[vendor.connectx]\nrpg_ai_rat = 5\n",
            "did you mean `rpg_ai_rate`?",
        ),
        ("[vendor.conectx]\nrpg_ai_rate = 5\n", "unknown vendor `conectx`"),
        ("[vendor.conectx]\nrpg_ai_rate = 5\n", "did you mean `connectx`?"),
        ("vendor = 1\n", "unknown"),
        (
            "[vendor]\nconnectx = 1\n",
            "`vendor.connectx` is neither a table nor the name of a file",
        ),
        (
            "[vendor.connectx]\nrpg_ai_rate = \"5Mbps\"\n",
            "`rpg_ai_rate` of NVIDIA ConnectX: expected a whole number",
        ),
        (
            "[vendor.connectx]\nrpg_ai_rate = [5]\n",
            "expected a number, a text, true or false",
        ),
        (
            "[vendor.connectx]\nrpg_ai_rate = 5\n[cc.dcqcn]\nrate-ai = \"5Mbps\"\n",
            "cc.dcqcn.rate-ai is set twice: also by `rpg_ai_rate = 5`",
        ),
        (
            "[vendor.connectx]\nrpg_ai_rate = 5\nrp_ai_rate = 6\n",
            "`rpg_ai_rate = 5` and `rpg_ai_rate = 6` differ, and cc.dcqcn.rate-ai is one value for all ports",
        ),
        (
            "[vendor.sonic.BUFFER_PROFILE.a]\ndynamic_th = 13\n",
            "expected a power of two from -8 to 7",
        ),
        (
            "[vendor.sonic.WRED_PROFILE.a]\ngreen_drop_probability = 101\n",
            "expected a number from 0 to 100",
        ),
        (
            "[vendor.sonic.WRED_PROFILES]\necn = 1\n",
            "did you mean `WRED_PROFILE.ecn`?",
        ),
        ("[vendor.connectx]\ndce_tcp_g = 1024\n", "out of range"),
    ] {
        let error = load(rest, &[]).unwrap_err();
        assert!(error.contains(words), "{rest}: {error}");
    }
}

/// Every key of the table leads to an existing key, with the same result as writing that key directly.
#[test]
fn every_key_leads_to_one_of_ours() {
    for vendor in vendors() {
        for key in vendor.keys.iter() {
            let value = match key.key.as_str() {
                "clamp_tgt_rate" | "cc_ca_cong_setting_port_control" | "port_control" => "1",
                "rate_to_set_on_first_cnp" => "0",
                "dynamic_th" | "default_dynamic_th" => "-2",
                "pfc_enable" => "3,4",
                "green_min_threshold" => "100000",
                "green_max_threshold" => "900000",
                "cc_sw_cong_setting_victim_mask" => "0xff",
                "cc_cct" => "0:0,0:5,0:20",
                "size" if key.table == "BUFFER_POOL" => "9000000",
                "action" => "forward",
                _ => "9",
            };
            let scheme = match vendor.name.as_str() {
                "opensm" | "ccmgr" => "cc.scheme=ibcc",
                _ => "cc.scheme=dcqcn",
            };
            let set = format!("vendor.{}.{}={value:?}", vendor.name, key.path());
            let run = load("", &[scheme, &set]).unwrap_or_else(|error| panic!("{set}: {error}"));
            let told = told(&run);
            let Some((ours, turns)) = key.ours.as_ref().zip(key.turns) else {
                let says = ["has no counterpart", "ignored: ", " is "];
                let is_said = |told: &String| says.iter().any(|says| told.contains(says));
                assert!(told.iter().any(is_said), "{set}: {told:?}");
                continue;
            };
            let own = format!("{ours}={}", turns.apply(value).unwrap());
            let more: Vec<String> = key
                .sets
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            let mut sets = vec![scheme, &own];
            sets.extend(more.iter().map(String::as_str));
            let same = load("", &sets).unwrap_or_else(|error| panic!("{own}: {error}"));
            assert_eq!(run.toml, same.toml, "{set}");
        }
    }
}

/// The documented defaults of ConnectX are those of the scheme's public code.
#[test]
fn defaults_of_a_nic_are_those_of_the_public_code() {
    let plain = SchemeParams::default().configure("dcqcn").unwrap().values();
    let nic = load(
        "[vendor.connectx]\nrpg_time_reset = 300\nrate_reduce_monitor_period = 4\ndce_tcp_rtt = 1\n",
        &[],
    )
    .unwrap();
    let values = nic.run.schemes[0].config.values();
    for name in ["increase-timer", "cut-interval", "alpha-interval"] {
        let of = |values: &[(String, String)]| values.iter().find(|(key, _)| key == name).unwrap().1.clone();
        assert_eq!(of(&plain), of(&values), "{name}");
    }
}
