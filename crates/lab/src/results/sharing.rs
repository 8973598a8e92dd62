//! Sharing of the network among flows over time: Jain's index, and convergence times.
//!
//! A *phase* lies between two changes of the set of active flows (arrivals, departures). Following the usual definition
//! (Nagaraj et al., *NUMFabric*, SIGCOMM 2016, section 6: 95 % of the flows are within 10 % of their fair rates and
//! stay there for a while), flows have **converged** at the start of the first of [`HOLD`] consecutive bins in each of
//! which at least 95 % of the active flows get within 10 % of an equal share of the total. Convergence time runs from
//! the change to this point, so its resolution is a bin (`[record] rates`).
//!
//! Equal shares are the right measure if the flows share one bottleneck, as in the incast and fairness scenarios, and
//! not if paths differ. Only bins that lie entirely within a phase count.

use std::ops::Range;

use paceline_fabric::outcome::RateRecord;
use serde::{Deserialize, Serialize};

use super::flows::{FlowRow, FlowState};
use super::rows::FlowRows;
use crate::stats::{jain, mean, percentile};

/// Consecutive bins in which flows have to stay converged; phases with fewer bins are left out.
pub const HOLD: u64 = 5;
/// Largest relative deviation of a flow from its equal share.
const WITHIN: f64 = 0.1;
/// Share of flows that have to be that close.
const OF_FLOWS: f64 = 0.95;

/// Jain's index of the goodput of the flows that are active in a whole bin, over the bins with at least two of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JainOverTime {
    /// Width of a bin, in microseconds.
    pub bin_us: f64,
    /// Bins with at least two active flows.
    pub bins: u64,
    /// Mean over these bins.
    pub mean: f64,
    /// 5th percentile over these bins.
    pub p5: f64,
    /// Smallest index in any of these bins.
    pub min: f64,
}

/// Convergence times after changes of the set of active flows, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Width of a bin: the resolution.
    pub bin_us: f64,
    /// Changes after which two flows or more were active for at least [`HOLD`] whole bins.
    pub changes: u64,
    /// Changes after which the flows converged before the next change.
    pub converged: u64,
    /// Mean over these; null if there are none.
    pub mean: Option<f64>,
    /// Largest of these; null if there are none.
    pub max: Option<f64>,
}

/// Interval with a constant set of active flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Change that started the phase, in ps.
    pub start_ps: u64,
    /// Next change, in ps.
    pub end_ps: u64,
    /// Numbers of the active flows.
    pub flows: Vec<u32>,
    /// Goodput of each flow in the second half of the phase.
    pub goodput_bps: Vec<f64>,
    /// Jain's index of these goodputs.
    pub jain: Option<f64>,
    /// Time from the change until the flows converged; `None` if they did not.
    pub convergence_ps: Option<u64>,
}

/// Acknowledged bytes of flows in bins.
#[derive(Clone, Debug)]
pub struct Goodputs<'a> {
    bin_ps: u64,
    /// Start, end and bytes of the flows that were ever active, by number.
    flows: Vec<(u32, Range<u64>, Option<&'a RateRecord>)>,
}

impl<'a> Goodputs<'a> {
    /// Collects the goodput of a run that ended at `end_ps`; returns `None` if goodput was not recorded.
    pub fn new(flows: &FlowRows, rates: &'a [RateRecord], bin_ps: u64, end_ps: u64) -> Option<Self> {
        if bin_ps == 0 || rates.is_empty() {
            return None;
        }
        let mut of_flow: Vec<Option<&RateRecord>> = vec![None; flows.len()];
        for rate in rates {
            if let Some(index) = of_flow.get_mut(rate.flow as usize) {
                *index = Some(rate);
            }
        }
        let active = |(row, rate): (FlowRow<'_>, Option<&'a RateRecord>)| {
            let end = match row.status {
                FlowState::Completed => row.end_ps()?,
                FlowState::Unfinished => end_ps,
                // When a flow was given up is not known: to the end it would count as one that got nothing.
                FlowState::NotStarted | FlowState::Unreachable | FlowState::GivenUp => return None,
            };
            Some((row.flow_id, row.start_ps..end, rate))
        };
        let flows = flows.rows().zip(of_flow).filter_map(active).collect();
        Some(Self { bin_ps, flows })
    }

    /// Returns the bins that lie entirely within an interval.
    fn bins(&self, time: &Range<u64>) -> Range<u64> {
        time.start.div_ceil(self.bin_ps)..time.end / self.bin_ps
    }

    fn bin_us(&self) -> f64 {
        self.bin_ps as f64 / 1e6
    }

