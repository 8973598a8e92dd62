//! Flows of a run, readable any number of times.
//!
//! A run may have far more flows than fit in memory: the latest rows are in memory, the others in an unnamed file next
//! to the run's folder. Memory grows with the number of flows only for statistics that require an order over all of
//! them, such as percentiles; their comments say so.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use paceline_fabric::outcome::EndedFlow;
use paceline_fabric::{Outcome, RunSpec};
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::Resolved;

use super::flows::{FlowRow, IdealFct};

mod again;
mod entry;
mod gathering;
mod store;

pub use again::Times;
pub(crate) use again::{Again, Repeats};
pub(crate) use entry::Entry;
pub(crate) use gathering::Gathering;
use store::{Reader, Store};

/// Flows of a run, in the order of their starts. Clones share the storage.
#[derive(Clone)]
pub struct FlowRows(Arc<Table>);

struct Table {
    labels: Vec<String>,
    schemes: Vec<String>,
    /// Flows that are no repeats.
    entries: Store,
    repeats: Repeats,
    /// Completed flows, in the order of completion.
    completions: Store,
    /// First error on reading rows, at which the iterators end.
    trouble: OnceLock<io::Error>,
}

impl FlowRows {
    /// Returns the number of flows, repeats included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no flows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory that a number of flows takes, in bytes.
    pub(crate) fn memory(flows: usize) -> u64 {
        let each = entry::SIZE + size_of::<u32>();
        (each * flows.min(store::IN_MEMORY)) as u64
    }

