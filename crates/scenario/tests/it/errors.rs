//! Messages of all errors, as users see them.

use std::fs;

use miette::{GraphicalReportHandler, GraphicalTheme};
use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, load};

/// Writes `files` into a folder and loads the first. Returns the report and the plain line or, if the input is valid,
/// the warnings.
fn outcome(files: &[(&str, &[u8])], set: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let input = folder.path().join(files[0].0);
    let overrides = Overrides {
        set: set.iter().map(|s| (*s).to_string()).collect(),
        ..Overrides::default()
    };
    let text = match load(input.to_str().unwrap(), &overrides) {
        Ok(resolved) => format!("fine\n{}", lines(&resolved.warnings).join("\n")),
        Err(error) => {
            let handler =
                GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(160);
            let report = error.render(&handler, usize::MAX);
            format!("{error}\n\n{report}")
        }
    };
    text.replace(&format!("{}/", folder.path().display()), "")
}

const STAR: &str = r#"name = "test"
duration = "10ms"
[topology.star]
hosts = 4
[[workload]]
incast = { fan-in = 3, receiver = 4, size = "1MB" }
[cc]
scheme = "dcqcn"
"#;

/// Returns the star with `from` replaced by `to`; `from` must occur in it.
fn star(from: &str, to: &str) -> String {
    assert!(STAR.contains(from), "{from}");
    let text = STAR.replace(from, to);
    outcome(&[("test.toml", text.as_bytes())], &[])
}

fn star_with(more: &str) -> String {
    outcome(&[("test.toml", format!("{STAR}{more}").as_bytes())], &[])
}

/// Returns a network of two leaves and two spines.
fn leaf_spine_with(more: &str) -> String {
    let text = STAR.replace(
        "[topology.star]\nhosts = 4",
        "[topology.leaf-spine]\nleaves = 2\nspines = 2",
    );
    outcome(&[("test.toml", format!("{text}{more}").as_bytes())], &[])
}

fn star_set(set: &[&str]) -> String {
    outcome(&[("test.toml", STAR.as_bytes())], set)
}

/// Patterns for lists of every scheme, which change with the registry.
const LISTS: [(&str, &str); 2] = [
    (
        "the schemes are none,[a-z0-9, \n-]+",
        "the schemes are [all of them]",
    ),
    (
        "`none`, `dcqcn`,[a-z0-9`, \n-]+`windows`",
        "[all schemes], `scheme`, `window`, `windows`",
    ),
];

macro_rules! snapshots {
    ($($name:ident: $outcome:expr;)*) => { $(
        #[test]
        fn $name() {
            insta::with_settings!({ filters => LISTS }, {
                insta::assert_snapshot!(stringify!($name), $outcome);
            });
        }
    )* };
}

