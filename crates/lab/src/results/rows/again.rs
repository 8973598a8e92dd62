//! Finds and stores repeated flows. The iterations of a job are alike, so most of its flows repeat earlier ones at a
//! later time.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use paceline_fabric::recorded;
use paceline_kernel::rng::mix;

use super::Entry;
use super::store::Reader;

recorded! {
    /// a sequence of repeated flows: each equals an earlier flow in everything but its number and its start
    #[derive(Copy)]
    pub struct Again = "flow_repeats", needs "" {
        /// the first repeated flow
        flow_id: u32,
        /// length of the sequence
        flows: u32,
        /// the flow that the first one repeats; the second repeats the next, and so on. The sequences may overlap, as in LZ77
        as_flow_id: u32,
        /// how much later each flow starts than the one it repeats
        later_ps: u64,
    }
}

/// All repeats of a run, in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats {
    all: Vec<Again>,
    /// Repeated flows before each sequence.
    before: Vec<u32>,
    /// Occurrences of each flow that is no repeat; empty without repeats.
    times: Box<[Times]>,
}

impl Repeats {
    /// Adds a sequence behind the others.
    ///
    /// # Errors
    /// It overlaps the last one, repeats flows that come later, or goes beyond the largest flow number.
    pub(super) fn push(&mut self, again: Again) -> Result<(), String> {
        let Again {
            flow_id,
            flows,
            as_flow_id,
            later_ps,
        } = again;
        let end = self.all.last().map_or(0, |last| last.flow_id + last.flows);
        if flow_id < end {
            return Err(format!("flow_id = {flow_id}: expected {end} or more"));
        }
        if as_flow_id >= flow_id {
            return Err(format!("as_flow_id = {as_flow_id}: expected less than {flow_id}"));
        }
        if later_ps == 0 {
            return Err("later_ps = 0: expected more".into());
        }
        if flows == 0 || flow_id.checked_add(flows).is_none() {
            return Err(format!("flows = {flows}: expected 1 to {}", u32::MAX - flow_id));
        }
        self.before.push(self.flows());
        self.all.push(again);
        Ok(())
    }

    /// Returns the number of repeated flows.
    pub(super) fn flows(&self) -> u32 {
        let last = self.all.last().zip(self.before.last());
        last.map_or(0, |(last, before)| before + last.flows)
    }

    pub(crate) fn all(&self) -> &[Again] {
        &self.all
    }

    /// Returns the index of the last sequence that starts at this flow or before it.
    fn last_to(&self, flow: usize) -> Option<usize> {
        let begun = self.all.partition_point(|again| again.flow_id as usize <= flow);
        begun.checked_sub(1)
    }

    /// Returns the sequence that contains a flow.
    pub(super) fn at(&self, flow: usize) -> Option<&Again> {
        let last = &self.all[self.last_to(flow)?];
        (flow < (last.flow_id + last.flows) as usize).then_some(last)
    }

    /// Resolves a flow to the one that it repeats, through all levels.
    pub(super) fn original(&self, flow: usize) -> Original {
        let (mut at, mut later, mut alike) = (flow, 0_u64, usize::MAX);
        while let Some(again) = self.at(at) {
            let period = (again.flow_id - again.as_flow_id) as usize;
            let since = at - again.flow_id as usize;
            let times = (since / period) as u64 + 1;
            later = later.saturating_add(times.saturating_mul(again.later_ps));
            alike = alike
                .min(again.flows as usize - since)
                .min(period - since % period);
            at = again.as_flow_id as usize + since % period;
        }
        let last = self.last_to(at);
        let before = last.map_or(0, |last| self.before[last] + self.all[last].flows);
        let next = self.all.get(last.map_or(0, |last| last + 1));
        let until = next.map_or(usize::MAX, |next| next.flow_id as usize);
        Original {
            flow: flow as u32,
            row: at - before as usize,
            later,
            alike: alike.min(until - at),
        }
    }

    /// Resolves these flows one after the other.
    pub(super) fn walk(&self, flows: Range<usize>) -> impl Iterator<Item = Original> {
        let mut next = Original::default();
        flows.map(move |flow| {
            match next.alike > 1 {
                true => {
                    next.flow += 1;
                    next.row += 1;
                    next.alike -= 1;
                }
                false => next = self.original(flow),
            }
            next
        })
    }

