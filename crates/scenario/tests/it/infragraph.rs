//! Networks of InfraGraph: its own blueprints against its own graphs, slices, transceivers, and mistakes.

use std::collections::{BTreeMap, VecDeque};
use std::fs;

use paceline_fabric::spec::NodeKind;
use paceline_kernel::{BitRate, Span};
use paceline_scenario::topology::{self, Topology};
use paceline_scenario::{Overrides, Resolved, generate, load, load_text};

fn data(name: &str) -> String {
    format!("{}/tests/data/infragraph/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Loads a scenario with the infrastructure in a file, and these further keys.
fn scenario(file: &str, keys: &str) -> Result<Resolved, String> {
    let text = format!(
        "duration = \"5ms\"\n[topology.infragraph]\nfile = {file:?}\n{keys}\n[[workload]]\n\
         permutation = {{ size = \"10KB\" }}\n[cc]\nscheme = \"dcqcn\"\n"
    );
    load_text("mine.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

/// Loads a scenario with an infrastructure.
fn with(text: &str, keys: &str) -> Result<Resolved, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.yaml");
    fs::write(&path, text).unwrap();
    scenario(path.to_str().unwrap(), keys)
}

/// Returns the number of pairs of hosts by the links between them, on paths that pass no other host.
fn distances(net: &Topology) -> BTreeMap<usize, usize> {
    let mut next = vec![Vec::new(); net.nodes.len()];
    for link in &net.links {
        next[link.a.0 as usize].push(link.b.0 as usize);
        next[link.b.0 as usize].push(link.a.0 as usize);
    }
    let mut counts = BTreeMap::new();
    let hosts: Vec<usize> = net.hosts().map(|host| host.0 as usize).collect();
    for &from in &hosts {
        let mut far = vec![usize::MAX; net.nodes.len()];
        far[from] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            if at != from && net.nodes[at] == NodeKind::Host {
                continue;
            }
            for &to in &next[at] {
                if far[to] == usize::MAX {
                    far[to] = far[at] + 1;
                    queue.push_back(to);
                }
            }
        }
        for &to in hosts.iter().filter(|to| **to > from) {
            *counts.entry(far[to]).or_default() += 1;
        }
    }
    counts
}

/// `oracle.csv` has the counts of `InfraGraphService.get_networkx_graph()` (infragraph 3.1.0) for each of its blueprints of
/// fabrics: instances with a NIC, other instances, edges between instances, edges from a switch to itself, and pairs of hosts
/// by distance.
#[test]
fn blueprints_are_the_graphs_of_the_package() {
    let oracle = fs::read_to_string(data("oracle.csv")).unwrap();
    for line in oracle.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [file, hosts, switches, links, loops, pairs] = cells[..] else {
            panic!("{line}")
        };
        let resolved = scenario(&data(file), "delay = \"1us\"").unwrap();
        let net = Topology::of(&resolved.run);
        let count = |kind| net.nodes.iter().filter(|node| **node == kind).count();
        let loops: usize = loops.parse().unwrap();
        let found = (count(NodeKind::Host), count(NodeKind::Switch), net.links.len());
        let expected = [hosts, switches, links].map(|cell| cell.parse::<usize>().unwrap());
        assert_eq!(found, (expected[0], expected[1], expected[2]), "{file}");
        let found: Vec<String> = distances(&net)
            .iter()
            .map(|(far, count)| format!("{far}:{count}"))
            .collect();
        assert_eq!(found.join(" "), pairs, "{file}");
        let warned = resolved
            .warnings
            .iter()
            .any(|warning| warning.to_string().contains("to itself"));
        assert_eq!(warned, loops > 0, "{file}");
        // A latency that nobody gives is asked for, at the link.
        let error = scenario(&data(file), "").unwrap_err();
        assert!(
            error.contains("has no latency") && error.contains(file),
            "{error}"
        );
        // The folder of a run has all links, and needs no defaults.
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("scenario.toml"), &resolved.toml).unwrap();
        for (name, text) in &resolved.files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let again = load(folder.path().to_str().unwrap(), &Overrides::default()).unwrap();
        assert_eq!(again.run, resolved.run, "{file}");
    }
}

