//! Checks of load balancing and path selection.

use paceline_congestion::entropy::{Entropy, Selector};
use paceline_congestion::registry::ActiveScheme;
use paceline_kernel::ids::Id;
use paceline_run::spec::{EcmpHash, LoadBalancing, NodeKind, Recovery, RunSpec};

use super::BuildError;

/// Largest flowlet table of a switch.
const MAX_FLOWLETS: u32 = 1 << 20;

pub(super) fn check(spec: &RunSpec, schemes: &[ActiveScheme]) -> Result<(), BuildError> {
    let policy = spec.load_balancing;
    if !spec.has_one_way_per_flow() && spec.nic.back_to_chunk.is_some() {
        let why = "going back to chunks: packets that overtake each other may keep some from coming whole";
        return Err(BuildError::BadHost(why.into()));
    }
    if let LoadBalancing::Flowlet(flowlets) | LoadBalancing::AdaptiveFlowlet(flowlets) = policy
        && !(flowlets.entries.is_power_of_two() && (2..=MAX_FLOWLETS).contains(&flowlets.entries))
    {
        return Err(BuildError::TooLarge(format!(
            "a table of {} flowlets; there may be 2 to {MAX_FLOWLETS}, a power of two",
            flowlets.entries
        )));
    }
    if let Some(entropy) = spec.entropy {
        check_entropy(spec, entropy, schemes)?;
    }
    check_planes(spec, schemes)?;
    match schemes.iter().find(|scheme| scheme.needs().int) {
        Some(scheme) if spec.spreads_packets() => Err(BuildError::BadSchemes(format!(
            "{} compares the telemetry of one packet with the last one's, and packets that are spread \
             one by one pass different ports",
            scheme.config().name()
        ))),
        _ => Ok(()),
    }
}

/// Checks that every host has a link into each plane, and that senders notice what a path does.
fn check_planes(spec: &RunSpec, schemes: &[ActiveScheme]) -> Result<(), BuildError> {
    let bad = |why: String| Err(BuildError::BadHost(why));
    let planes = usize::from(spec.nic.planes);
    if !planes.is_power_of_two() || planes > 16 {
        return bad(format!("{planes} planes; there may be 1 to 16, a power of two"));
    }
    if !spec.chooses_links() {
        return Ok(());
    }
    if spec.lanes.is_some() {
        return bad("NICs do not choose among links under credits".into());
    }
    let mrc = |entropy: &Entropy| entropy.selector == Selector::Mrc;
    if spec.entropy.as_ref().is_some_and(mrc) && !matches!(spec.nic.recovery, Recovery::Rud(_)) {
        return bad("only RUD notices that a path is silent".into());
    }
    if planes == 1 {
        return Ok(());
    }
    if spec
        .entropy
        .is_some_and(|entropy| (entropy.values as usize) < planes)
    {
        return bad(format!("fewer entropy values than the {planes} planes"));
    }
    let mut links = vec![0; spec.nodes.len()];
    let ends = spec.links.iter().flat_map(|link| [link.a, link.b]);
    ends.for_each(|end| links[end.index()] += 1);
    let hosts = spec.nodes.iter().zip(&links).enumerate();
    let mut wrong = hosts.filter(|&(_, (&kind, &links))| kind == NodeKind::Host && links != planes);
    if let Some((host, (_, links))) = wrong.next() {
        return bad(format!(
            "host {host} has {links} links, and there are {planes} planes"
        ));
    }
    match schemes.iter().find(|scheme| scheme.needs().grants) {
        Some(scheme) => bad(format!(
            "receivers of {} pace their grants by the rate of one link",
            scheme.config().name()
        )),
        None => Ok(()),
    }
}

/// Checks that switches hash, that packets have room for an entropy value, and that receivers take packets in any
/// order.
fn check_entropy(spec: &RunSpec, entropy: Entropy, schemes: &[ActiveScheme]) -> Result<(), BuildError> {
    let bad = |why: String| Err(BuildError::BadHost(why));
    if !entropy.values.is_power_of_two() || entropy.values > 1 << 16 {
        return bad(format!(
            "{} entropy values; there may be 1 to 65536, a power of two",
            entropy.values
        ));
    }
    if spec.load_balancing != LoadBalancing::Ecmp || spec.ecmp_hash == EcmpHash::DModK {
        return bad("senders choose entropy values, and switches do not hash them".into());
    }
    match schemes.iter().find(|scheme| scheme.needs().pint) {
        Some(scheme) => bad(format!(
            "{} reads a digest where packets carry their entropy value",
            scheme.config().name()
        )),
        None => Ok(()),
    }
}
