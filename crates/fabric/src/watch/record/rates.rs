//! Goodput of flows over time: bytes acknowledged in bins, which widen when there are too many.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use paceline_kernel::Span;

use crate::ids::FlowId;
use paceline_run::outcome::RateRecord;

/// Upper limits of the number of bins: of all flows together (8 MB), or for each flow if that is more.
const BINS_MAX: usize = 1 << 20;
const BINS_OF_FLOW: usize = 16;

/// Bytes acknowledged so far, by flow and bin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rates {
    /// Width of a bin in ps, equal for all flows: the requested width times a power of two.
    bin: u64,
    /// Present number of bins, and its limit.
    bins: usize,
    most: usize,
    of: BTreeMap<FlowId, RateRecord>,
}

impl Rates {
    /// Creates the recorder with bins of `every`, for at most `flows` flows.
    pub(super) fn new(every: Option<Span>, flows: usize) -> Self {
        Self {
            bin: every.map_or(u64::MAX, |bin| bin.as_ps().max(1)),
            bins: 0,
            most: BINS_MAX.max(BINS_OF_FLOW * flows),
            of: BTreeMap::new(),
        }
    }

    /// Adds bytes of a flow that were acknowledged at `now`.
    pub(super) fn add(&mut self, flow: FlowId, now: u64, bytes: u64) {
        loop {
            let bin = now / self.bin;
            let record = self.of.entry(flow).or_insert_with(|| RateRecord {
                flow: flow.0,
                first_bin: bin,
                bytes: Vec::new(),
            });
            let index = (bin - record.first_bin) as usize;
            let more = (index + 1).saturating_sub(record.bytes.len());
            // Bins are widened before the limit is exceeded: a flow that was silent for long adds many at once.
            if more == 0 || self.bins + more <= self.most {
                record.bytes.resize(record.bytes.len() + more, 0);
                record.bytes[index] += bytes;
                self.bins += more;
                return;
            }
            self.double();
        }
    }

    /// Merges every two bins into one, with the sum of both, as often as there are too many.
    #[cold]
    fn widen(&mut self) {
        while self.bins > self.most {
            self.double();
        }
    }

    fn double(&mut self) {
        self.bin = self.bin.saturating_mul(2);
        self.bins = 0;
        for record in self.of.values_mut() {
            let before = (record.first_bin % 2) as usize;
            let mut wide = vec![0; (before + record.bytes.len()).div_ceil(2)];
            for (position, bytes) in (before..).zip(&record.bytes) {
                wide[position / 2] += bytes;
            }
            self.bins += wide.len();
            (record.first_bin, record.bytes) = (record.first_bin / 2, wide);
        }
    }

    /// Adds the bytes acknowledged in another part of the network, to other senders.
    pub(super) fn merge(&mut self, mut other: Self) {
        while self.bin < other.bin {
            self.double();
        }
        while other.bin < self.bin {
            other.double();
        }
        self.bins += other.bins;
        self.of.append(&mut other.of);
        self.widen();
    }

    /// Returns the records in the order of flows, and the width of their bins.
    pub(crate) fn finish(self) -> (Vec<RateRecord>, Span) {
        (self.of.into_values().collect(), Span::from_ps(self.bin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow is silent for a second; a bin for each picosecond would fill terabytes.
    #[test]
    fn bins_of_a_long_silence_are_as_few_as_may_be() {
        let mut rates = Rates::new(Some(Span::from_ps(1)), 2);
        rates.add(FlowId(0), 5, 7);
        rates.add(FlowId(1), 1_000_000_000_000, 9);
        rates.add(FlowId(0), 1_000_000_000_007, 11);
        assert!(rates.bins <= rates.most, "{}", rates.bins);
        let (records, bin) = rates.finish();
        let ends = |record: &RateRecord| (record.bytes[0], *record.bytes.last().unwrap());
        assert_eq!((ends(&records[0]), ends(&records[1])), ((7, 11), (9, 9)));
        let last = records[0].first_bin + records[0].bytes.len() as u64 - 1;
        assert_eq!(last, 1_000_000_000_007 / bin.as_ps());
    }

    /// Three flows that start at different times, one of which pauses: wide bins have the sums of narrow ones.
    #[test]
    fn wide_bins_have_the_sum_of_narrow_ones() {
        let every = Some(Span::from_ps(10));
        let mut wide = Rates {
            most: 64,
            ..Rates::new(every, 3)
        };
        let mut exact = Rates::new(every, 3);
        for at in 0..10_000u64 {
            for flow in 0..3u32 {
                let pauses = flow == 1 && (3_000..6_000).contains(&at);
                if at >= u64::from(flow) * 1_237 && !pauses {
                    let bytes = 1 + at * 7_919 % 101;
                    wide.add(FlowId(flow), at, bytes);
                    exact.add(FlowId(flow), at, bytes);
                }
            }
        }
        assert!(wide.bins <= 64, "{}", wide.bins);
        let ((wide, bin), (exact, narrow)) = (wide.finish(), exact.finish());
        assert_eq!(narrow.as_ps(), 10);
        let factor = bin.as_ps() / 10;
        assert!(factor.is_power_of_two() && factor > 1, "{factor}");
        for (wide, exact) in wide.iter().zip(&exact) {
            assert_eq!(wide.bytes.iter().sum::<u64>(), exact.bytes.iter().sum::<u64>());
            for (number, &bytes) in (wide.first_bin..).zip(&wide.bytes) {
                let within = (exact.first_bin..)
                    .zip(&exact.bytes)
                    .filter(|(narrow, _)| narrow / factor == number);
                assert_eq!(bytes, within.map(|(_, bytes)| bytes).sum::<u64>(), "bin {number}");
            }
        }
    }
}
