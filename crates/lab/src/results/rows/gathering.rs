//! Collection of a run's flows while the run proceeds.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_fabric::outcome::{EndedFlow, FlowStatus};
use paceline_fabric::spec::TieOrder;
use paceline_fabric::{Outcome, RunSpec};
use paceline_scenario::Resolved;

use super::store::{Reader, Store};
use super::{Entry, FlowRows, Table, entries_of_list};
use crate::results::IdealFct;

/// Flows of a running simulation that have ended so far.
pub(crate) struct Gathering {
    table: Table,
    alone: IdealFct,
    /// True if completions at the same instant are sorted by flow number.
    sorted: bool,
    /// True if programs start flows: only these may repeat.
    programs: bool,
    /// Latest completion instant, and the flows that completed at it.
    instant: (u64, Vec<u32>),
    folder: PathBuf,
}

impl Gathering {
    /// Starts collecting for a run of `input`; rows that do not fit in memory go to a file in `folder`.
    pub(crate) fn new(input: &Resolved, folder: &Path) -> Self {
        Self {
            table: Table {
                labels: input.run.labels.clone(),
                schemes: input.schemes.clone(),
                ..Table::new(folder)
            },
            alone: IdealFct::of(&input.run),
            sorted: matches!(input.run.ties, TieOrder::Structural | TieOrder::Drawn),
            programs: !input.run.programs.is_empty(),
            instant: (0, Vec::new()),
            folder: folder.to_path_buf(),
        }
    }

    fn put(&mut self, entry: &Entry) -> io::Result<()> {
        let index = entry.flow as usize;
        self.table.entries.put(index, &entry.encode())
    }

    /// Adds flows of a stream that have ended, in the order of their ends.
    pub(crate) fn take(&mut self, ended: &[EndedFlow]) -> io::Result<()> {
        for flow in ended {
            self.put(&Entry::of(flow, self.alone))?;
            if flow.record.status == FlowStatus::Completed {
                let end = (flow.record.start + flow.record.fct).as_ps();
                if end != self.instant.0 {
                    self.instant_is_over()?;
                    self.instant.0 = end;
                }
                self.instant.1.push(flow.flow);
            }
        }
        Ok(())
    }

    fn instant_is_over(&mut self) -> io::Result<()> {
        let completed = &mut self.instant.1;
        if self.sorted {
            completed.sort_unstable();
        }
        (completed.drain(..)).try_for_each(|flow| self.table.completions.push(&flow.to_le_bytes()))
    }

    /// Completes the table at the end of the run with the flows of the list and those of a stream that have not
    /// started.
    pub(crate) fn end(mut self, run: &RunSpec, outcome: &Outcome) -> io::Result<FlowRows> {
        self.take(&outcome.ended)?;
        self.instant_is_over()?;
        // Completions of flows that programs started are stored by now; those of the list are merged in afterwards, by
        // time.
        for entry in entries_of_list(run, outcome) {
            self.put(&entry)?;
        }
        self.complete_list(outcome)?;
        // Flows that the stream did not start are drawn again from the seed, so that the table has all flows.
        if let Some(arrivals) = run.arrivals.as_ref().filter(|all| outcome.begun < all.flows) {
            let drawn = (0..).zip(arrivals.flows(run.seed));
            for (flow, spec) in drawn.skip(outcome.begun as usize) {
                self.put(&Entry::of(&EndedFlow::not_started(flow, spec), self.alone))?;
            }
        }
        self.finish()
    }

    /// Merges completions of the list with those that were added before.
    fn complete_list(&mut self, outcome: &Outcome) -> io::Result<()> {
        let others = std::mem::replace(
            &mut self.table.completions,
            Store::new(size_of::<u32>(), &self.folder),
        );
        let (mut order, mut next) = (Reader::of(&others), 0);
        let mut entries = Reader::of(&self.table.entries);
        let mut listed = outcome.completions.iter().peekable();
        let end_of = |flow: u32| {
            let record = &outcome.flows[flow as usize];
            (record.start + record.fct).as_ps()
        };
        while next < others.len() {
            let flow = order.row(next)?;
            let flow = u32::from_le_bytes(flow.try_into().expect("a number of four bytes"));
            let end = Entry::decode(entries.row(flow as usize)?).end_ps();
            while let Some(&&first) = listed.peek()
                && Some(end_of(first)) <= end
            {
                self.table.completions.push(&first.to_le_bytes())?;
                listed.next();
            }
            self.table.completions.push(&flow.to_le_bytes())?;
            next += 1;
        }
        listed.try_for_each(|flow| self.table.completions.push(&flow.to_le_bytes()))
    }

    fn finish(mut self) -> io::Result<FlowRows> {
        self.instant_is_over()?;
        if self.programs {
            self.table.fold(&self.folder)?;
        }
        Ok(FlowRows(Arc::new(self.table)))
    }
}