snapshots! {
    toml_good: star_with("");
    toml_format_good: star("name", "format = 1\nname");
    toml_format_of_another_release: star("name", "format = 2\nname");
    toml_format_no_number: star("name", "format = 'new'\nname");
    toml_unused_scheme_bad_value: star_with("[cc.dctcp]\ng = 2.0\n");
    toml_unused_scheme_contradiction: star_with("[cc.timely]\nt-low = '1ms'\nt-high = '1us'\n");
    toml_target_below_the_round_trip: star("scheme = \"dcqcn\"", "scheme = \"lstm-pid\"\n[cc.lstm-pid]\ntarget = '3us'");
    toml_target_of_the_default: star_set(&["cc.scheme=\"pidnn\"", "topology.star.delay=\"2us\""]);
    toml_target_that_follows_good: star_set(&["cc.scheme=\"pidnn-rttch\"", "cc.lstm-pid.target=\"3us\""]);
    toml_swift_below_the_round_trip: star_set(&["cc.scheme=\"swift\"", "cc.swift.base-delay=\"1us\"", "cc.swift.flow-scaling=false"]);
    toml_irn_good: star_with("[network]\nrecovery = 'irn'\n");
    toml_irn_in_order_nic: star_with("[network]\nrecovery = 'irn'\nreceiver-order = 'in-order'\n");
    toml_irn_chunks: star_with("[network]\nrecovery = 'irn'\nback-to-chunk = '4KB'\n");
    toml_irn_timeouts: star_with("[network]\nrecovery = 'irn'\n[network.irn]\nrto-low = '400us'\nrto-high = '300us'\n");
    toml_irn_timeout_zero: star_with("[network]\nrecovery = 'irn'\n[network.irn]\nrto-low = '0us'\n");
    toml_qp_scheduling_unknown: star_with("[network]\nqp-scheduling = 'maxmin'\n");
    toml_qp_scheduling_good: star_with("[network]\nqp-scheduling = 'quantum'\nqp-quantum = '9KB'\n");
    toml_qp_quantum_small: star_with("[network]\nqp-scheduling = 'quantum'\nqp-quantum = '1KB'\n");
    toml_qp_scheduling_of_another_fidelity: star_set(&["fidelity=ns3-hpcc", "network.qp-scheduling=max-min"]);
    toml_qp_scheduling_under_credits: star_with("[network]\nqp-scheduling = 'max-min'\nflow-control = 'credits'\n");
    toml_recovery_unknown: star_with("[network]\nrecovery = 'selective'\n");
    toml_trim_good: star_with("[network]\nflow-control = 'none'\ndrop = { trim = true }\n");
    toml_trim_lossless: star_with("[network.drop]\ntrim = true\n");
    toml_trim_lossless_flows: star_with("[network]\nlossless = [3, 4]\ndrop = { trim = true }\n");
    toml_lossy_class_good: star_with("[network]\nlossless = [4]\ndrop = { trim = true }\n");
    toml_lossless_without_pfc: star_with("[network]\nflow-control = 'none'\nlossless = [3]\n");
    toml_lossless_class_unknown: star_with("[network]\nlossless = [3, 8]\n");
    toml_lossless_none: star_with("[network]\nlossless = []\n");
    toml_lossy_storm: star_with("[network]\nlossless = [4]\n[[network.pause-storm]]\nnode = 1\nat = '1us'\n");
    toml_drop_tail_without_limit: star_with("[network]\nflow-control = 'none'\ndrop = { policy = 'tail' }\n");
    toml_drop_tail_twice: star_with("[network]\nflow-control = 'none'\n[network.drop]\npolicy = 'tail'\nlimit = '8KB'\npackets = 8\n");
    toml_drop_tail_zero: star_with("[network]\nflow-control = 'none'\n[network.drop]\npolicy = 'tail'\npackets = 0\n");
    toml_drop_alpha: star_with("[network]\nflow-control = 'none'\ndrop = { policy = 'dynamic', alpha = -1.0 }\n");
    toml_tier_misspelt: leaf_spine_with("[network.tier.spin]\nbuffer = '1MB'\n");
    toml_tier_of_another_network: leaf_spine_with("[network.tier.core]\nbuffer = '1MB'\n");
    toml_tier_key_misspelt: leaf_spine_with("[network.tier.spine]\nbufer = '1MB'\n");
    toml_tier_too_small: leaf_spine_with("[network.tier.spine]\nbuffer = '50KB'\n");
    toml_tier_marks_above: leaf_spine_with("[network.tier.spine]\necn.kmin = '500KB'\n");
    toml_tier_marks_for_no_link: leaf_spine_with("[network.tier.spine]\necn.curves = [{ rate = '10Gbps', kmin = '1KB', kmax = '2KB', pmax = 1.0 }]\n");
    toml_tier_of_other_thresholds: leaf_spine_with("[network.pfc]\nstatic = { xoff = '20KB', xon = '10KB' }\n[network.tier.spine]\npfc.dynamic.shift = 2\n");
    toml_tier_static: leaf_spine_with("[network.tier.spine]\npfc.static = { xoff = '20KB', xon = '10KB' }\n");
    toml_tier_good: leaf_spine_with("[network.tier.spine]\nbuffer = '64MB'\npfc.dynamic.shift = 2\n");
    toml_drop_unknown: star_with("[network]\ndrop = { policy = 'red' }\n");
    toml_detection_good: star_with("[network.detection]\nkind = 'tcd'\nclass = [{ priority = 3, kind = 'np-ecn' }]\n");
    toml_detection_without_a_kind: star_with("[network.detection]\nepsilon = 0.1\n");
    toml_detection_unknown: star_with("[network.detection]\nkind = 'tdc'\n");
    toml_detection_without_pfc: star_with("[network]\nflow-control = 'none'\ndetection.kind = 'tcd'\n");
    toml_detection_epsilon: star_with("[network.detection]\nkind = 'tcd'\nepsilon = 0.6\n");
    toml_detection_max_ton: star_with("[network.detection]\nkind = 'tcd'\nmax-ton = '2us'\n");
    toml_detection_times: star_with("[network.detection]\nkind = 'tcd'\nvariant = 'adaptive'\ntimes = 0.5\n");
    toml_detection_priority_of_all: star_with("[network.detection]\nkind = 'tcd'\npriority = 3\n");
    toml_detection_class_without_priority: star_with("[network.detection]\nkind = 'red'\nclass = [{ kind = 'tcd' }]\n");
    toml_detection_class_unknown: star_with("[network.detection]\nkind = 'red'\nclass = [{ priority = 8, kind = 'tcd' }]\n");
    toml_detection_class_twice: star_with("[network.detection]\nkind = 'red'\nclass = [{ priority = 3, kind = 'tcd' }, { priority = 3, kind = 'red' }]\n");
    toml_detection_class_in_a_class: star_with("[network.detection]\nkind = 'red'\nclass = [{ priority = 3, kind = 'tcd', class = [] }]\n");
    toml_detection_of_a_lossy_class: star_with("[network]\nlossless = [3]\n[network.detection]\nkind = 'red'\nclass = [{ priority = 5, kind = 'tcd' }]\n");
    toml_detection_marks_above_xoff: star_with("[network]\npfc.static = { xoff = '9KB', xon = '8KB' }\ndetection.kind = 'tcd'\n");
    toml_detection_marks_above_the_pool: star_with("[network]\nbuffer = '1200KB'\ndetection.kind = 'np-ecn'\n");
    toml_detection_red_marks_above_xoff_good: star_with("[network]\npfc.static = { xoff = '9KB', xon = '8KB' }\n");
    toml_dcqcn_tcd_good: star_with("[cc.dcqcn]\nflavour = 'paper'\ntcd = 'hold'\n[network]\ndetection.kind = 'tcd'\n");
    toml_dcqcn_tcd_without_a_detector: star_with("[cc.dcqcn]\nflavour = 'paper'\ntcd = 'hold'\n[network]\ndetection.kind = 'red'\n");
    toml_dcqcn_tcd_with_echoes: star_with("[cc.dcqcn]\nflavour = 'paper'\ntcd = 'hold'\ncnp-interval = '0us'\n[network]\ndetection.kind = 'tcd'\n");
    toml_timely_tcd_without_a_detector: star("scheme = \"dcqcn\"", "scheme = \"timely\"\n[cc.timely]\ntcd = true\n[network]\ndetection.kind = 'red'");
    toml_states_of_zero: star_with("[record]\nstates = '0us'\n");
    toml_syntax: star("hosts = 4", "hosts = = 4");
    toml_misspelt_key: star("hosts = 4", "hots = 4");
    toml_misspelt_block: star("topology.star", "topology.strar");
    toml_unknown_key: star("hosts = 4", "hosts = 4\ncolour = 'red'");
    toml_wrong_unit: star("hosts = 4", "hosts = 4\ndelay = '1 sec'");
    toml_no_unit: star("hosts = 4", "hosts = 4\nrate = '100'");
    toml_wrong_type: star("hosts = 4", "hosts = 'four'");
    toml_host_of_no_rate: star("[cc]", "[network.endpoint]\nrate = '0Gbps'\n[cc]");
    toml_bolt_other_scheme: star("name = ", "fidelity = 'bolt-ns3'\nname = ");
    toml_host_misspelt: star("[cc]", "[network.endpoint]\nper-paket = '50ns'\n[cc]");
    toml_zero_rate: star("hosts = 4", "hosts = 4\nrate = '0Gbps'");
    toml_no_topology: star("[topology.star]\nhosts = 4\n", "");
    toml_two_topologies: star("[[workload]]", "[topology.fat-tree]\nk = 4\n[[workload]]");
    toml_odd_fat_tree: star("topology.star]\nhosts = 4", "topology.fat-tree]\nk = 5");
    toml_two_blocks_in_a_workload: star("[[workload]]", "[[workload]]\npermutation = { size = '1MB' }");
    toml_no_block_in_a_workload: star_with("[[workload]]\nlabel = 'x'\n");
    toml_switch_as_receiver: star("receiver = 4", "receiver = 0");
    toml_node_out_of_range: star("receiver = 4", "receiver = 40");
    toml_fan_in_too_large: star("fan-in = 3", "fan-in = 4");
    toml_stride_to_itself: star("incast = { fan-in = 3, receiver = 4, size = \"1MB\" }", "permutation = { stride = 4, size = '1MB' }");
    toml_flow_to_itself: star("incast = { fan-in = 3, receiver = 4, size = \"1MB\" }", "flows = [\n  { src = 1, dst = 2, size = '1MB' },\n  { src = 2, dst = 2, size = '1MB' },\n]");
    toml_priority_out_of_range: star("[[workload]]", "[[workload]]\npriority = 8");
    toml_load_of_nothing: star("incast = { fan-in = 3, receiver = 4, size = \"1MB\" }", "poisson = { sizes = 'websearch', load = -0.3 }");
    toml_too_many_flows: star("incast = { fan-in = 3, receiver = 4, size = \"1MB\" }", "poisson = { sizes = 'google-rpc', load = 900.0 }");
    toml_header_too_large: star_with("[network]\ncnp = '1MB'\n");
    toml_unknown_distribution: star("incast = { fan-in = 3, receiver = 4, size = \"1MB\" }", "poisson = { sizes = 'web-search', load = 0.3 }");
    toml_misspelt_scheme: star("dcqcn", "dcqnc");
    toml_no_scheme: star("scheme = \"dcqcn\"", "");
    toml_misspelt_scheme_block: star_with("[cc.dcqnc]\nrate-ai = '50Mbps'\n");
    toml_misspelt_parameter: star_with("[cc.dcqcn]\nrate-aii = '50Mbps'\n");
    toml_parameter_out_of_range: star_with("[cc.hpcc]\neta = 0.9\n[cc.dcqcn]\ng = 2.0\n");
    toml_unknown_flow_control: star_with("[network]\nflow-control = 'pcf'\n");
    toml_headroom_larger_than_buffer: star_with("[network]\nbuffer = '1MB'\nheadroom.fixed = '300KB'\n");
    toml_ecn_without_a_rate: star_with("[network.ecn]\ncurves = [{ rate = '25Gbps', kmin = '100KB', kmax = '400KB', pmax = 0.2 }]\n");
    toml_kmin_above_kmax: star_with("[network.ecn]\nkmin = '400KB'\nkmax = '100KB'\n");
    toml_no_timeout: star_with("[network]\nrto = '0s'\n");
    toml_period_of_zero: star_with("[record]\nrates = '0s'\n");
    toml_whole_number_too_large: star("hosts = 4", "hosts = 1_000_000_000_000");
    toml_headroom_of_very_long_links: star("hosts = 4", "hosts = 4\ndelay = '100s'");
    toml_terminal_escapes: star("hosts = 4", "hosts = 4\n\"\\u001b[2J\" = 1");
    toml_xoff_above_the_buffer: star_with("[network]\nbuffer = '1MB'\n[network.pfc.static]\nxoff = '2MB'\nxon = '90KB'\n");
    toml_pfc_shift: star_with("[network.pfc]\ndynamic.shift = 64\n");
    toml_window_of_an_unknown_scheme: star_with("[cc.windows]\ndcqnc = 'fixed'\n");
    toml_more_sizes_than_senders: star("size = \"1MB\"", "sizes = ['1KB', '2KB', '3KB', '4KB']");
    toml_time_too_long: star("hosts = 4", "hosts = 4\ndelay = '9000000s'");
    toml_xon_above_xoff: star_with("[network.pfc.static]\nxoff = '80KB'\nxon = '90KB'\n");
    toml_failure_of_no_link: star_with("[[network.failure]]\nnodes = [1, 2]\nat = '1ms'\n");
    toml_hpcc_without_window: star("scheme = \"dcqcn\"", "scheme = \"hpcc\"\nwindow = \"off\"");
    toml_bolt_without_assist: star("scheme = \"dcqcn\"", "scheme = \"bolt\"\n[network]\nassist = \"none\"");
    toml_bolt_by_name_without_assist: star_with("[network]\nassist = 'none'\n[[workload]]\nscheme = 'bolt'\npermutation = { size = '1MB' }\n");
    toml_bolt_with_few_acks: star("scheme = \"dcqcn\"", "scheme = \"bolt\"\n[network]\nack.every-packets = 4");
    toml_bolt_with_chunks: star("scheme = \"dcqcn\"", "scheme = \"bolt\"\n[network]\nback-to-chunk = \"4KB\"");
    toml_bolt_without_pacing: star("scheme = \"dcqcn\"", "scheme = \"bolt\"\n[network]\npacing = false");
    toml_bolt_with_contradicting_windows: star("scheme = \"dcqcn\"", "scheme = \"bolt\"\nbolt.initial-window = \"20KB\"\nbolt.max-window = \"10KB\"");
    toml_assist_of_no_ports: star_with("[network]\nassist-ports = 'hosts'\n");
    toml_duplicate_links: star("[topology.star]\nhosts = 4", "[topology.graph]\nnodes = 5\nswitches = [0]\nlinks = [\n  { a = 0, b = 1 },\n  { a = 1, b = 0 },\n]");
    toml_host_without_link: star("[topology.star]\nhosts = 4", "[topology.graph]\nnodes = 5\nswitches = [0]\nlinks = [{ a = 0, b = 1 }, { a = 0, b = 2 }, { a = 0, b = 3 }]");
    toml_no_path: star("[topology.star]\nhosts = 4", "[topology.graph]\nnodes = 7\nswitches = [0, 6]\nlinks = [{ a = 0, b = 1 }, { a = 0, b = 2 }, { a = 0, b = 3 }, { a = 6, b = 4 }]");
    toml_unknown_load_balancing: star_with("[network]\nload-balancing = 'sprays'\n");
    toml_unknown_ecmp_hash: star_with("[network]\necmp-hash = 'share'\n");
    toml_pause_heeded_too_late: star_with("[network]\npfc.reaction-jitter = '2s'\n");
    toml_flowlets_without_a_gap: star_with("[network]\nload-balancing = 'flowlet'\nflowlet.gap = '0us'\n");
    toml_flowlets_in_an_odd_table: star_with("[network]\nload-balancing = 'adaptive'\nadaptive.per = 'flowlet'\nflowlet.entries = 1000\n");
    toml_spraying_with_go_back_n: star_with("[network]\nload-balancing = 'spray'\n");
    toml_spraying_with_chunks: star_with("[network]\nload-balancing = 'spray'\nback-to-chunk = '4KB'\n");
    toml_flowlets_with_chunks: star_with("[network]\nload-balancing = 'adaptive'\nadaptive.per = 'flowlet'\nback-to-chunk = '4KB'\n");
    toml_ecmp_with_chunks: star_with("[network]\nload-balancing = 'ecmp'\nback-to-chunk = '4KB'\n");
    toml_spraying_with_strict_irn: star_with("[network]\nload-balancing = 'spray'\nrecovery = 'irn'\n");
    toml_spraying_with_lenient_irn: star_with("[network]\nload-balancing = 'spray'\nrecovery = 'irn'\nirn.reordering = 64\n");
    toml_qcn_without_switches: outcome(&[("test.toml", format!("{}[network]\nassist = 'none'\n", STAR.replace("dcqcn", "qcn")).as_bytes())], &[]);
    toml_pcn_without_marks: outcome(&[("test.toml", format!("{}[network]\necn.curves = []\n", STAR.replace("dcqcn", "pcn")).as_bytes())], &[]);
    toml_pcn_without_pauses: outcome(&[("test.toml", format!("{}[network]\nflow-control = 'none'\n", STAR.replace("dcqcn", "pcn")).as_bytes())], &[]);
    toml_spraying_with_telemetry: outcome(&[("test.toml", format!("{}[network]\nload-balancing = 'spray'\n", STAR.replace("dcqcn", "hpcc")).as_bytes())], &[]);
    toml_adaptive_with_telemetry: outcome(&[("test.toml", format!("{}[network]\nload-balancing = 'adaptive'\n", STAR.replace("dcqcn", "hpcc")).as_bytes())], &[]);
    toml_duration_of_nothing: star("10ms", "0s");
    toml_trace_of_no_node: star_with("[record]\ntrace = [7]\n");
    toml_ports_in_no_unit: star_with("[record]\nports = 'oft'\n");
    toml_ports_in_bins_of_nothing: star_with("[record]\nports = '0us'\n");
    toml_flows_by_number: star_with("[record]\nflows = 64\n");
    toml_missing_file: star("[topology.star]\nhosts = 4", "[topology]\nfile = 'nowhere.txt'");
    set_good: star_set(&["topology.star.hosts=8", "workload.0.incast.fan-in=7", "workload.0.incast.receiver=8", "cc.window=variable", "network.rto=off"]);
    set_misspelt_key: star_set(&["duration=1ms", "topology.star.hots=8"]);
    set_wrong_unit: star_set(&["network.buffer=32 megs"]);
    set_no_equals: star_set(&["network.buffer"]);
    set_element: star_set(&["workload.0=1"]);
    set_no_element: star_set(&["workload.5.priority=1"]);
    set_not_a_table: star_set(&["name.first=1"]);
    not_utf8: outcome(&[("test.toml", b"name = 'a'\nduration = '\xff'\n")], &[]);
}