    /// Computes Jain's index over all bins.
    pub fn jain_over_time(&self) -> Option<JainOverTime> {
        let all = || self.flows.iter().map(|(_, time, _)| self.bins(time));
        let first = all().map(|bins| bins.start).min()?;
        let last = all().map(|bins| bins.end).max()?.max(first);
        // Per bin: change of the number of active flows, sum, sum of squares.
        let mut count = vec![0i64; (last - first) as usize + 1];
        let mut sums = vec![(0.0, 0.0); (last - first) as usize];
        for (_, time, rate) in &self.flows {
            let bins = self.bins(time);
            if bins.is_empty() {
                continue;
            }
            // Differences instead of counts per bin, so that a long flow costs two updates.
            count[(bins.start - first) as usize] += 1;
            count[(bins.end - first) as usize] -= 1;
            for (bin, bytes) in rate.iter().flat_map(|rate| (rate.first_bin..).zip(&rate.bytes)) {
                if bins.contains(&bin) {
                    let sum = &mut sums[(bin - first) as usize];
                    let bytes = *bytes as f64;
                    *sum = (sum.0 + bytes, sum.1 + bytes * bytes);
                }
            }
        }
        let mut active = 0;
        let mut indices = Vec::new();
        for (change, (sum, squares)) in count.iter().zip(sums) {
            active += change;
            if active >= 2 && squares > 0.0 {
                indices.push(sum * sum / (active as f64 * squares));
            }
        }
        indices.sort_by(f64::total_cmp);
        Some(JainOverTime {
            bin_us: self.bin_us(),
            bins: indices.len() as u64,
            mean: mean(&indices)?,
            p5: percentile(&indices, 0.05)?,
            min: *indices.first()?,
        })
    }

    /// Returns the phases of at least [`HOLD`] whole bins, in order of time.
    pub fn phases(&self) -> Vec<Phase> {
        let ends = |(_, time, _): &(u32, Range<u64>, _)| [time.start, time.end];
        let mut changes: Vec<u64> = self.flows.iter().flat_map(ends).collect();
        changes.sort_unstable();
        changes.dedup();
        changes
            .windows(2)
            .map(|pair| pair[0]..pair[1])
            .filter(|time| {
                let bins = self.bins(time);
                bins.end.saturating_sub(bins.start) >= HOLD
            })
            .filter_map(|time| self.phase(time))
            .collect()
    }

    fn phase(&self, time: Range<u64>) -> Option<Phase> {
        let active: Vec<_> = (self.flows.iter())
            .filter(|(_, own, _)| own.start <= time.start && own.end >= time.end)
            .collect();
        if active.is_empty() {
            return None;
        }
        let middle = time.start + (time.end - time.start) / 2;
        // The first half contains the reaction to the change and would lower the goodput.
        let second_half = self.bins(&(middle..time.end));
        let width_ps = ((second_half.end - second_half.start) * self.bin_ps) as f64;
        let goodput = |rate: Option<&RateRecord>| {
            let bytes: u64 = second_half.clone().map(|bin| bytes(rate, bin)).sum();
            bytes as f64 * 8e12 / width_ps
        };
        let goodput_bps: Vec<f64> = active.iter().map(|(.., rate)| goodput(*rate)).collect();
        // One fair bin may be chance, so convergence takes a sequence of them.
        let mut in_a_row = 0;
        let converged = self.bins(&time).find(|&bin| {
            in_a_row = if is_fair(active.iter().map(|(.., rate)| bytes(*rate, bin))) {
                in_a_row + 1
            } else {
                0
            };
            in_a_row == HOLD
        });
        Some(Phase {
            start_ps: time.start,
            end_ps: time.end,
            flows: active.iter().map(|(flow, ..)| *flow).collect(),
            jain: jain(&goodput_bps),
            goodput_bps,
            convergence_ps: converged.map(|bin| (bin + 1 - HOLD) * self.bin_ps - time.start),
        })
    }

    /// Returns the convergence times of all phases with two flows or more.
    pub fn convergence(&self) -> Option<Convergence> {
        let mut phases = self.phases();
        phases.retain(|phase| phase.flows.len() >= 2);
        let times: Vec<f64> = (phases.iter())
            .filter_map(|phase| Some(phase.convergence_ps? as f64 / 1e6))
            .collect();
        (!phases.is_empty()).then(|| Convergence {
            bin_us: self.bin_us(),
            changes: phases.len() as u64,
            converged: times.len() as u64,
            mean: mean(&times),
            max: times.iter().copied().reduce(f64::max),
        })
    }
}

/// Returns the bytes of a flow in a bin.
fn bytes(rate: Option<&RateRecord>, bin: u64) -> u64 {
    let of = |rate: &RateRecord| {
        let index = usize::try_from(bin.checked_sub(rate.first_bin)?).ok()?;
        rate.bytes.get(index).copied()
    };
    rate.and_then(of).unwrap_or(0)
}

