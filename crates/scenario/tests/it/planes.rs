//! Networks of several planes: a generated topology is built for each, a given one is checked.

use paceline_fabric::spec::{NodeKind, RunSpec};
use paceline_scenario::{Overrides, Resolved, builtin, load_text};

fn load(topology: &str, network: &str) -> Result<Resolved, String> {
    let scheme = match network.contains("[cc]") {
        true => "",
        false => "[cc]\nscheme = 'none'\n",
    };
    let text = format!(
        "duration = '1ms'\n[[workload]]\npermutation = {{ size = '10KB' }}\n{topology}\n[network]\nrecovery = 'rud'\n\
         {network}\n{scheme}"
    );
    load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

fn hosts(run: &RunSpec) -> usize {
    run.nodes.iter().filter(|&&kind| kind == NodeKind::Host).count()
}

/// Every generated topology has the same hosts in several planes, and the switches and links of each; what a run writes
/// gives the same network.
#[test]
fn generated_topologies_are_built_for_each_plane() {
    let blocks = builtin::topologies().iter().map(|entry| entry.name);
    for block in blocks.filter(|name| !["file", "graph", "infragraph", "hpcc-fat"].contains(name)) {
        let topology = format!("[topology.{block}]");
        let one = load(&topology, "").unwrap().run;
        let four = load(&topology, "planes = 4\nload-balancing = 'reps'").unwrap();
        let run = &four.run;
        assert_eq!(run.nic.planes, 4);
        assert_eq!(hosts(run), hosts(&one), "{block}");
        let switches = |run: &RunSpec| run.nodes.len() - hosts(run);
        assert_eq!(switches(run), 4 * switches(&one), "{block}");
        assert_eq!(run.links.len(), 4 * one.links.len(), "{block}");
        assert_eq!(run.links[..one.links.len()], one.links[..], "{block}");
        let again = load_text("again.toml", &four.toml, &Overrides::default()).unwrap();
        assert_eq!(again.run.links, run.links, "{block}");
        assert_eq!(again.run.nic, run.nic, "{block}");
    }
}

/// Groups of hosts are those of one plane.
#[test]
fn leaves_are_those_of_one_plane() {
    let of = |planes: u32| {
        let text = format!(
            "duration = '1ms'\ncc.scheme = 'none'\n[topology.leaf-spine]\n[network]\nplanes = {planes}\n[[workload]]\n\
             permutation = {{ size = '10KB', hosts = 'leaf 1' }}\n"
        );
        let run = load_text("test.toml", &text, &Overrides::default()).unwrap().run;
        run.flows.iter().map(|flow| flow.src).collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(2));
    let text = "duration = '1ms'\ncc.scheme = 'none'\n[topology.leaf-spine]\n[network]\nplanes = 2\n[[workload]]\n\
                permutation = { size = '10KB', hosts = 'leaf 4' }\n";
    assert!(load_text("test.toml", text, &Overrides::default()).is_err());
}

#[test]
fn what_planes_do_not_allow_is_refused() {
    let star = "[topology.star]";
    let graph = "[topology.graph]\nnodes = 3\nswitches = [2]\nlinks = [{ a = 0, b = 2 }, { a = 1, b = 2 }]";
    for (topology, network, says) in [
        (star, "planes = 3", "3 planes"),
        (star, "planes = 32", "32 planes"),
        (star, "planes = 2\nflow-control = 'credits'", "without credits"),
        (graph, "planes = 2", "host 0 has 1 link, and there are 2 planes"),
        (
            "[topology.rail]\nserver-rate = '900Gbps'",
            "planes = 2",
            "links inside their server",
        ),
        (
            star,
            "planes = 4\nload-balancing = 'reps'\nentropy.values = 2",
            "2 entropy values in 4 planes",
        ),
        (
            star,
            "planes = 2\n[cc]\nscheme = 'rccc'",
            "pace their grants by the rate of one link",
        ),
        (
            star,
            "load-balancing = 'mrc'\nplanes = 2\nmrc.in-use = 40",
            "40 values in use, of 32 in a plane",
        ),
        (
            star,
            "load-balancing = 'mrc'\nmrc.probe-interval = '0s'",
            "the time between probes is zero",
        ),
        (
            star,
            "load-balancing = 'mrc'\nflow-control = 'credits'",
            "without credits",
        ),
    ] {
        let error = load(topology, network).unwrap_err();
        assert!(error.contains(says), "{network}: {error}");
    }
    let text = "duration = '1ms'\ncc.scheme = 'none'\n[topology.star]\n[[workload]]\npermutation = { size = '10KB' }\n[network]\n\
                load-balancing = 'mrc'\n";
    let error = load_text("test.toml", text, &Overrides::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("which only `rud` notices"), "{error}");
}
