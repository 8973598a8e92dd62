//! Checks of the NICs that flows name.

use super::BuildError;
use paceline_run::spec::RunSpec;

/// Checks that hosts have the links that flows name. `degree` is each node's number of links.
pub(super) fn check_nics(spec: &RunSpec, degree: &[u32]) -> Result<(), BuildError> {
    for (i, flow) in spec.flows.iter().enumerate() {
        if flow.nics.are_any() {
            continue;
        }
        let bad = |why: String| Err(BuildError::BadFlow { flow: i, why });
        if let Some(model) = &spec.model {
            return bad(format!("it names a NIC, and hosts of {} have one", model.name()));
        }
        for (host, nic) in [(flow.src, flow.nics.src()), (flow.dst, flow.nics.dst())] {
            let count = degree[host.0 as usize];
            if let Some(nic) = nic.filter(|&nic| u32::from(nic) >= count) {
                return bad(format!(
                    "it names NIC {nic} of host {}, which has {count}",
                    host.0
                ));
            }
        }
    }
    Ok(())
}