/// Returns the star with another workload.
fn work(workload: &str) -> String {
    star("incast = { fan-in = 3, receiver = 4, size = \"1MB\" }", workload)
}

snapshots! {
    collective_over_one_host: work("all-reduce = { hosts = [2] }");
    collective_over_no_host: work("all-gather = { hosts = [] }");
    collective_over_a_switch: work("all-reduce = { hosts = [0, 1] }");
    collective_host_twice: work("all-to-all = { hosts = [1, 2, 1] }");
    collective_misspelt_algorithm: work("all-reduce = { algorithm = 'hierarchic' }");
    collective_algorithm_of_another: work("all-to-all = { algorithm = 'ring' }");
    collective_without_groups: work("all-reduce = { algorithm = 'hierarchical' }");
    collective_of_unequal_groups: work("all-reduce = { algorithm = 'hierarchical', group-size = 3 }");
    collective_groups_without_levels: work("all-reduce = { group-size = 2 }");
    collective_of_three_by_halves: work("all-reduce = { algorithm = 'halving-doubling', hosts = [1, 2, 3] }");
    collective_smaller_than_its_hosts: work("all-reduce = { size = '3B' }");
    collective_without_iterations: work("all-reduce = { iterations = 0 }");
    collective_with_too_many_flows: work("all-reduce = { iterations = 4000000000 }");
    collective_good: work("all-reduce = { hosts = [3, 1, 2], iterations = 2 }");
    loop_without_outstanding: work("closed-loop = { outstanding = 0, messages = 5 }");
    loop_without_messages: work("closed-loop = { outstanding = 2 }");
    loop_with_both_sizes: work("closed-loop = { messages = 2, size = '1KB', sizes = 'websearch' }");
    loop_to_oneself: work("closed-loop = { messages = 2, senders = [1, 2], receivers = [2] }");
    hosts_of_another_type: work("closed-loop = { messages = 2, senders = 'some' }");
    mix_of_less_than_one: work("poisson = { load = 0.1, sizes = [{ size = '1KB', share = 0.5 }, { size = '1MB', share = 0.4 }] }");
    mix_without_share: work("poisson = { load = 0.1, sizes = [{ size = '1KB' }] }");
    mix_misspelt: work("poisson = { load = 0.1, sizes = [{ size = '1KB', part = 1.0 }] }");
    mix_negative: work("poisson = { load = 0.1, sizes = [{ size = '1KB', share = -0.5 }] }");
    mix_of_numbers: work("poisson = { load = 0.1, sizes = 5 }");
    trace_without_file: work("trace = {}");
    trace_of_no_file: work("trace = { file = 'nowhere.csv' }");
}