    /// Lists the flows, of `count`, that are no repeats.
    pub(super) fn once(&self, count: usize) -> impl Iterator<Item = usize> {
        let ends = (self.all.iter()).map(|again| (again.flow_id + again.flows) as usize);
        let starts = self.all.iter().map(|again| again.flow_id as usize);
        let between = std::iter::once(0).chain(ends).zip(starts.chain([count]));
        between.flat_map(|(from, to)| from..to)
    }

    /// Counts the occurrences of each of the `once` flows that are no repeats.
    pub(super) fn count(&mut self, once: usize) {
        let mut all = vec![Times::ONCE; once];
        for again in &self.all {
            let flows = again.flows as usize;
            let first = again.as_flow_id as usize;
            let period = again.flow_id as usize - first;
            // Each flow of the period comes again as often, or once more.
            for (index, original) in self.walk(first..first + period.min(flows)).enumerate() {
                let times = (flows - index).div_ceil(period);
                let known = &mut all[original.row];
                known.times += times as u32;
                let later = original
                    .later
                    .saturating_add(again.later_ps.saturating_mul(times as u64));
                known.later_ps = known.later_ps.max(later);
            }
        }
        self.times = all.into();
    }

    /// Returns the occurrences of each flow that is no repeat; empty without repeats.
    pub(super) fn times(&self) -> &[Times] {
        &self.times
    }
}

/// Occurrences of a flow in a run, repeats included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Occurrences, at least one.
    pub times: u32,
    /// Start of the last occurrence after that of the first, in ps.
    pub later_ps: u64,
}

impl Times {
    /// Value for a flow that is not repeated.
    pub(super) const ONCE: Self = Self {
        times: 1,
        later_ps: 0,
    };
}

/// Original of a repeating flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Original {
    /// Number of the repeating flow.
    flow: u32,
    /// Index of the original among the flows that are no repeats.
    row: usize,
    /// Start of the repeating flow minus that of the original, in ps.
    pub(super) later: u64,
    /// Length of the run of flows, from the repeating one on, that map to consecutive originals at the same distance in
    /// time.
    alike: usize,
}

impl Original {
    /// Reads the flow that is repeated.
    pub(super) fn first(&self, reader: &mut Reader<'_>) -> io::Result<Entry> {
        reader.row(self.row).map(Entry::decode)
    }

    /// Reads the repeating flow.
    pub(super) fn read(&self, reader: &mut Reader<'_>) -> io::Result<Entry> {
        let mut entry = self.first(reader)?;
        if self.later > 0 {
            entry.flow = self.flow;
            entry.start_ps = entry.start_ps.saturating_add(self.later);
        }
        Ok(entry)
    }
}

/// Shortest sequence that is stored, and the window that finds candidates.
const WINDOW: usize = if cfg!(test) { 16 } else { 1024 };

/// Finds repeated flows; `entries` lists all flows from a given one on.
pub(super) fn find<I>(entries: impl Fn(usize) -> I) -> io::Result<Repeats>
where
    I: Iterator<Item = io::Result<Entry>>,
{
    let mut repeats = Repeats::default();
    let mut windows: HashMap<u64, u32> = HashMap::new();
    let mut rolling = Rolling::default();
    let mut last_start = 0;
    // The sequence that is being extended, and the flows that it repeats.
    let mut open: Option<(Again, I)> = None;
    for (flow, entry) in entries(0).enumerate() {
        let entry = entry?;
        if entry.flow as usize != flow {
            // Rows with gaps are not those of a run.
            return Ok(Repeats::default());
        }
        if let Some((again, earlier)) = &mut open {
            let earlier = earlier.next().transpose()?;
            if earlier.is_some_and(|earlier| is_again(again, &earlier, &entry)) {
                again.flows += 1;
                last_start = entry.start_ps;
                continue;
            }
            keep(&mut repeats, again);
            open = None;
            rolling = Rolling::default();
        }
        // Outside of a sequence, equal windows of hashes give candidates; each flow is then compared in full.
        let window = rolling.push(shape(&entry, last_start));
        last_start = entry.start_ps;
        let Some(window) = window else {
            continue;
        };
        if let Some(&earlier) = windows.get(&window) {
            let mut likely = entries(earlier as usize);
            if let Some(there) = likely.next().transpose()? {
                let again = Again {
                    flow_id: entry.flow + 1,
                    flows: 0,
                    as_flow_id: earlier + 1,
                    later_ps: entry.start_ps.wrapping_sub(there.start_ps),
                };
                open = Some((again, likely));
            }
        // Every `WINDOW`-th window is enough: a repeat of twice that length contains one of them.
        } else if flow % WINDOW == 0 {
            windows.insert(window, entry.flow);
        }
    }
    if let Some((again, _)) = open {
        keep(&mut repeats, &again);
    }
    Ok(repeats)
}

