//! Sizes of the built-in scenarios.

use paceline_fabric::spec::NodeKind;
use paceline_scenario::builtin::{GROUPS, scenarios};
use paceline_scenario::{Overrides, load};

/// The number of packet-hops needs a run: those of the smallest scenarios are tested with the engine.
#[test]
fn hosts_and_flows_are_those_of_the_files() {
    let all = || GROUPS.iter().flat_map(|group| group.scenarios);
    assert_eq!(all().count(), scenarios().len());
    for shipped in scenarios() {
        let run = load(shipped.name, &Overrides::default()).unwrap().run;
        let known = all().find(|extent| extent.name == shipped.name).unwrap();
        let hosts = run.nodes.iter().filter(|&&node| node == NodeKind::Host);
        assert_eq!(known.hosts, hosts.count(), "{}", shipped.name);
        // The flows of programs follow from a run.
        if run.programs.is_empty() {
            assert_eq!(known.flows, run.flows.len(), "{}", shipped.name);
        }
    }
}
