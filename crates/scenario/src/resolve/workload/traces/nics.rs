//! NICs that a trace names, as links of hosts.

use paceline_fabric::spec::NodeId;
use paceline_jobs::RankNics;
use paceline_traces::check::Extent;

use super::Trace;
use crate::diagnostics::Problem;
use crate::resolve::Cx;
use crate::topology::{Net, Topology};
use crate::warning::WarningKind;

impl Trace {
    /// Returns the NICs of each rank: the links of its host in the order of the topology, without those inside its
    /// server. Empty if the trace names no NIC but the first: its messages then use any link. All NICs of a rank share the
    /// link of a host that has one.
    pub(super) fn nics(
        &self,
        cx: &mut Cx<'_>,
        net: &Net,
        hosts: &[NodeId],
        extent: &Extent,
    ) -> Result<Vec<RankNics>, Problem> {
        if extent.nics.is_empty() {
            return Ok(Vec::new());
        }
        let all = of_hosts(&net.topology);
        let mut sharing = 0;
        for (&rank, &(nic, (by, operation))) in &extent.nics {
            let host = hosts[rank as usize];
            let count = all[host.0 as usize].links.len();
            if usize::from(nic) < count {
                continue;
            }
            if count == 1 {
                sharing += 1;
                continue;
            }
            let name = self.program.name(by, operation);
            let message = format!(
                "{name} names NIC {nic}, but rank {rank} is on host {}, which has {count} NICs: 0 to {}",
                host.0,
                count.saturating_sub(1)
            );
            return Err(Problem::new(message).at(&self.location).help(
                "NICs are the links of a host outside its server; a topology file may give hosts several",
            ));
        }
        if sharing > 0 {
            let text = format!(
                "{sharing} ranks of the trace name a NIC other than the first (`nic`), and their hosts have one link into the \
                 network: all NICs of such a rank share it"
            );
            cx.warn(WarningKind::Reading, &self.location, text);
        }
        cx.hosts_by_nic.extend(hosts.iter().copied());
        let of_rank = |host: &NodeId| all[host.0 as usize].clone();
        Ok(hosts.iter().map(of_rank).collect())
    }
}

/// Returns the NICs of each node.
fn of_hosts(topology: &Topology) -> Vec<RankNics> {
    let none = RankNics {
        links: Vec::new(),
        server: None,
    };
    let mut all = vec![none; topology.nodes.len()];
    let mut links = vec![0_u8; topology.nodes.len()];
    for link in &topology.links {
        for (node, other) in [(link.a, link.b), (link.b, link.a)] {
            let (nics, number) = (&mut all[node.0 as usize], &mut links[node.0 as usize]);
            match topology.inner.binary_search(&other) {
                Ok(_) => nics.server = Some(other),
                // No trace names a NIC that a link beyond these would be.
                Err(_) if *number < u8::MAX => nics.links.push(*number),
                Err(_) => {}
            }
            *number = number.saturating_add(1);
        }
    }
    all
}
