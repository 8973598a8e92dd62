//! Links that fail.

use std::cell::LazyCell;

use paceline_fabric::spec::{LinkFailure, NodeId};
use paceline_kernel::Time;

use crate::diagnostics::Problem;
use crate::schema;
use crate::topology::{Net, ends};

use super::Cx;

/// Links that fail.
pub(super) fn failures(cx: &Cx<'_>, n: &mut schema::Network, net: &Net) -> Result<Vec<LinkFailure>, Problem> {
    let mut failures = Vec::new();
    // The last of several between two nodes, as the original simulator knows no other.
    let links = LazyCell::new(|| net.topology.links_by_ends());
    for spanned in n.failure.iter_mut().flatten() {
        let place = cx.texts.of_value(spanned);
        let failure = spanned.get_mut();
        let link = match (&failure.link, &failure.nodes) {
            (Some(link), None) => {
                let count = net.topology.links.len();
                if *link.get_ref() >= count {
                    let message = format!(
                        "there is no link {}: links are 0 to {}",
                        link.get_ref(),
                        count.max(1) - 1
                    );
                    return Err(Problem::new(message).at(&cx.texts.of_value(link)));
                }
                *link.get_ref()
            }
            (None, Some(nodes)) => {
                let (a, b) = *nodes.get_ref();
                let link = links.get(&ends(NodeId(a), NodeId(b))).copied();
                link.ok_or_else(|| {
                    Problem::new(format!("there is no link between nodes {a} and {b}"))
                        .at(&cx.texts.of_value(nodes))
                })?
            }
            _ => return Err(Problem::new("a failure names either `link` or `nodes`").at(&place)),
        };
        let Some(at) = &failure.at else {
            return Err(Problem::new("the failure has no time `at`").at(&place));
        };
        let until: Option<Time> = failure.until.as_ref().map(|until| *until.get_ref());
        if let (Some(until), Some(written)) = (until, &failure.until)
            && until <= *at.get_ref()
        {
            let message = format!(
                "the link comes back at {until}, no later than it fails ({})",
                at.get_ref()
            );
            return Err(Problem::new(message).at(&cx.texts.of_value(written)));
        }
        failures.push(LinkFailure {
            link,
            at: *at.get_ref(),
            until,
        });
    }
    Ok(failures)
}
