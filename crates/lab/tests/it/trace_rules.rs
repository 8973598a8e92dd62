//! Rules of jobs by Chakra traces: operations on the network, duration of kernels, and the end of a send.

use paceline_scenario::WarningKind;

use paceline_scenario::{Overrides, load, load_text};

use crate::traces::{data, refused, run, text};

const STAR: &str = "duration = '10s'\n[topology.star]\nhosts = 4\nrate = '100Gbps'\n[network]\nmtu = '4096B'\n\
                    [cc]\nscheme = 'dcqcn'\n";

/// 64 MiB to four ranks: 5.43 ms at 100 Gbit/s with headers, and the same for each rank further on less a piece.
#[test]
fn a_broadcast_is_carried_on_the_network_whatever_the_form_of_its_files() {
    let job = |prefix: &str| format!("{STAR}[[job]]\nlabel = 'bcast'\nchakra = 'DATA/chakra/{prefix}'\n");
    let done = run(&job("broadcast_4/b"));
    let [broadcast] = &done.summary.collectives[..] else {
        panic!("{:?}", done.summary.collectives)
    };
    assert_eq!(broadcast.label, "bcast/broadcast");
    let us = broadcast.time_us.unwrap();
    assert!((5430.0..5700.0).contains(&us), "{us}");
    let busbw = broadcast.busbw_gbps.unwrap();
    assert!((90.0..98.8).contains(&busbw), "{busbw}");
    let bytes: u64 = done.flows.rows().map(|flow| flow.size_bytes).sum();
    assert_eq!(bytes, 3 * (64 << 20));
    let json = run(&job("jsonizer/b"));
    assert_eq!(json.summary.jobs[0].by_rank, done.summary.jobs[0].by_rank);
    assert_eq!(json.summary.collectives[0].time_us, broadcast.time_us);
}

/// ASTRA-sim gives a broadcast its recorded duration.
#[test]
fn a_broadcast_on_the_model_of_astra_sim_is_fixed_and_said_to_be() {
    let done = run(&format!(
        "{STAR}[[job]]\nchakra = 'DATA/chakra/broadcast_4/b'\nnetwork = 'chunks'\n\
         rules = {{ links = 'DATA/chakra/networks/Ring_4npus.yml' }}\n"
    ));
    assert_eq!(done.summary.jobs[0].iterations_us, [10.0 + 900.0 + 500.0]);
    let said = done
        .summary
        .warnings
        .iter()
        .find(|one| one.text.contains("4 broadcasts have the recorded time"));
    let text = &said.expect("it is said").text;
    assert!(
        text.contains("268435456 bytes (100.0 % of those that the trace moves)")
            && text.contains("3600.000 us (63.8 % of the time that its nodes last)"),
        "{text}"
    );
}