/// Returns the star with a file of flow sizes.
fn sizes(text: &str) -> String {
    let scenario = STAR.replace(
        "incast = { fan-in = 3, receiver = 4, size = \"1MB\" }",
        "poisson = { sizes = 'sizes.txt', load = 0.1 }",
    );
    outcome(
        &[("test.toml", scenario.as_bytes()), ("sizes.txt", text.as_bytes())],
        &[],
    )
}

snapshots! {
    sizes_good: sizes("bytes percent\n100 0\n2000 100\n");
    sizes_fall: sizes("100 0\n2000 60\n3000 50\n4000 100\n");
    sizes_go_back: sizes("100 0\n2000 60\n1000 100\n");
    sizes_end_early: sizes("100 0\n2000 60\n3000 99.5\n");
    sizes_beyond_all: sizes("100 0\n2000 60\n3000 120\n");
    sizes_negative: sizes("-100 0\n2000 100\n");
    sizes_not_a_number: sizes("100 0\nNaN 50\n2000 100\n");
    sizes_in_pairs: sizes("100 0\n2000\n");
    sizes_of_nothing: sizes("0 0\n0 100\n");
    sizes_empty: sizes("");
}

/// Returns the star with a trace.
fn trace(text: &str) -> String {
    trace_without("", text)
}