/// Stores a sequence that is long enough.
fn keep(repeats: &mut Repeats, again: &Again) {
    if again.flows as usize >= WINDOW && again.later_ps > 0 {
        repeats.push(*again).expect("they come one after the other");
    }
}

/// Returns true if a flow extends the sequence: all columns of its row equal those of the earlier flow.
fn is_again(again: &Again, earlier: &Entry, flow: &Entry) -> bool {
    let later = earlier.start_ps.checked_add(again.later_ps);
    later == Some(flow.start_ps)
        && *flow
            == Entry {
                flow: flow.flow,
                start_ps: flow.start_ps,
                sport: flow.sport,
                dport: flow.dport,
                ..*earlier
            }
}

/// Hashes a flow and its distance in time to the flow before.
fn shape(entry: &Entry, last_start: u64) -> u64 {
    let numbers = [
        u64::from(entry.label) << 32 | u64::from(entry.ce),
        u64::from(entry.src) << 32 | u64::from(entry.dst),
        entry.class.into(),
        entry.size,
        entry.fct_ps.unwrap_or(u64::MAX),
        entry.sent,
        entry.start_ps.wrapping_sub(last_start),
    ];
    numbers.into_iter().fold(0, |hash, number| mix(hash ^ number))
}

/// Rolling hash over the last [`WINDOW`] flows.
struct Rolling {
    /// Hashes of these flows, as a ring.
    shapes: Vec<u64>,
    count: usize,
    sum: u64,
    /// Factor of the hash that leaves the window.
    first: u64,
}

/// Base of the rolling hash; odd, so that no flow drops out early.
const BASE: u64 = 0x5851_f42d_4c95_7f2d;

impl Default for Rolling {
    fn default() -> Self {
        Self {
            shapes: vec![0; WINDOW],
            count: 0,
            sum: 0,
            first: BASE.wrapping_pow(WINDOW as u32),
        }
    }
}