/// 10^15 operations on 1 GB: 2.5 s at 400 TFLOP/s.
#[test]
fn a_kernel_without_a_duration_needs_rates() {
    let job = |rules: &str| format!("{STAR}[[job]]\nchakra = 'DATA/chakra/flops_4/x'\n{rules}\n");
    let message = refused(&job(""));
    for part in [
        "x.0.et: node 1 (gemm)",
        "4 nodes of the trace have work",
        "the rules give no `flops` and `memory`",
        "flops = \"400T\"",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let done = run(&job("rules = { flops = '400T', memory = '3TB/s' }"));
    let [job_times] = &done.summary.jobs[..] else {
        panic!("{:?}", done.summary.jobs)
    };
    assert_eq!(job_times.compute_us, 2_500_000.0);
    // All shares are of the iteration.
    let (mean, exposed) = (
        job_times.iteration_us.mean.unwrap(),
        job_times.exposed_us.unwrap(),
    );
    assert!((mean - exposed - job_times.compute_us).abs() < 1e-3);
    assert!((job_times.communication.unwrap() - exposed / mean).abs() < 1e-12);
    // ASTRA-sim's system file sets the same.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.json");
    std::fs::write(
        &path,
        r#"{"roofline-enabled": 1, "peak-perf": 400, "local-mem-bw": 3000, "preferred-dataset-splits": 1}"#,
    )
    .unwrap();
    let system = format!("rules = {{ system = {path:?} }}");
    assert_eq!(run(&job(&system)).summary.jobs[0].compute_us, 2_500_000.0);
    let both = system.replace(" }", ", flops = '400T' }");
    assert!(refused(&job(&both)).contains("`flops` beside `system`"));
    let wrong = refused(&job("rules = { flops = '400 tera' }"));
    assert!(wrong.contains("expected operations per second"), "{wrong}");
}

/// Two pipelines of two stages over 10 Gbit/s and 30 ms: by hand 224.1 ms if a send ends when it has left, and 261 ms
/// if the next one waits until it has been received.
#[test]
fn sends_of_a_rank_overlap_or_go_in_turn() {
    let run = |rules: &str| {
        run(&format!(
            "duration = '2s'\ntopology.file = 'DATA/chakra/two_sites/sites.txt'\n[cc]\nscheme = 'none'\n\
             [network]\nbuffer = '600MB'\nrto = 'off'\n\
             [[job]]\nlabel = 'meg'\nchakra = 'DATA/chakra/two_sites/m'\nhosts = [0, 1, 2, 3]\n\
             rules = {{ groups = 'DATA/chakra/two_sites/groups.json'{rules} }}\n"
        ))
    };
    let within = |us: f64, by_hand: f64| assert!((us / by_hand - 1.0).abs() < 3e-3, "{us}");
    let overlap = run("");
    within(overlap.summary.jobs[0].iterations_us[0], 224_100.0);
    let in_turn = run(", sends = 'in-turn'");
    within(in_turn.summary.jobs[0].iterations_us[0], 261_600.0);
    let rule = |done: &paceline_lab::run::Finished| {
        let mut warnings = done.summary.warnings.iter();
        warnings
            .find(|one| one.id == WarningKind::TraceRule)
            .map(|one| one.text.clone())
    };
    assert_eq!(rule(&overlap), None);
    let text = rule(&in_turn).unwrap();
    assert!(
        text.contains("4 sends kept others of their rank waiting after they had left"),
        "{text}"
    );
}

/// Network and workload of SimAI's own sample, with more settings in its environment.
#[test]
fn what_the_environment_of_simai_asks_for_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let conf = std::fs::read_to_string(data("simai/SimAI.conf")).unwrap();
    let topology = std::fs::read_to_string(data("simai/Rail_Opti_SingleToR_8g_8gps_200Gbps_H20")).unwrap();
    let read = |gpu: &str, environment: &str| {
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("topology"), topology.replacen("H20", gpu, 1)).unwrap();
        let more = "TOPOLOGY_FILE topology\nWORKLOAD_FILE DATA/simai/microAllReduce.txt\n";
        std::fs::write(at("SimAI.conf"), text(&format!("{more}{environment}\n{conf}"))).unwrap();
        load(at("SimAI.conf").to_str().unwrap(), &Overrides::default())
    };
    let plain = read("H100", "AS_PXN_ENABLE 0\nAS_NVLS_ENABLE 0").unwrap();
    assert_eq!(plain.toml, read("H100", "AS_LOG_LEVEL DEBUG").unwrap().toml);
    for (gpu, environment, part) in [
        ("H20", "AS_NVLSTREE_ENABLE 1", "AS_NVLSTREE_ENABLE is 1"),
        (
            "H100",
            "AS_NVLS_ENABLE 1",
            "all-reduces of 8 ranks go through the NVSwitch of H100 servers (NVLS), which is not carried out: the first is in line 3",
        ),
    ] {
        let refused = read(gpu, environment).unwrap_err().to_string();
        assert!(
            refused.contains(part) && refused.contains("SimAI.conf:"),
            "{refused}"
        );
    }
    let told = read("A100", "AS_NVLS_ENABLE 1").unwrap();
    let mut texts = told.warnings.iter().map(|one| one.text.as_str());
    assert!(texts.any(|text| text.starts_with("AS_NVLS_ENABLE is 1 and makes no difference")));
    // One server has nobody to send to over the network.
    let told = read("H20", "AS_PXN_ENABLE 1").unwrap();
    assert!(told.toml.contains("pxn = true"), "{}", told.toml);
    let mut texts = told.warnings.iter().map(|one| one.text.as_str());
    assert!(texts.any(|text| text.starts_with("rules.pxn has no effect")));
}

/// 1,052 B take 5.84 ns at 1,440 Gbit/s, and 5 ns in SimAI.
#[test]
fn links_that_are_faster_than_their_rate_are_told() {
    let warned = |rate: &str| {
        let text = format!(
            "duration = '1ms'\nfidelity = 'simai'\n[network]\nmtu = '1000B'\n[topology.star]\nhosts = 2\nrate = '{rate}'\n\
             [cc]\nscheme = 'none'\n[[workload]]\nincast = {{ receiver = 1, fan-in = 1, size = '1MB' }}\n"
        );
        let input = load_text("fast.toml", &text, &Overrides::default()).unwrap();
        let found = input
            .warnings
            .iter()
            .find(|one| one.text.contains("faster than their rate"));
        found.map(|one| one.text.clone())
    };
    let text = warned("1440Gbps").unwrap();
    assert!(
        text.contains("(1052 B) in 5 ns instead of 5.84") && text.contains("16.9 % faster"),
        "{text}"
    );
    assert_eq!(warned("100Gbps"), None);
}

