//! Accounts of the slowest flows, which users ask about most.
//!
//! A run with many flows accounts for a sample of them, since accounting for all costs several times as much. The
//! slowest flows are known only at the end. Recorders do not influence a run, so a second run with accounts of only
//! those flows, up to the end of the last of them, records the same values as the first would have.

use std::borrow::Borrow;
use std::path::Path;

use paceline_fabric::Progress;
use paceline_fabric::spec::{Accounted, RecordSpec};
use paceline_kernel::Time;
use paceline_scenario::Resolved;

use super::{Control, Cut, Finished, Resources, RunError, execute_on, side_by_side, threads_each};
use crate::results::{RunStatus, slowest_of};

/// Number of slowest flows that are accounted for.
pub const SLOWEST: usize = 20;
/// Packet-hops above which a run is not repeated for this. A repetition takes about as long as the run itself: more
/// than about twenty seconds only on request.
pub const AGAIN_MAX: u64 = 100_000_000;

/// Returns the slowest flows that a run with `record.accounts = "auto"` has no account of.
fn missing(input: &Resolved, finished: &Finished) -> Vec<u32> {
    let scenario: toml::Table = input.toml.parse().unwrap_or_default();
    let accounts = scenario.get("record").and_then(|record| record.get("accounts"));
    let automatic = accounts.and_then(toml::Value::as_str) == Some("auto");
    let whole = finished.summary.status == RunStatus::Completed;
    if !automatic || !whole || !input.fidelity.accounts() {
        return Vec::new();
    }
    let known = |flow: u32| {
        let accounts = &finished.outcome.accounts;
        accounts
            .binary_search_by_key(&flow, |account| account.flow)
            .is_ok()
    };
    let slowest = slowest_of(finished.flows.firsts(), SLOWEST);
    let mut missing: Vec<u32> = (slowest.iter())
        .map(|row| row.flow_id)
        .filter(|&flow| !known(flow))
        .collect();
    missing.sort_unstable();
    missing
}

/// Adds accounts of the slowest flows to a run that accounted for a sample, by running it again. Returns the number
/// that are still missing, because the run is longer than [`AGAIN_MAX`] or `progress` stopped the second run.
pub fn account_for_slowest(
    input: &Resolved,
    finished: &mut Finished,
    resources: Resources<'_>,
    progress: &mut dyn FnMut(&Progress) -> Control,
) -> Result<usize, RunError> {
    let missing = missing(input, finished);
    if missing.is_empty() || finished.summary.packet_hops > AGAIN_MAX {
        return Ok(missing.len());
    }
    let mut again = input.clone();
    again.run_mut().record = RecordSpec {
        // Recorders do not change a run, so all others can be off.
        accounts: Accounted::Flows(missing.clone()),
        omit_pfc: true,
        ..RecordSpec::default()
    };
    // Nothing after the last of these flows affects their accounts, so the second run ends there.
    let end = |&flow: &u32| {
        let end = finished.flows.entry(flow as usize).and_then(|flow| flow.end_ps());
        end.map_or(input.run.stop, Time::from_ps)
    };
    again.run_mut().stop = missing
        .iter()
        .map(end)
        .max()
        .unwrap_or(Time::ZERO)
        .min(input.run.stop);
    let resources = Resources {
        on_cut: &|_| {},
        ranks: None,
        ..resources
    };
    let second = execute_on(&again, resources, progress)?;
    if second.summary.status != RunStatus::Completed {
        return Ok(missing.len());
    }
    let accounts = &mut finished.outcome.accounts;
    accounts.extend(second.outcome.accounts);
    accounts.sort_by_key(|account| account.flow);
    Ok(0)
}

/// Runs several inputs like [`super::compare`], with accounts of each run's slowest flows, and on as many threads as
/// each requests while cores are free; `on_cut` is called with the result of cutting a run.
pub fn compare_accounted<I: Borrow<Resolved> + Sync>(
    inputs: &[I],
    jobs: usize,
    scratch: Option<&Path>,
    on_cut: &(dyn Fn(usize, Cut) + Sync),
    progress: &(dyn Fn(usize, &Progress) -> Control + Sync),
) -> Vec<Result<Finished, RunError>> {
    side_by_side(inputs.len(), jobs, &|i| {
        let input = inputs[i].borrow();
        let resources = Resources {
            threads: threads_each(input.threads, inputs.len(), jobs),
            on_cut: &|cut| on_cut(i, cut),
            ranks: None,
            scratch,
        };
        let mut finished = execute_on(input, resources, &mut |now| progress(i, now))?;
        // The progress of the second run is not reported, but it can be stopped.
        account_for_slowest(input, &mut finished, resources, &mut |now| {
            progress(i, &Progress { done: true, ..*now })
        })?;
        Ok(finished)
    })
}