/// Returns the star with a trace without some columns.
fn trace_without(columns: &str, text: &str) -> String {
    let scenario = STAR.replace(
        "incast = { fan-in = 3, receiver = 4, size = \"1MB\" }",
        &format!("trace = {{ file = 'flows.csv', ignore = [{columns}] }}"),
    );
    outcome(
        &[("test.toml", scenario.as_bytes()), ("flows.csv", text.as_bytes())],
        &[],
    )
}

snapshots! {
    trace_good: trace("dst, src,start_us,colour,size_bytes,mood\n2,1,0.5,red,1000,good\n");
    trace_of_a_run: trace("flow_id,label,scheme,src,dst,priority,size_bytes,start_ps,fct_ps,ideal_fct_ps,slowdown,retransmitted_bytes,status\n0,a,dcqcn,1,2,3,1000,0,5,5,1.0,0,completed\n1,a,dcqcn,1,2,3,1000,0,,5,,0,not-started\n");
    trace_missing_column: trace("src,destination,size_bytes,start_ps\n1,2,1000,0\n");
    trace_missing_start: trace("src,dst,size_bytes,start\n1,2,1000,0\n");
    trace_two_starts: trace("src,dst,size_bytes,start_ps,start_s\n1,2,1000,0,0\n");
    trace_column_twice: trace("src,dst,src,size_bytes,start_ps\n1,2,1,1000,0\n");
    trace_empty: trace("");
    trace_no_number: trace("src,dst,size_bytes,start_ps\n1,2,1000,0\n1, two,1000,0\n");
    trace_empty_field: trace("src,dst,size_bytes,start_ps\n1,2,,0\n");
    trace_negative_start: trace("src,dst,size_bytes,start_us\n1,2,1000,-1\n");
    trace_quoted: trace("label,src,dst,size_bytes,start_us\n\"a, b\",1,2,lots,0\n");
    trace_short_line: trace("src,dst,size_bytes,start_ps\n1,2,1000,0\n1,2,1000\n");
    trace_priority: trace("src,dst,size_bytes,start_ps,priority\n1,2,1000,0,9\n");
    trace_priority_of_control: trace("src,dst,size_bytes,start_ps,priority\n1,2,1000,0,0\n");
    trace_misspelt_scheme: trace("src,dst,size_bytes,start_ps,scheme\n1,2,1000,0,dcqnc\n");
    trace_of_a_switch: trace("src,dst,size_bytes,start_ps\n1,0,1000,0\n");
    trace_to_itself: trace("src,dst,size_bytes,start_ps\n1,1,1000,0\n");
    trace_of_no_bytes: trace("src,dst,size_bytes,start_ps\n1,2,0,0\n");
    trace_waits_for_nothing_known: trace("src,dst,size_bytes,start_ps,after\n1,2,1000,0,\n2,1,1000,0,7\n");
    trace_waits_in_a_circle: trace("flow_id,src,dst,size_bytes,after\n10,1,2,1000,\n11,2,3,1000,10;13\n12,3,1,1000,11\n13,1,2,1000,12\n");
    trace_one_id_twice: trace("flow_id,src,dst,size_bytes,start_ps\n1,1,2,1000,0\n1,2,1,1000,0\n");
    trace_without_size: trace_without("'size_bytes'", "src,dst,size_bytes,start_ps\n1,2,1000,0\n");
    trace_without_what_is_not_there: trace_without("'schem'", "src,dst,size_bytes,start_ps,scheme\n1,2,1000,0,hpcc\n");
    trace_without_good: trace_without("'scheme', 'mood'", "src,dst,size_bytes,start_ps,scheme,mood\n1,2,1000,0,hppc,bad\n");
    trace_after_the_end: trace("src,dst,size_bytes,start_s\n1,2,1000,3\n");
}