    /// Returns the rows, as in `flows.csv`.
    pub fn rows(&self) -> impl Iterator<Item = FlowRow<'_>> {
        self.entries().map(|entry| self.row(&entry))
    }

    /// Returns the rows from index `first` on.
    pub fn rows_from(&self, first: usize) -> impl Iterator<Item = FlowRow<'_>> {
        self.entries_from(first).map(|entry| self.row(&entry))
    }

    /// Returns the row of the flow at an index.
    pub fn get(&self, index: usize) -> Option<FlowRow<'_>> {
        let entry = self.entry(index)?;
        Some(self.row(&entry))
    }

    /// Returns the row of the flow with this number, which is usually at the index of the same value.
    pub fn with_id(&self, flow_id: u32) -> Option<FlowRow<'_>> {
        let meant = |row: &FlowRow<'_>| row.flow_id == flow_id;
        let there = self.get(flow_id as usize).filter(meant);
        there.or_else(|| self.rows().find(meant))
    }

    /// Checks that all rows could be read so far; if not, results derived from them are invalid.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn check(&self) -> io::Result<()> {
        match self.0.trouble.get() {
            None => Ok(()),
            Some(error) => Err(io::Error::new(
                error.kind(),
                format!("the rows of flows that do not fit in memory: {error}"),
            )),
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.entries_from(0)
    }

    fn entries_from(&self, first: usize) -> impl Iterator<Item = Entry> {
        let mut reader = Reader::of(&self.0.entries);
        let walk = self.0.repeats.walk(first.min(self.len())..self.len());
        walk.map_while(move |original| self.known(original.read(&mut reader)))
    }

    /// Returns the rows of flows that repeat no earlier one.
    pub fn firsts(&self) -> impl Iterator<Item = FlowRow<'_>> {
        self.originals().map(|entry| self.row(&entry))
    }

    /// Returns the flow that this one repeats, or itself.
    pub fn first_like(&self, flow: u32) -> u32 {
        let mut reader = Reader::of(&self.0.entries);
        let known = (flow as usize) < self.len();
        let first = known.then(|| self.known(self.0.repeats.original(flow as usize).first(&mut reader)));
        first.flatten().map_or(flow, |entry| entry.flow)
    }

    /// Returns the start of the first flow, in ps; 0 without any.
    pub fn first_start_ps(&self) -> u64 {
        let starts = self.originals().map(|flow| flow.start_ps);
        starts.min().unwrap_or(0)
    }

    /// Returns the flows that differ in more than number and start, with their number of occurrences. Statistics that
    /// do not depend on the order of flows need only these.
    pub fn distinct(&self) -> impl Iterator<Item = (FlowRow<'_>, Times)> {
        let entries = self.distinct_entries();
        entries.map(|(entry, times)| (self.row(&entry), times))
    }

    pub(crate) fn distinct_entries(&self) -> impl Iterator<Item = (Entry, Times)> {
        let times = self.0.repeats.times();
        let times = move |row| times.get(row).copied().unwrap_or(Times::ONCE);
        (0..)
            .zip(self.originals())
            .map(move |(row, entry)| (entry, times(row)))
    }

    /// Returns the number of flows that repeat earlier ones except for their start; 0 unless these are the majority of
    /// many.
    pub fn repeated(&self) -> usize {
        self.0.repeats.flows() as usize
    }

    /// Returns the sequences of repeated flows.
    pub(crate) fn repeats(&self) -> &Repeats {
        &self.0.repeats
    }

    /// Returns the number of flows that are no repeats.
    pub(crate) fn originals_len(&self) -> usize {
        self.0.entries.len()
    }

    /// Returns the flows that are no repeats.
    pub(crate) fn originals(&self) -> impl Iterator<Item = Entry> {
        let mut reader = Reader::of(&self.0.entries);
        let rows = 0..self.0.entries.len();
        rows.map_while(move |row| self.known(reader.row(row).map(Entry::decode)))
    }

    pub(crate) fn entry(&self, index: usize) -> Option<Entry> {
        let there = index < self.len();
        there.then(|| self.read(&mut Reader::of(&self.0.entries), index))?
    }

    /// Returns completed flows, in the order of completion.
    pub(crate) fn completions(&self) -> impl Iterator<Item = Entry> {
        let mut order = Reader::of(&self.0.completions);
        let mut entries = Reader::of(&self.0.entries);
        (0..self.0.completions.len()).map_while(move |index| {
            let flow = self.known(order.row(index).map(|bytes| {
                let bytes = bytes.iter().rev();
                bytes.fold(0, |number, &byte| number << 8 | usize::from(byte))
            }))?;
            self.read(&mut entries, flow)
        })
    }

    /// Returns the name of an entry's scheme.
    pub(crate) fn scheme(&self, entry: &Entry) -> &str {
        name(&self.0.schemes, entry.scheme)
    }

    /// Returns the name of an entry's label.
    pub(crate) fn label(&self, entry: &Entry) -> &str {
        name(&self.0.labels, entry.label)
    }

    /// Converts an entry to its row.
    pub(crate) fn row(&self, entry: &Entry) -> FlowRow<'_> {
        entry.row(self.label(entry), self.scheme(entry))
    }

    fn read(&self, reader: &mut Reader<'_>, index: usize) -> Option<Entry> {
        self.known(self.0.read(reader, index))
    }

    fn known<T>(&self, result: io::Result<T>) -> Option<T> {
        // The first error is the one to report.
        result.map_err(|error| self.0.trouble.set(error)).ok()
    }

    #[cfg(any(test, feature = "sample"))]
    /// Collects the flows of a run whose flows were a list; rows that do not fit in memory go to a file in `folder`.
    pub(crate) fn of_list(input: &Resolved, outcome: &Outcome, folder: &Path) -> io::Result<Self> {
        let gathered = Gathering::new(input, folder);
        gathered.end(&input.run, outcome)
    }

    /// Collects the rows read from a file.
    pub(crate) fn of_rows<'a, E: From<io::Error>>(
        rows: impl IntoIterator<Item = Result<FlowRow<'a>, E>>,
        folder: &Path,
    ) -> Result<Self, E> {
        let mut table = Table::new(folder);
        let (mut labels, mut schemes) = (SortedMap::new(), SortedMap::new());
        for row in rows {
            let row = row?;
            let label = number(&mut labels, &mut table.labels, &row.label);
            let scheme = number(&mut schemes, &mut table.schemes, &row.scheme);
            table.entries.push(&Entry::of_row(&row, label, scheme).encode())?;
        }
        Ok(Self(Arc::new(table)))
    }

    /// Inserts sequences of repeated flows between the rows, by flow number.
    pub(crate) fn with_repeats(self, all: impl IntoIterator<Item = Again>) -> Result<Self, String> {
        let mut repeats = Repeats::default();
        all.into_iter().try_for_each(|again| repeats.push(again))?;
        let mut table = Arc::into_inner(self.0).ok_or("the rows are shared")?;
        let mut reader = Reader::of(&table.entries);
        let count = table.entries.len() + repeats.flows() as usize;
        let last = repeats.all().last().map_or(0, |last| last.flow_id);
        if last as usize > count {
            return Err(format!("flow_id = {last}: the flows before it are missing"));
        }
        let mut last_end = 0;
        for (row, index) in repeats.once(count).enumerate() {
            let entry = reader.row(row).map(Entry::decode);
            let entry = entry.map_err(|error| error.to_string())?;
            if entry.flow as usize != index {
                return Err(format!("flow_id = {}: expected {index}", entry.flow));
            }
            last_end = last_end.max(entry.end_ps().unwrap_or(entry.start_ps));
        }
        for again in repeats.all() {
            let last = (again.flow_id + again.flows - 1) as usize;
            if last_end.checked_add(repeats.original(last).later).is_none() {
                return Err(format!(
                    "flow_id = {}: its flows end later than {} ps",
                    again.flow_id,
                    u64::MAX
                ));
            }
        }
        repeats.count(table.entries.len());
        table.repeats = repeats;
        Ok(Self(Arc::new(table)))
    }
}