/// Returns true if nearly all shares are nearly equal, by [`WITHIN`] and [`OF_FLOWS`].
fn is_fair(shares: impl Iterator<Item = u64> + Clone) -> bool {
    let count = shares.clone().count() as f64;
    let equal = shares.clone().sum::<u64>() as f64 / count;
    let close = shares.filter(|&share| (share as f64 - equal).abs() <= WITHIN * equal);
    equal > 0.0 && close.count() as f64 >= OF_FLOWS * count
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    const BIN: u64 = 1_000_000;

    fn row(flow_id: u32, start_us: u64, end_us: Option<u64>) -> FlowRow<'static> {
        FlowRow {
            flow_id,
            label: Cow::Borrowed(""),
            scheme: Cow::Borrowed(""),
            src: flow_id,
            dst: 9,
            priority: 3,
            size_bytes: 1000,
            start_ps: start_us * BIN,
            fct_ps: end_us.map(|end| (end - start_us) * BIN),
            ideal_fct_ps: 1,
            slowdown: None,
            retransmitted_bytes: 0,
            sent_bytes: 0,
            unscheduled_bytes: 0,
            ce_packets: 0,
            ue_packets: 0,
            connection: None,
            status: if end_us.is_some() {
                FlowState::Completed
            } else {
                FlowState::Unfinished
            },
        }
    }

    fn rate(flow: u32, first_bin: u64, bytes: &[u64]) -> RateRecord {
        RateRecord {
            flow,
            first_bin,
            bytes: bytes.to_vec(),
        }
    }

    /// Returns two flows: flow 0 is alone for 10 us, then flow 1 takes 4 us to get its half; both end at 30 us.
    fn two() -> (Vec<FlowRow<'static>>, Vec<RateRecord>) {
        let mut first = vec![100; 10];
        first.extend([100, 90, 80, 60]);
        first.extend([50; 16]);
        let mut second = vec![0, 10, 20, 40];
        second.extend([50; 16]);
        (
            vec![row(0, 0, Some(30)), row(1, 10, None)],
            vec![rate(0, 0, &first), rate(1, 10, &second)],
        )
    }

    #[test]
    fn a_second_flow_joins() {
        let (rows, rates) = two();
        let rows = FlowRows::from_iter(rows);
        let goodputs = Goodputs::new(&rows, &rates, BIN, 30 * BIN).unwrap();
        let phases = goodputs.phases();
        assert_eq!(phases.len(), 2);
        assert_eq!((phases[0].start_ps, phases[0].flows.as_slice()), (0, &[0][..]));
        assert_eq!(phases[1].flows, [0, 1]);
        // 50 bytes in a microsecond are 400 Mbit/s.
        assert_eq!(
            (phases[1].goodput_bps.as_slice(), phases[1].jain),
            (&[4e8, 4e8][..], Some(1.0))
        );
        assert_eq!(phases[1].convergence_ps, Some(4 * BIN));
        assert_eq!(
            goodputs.convergence(),
            Some(Convergence {
                bin_us: 1.0,
                changes: 1,
                converged: 1,
                mean: Some(4.0),
                max: Some(4.0)
            })
        );
    }

    #[test]
    fn jain_in_every_bin() {
        let (rows, rates) = two();
        let rows = FlowRows::from_iter(rows);
        let jain = Goodputs::new(&rows, &rates, BIN, 30 * BIN)
            .unwrap()
            .jain_over_time()
            .unwrap();
        assert_eq!((jain.bins, jain.min), (20, 0.5));
        // 100/0, 90/10, 80/20, 60/40, and sixteen times 1.
        let sum = 0.5 + 1e4 / (2.0 * 8200.0) + 1e4 / (2.0 * 6800.0) + 1e4 / (2.0 * 5200.0) + 16.0;
        assert!((jain.mean - sum / 20.0).abs() < 1e-12);
    }

    #[test]
    fn a_flow_that_gets_nothing_counts() {
        let rows = FlowRows::from_iter([row(0, 0, Some(10)), row(1, 0, Some(10))]);
        let rates = [rate(0, 0, &[7; 10])];
        let goodputs = Goodputs::new(&rows, &rates, BIN, 10 * BIN).unwrap();
        assert_eq!(goodputs.jain_over_time().unwrap().mean, 0.5);
        let convergence = goodputs.convergence().unwrap();
        assert_eq!(
            (convergence.changes, convergence.converged, convergence.max),
            (1, 0, None)
        );
    }

    #[test]
    fn five_of_a_hundred_may_be_apart() {
        let shares = |apart: usize| (0..100).map(move |i| if i < apart { 60 } else { 100 });
        assert!(is_fair(shares(5)));
        assert!(!is_fair(shares(6)));
        assert!(!is_fair([0, 0].into_iter()));
        assert!(is_fair([90, 110].into_iter()) && !is_fair([89, 111].into_iter()));
    }

    #[test]
    fn what_was_not_recorded() {
        let (rows, rates) = two();
        let rows = FlowRows::from_iter(rows);
        assert!(Goodputs::new(&rows, &[], BIN, 30 * BIN).is_none());
        assert!(Goodputs::new(&rows, &rates, 0, 30 * BIN).is_none());
        // A single flow shares with none, and bins longer than the flow contain no whole bin.
        let first = FlowRows::from_iter(rows.get(0));
        let alone = Goodputs::new(&first, &rates[..1], BIN, 30 * BIN).unwrap();
        assert_eq!((alone.jain_over_time(), alone.convergence()), (None, None));
        let wide = Goodputs::new(&rows, &rates, 100 * BIN, 30 * BIN).unwrap();
        assert_eq!((wide.jain_over_time(), wide.phases()), (None, Vec::new()));
    }
}