const CONFIG: &str = "TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
SIMULATOR_STOP_TIME 2.5
CC_MODE 3
RATE_AI 50Mb/s
RATE_HAI 50Mb/s
L2_CHUNK_SIZE 4000
ENABLE_TRACE 0
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
BUFFER_SIZE 32
";
const TOPOLOGY: &str = "4 1 3
0
0 1 100Gbps 1000ns 0
0 2 100Gbps 0.001ms 0
0 3 100Gbps 1us 0
";
const FLOWS: &str = "2
1 3 3 100 100000 2.0
2 3 3 200 5000000000 2.000001
";

/// Returns an ns-3 input with one of its files changed.
fn ns3(file: &str, from: &str, to: &str) -> String {
    let mut files = [
        ("config.txt", CONFIG),
        ("topology.txt", TOPOLOGY),
        ("flow.txt", FLOWS),
    ]
    .map(|(n, t)| (n, t.to_string()));
    let text = &mut files.iter_mut().find(|(name, _)| *name == file).unwrap().1;
    assert!(text.contains(from), "{from}");
    *text = text.replacen(from, to, 1);
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    outcome(&files, &[])
}

snapshots! {
    // One of its sizes is above 4 GiB.
    ns3_good: ns3("config.txt", "", "");
    ns3_misspelt_key: ns3("config.txt", "BUFFER_SIZE", "BUFER_SIZE");
    ns3_unknown_key: ns3("config.txt", "BUFFER_SIZE", "COLOUR red\nBUFFER_SIZE");
    ns3_ignored_key: ns3("config.txt", "BUFFER_SIZE", "DATA_RATE 5Mbps\nBUFFER_SIZE 16\nBUFFER_SIZE");
    ns3_back_to_zero: ns3("config.txt", "BUFFER_SIZE", "L2_BACK_TO_ZERO 1\nBUFFER_SIZE");
    ns3_no_value: ns3("config.txt", "BUFFER_SIZE 32", "BUFFER_SIZE");
    ns3_key_for_a_value: ns3("config.txt", "CC_MODE 3", "CC_MODE");
    ns3_wrong_type: ns3("config.txt", "BUFFER_SIZE 32", "BUFFER_SIZE 32MB");
    ns3_wrong_flag: ns3("config.txt", "ENABLE_TRACE 0", "ENABLE_TRACE 2");
    ns3_wrong_rate: ns3("config.txt", "RATE_AI 50Mb/s", "RATE_AI 50Mb");
    ns3_missing_rate: ns3("config.txt", "RATE_AI 50Mb/s\n", "");
    ns3_parameter_out_of_range: ns3("config.txt", "CC_MODE 3", "CC_MODE 3\nU_TARGET 1.5");
    ns3_truncated_map: ns3("config.txt", "KMIN_MAP 1", "KMIN_MAP 2");
    ns3_map_without_a_rate: ns3("topology.txt", "0 3 100Gbps", "0 3 40Gbps");
    ns3_maps_differ: ns3("config.txt", "KMIN_MAP 1 1", "KMIN_MAP 1 2");
    ns3_no_topology: ns3("config.txt", "TOPOLOGY_FILE topology.txt\n", "");
    ns3_missing_file: ns3("config.txt", "flow.txt", "flows.txt");
    ns3_chunk_of_nothing: ns3("config.txt", "L2_CHUNK_SIZE 4000", "L2_CHUNK_SIZE 0");
    ns3_buffer_too_small: ns3("config.txt", "BUFFER_SIZE 32", "BUFFER_SIZE 0");
    ns3_wrapping_threshold: ns3("topology.txt", "0 3 100Gbps 1us", "0 3 100Gbps 10ms");
    ns3_node_out_of_range: ns3("topology.txt", "0 3", "0 4");
    ns3_zero_rate: ns3("topology.txt", "0 3 100Gbps", "0 3 0Gbps");
    ns3_bad_delay: ns3("topology.txt", "1000ns", "1000nsec");
    ns3_bad_error_rate: ns3("topology.txt", "1000ns 0", "1000ns nan");
    ns3_fewer_links: ns3("topology.txt", "4 1 3", "4 1 4");
    ns3_more_links: ns3("topology.txt", "4 1 3", "4 1 2");
    ns3_parallel_links: ns3("topology.txt", "4 1 3\n0", "4 1 4\n0\n0 1 100Gbps 1us 0");
    ns3_fewer_flows: ns3("flow.txt", "2\n", "3\n");
    ns3_truncated_flow: ns3("flow.txt", " 5000000000 2.000001", "");
    ns3_flow_of_a_switch: ns3("flow.txt", "1 3 3", "0 3 3");
    ns3_flow_of_no_node: ns3("flow.txt", "1 3 3", "1 9 3");
    ns3_flow_to_itself: ns3("flow.txt", "1 3 3", "3 3 3");
    ns3_flow_class: ns3("flow.txt", "1 3 3", "1 3 0");
    ns3_negative_size: ns3("flow.txt", "100000", "-1");
    ns3_bad_start: ns3("flow.txt", "2.0\n", "NaN\n");
    ns3_unsorted_flows: ns3("flow.txt", "2.0\n", "2.1\n");
    ns3_flows_after_the_end: ns3("config.txt", "SIMULATOR_STOP_TIME 2.5", "SIMULATOR_STOP_TIME 1.5");
    ns3_not_utf8: outcome(&[("config.txt", CONFIG.as_bytes()), ("topology.txt", b"4 1 3\n0\n0 \xc3\x28 100Gbps")], &[]);
}