/// Returns the number of a name, adding it if it is new.
fn number(known: &mut SortedMap<String, u32>, names: &mut Vec<String>, name: &str) -> u32 {
    if let Some(&number) = known.get(name) {
        return number;
    }
    let number = names.len() as u32;
    known.insert(name.to_string(), number);
    names.push(name.to_string());
    number
}

fn name(names: &[String], number: u32) -> &str {
    names.get(number as usize).map_or("", String::as_str)
}

/// Returns the flows of a list.
fn entries_of_list<'a>(run: &'a RunSpec, outcome: &'a Outcome) -> impl Iterator<Item = Entry> + 'a {
    let alone = IdealFct::of(run);
    let flows = run.flows.iter().zip(&outcome.flows).zip(0..);
    flows.map(move |((&spec, &record), flow)| Entry::of(&EndedFlow { flow, spec, record }, alone))
}

/// Returns the rows of a run whose flows are a list, in order of start.
pub fn flow_rows<'a>(input: &'a Resolved, outcome: &'a Outcome) -> impl Iterator<Item = FlowRow<'a>> {
    let (labels, schemes) = (&input.run.labels, &input.schemes);
    entries_of_list(&input.run, outcome)
        .map(|entry| entry.row(name(labels, entry.label), name(schemes, entry.scheme)))
}

impl Table {
    fn len(&self) -> usize {
        self.entries.len() + self.repeats.flows() as usize
    }

    fn read(&self, reader: &mut Reader<'_>, index: usize) -> io::Result<Entry> {
        self.repeats.original(index).read(reader)
    }

    /// Stores repeated flows once, if that saves enough.
    fn fold(&mut self, folder: &Path) -> io::Result<()> {
        /// Number of flows below which a table with all of them is more convenient.
        const MANY: usize = if cfg!(test) { 1000 } else { 1_000_000 };
        /// Maximum number of distinct flows; their counts are in memory, about 100 MB at this limit.
        const FEW: usize = 8_000_000;
        let all = self.entries.len();
        if all < MANY {
            return Ok(());
        }
        let from = |first: usize| {
            let mut reader = Reader::of(&self.entries);
            (first..all).map(move |row| reader.row(row).map(Entry::decode))
        };
        let mut repeats = again::find(from)?;
        let once = all - repeats.flows() as usize;
        // With few repeats the folded table saves little, and every access has to resolve them.
        if once > all / 2 || once > FEW {
            return Ok(());
        }
        repeats.count(once);
        let mut originals = Store::new(entry::SIZE, folder);
        let mut reader = Reader::of(&self.entries);
        for row in repeats.once(all) {
            originals.push(reader.row(row)?)?;
        }
        self.entries = originals;
        self.repeats = repeats;
        Ok(())
    }