#[test]
fn networks_of_several_dimensions_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let system = folder.path().join("system.json");
    std::fs::write(&system, r#"{"all-reduce-implementation": ["ring", "ring"]}"#).unwrap();
    let job = "[[job]]\nchakra = 'DATA/chakra/broadcast_4/b'\n";
    let message = refused(&format!("{STAR}{job}rules = {{ system = {system:?} }}\n"));
    assert!(
        message.contains("all-reduce-implementation has 2 values: a network of 2 dimensions"),
        "{message}"
    );
    assert!(message.contains("Networks of several dimensions"), "{message}");
    let links = folder.path().join("network.yml");
    std::fs::write(&links, "topology: [ Switch, Ring ]\n").unwrap();
    let chunks = format!("{STAR}{job}network = 'chunks'\nrules = {{ links = {links:?} }}\n");
    let message = refused(&chunks);
    assert!(
        message.contains("topology has 2 values: a network of 2 dimensions"),
        "{message}"
    );
}

/// Returns two hosts, 0 and 1, each with a link to switch 2 and one to switch 3, and a job by this trace.
fn two_nics(folder: &std::path::Path, first: u8, second: u8, network: &str) -> String {
    let path = folder.join(format!("{first}{second}.goal"));
    let operations = |verb: &str, other: &str| {
        format!(
            "a: {verb} 10000000b {other} 1 tag 0 nic {first}\nb: {verb} 10000000b {other} 1 tag 1 nic {second}\n"
        )
    };
    let (sends, receives) = (operations("send", "to"), operations("recv", "from"));
    let receives = receives.replace("from 1", "from 0");
    std::fs::write(
        &path,
        format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n"),
    )
    .unwrap();
    let link = |a: u32, b: u32| format!("{{ a = {a}, b = {b}, rate = '100Gbps', delay = '1us' }}");
    let links = [link(0, 2), link(0, 3), link(1, 2), link(1, 3)].join(", ");
    format!(
        "duration = '1s'\ncc.scheme = 'none'\n[topology.graph]\nnodes = 4\nswitches = [2, 3]\nlinks = [{links}]\n\
         {network}[[job]]\ngoal = {path:?}\n"
    )
}

/// Two messages over two NICs take half as long as over one, whichever of the two it is.
#[test]
fn nics_of_a_rank_are_links_of_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let time =
        |first, second| run(&two_nics(folder.path(), first, second, "")).summary.jobs[0].iterations_us[0];
    let (one, other, both) = (time(1, 1), time(0, 0), time(0, 1));
    // All use the first NIC alone: the trace names no other, so each message takes a link by hash.
    assert!((1.95..2.01).contains(&(one / both)), "{one} {both}");
    assert!(other <= one + 1.0, "{other} {one}");
    assert_eq!(time(1, 0), both);
}

/// While the link of a NIC is down, its messages take another one.
#[test]
fn a_nic_without_its_link_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let failure = "[[network.failure]]\nlink = 1\nat = '0s'\n";
    let time = |failure| run(&two_nics(folder.path(), 0, 1, failure)).summary.jobs[0].iterations_us[0];
    let (whole, failed) = (time(""), time(failure));
    assert!((1.95..2.01).contains(&(failed / whole)), "{failed} {whole}");
}

#[test]
fn a_nic_that_a_host_does_not_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let message = refused(&two_nics(folder.path(), 0, 2, ""));
    for part in [
        "02.goal:4 (b of rank 0) names NIC 2",
        "rank 0 is on host 0, which has 2 NICs: 0 to 1",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

/// Hosts with one link carry the messages of all NICs of their ranks, with a warning.
#[test]
fn nics_of_a_rank_share_the_only_link() {
    let job = "[[job]]\ngoal = 'DATA/goal/nics.goal'\n";
    let scenario = format!("{}{job}", STAR.replace("hosts = 4", "hosts = 16"));
    let told = load_text("nics.toml", &text(&scenario), &Overrides::default()).unwrap();
    let mut texts = told.warnings.iter().map(|one| one.text.as_str());
    assert!(
        texts.any(|text| text.contains("all NICs of such a rank share it")),
        "{:?}",
        told.warnings
    );
}

/// A static route leads to a host by any of its links, also where a trace names one.
#[test]
fn static_routes_do_not_choose_nics() {
    let folder = tempfile::tempdir().unwrap();
    let route = |to: u32| format!("[[network.route]]\nnode = 2\nvia = {to}\nto = {to}\n");
    let warnings = |second: u8| {
        let scenario = two_nics(folder.path(), 0, second, &route(1));
        let found = load_text("nics.toml", &scenario, &Overrides::default()).unwrap();
        let texts = found.warnings.iter().map(|one| one.text.clone());
        texts
            .filter(|text| text.contains("static routes arrive by any of its links"))
            .collect::<Vec<_>>()
    };
    assert_eq!(warnings(0), [""; 0]);
    assert_eq!(warnings(1).len(), 1);
}
