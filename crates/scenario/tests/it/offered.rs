//! Load that random flows offer to links.

use paceline_scenario::{Overrides, Resolved, WarningKind, load_text};

/// Eight hosts at each of four leaves, and two spines: uplinks carry a quarter of the hosts' rate.
const LEAVES: &str = r#"
duration = "1ms"
[topology.leaf-spine]
leaves = 4
spines = 2
hosts-per-leaf = 8
rate = "100Gbps"
[[workload]]
poisson = { load = 0.5, sizes = "websearch" }
[cc]
scheme = "hpcc"
"#;

fn load(text: &str) -> Resolved {
    load_text("leaves.toml", text, &Overrides::default()).unwrap()
}

fn told(resolved: &Resolved) -> Vec<&str> {
    let found = resolved.warnings.iter();
    let found = found.filter(|warning| warning.id == WarningKind::Workload);
    found.map(|warning| warning.text.as_str()).collect()
}

/// 24 of 31 destinations are behind other leaves: 8 x 50 x 24 / 31 / 2 = 154.8 Gbit/s of payload on each uplink, and 1090
/// bytes for 1000 with telemetry.
#[test]
fn overloaded_uplinks_are_told() {
    for streams in [false, true] {
        let overrides = Overrides {
            streams,
            ..Overrides::default()
        };
        let resolved = load_text("leaves.toml", LEAVES, &overrides).unwrap();
        let told = told(&resolved);
        assert_eq!(told.len(), 1, "{told:?}");
        for part in ["162 %", "15 more links", "uplinks"] {
            assert!(told[0].contains(part), "{part}: {told:?}");
        }
    }
    let light = load(&LEAVES.replace("load = 0.5", "load = 0.3"));
    assert!(told(&light).is_empty());
    // As many uplinks as hosts carry all traffic of the hosts.
    let wide = load(
        &LEAVES
            .replace("spines = 2", "spines = 8")
            .replace("load = 0.5", "load = 0.9"),
    );
    assert!(told(&wide).is_empty());
}

/// The loads of two workloads add up while both are active, and not otherwise.
#[test]
fn workloads_add_up_while_they_overlap() {
    let two = |from: &str| {
        let first = "poisson = { load = 0.2, sizes = \"websearch\", to = \"500us\" }";
        let second = format!(
            "{first}\n[[workload]]\nlabel = \"b\"\npoisson = {{ load = 0.2, sizes = \"websearch\", from = \"{from}\" }}"
        );
        load(&LEAVES.replace("poisson = { load = 0.5, sizes = \"websearch\" }", &second))
    };
    assert_eq!(told(&two("400us")).len(), 1);
    assert!(told(&two("500us")).is_empty());
}

/// A slow host among fast ones receives more than its link carries.
#[test]
fn slow_hosts_are_told() {
    let text = "duration = \"1ms\"\n[topology.graph]\nnodes = 4\nswitches = [3]\nlinks = [\n\
        { a = 0, b = 3, rate = \"100Gbps\", delay = \"1us\" },\n{ a = 1, b = 3, rate = \"100Gbps\", delay = \"1us\" },\n\
        { a = 2, b = 3, rate = \"10Gbps\", delay = \"1us\" }]\n[[workload]]\n\
        poisson = { load = 0.3, sizes = \"websearch\" }\n[cc]\nscheme = \"dcqcn\"\n";
    let resolved = load(text);
    let told = told(&resolved);
    assert!(
        told.len() == 1 && told[0].contains("the link leaf 0 (3) -> host 2"),
        "{told:?}"
    );
}

/// The busiest uplink has the requested load, at any oversubscription.
#[test]
fn load_of_uplinks() {
    let of = |spines: u32| {
        let text = LEAVES.replace("load = 0.5", "load = 0.8, load-of = \"uplinks\"");
        load(&text.replace("spines = 2", &format!("spines = {spines}")))
    };
    let bytes = |resolved: &Resolved| {
        let flows = resolved.run.flows.iter();
        flows.map(|flow| flow.size.get() as f64).sum::<f64>()
    };
    let (two, four) = (of(2), of(4));
    assert!(told(&two).is_empty() && told(&four).is_empty());
    // Twice the uplinks carry twice the bytes.
    let ratio = bytes(&four) / bytes(&two);
    assert!((1.5..2.5).contains(&ratio), "{ratio}");
    // The resolved scenario results in the same run.
    assert_eq!(load(&two.toml).run.flows, two.run.flows);
    let star = "duration = \"1ms\"\ntopology.star.hosts = 3\n[[workload]]\n\
        poisson = { load = 0.5, load-of = \"uplinks\", sizes = \"websearch\" }\n[cc]\nscheme = \"hpcc\"\n";
    let error = load_text("star.toml", star, &Overrides::default()).unwrap_err();
    assert!(error.to_string().contains("no link between switches"), "{error}");
}

/// The load of a file's flows is computed over the time in which they start: here all go to one host, at 1.5 times
/// its rate.
#[test]
fn files_of_many_flows_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let of = |flows: u64| {
        let gap = 1e-3 / flows as f64;
        let bytes = (1.5 * 100e9 / 8.0 * gap) as u64;
        let line = |i: u64| format!("{} 31 3 100 {bytes} {:.9}\n", i % 31, i as f64 * gap);
        let lines: String = (0..flows).map(line).collect();
        std::fs::write(folder.path().join("flow.txt"), format!("{flows}\n{lines}")).unwrap();
        let text = LEAVES.replace(
            "poisson = { load = 0.5, sizes = \"websearch\" }",
            "file = \"flow.txt\"",
        );
        let path = folder.path().join("leaves.toml");
        std::fs::write(&path, text).unwrap();
        paceline_scenario::load(path.to_str().unwrap(), &Overrides::default()).unwrap()
    };
    let many = of(2000);
    let told = told(&many);
    assert!(told.len() == 1 && told[0].contains("-> host 31"), "{told:?}");
    // A few bursts have no meaningful rate.
    assert!(self::told(&of(100)).is_empty());
}

/// A storm pauses NICs, not the links inside a server, unless it names one.
#[test]
fn a_storm_pauses_nics() {
    let text = "duration = \"1ms\"\n[topology.rail]\nservers = 2\ngpus = 2\nserver-rate = \"400Gbps\"\n\
        [[workload]]\npermutation = { size = \"1KB\" }\n[[network.pause-storm]]\nnode = 1\nat = \"10us\"\n\
        [cc]\nscheme = \"dcqcn\"\n";
    let links = |text: &str| -> Vec<(u32, u32)> {
        let run = load(text).run;
        let of = |storm: &paceline_fabric::spec::PauseStorm| run.links[storm.link.unwrap()].clone();
        run.storms
            .iter()
            .map(of)
            .map(|link| (link.a.0, link.b.0))
            .collect()
    };
    let all = load(text).run;
    let inside = all
        .links
        .iter()
        .filter(|link| link.a.0 == 1)
        .map(|link| link.b.0)
        .max()
        .unwrap();
    let nic = links(text);
    assert!(nic.len() == 1 && nic[0].0 == 1 && nic[0].1 != inside, "{nic:?}");
    let named = text.replace("node = 1\n", &format!("node = 1\npeer = {inside}\n"));
    assert_eq!(links(&named), [(1, inside)]);
    let wrong = text.replace("node = 1\n", "node = 1\npeer = 0\n");
    let error = load_text("storm.toml", &wrong, &Overrides::default()).unwrap_err();
    assert!(
        error.to_string().contains("host 1 has no link to host 0"),
        "{error}"
    );
}