#[test]
fn hosts_come_first_and_keep_all_their_nics() {
    let resolved = scenario(&data("box.yaml"), "").unwrap();
    let net = Topology::of(&resolved.run);
    assert_eq!(net.nodes, [NodeKind::Host, NodeKind::Host, NodeKind::Switch]);
    let ends: Vec<(u32, u32)> = net.links.iter().map(|link| (link.a.0, link.b.0)).collect();
    assert_eq!(ends, [(0, 2), (0, 2), (1, 2), (1, 2)]);
    for link in &net.links {
        assert_eq!(
            (link.rate, link.delay),
            (BitRate::from_gbps(400), Span::from_ns(1500))
        );
    }
    // The same by `topology.file`.
    let text = format!(
        "topology.file = {:?}\nworkload = []\n[cc]\nscheme = \"none\"\n",
        data("box.yaml")
    );
    let same = load_text("mine.toml", &text, &Overrides::default()).unwrap();
    assert_eq!(Topology::of(&same.run), net);
}

/// JSON, slices from the end and with a step, NICs as devices in devices, and a transceiver in each cable: made with the
/// package, whose graph has 8 + 8 edges at transceivers and 4 between switches.
#[test]
fn transceivers_are_parts_of_links() {
    let resolved = scenario(&data("optics.json"), "").unwrap();
    let net = Topology::of(&resolved.run);
    let count = |kind| net.nodes.iter().filter(|node| **node == kind).count();
    assert_eq!((count(NodeKind::Host), count(NodeKind::Switch)), (4, 4));
    assert_eq!(net.links.len(), 8 + 4);
    let ends = |from: usize| {
        net.links[from..]
            .iter()
            .map(|link| (link.a.0, link.b.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ends(0)[..8],
        [(0, 4), (1, 4), (2, 4), (3, 4), (0, 5), (1, 5), (2, 5), (3, 5)]
    );
    assert_eq!(ends(8), [(4, 6), (4, 7), (5, 6), (5, 7)]);
    // 100 ns of copper and 500 ns of fibre, both of 100 Gbit/s.
    assert_eq!(
        (net.links[0].rate, net.links[0].delay),
        (BitRate::from_gbps(100), Span::from_ns(600))
    );
    assert_eq!(
        (net.links[8].rate, net.links[8].delay),
        (BitRate::from_gbps(400), Span::from_us(1))
    );
}

#[test]
fn rings_and_components_without_edges_to_themselves() {
    let box_yaml = fs::read_to_string(data("box.yaml")).unwrap();
    let at = box_yaml.find("edges:\n  - ep1").unwrap();
    let edges = |ep1: &str, ep2: &str, scheme: &str| {
        let edge = format!("  - {{ep1: {ep1}, ep2: {ep2}, scheme: {scheme}, link: cable}}\n");
        let hosts = "  - {ep1: {instance: box, component: \"nic[0]\"}, ep2: {instance: \"sw[0]\", component: \"port[2:4]\"}, \
                     scheme: one2one, link: cable}\n";
        let text = format!("{}edges:\n{hosts}{edge}", &box_yaml[..at]);
        let text = text.replace("device: sw, count: 1", "device: sw, count: 4");
        let net = with(&text, "").map(|resolved| Topology::of(&resolved.run))?;
        Ok::<_, String>(
            net.links[2..]
                .iter()
                .map(|link| (link.a.0, link.b.0))
                .collect::<Vec<_>>(),
        )
    };
    let all = "{instance: sw, component: \"port[0]\"}";
    assert_eq!(edges(all, all, "ring").unwrap(), [(2, 3), (3, 4), (4, 5), (5, 2)]);
    let mesh = [(2, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)];
    assert_eq!(edges(all, all, "many2many").unwrap(), mesh);
    // Backwards, and the last by its distance from the end.
    let back = "{instance: \"sw[::-1]\", component: \"port[1]\"}";
    let last = "{instance: \"sw[-1]\", component: \"port[0:4:2]\"}";
    assert_eq!(edges(back, last, "one2one").unwrap(), [(4, 5)]);
    let wrong = |ep1: &str| edges(ep1, all, "one2one").unwrap_err();
    assert!(wrong("{instance: \"sw[4]\", component: port}").contains("`4` is not one of 4"));
    assert!(wrong("{instance: \"sw[0\", component: port}").contains("has no `]` at its end"));
    assert!(wrong("{instance: sw, component: \"port[a]\"}").contains("`a` is no index or slice"));
    assert!(wrong("{instance: sw, component: \"port[::0]\"}").contains("the step of `::0` is zero"));
}

#[test]
fn mistakes_have_a_place_and_the_nearest_name() {
    let text = fs::read_to_string(data("box.yaml")).unwrap();
    let error = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        with(&text.replace(from, to), "").unwrap_err()
    };
    for (from, to, says, line) in [
        (
            "link: cable",
            "link: cabel",
            "there is no link `cabel` (did you mean `cable`?)",
            30,
        ),
        (
            "instance: sw",
            "instance: sv",
            "there is no instance `sv` (there is `box`, `sw`)",
            28,
        ),
        (
            "nic[0:2]",
            "nik[0:2]",
            "the device `box` has no component `nik` (did you mean `nic`?)",
            27,
        ),
        (
            "device: sw",
            "device: swx",
            "there is no device `swx` (did you mean `sw`?)",
            20,
        ),
        (
            "choice: port",
            "choice: prot",
            "there is no kind of component `prot` (did you mean `port`?)",
            14,
        ),
        (
            "scheme: one2one\n",
            "scheme: one2onee\n",
            "there is no scheme `one2onee` (did you mean `one2one`?)",
            29,
        ),
        (
            "count: 4",
            "count: four",
            "`four` is no whole number of at most 1000000",
            14,
        ),
        ("us: 1.5", "us: -1", "`-1` is no number from 0 to 1000000", 25),
        ("name: cable", "nam: cable", "the link has no `name`", 22),
        (
            ": {choice: us, us: 1.5}",
            ":",
            "the link `cable` has no latency",
            22,
        ),
        (
            "gigabits_per_second: 400",
            "gigatransfers_per_second: 32",
            "has no bandwidth in bits or bytes",
            22,
        ),
        ("devices:", "devices: }", "this is not YAML or JSON", 3),
        (
            "count: 2}\n  - {name: sw",
            "count: 2}\n  - {name: box",
            "there is a second instance `box`",
            20,
        ),
    ] {
        let error = error(from, to);
        assert!(error.contains(says), "{error}");
        assert!(error.contains(&format!("net.yaml:{line}:")), "{line}: {error}");
    }
    // A device in itself, and one of which nothing is a host.
    let circle = error(
        "- {name: nic, count: 2, choice: nic}",
        "- {name: box, count: 2, choice: device}",
    );
    assert!(circle.contains("the device `box` contains itself"), "{circle}");
    let nothing = text
        .replace("choice: xpu", "choice: cpu")
        .replace("choice: nic", "choice: port");
    assert!(with(&nothing, "").unwrap_err().contains("there are no hosts"));
    // Deep nesting and aliases are no danger.
    let deep = |levels: usize| with(&format!("devices:\n  - {}", "[".repeat(levels)), "").unwrap_err();
    let own = deep(100);
    assert!(own.contains("lists and tables in more than 64 others"), "{own}");
    assert!(deep(100_000).contains("net.yaml:2:"));
    let aliases = text
        .replace("links: [{name: pcie}]", "links: &one [{name: pcie}]")
        .replace("links: [{name: ic}]", "links: *one");
    assert!(with(&aliases, "").is_ok());
}

/// A network that `generate` writes is read as the same one; hosts are first there.
#[test]
fn written_and_read() {
    let gbps = BitRate::from_gbps;
    let rates = topology::FatTreeRates {
        host: gbps(100),
        aggregation: gbps(200),
        core: gbps(400),
    };
    for net in [
        topology::star(5, gbps(100), Span::from_us(1)),
        topology::dumbbell(
            2,
            3,
            (gbps(25), Span::from_ns(100)),
            (gbps(10), Span::from_ps(1_500)),
        ),
        topology::fat_tree(4, 1, rates, Span::from_us(1)),
        topology::hpcc_fat(gbps(100), gbps(400), Span::from_us(1)),
    ] {
        let read = with(&generate::topology_infragraph(&net), "").unwrap();
        let read = Topology::of(&read.run);
        let hosts = net.hosts().count() as u32;
        let order: Vec<u32> = net.hosts().chain(net.switches()).map(|node| node.0).collect();
        let number = |node: u32| order.iter().position(|known| *known == node).unwrap() as u32;
        assert_eq!(
            read.hosts().map(|host| host.0).collect::<Vec<_>>(),
            (0..hosts).collect::<Vec<_>>()
        );
        let links = |net: &Topology, number: &dyn Fn(u32) -> u32| {
            net.links
                .iter()
                .map(|link| (number(link.a.0), number(link.b.0), link.rate, link.delay))
                .collect::<Vec<_>>()
        };
        assert_eq!(links(&read, &|node| node), links(&net, &number));
    }
}
