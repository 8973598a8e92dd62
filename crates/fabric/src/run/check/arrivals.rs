//! Checks of flows that arrive as a stream.

use paceline_congestion::registry::ActiveScheme;
use paceline_kernel::Bytes;

use super::{BuildError, hosts};
use paceline_run::spec::{ArrivalPattern, ArrivalSource, Arrivals, RunSpec};

/// Checks a stream for everything that would make the run fail, or its results wrong, later. `degree` is each node's
/// number of links.
pub(super) fn check_arrivals(
    spec: &RunSpec,
    schemes: &[ActiveScheme],
    arrivals: &Arrivals,
    degree: &[u32],
) -> Result<(), BuildError> {
    let bad = |why: &str| Err(BuildError::BadArrivals(why.into()));
    if !spec.flows.is_empty() || !spec.dependencies.is_empty() {
        return bad("there is a list of flows, too: they come either from one or from the other");
    }
    if spec.quirks.receiver_forgets || spec.model.is_some() {
        return bad("in the simulators of others, hosts keep flows that are over: those come from a list");
    }
    if schemes.iter().any(|scheme| scheme.needs().foresight) {
        return bad("a scheme asks for foresight, and what is to come is drawn when it comes");
    }
    (arrivals.sources.iter()).try_for_each(|source| check_source(spec, source, degree))?;
    // The number of flows and their times are used before the flows are drawn, so a wrong summary would go unnoticed.
    let drawn = Arrivals::of(arrivals.sources.clone(), spec.seed);
    if drawn != *arrivals {
        let span = |of: &Arrivals| format!("{} flows from {} to {}", of.flows, of.first, of.last);
        let (says, gives) = (span(arrivals), span(&drawn));
        return bad(&format!(
            "they are said to be {says}, and with this seed are {gives}"
        ));
    }
    Ok(())
}

fn check_source(spec: &RunSpec, source: &ArrivalSource, degree: &[u32]) -> Result<(), BuildError> {
    let bad = |why: String| {
        Err(BuildError::BadArrivals(format!(
            "workload {}: {why}",
            source.workload
        )))
    };
    for host in source.pattern.hosts() {
        hosts::check_host(spec, host, degree).or_else(bad)?;
    }
    hosts::check_class_and_scheme(spec, source.class, source.scheme).or_else(bad)?;
    let is_time = |mean_ps: f64| mean_ps > 0.0 && mean_ps.is_finite();
    match &source.pattern {
        ArrivalPattern::Poisson {
            hosts,
            receivers,
            sizes,
        } => {
            if let [only] = receivers[..]
                && hosts.iter().any(|&(host, _)| host == only)
            {
                return bad(format!("host {} sends, and is the only receiver", only.0));
            }
            let rising = |pair: &[(f64, f64)]| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1;
            let whole = sizes.last().is_some_and(|&(size, p)| size >= 1.0 && p == 1.0);
            if !whole || !sizes.windows(2).all(rising) {
                return bad("its sizes are no distribution".into());
            }
            if !hosts.iter().all(|&(_, mean_ps)| is_time(mean_ps)) {
                return bad("a time between arrivals is not above zero".into());
            }
        }
        ArrivalPattern::Incasts {
            hosts,
            receivers,
            mean_ps,
            fan_in,
            size,
        } => {
            // If nobody else can receive, one of the hosts does.
            let apart = !receivers.is_empty() && !receivers.iter().any(|host| hosts.contains(host));
            if *fan_in == 0 || *fan_in as usize >= hosts.len() + usize::from(apart) {
                return bad(format!("{fan_in} senders of {} hosts", hosts.len()));
            }
            if *size == Bytes::ZERO || !is_time(*mean_ps) {
                return bad("a size or a time between incasts is not above zero".into());
            }
        }
        ArrivalPattern::Told { messages } => {
            if messages.windows(2).any(|pair| pair[0].start > pair[1].start) {
                return bad("its messages are not in the order of their starts".into());
            }
            if let Some(message) = messages.iter().find(|message| message.src == message.dst) {
                return bad(format!("a message goes from host {} to itself", message.src.0));
            }
            if messages.iter().any(|message| message.size == Bytes::ZERO) {
                return bad("a message of no bytes".into());
            }
        }
    }
    Ok(())
}