#[test]
fn names_of_scenarios() {
    let message = |input: &str| load(input, &Overrides::default()).unwrap_err().to_string();
    insta::assert_snapshot!("name_misspelt", message("incast20"));
    insta::assert_snapshot!("name_unknown", message("no/such/thing.toml"));
}

/// Replaces `length` characters of `text`, from `at` on, by `with`.
fn damaged(text: &str, at: usize, length: usize, with: &str) -> String {
    let kept = |range: std::ops::Range<usize>| {
        text.chars()
            .skip(range.start)
            .take(range.len())
            .collect::<String>()
    };
    let at = at % text.chars().count();
    format!("{}{with}{}", kept(0..at), kept(at + length..text.len()))
}

proptest::proptest! {
    /// A damaged scenario leads to an error message, never to a panic.
    #[test]
    fn a_damaged_scenario_is_no_panic(which in 0usize..7, at in 0usize.., length in 0usize..12, with in "[a-z0-9.=\\[\\]\"{}é \n-]{0,6}") {
        let text = damaged(paceline_scenario::scenarios()[which].text, at, length, &with);
        if let Err(error) = paceline_scenario::load_text("damaged.toml", &text, &Overrides::default()) {
            proptest::prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn a_damaged_ns3_input_is_no_panic(which in 0usize..3, at in 0usize.., length in 0usize..12, with in "[A-Z0-9.e\n -]{0,6}") {
        let mut texts = [CONFIG, TOPOLOGY, FLOWS].map(str::to_string);
        texts[which] = damaged(&texts[which], at, length, &with);
        let files = [("config.txt", texts[0].as_bytes()), ("topology.txt", texts[1].as_bytes()), ("flow.txt", texts[2].as_bytes())];
        proptest::prop_assert!(!outcome(&files, &[]).is_empty());
    }

    #[test]
    fn a_strange_setting_is_no_panic(set in "[a-z.=0-9 \"\\[{]{0,20}|(network|workload|cc)[.](0|buffer|scheme|ecn)[.=][a-z0-9=.\"-]{0,8}") {
        proptest::prop_assert!(!star_set(&[&set]).is_empty());
    }
}
