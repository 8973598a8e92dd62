//! Connection matrices and fat trees of htsim.

use std::fs;
use std::path::PathBuf;

use paceline_fabric::spec::{Awaited, Dependency, NodeId};
use paceline_kernel::{Bytes, Span, Time};
use paceline_scenario::{Overrides, Resolved, load, load_text};

fn data(name: &str) -> String {
    format!("{}/tests/data/relatives/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn says(resolved: &Resolved, what: &str) {
    assert!(
        resolved
            .warnings
            .iter()
            .any(|warning| warning.to_string().contains(what)),
        "{what}: {:#?}",
        resolved.warnings
    );
}

/// Loads a scenario with this topology and workload.
fn scenario(topology: &str, workload: &str) -> Result<Resolved, String> {
    let text = format!(
        "duration = \"5ms\"\n[topology]\nfile = {topology:?}\n[[workload]]\n{workload}\n[cc]\nscheme = \"dcqcn\"\n"
    );
    load_text("mine.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

fn temporary(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_string();
    (folder, path)
}

/// Writes the folder of a run and loads it again.
fn written_and_read(resolved: &Resolved) -> Resolved {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scenario.toml"), &resolved.toml).unwrap();
    for (name, text) in &resolved.files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    load(folder.path().to_str().unwrap(), &Overrides::default()).unwrap()
}

#[test]
fn htsims_connections() {
    let fat_tree = |file: &str| {
        let text = format!(
            "duration = \"50ms\"\n[topology.fat-tree]\nk = 4\n[[workload]]\nfile = {:?}\n[cc]\nscheme = \"dcqcn\"\n",
            data(file)
        );
        load_text("mine.toml", &text, &Overrides::default()).unwrap()
    };
    let incast = fat_tree("htsim/incast.cm");
    assert_eq!(incast.run.flows.len(), 15);
    assert!(
        incast
            .run
            .flows
            .iter()
            .all(|flow| flow.dst == NodeId(15) && flow.size == Bytes::new(2_000_000))
    );
    let serial = fat_tree("htsim/alltoall_serial_16n.cm");
    assert_eq!(
        (serial.run.flows.len(), serial.run.dependencies.len()),
        (240, 224)
    );
    // The second flow of host 2 waits for the last acknowledgement of the first.
    assert!(
        serial
            .run
            .dependencies
            .iter()
            .all(|wait| wait.awaited == Awaited::Acknowledged)
    );
    assert_eq!(written_and_read(&serial).run, serial.run);
}

/// Hosts are numbered from 0, regardless of their node numbers; triggers of all kinds work.
#[test]
fn triggers_of_connections() {
    let star = |matrix: &str| {
        let (_folder, path) = temporary("m.cm", matrix);
        let text = format!(
            "duration = \"5ms\"\n[topology.star]\nhosts = 4\n[[workload]]\nfile = {path:?}\n[cc]\nscheme = \"dcqcn\"\n"
        );
        let loaded = load_text("mine.toml", &text, &Overrides::default());
        loaded.map_err(|error| error.to_string().replace(&path, "m.cm"))
    };
    let barrier = star(
        "# comment\nNodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 1000 size 10 send_done_trigger 7 prio 3\n\
         1->2 id 2 start 0 size 20 recv_done_trigger 7\n2->3 id 3 trigger 7 size 30\ntrigger id 7 barrier count 2\n",
    )
    .unwrap();
    let wait = |after: u32, awaited: Awaited| Dependency {
        flow: 2,
        after,
        awaited,
        delay: Span::ZERO,
    };
    let flows = &barrier.run.flows;
    let of = |src: u32| flows.iter().position(|flow| flow.src == NodeId(src)).unwrap() as u32;
    assert_eq!(flows[of(1) as usize].start, Time::from_ps(1000));
    let mut waits = barrier.run.dependencies.clone();
    waits.sort_by_key(|wait| wait.after);
    let mut expected = vec![wait(of(1), Awaited::Acknowledged), wait(of(2), Awaited::Received)];
    for wait in &mut expected {
        wait.flow = of(3);
    }
    expected.sort_by_key(|wait| wait.after);
    assert_eq!(waits, expected);
    says(&barrier, "prio is left out");
    let refused = |matrix: &str, why: &str| {
        let error = star(matrix).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    };
    let two = "Nodes 4\nConnections 2\nTriggers 1\n";
    refused(
        &format!(
            "{two}0->1 id 1 trigger 1 size 1 send_done_trigger 2\n1->2 id 2 trigger 2 size 1 send_done_trigger 1\ntrigger id 1 oneshot\n"
        ),
        "there is no trigger 2: expected `trigger id 2 oneshot`",
    );
    refused(
        "Nodes 4\nConnections 2\nTriggers 2\n0->1 trigger 1 size 1 send_done_trigger 2\n\
         1->2 trigger 2 size 1 send_done_trigger 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n",
        "waits for itself",
    );
    refused(
        "Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 1 size 1\ntrigger id 1 oneshot\n",
        "m.cm:4:14: nothing fires trigger 1",
    );
    refused("Nodes 4\nConnections 1\n0->1 start 0\n", "has no size");
    refused("Nodes 4\nConnections 1\n0->1 size 5\n", "no start and no trigger");
    refused(
        "Nodes 4\nConnections 2\n0->1 start 0 size 5\n",
        "m.cm:2:13: Connections 2 are announced, 1 follow",
    );
    refused(
        "Nodes 4\nConnections 1\n0->9 start 0 size 5\n",
        "there is no host 9: hosts are 0 to 3",
    );
    refused(
        "Nodes 4\nConnections 1\n0->1 strat 0 size 5\n0->1 start 0 size 99999999999999999999\n",
        "did you mean `start`?)\nm.cm:4:19: `99999999999999999999` is out of range for a size in bytes",
    );
    refused(
        &format!(
            "{two}0->1 start 0 size 1 send_done_trigger 1\n1->2 start 0 size 1 send_done_trigger 1\n\
                  2->3 trigger 1 size 1\ntrigger id 1 oneshot\n"
        )
        .replace("Connections 2", "Connections 3"),
        "2 flows fire trigger 1",
    );
}

#[test]
fn htsims_fat_trees() {
    let path = data("htsim/leaf_spine_tiny.topo");
    let resolved = scenario(&path, "permutation = { size = \"10KB\" }").unwrap();
    let run = &resolved.run;
    let leaf_spine = "duration = \"5ms\"\n[topology.leaf-spine]\nleaves = 4\nspines = 2\nhosts-per-leaf = 8\n\
                      rate = \"100Gbps\"\ndelay = \"1us\"\n[[workload]]\npermutation = { size = \"10KB\" }\n[cc]\nscheme = \"dcqcn\"\n";
    let same = load_text("mine.toml", leaf_spine, &Overrides::default()).unwrap();
    assert_eq!((&run.nodes, &run.links), (&same.run.nodes, &same.run.links));
    assert_eq!(written_and_read(&resolved).run, resolved.run);
    // Three tiers: a k = 4 fat tree, whose switches have latency.
    let fat = "Nodes 16\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
               Downlink_Latency_ns 1000\nSwitch_Latency_ns 100\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
               Downlink_Latency_ns 1000\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 2000\n";
    let (_folder, path) = temporary("fat.topo", fat);
    let fat_tree = scenario(&path, "permutation = { size = \"10KB\" }").unwrap();
    let run = &fat_tree.run;
    assert_eq!((run.nodes.len(), run.links.len()), (16 + 20, 48));
    let delays: Vec<u64> = [0, 16, 40]
        .map(|link: usize| run.links[link].delay.as_ps() / 1000)
        .to_vec();
    assert_eq!(delays, [1050, 1050, 2000]);
    says(&fat_tree, "half of it on each side of a switch");
    // The first switch above the ToRs of each pod is linked to every other core switch.
    let above = |agg: u32| {
        let links = run.links.iter().filter(|link| link.a == NodeId(agg));
        links.map(|link| link.b.0).collect::<Vec<_>>()
    };
    assert_eq!([above(24), above(25), above(26)], [[32, 34], [33, 35], [32, 34]]);
    let wrong = fat.replace("Tiers 3\n", "").replace(
        "Radix_Up 2\nDownlink_Latency_ns 1000\nSwitch",
        "Radix_Upp 2\nSwitch",
    );
    let (_folder, path) = temporary("fat.topo", &wrong);
    let error = scenario(&path, "permutation = { size = \"10KB\" }").unwrap_err();
    assert!(error.contains("did you mean `Radix_Up`?"), "{error}");
    assert!(error.lines().count() >= 2, "{error}");
    let (_folder, path) = temporary(
        "fat.topo",
        &fat.replace(
            "Radix_Up 2\nDownlink_Latency_ns 1000\nSwitch",
            "Radix_Up 3\nDownlink_Latency_ns 1000\nSwitch",
        ),
    );
    let error = scenario(&path, "permutation = { size = \"10KB\" }").unwrap_err();
    assert!(error.contains("Radix_Up of tier 0 is 3"), "{error}");
}