impl Rolling {
    /// Adds a flow; returns the hash once the window is full.
    fn push(&mut self, shape: u64) -> Option<u64> {
        let oldest = std::mem::replace(&mut self.shapes[self.count % WINDOW], shape);
        self.count += 1;
        self.sum = (self.sum.wrapping_mul(BASE))
            .wrapping_add(shape)
            .wrapping_sub(oldest.wrapping_mul(self.first));
        (self.count >= WINDOW).then_some(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::{FlowRow, FlowRows, FlowState};

    /// Generates flows in parts, each of which is noise or a section of a pattern from some index on.
    fn flows(parts: &[(usize, usize, bool)]) -> Vec<FlowRow<'static>> {
        let (mut all, mut start, mut noise) = (Vec::new(), 0, 1_u64);
        for &(from, count, is_noise) in parts {
            for index in from..from + count {
                noise = noise.wrapping_mul(BASE).wrapping_add(1);
                let shape = if is_noise { noise >> 40 } else { index as u64 % 97 };
                start += shape % 5 + 1;
                all.push(FlowRow {
                    flow_id: all.len() as u32,
                    label: ["a", "b"][shape as usize % 2].into(),
                    scheme: "x".into(),
                    src: shape as u32 % 7,
                    dst: 9,
                    priority: 0,
                    size_bytes: shape,
                    start_ps: start,
                    fct_ps: Some(shape + 10),
                    ideal_fct_ps: 10,
                    slowdown: Some(1.0 + shape as f64 / 10.0),
                    retransmitted_bytes: 0,
                    sent_bytes: shape,
                    unscheduled_bytes: 0,
                    ce_packets: 0,
                    ue_packets: 0,
                    status: FlowState::Completed,
                    connection: None,
                });
            }
        }
        all
    }

    proptest! {
        /// Repeated flows are found, and the folded rows expand to the original ones.
        #[test]
        fn folded_flows_are_the_flows(
            parts in prop::collection::vec((0usize..200, 1usize..400, prop::bool::weighted(0.2)), 1..6),
        ) {
            let all = flows(&parts);
            let whole: FlowRows = all.iter().cloned().collect();
            let entries: Vec<Entry> = whole.entries().collect();
            let repeats = find(|from| entries[from..].iter().copied().map(Ok)).unwrap();
            let once: FlowRows = (0..all.len())
                .filter(|&flow| repeats.at(flow).is_none())
                .map(|flow| all[flow].clone())
                .collect();
            let folded = once.with_repeats(repeats.all().iter().copied()).unwrap();
            prop_assert_eq!(folded.rows().collect::<Vec<_>>(), all.clone());
            for flow in 0..all.len() {
                prop_assert_eq!(folded.get(flow), Some(all[flow].clone()));
                let first = &all[folded.first_like(flow as u32) as usize];
                prop_assert_eq!((first.size_bytes, first.fct_ps), (all[flow].size_bytes, all[flow].fct_ps));
            }
            let mut counted: Vec<(u64, u64)> = Vec::new();
            for (flow, times) in folded.distinct() {
                counted.extend(std::iter::repeat_n((flow.size_bytes, flow.fct_ps.unwrap()), times.times as usize));
                prop_assert!(flow.start_ps + times.later_ps <= all[all.len() - 1].start_ps);
            }
            let mut expected: Vec<(u64, u64)> = all.iter().map(|flow| (flow.size_bytes, flow.fct_ps.unwrap())).collect();
            counted.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(counted, expected);
            let last = folded.distinct().map(|(flow, times)| flow.end_ps().unwrap() + times.later_ps).max();
            prop_assert_eq!(last, all.iter().map(|flow| flow.end_ps().unwrap()).max());
        }
    }

    #[test]
    fn most_iterations_are_one_repeat() {
        let iterations = [(0, 300, false); 40];
        let all = flows(&iterations);
        let whole: FlowRows = all.into_iter().collect();
        let entries: Vec<Entry> = whole.entries().collect();
        let repeats = find(|from| entries[from..].iter().copied().map(Ok)).unwrap();
        let most = repeats.all().iter().map(|again| again.flows).max();
        assert!(most > Some(35 * 300), "{:?}", repeats.all());
    }

    #[test]
    fn impossible_repeats_are_refused() {
        let again = |flow_id, flows, as_flow_id, later_ps| Again {
            flow_id,
            flows,
            as_flow_id,
            later_ps,
        };
        let error = |all: &[Again]| {
            let rows: FlowRows = flows(&[(0, 10, false)]).into_iter().collect();
            rows.with_repeats(all.iter().copied()).err().unwrap()
        };
        for (all, expected) in [
            (
                vec![again(10, 1, 10, 1)],
                "as_flow_id = 10: expected less than 10",
            ),
            (vec![again(10, 0, 1, 1)], "flows = 0: expected 1 to"),
            (
                vec![again(10, u32::MAX, 1, 1)],
                "flows = 4294967295: expected 1 to",
            ),
            (
                vec![again(10, 5, 1, 1), again(12, 1, 1, 1)],
                "flow_id = 12: expected 15 or more",
            ),
            (vec![again(4, 2, 1, 1)], "flow_id = 4: expected 6"),
            (
                vec![again(20, 2, 1, 1)],
                "flow_id = 20: the flows before it are missing",
            ),
            (vec![again(10, 2, 1, 0)], "later_ps = 0: expected more"),
            (vec![again(10, 2, 1, u64::MAX)], "its flows end later than"),
            (
                vec![again(10, u32::MAX - 10, 9, 1 << 40)],
                "its flows end later than",
            ),
        ] {
            let found = error(&all);
            assert!(found.contains(expected), "{found}");
        }
    }
}
