//! Rail-optimised networks, and upper tiers given by their oversubscription.

use paceline_fabric::spec::RunSpec;
use paceline_kernel::{BitRate, Span};
use paceline_scenario::topology::{self, Rails, Topology};
use paceline_scenario::{Overrides, groups, load_text};
use proptest::prelude::*;

fn with(topology: &str) -> Result<std::sync::Arc<RunSpec>, String> {
    let text = format!(
        "duration = '1ms'\ncc.scheme = 'none'\n{topology}\n[[workload]]\nflows = [{{ src = 0, dst = 1, size = '1KB' }}]\n"
    );
    let resolved = load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())?;
    let again = load_text("again.toml", &resolved.toml, &Overrides::default()).unwrap();
    assert_eq!(again.toml, resolved.toml);
    assert_eq!(again.run.links, resolved.run.links);
    Ok(resolved.run)
}

/// Returns the number of nodes and the rate of the last link.
fn size(topology: &str) -> (usize, u64) {
    let run = with(topology).unwrap();
    (
        run.nodes.len(),
        run.links.last().unwrap().rate.as_bps() / 1_000_000_000,
    )
}

#[test]
fn oversubscription_says_how_many_spines_or_how_fast() {
    let leaves = |rest: &str| size(&format!("[topology.leaf-spine]\nhosts-per-leaf = 12\n{rest}"));
    // 48 hosts, 4 leaves, and the spines.
    assert_eq!(leaves("oversubscription = 3"), (48 + 4 + 4, 100));
    assert_eq!(leaves("oversubscription = '3:2'"), (48 + 4 + 8, 100));
    assert_eq!(
        leaves("oversubscription = 1\nspine-rate = '400Gbps'"),
        (48 + 4 + 3, 400)
    );
    assert_eq!(leaves("oversubscription = '3:1'\nspines = 2"), (48 + 4 + 2, 200));
    let rail = |rest: &str| size(&format!("[topology.rail]\nservers = 8\n{rest}"));
    // 64 hosts, 8 rail switches, and the spines.
    assert_eq!(rail(""), (64 + 8 + 8, 400));
    assert_eq!(
        rail("oversubscription = 2\nservers-per-pod = 4"),
        (64 + 16 + 2, 400)
    );
    assert_eq!(rail("spines = 0\nserver-rate = '1.6Tbps'"), (64 + 8 + 8, 1600));
    assert_eq!(
        size("[topology.fat-tree]\nk = 4\noversubscription = '2:1'").0,
        32 + 20
    );
}

#[test]
fn what_does_not_come_out_even() {
    for (topology, expected) in [
        (
            "[topology.leaf-spine]\noversubscription = 3",
            "test.toml:4:20: 8 hosts of 100Gbps over spines of 100Gbps at 3:1: that would be 2.67 spines (give \
             `spines`, and the rate of their links follows)",
        ),
        (
            "[topology.leaf-spine]\noversubscription = 3\nspines = 2\nspine-rate = '100Gbps'",
            "test.toml:4:20: 8 hosts of 100Gbps over 2 spines of 100Gbps are not 3:1 (leave out one of `spines`, \
             `spine-rate` and `oversubscription`)",
        ),
        (
            "[topology.leaf-spine]\noversubscription = '3:0'",
            "test.toml:4:20: expected a number above zero, or two as in \"3:2\", found string \"3:0\"",
        ),
        (
            "[topology.leaf-spine]\noversubscription = 7\nspines = 3",
            "test.toml:4:20: 8 hosts of 100Gbps over 3 spines at 7:1: no rate of whole bits per second does that",
        ),
        (
            "[topology.rail]\nservers = 6\nservers-per-pod = 4",
            "test.toml:5:19: 6 servers in pods of 4: expected pods of equal size",
        ),
        (
            "[topology.fat-tree]\noversubscription = '3:2'",
            "test.toml:4:20: 3:2: expected 1 to 16 to 1",
        ),
        (
            "[topology.rail]\nspines = 0",
            "test.toml:6:10: there is no path from host 0 to host 1 (rails, and pods, meet in spines only \
             (`topology.rail.spines`), and hosts do not forward)",
        ),
    ] {
        assert_eq!(with(topology).unwrap_err(), expected, "{topology}");
    }
}

fn degree(net: &Topology, node: usize) -> usize {
    let ends = net.links.iter().flat_map(|link| [link.a.0, link.b.0]);
    ends.filter(|&end| end as usize == node).count()
}

proptest! {
    #[test]
    fn rails_are_as_they_are_said_to_be(pods in 1u32..4, of in 1u32..5, gpus in 1u32..6, spines in 0u32..4, inside: bool) {
        let link = (BitRate::from_gbps(400), Span::from_us(1));
        let servers = pods * of;
        let net = topology::rail(&Rails {
            servers, gpus, servers_per_pod: of, spines, host: link, spine: link, server: inside.then_some(link),
        });
        let hosts = (servers * gpus) as usize;
        let rails = (pods * gpus) as usize;
        prop_assert_eq!(net.hosts().count(), hosts);
        prop_assert_eq!(net.inner.len(), if inside { servers as usize } else { 0 });
        for host in 0..hosts {
            prop_assert_eq!(degree(&net, host), 1 + usize::from(inside));
        }
        for rail in hosts..hosts + rails {
            prop_assert_eq!(degree(&net, rail), (of + spines) as usize);
        }
        // Groups of every kind are a partition of the hosts, and traffic inside a server does not count as sent.
        for (kind, sets) in [("server", servers), ("rail", gpus), ("leaf", pods * gpus), ("pod", pods)] {
            let sets_found = groups::sets(&net, kind).unwrap();
            prop_assert_eq!(sets_found.len(), sets as usize, "{}", kind);
            let mut all = sets_found.concat();
            all.sort_unstable();
            prop_assert_eq!(all, net.hosts().collect::<Vec<_>>(), "{}", kind);
        }
        prop_assert!(net.rates()[..hosts].iter().all(|rate| *rate == link.0));
        // The hosts of a leaf are those with a link to its switch.
        for (leaf, members) in groups::sets(&net, "leaf").unwrap().iter().enumerate() {
            for host in members {
                prop_assert!(net.links.iter().any(|l| l.a == *host && l.b.0 as usize == hosts + leaf));
            }
        }
    }
}