    fn new(folder: &Path) -> Self {
        Self {
            labels: Vec::new(),
            schemes: Vec::new(),
            entries: Store::new(entry::SIZE, folder),
            repeats: Repeats::default(),
            completions: Store::new(size_of::<u32>(), folder),
            trouble: OnceLock::new(),
        }
    }
}

impl fmt::Debug for FlowRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} flows", self.len())
    }
}

impl PartialEq for FlowRows {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.rows().eq(other.rows())
    }
}

#[cfg(any(test, feature = "sample"))]
impl<'a> FromIterator<FlowRow<'a>> for FlowRows {
    fn from_iter<I: IntoIterator<Item = FlowRow<'a>>>(rows: I) -> Self {
        let rows = rows.into_iter().map(Ok::<_, io::Error>);
        Self::of_rows(rows, &std::env::temp_dir()).expect("few rows need no file")
    }
}

#[cfg(any(test, feature = "sample"))]
impl FlowRows {
    /// Returns a copy with some rows changed.
    pub fn changed(&self, change: impl FnOnce(&mut Vec<FlowRow<'static>>)) -> Self {
        let mut rows: Vec<FlowRow<'static>> = self.rows().map(FlowRow::into_owned).collect();
        change(&mut rows);
        rows.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use paceline_scenario::{Overrides, load_text};

    use crate::run::{Control, Finished, execute};

    const SCENARIO: &str = "duration = '100us'\n[topology.star]\nhosts = 8\n[[workload]]\n\
        poisson = { load = 0.5, sizes = [{ size = '700B', share = 1.0 }] }\n[cc]\nscheme = 'hpcc'\n";

    fn run(streams: bool) -> Finished {
        let overrides = Overrides {
            streams,
            ..Overrides::default()
        };
        let input = load_text("test.toml", SCENARIO, &overrides).unwrap();
        execute(&input, &mut |_| Control::Continue).unwrap()
    }

    /// Completions of a list and of a program are merged in the order of their ends.
    #[test]
    fn a_list_and_a_program_complete_in_one_order() {
        let goal = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../traces/tests/data/goal/dissemination_16.bin"
        );
        let text = format!(
            "duration = '1ms'\n[topology.star]\nhosts = 16\n[[workload]]\nincast = {{ receiver = 1, fan-in = 9, \
             size = '9KB' }}\n[[job]]\ngoal = {goal:?}\n[cc]\nscheme = 'hpcc'\n"
        );
        let input = load_text("test.toml", &text, &Overrides::default()).unwrap();
        let done = execute(&input, &mut |_| Control::Continue).unwrap();
        let ends: Vec<_> = done.flows.completions().map(|entry| entry.end_ps()).collect();
        assert_eq!((ends.len(), done.flows.len()), (9 + 64, 9 + 64));
        assert!(ends.is_sorted());
        let of_list: Vec<bool> = done.flows.completions().map(|entry| entry.flow < 9).collect();
        let turns = of_list.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(turns > 1, "they take turns: {of_list:?}");
    }

    /// Uses more flows than stay in memory in tests.
    #[test]
    fn a_stream_gives_the_rows_of_its_list() {
        let (list, stream) = (run(false), run(true));
        assert!(stream.flows.len() > 5000 && stream.outcome.flows.is_empty());
        assert_eq!(list.flows, stream.flows);
        assert!(list.flows.completions().eq(stream.flows.completions()));
        let rows = list.flows.completions().count();
        assert_eq!(rows, list.outcome.completions.len());
        // Read in any order.
        for index in [0, 5000, 1, 4000, 2000, list.flows.len() - 1] {
            assert_eq!(list.flows.rows().nth(index), stream.flows.get(index));
        }
        assert_eq!(stream.flows.get(stream.flows.len()), None);
        stream.flows.check().unwrap();
    }
}
