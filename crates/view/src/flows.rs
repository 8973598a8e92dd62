//! Flows of a run for its time line: what a bar needs of each, and those of a window of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_lab::files::{FlowStep, visit_flows};
use paceline_lab::results::{FlowRow, FlowState};
use paceline_report::palette;
use serde_json::{Value, json};

/// Flows of a time line, each of which takes 72 bytes of memory.
const FLOWS_MAX: usize = 20_000_000;
/// Bars in an answer; a window with more flows has their density.
pub(crate) const BARS_MAX: usize = 4_000;
/// Rows of bars in an answer, as many as fit on a screen.
pub(crate) const ROWS_MAX: usize = 150;
/// Colours of bars. The last one is that of all names without their own.
pub(crate) const COLORS: usize = 8;
/// Flows whose latest end is kept, so that those before a window are skipped together.
const BLOCK: usize = 1 << 10;

/// Flow as its bar needs it; times are in ps, sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) start: u64,
    /// End of the flow, or of the run if it did not complete.
    pub(crate) end: u64,
    pub(crate) size: u64,
    pub(crate) ideal: u64,
    pub(crate) retransmitted: u64,
    /// Completion time over that alone in the network; not a number unless completed.
    pub(crate) slowdown: f64,
    pub(crate) id: u32,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) label: u32,
    pub(crate) row: u32,
    pub(crate) scheme: u16,
    pub(crate) status: FlowState,
}

/// Distinct names with their colours and flows.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) all: Vec<String>,
    numbers: SortedMap<String, usize>,
    pub(crate) flows: Vec<usize>,
    pub(crate) colors: Vec<usize>,
}

impl Names {
    fn number(&mut self, name: &str) -> usize {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        self.numbers.insert(name.to_string(), self.all.len());
        self.all.push(name.to_string());
        self.flows.push(0);
        self.all.len() - 1
    }

    /// Gives the names with the most flows a colour of their own.
    fn color(&mut self) {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.order_by_key(|&name| (Reverse(self.flows[name]), name));
        self.colors = vec![COLORS - 1; self.all.len()];
        for (color, name) in order.into_iter().take(COLORS - 1).enumerate() {
            self.colors[name] = color;
        }
    }

    /// Returns the names that have a colour, and the flows of the others together.
    fn legend(&self) -> Value {
        // As many names as colours have one each.
        let named = if self.all.len() <= COLORS {
            COLORS
        } else {
            COLORS - 1
        };
        let named = (0..named).filter_map(|color| self.colors.iter().position(|&own| own == color));
        let named = named.map(
            |name| json!({ "name": self.all[name], "color": self.colors[name], "flows": self.flows[name] }),
        );
        let mut all: Vec<Value> = named.collect();
        if self.all.len() > COLORS {
            let others = (0..self.all.len()).filter(|&name| self.colors[name] == COLORS - 1);
            let flows: usize = others.clone().map(|name| self.flows[name]).sum();
            let name = format!("{} others", others.count());
            all.push(json!({ "name": name, "color": COLORS - 1, "flows": flows }));
        }
        Value::Array(all)
    }
}

/// Property by which bars are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Scheme,
    Label,
}

/// Content of a window: every bar, or the number of flows by time and colour.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Number of rows, and for each flow its row and its index.
    Bars(usize, Vec<(usize, usize)>),
    /// Flows that are active in each bin, by colour.
    Density(Vec<Vec<u32>>),
}

/// Flows that started, in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub(crate) all: Vec<Flow>,
    /// Flows that did not start.
    pub(crate) absent: usize,
    pub(crate) labels: Names,
    pub(crate) schemes: Names,
    /// Indices in the order of the flows' numbers.
    by_id: Vec<u32>,
    /// Latest end in each block.
    ends: Vec<u64>,
}

impl Flows {
    /// Reads the flows of a run that ended at `end` ps.
    pub(crate) fn read(folder: &Path, end: u64) -> Result<Self, String> {
        let mut flows = Self::default();
        // All flows by number, of which repeats are copies.
        let mut all: Vec<Flow> = Vec::new();
        let mut count = 0;
        visit_flows(folder, &mut |step| {
            let FlowStep::Again {
                flow_id,
                flows: repeats,
                as_flow_id,
                later_ps,
            } = step
            else {
                count += 1;
                if let (FlowStep::Flow(row), true) = (step, count <= FLOWS_MAX) {
                    all.push(flows.flow(&row, end));
                }
                return;
            };
            count += repeats as usize;
            for n in 0..repeats {
                match all.get(as_flow_id as usize + n as usize) {
                    Some(&first) if count <= FLOWS_MAX => all.push(Flow {
                        id: flow_id.saturating_add(n),
                        start: first.start.saturating_add(later_ps),
                        end: first.end.saturating_add(later_ps),
                        ..first
                    }),
                    _ => return,
                }
            }
        })
        .map_err(|error| error.to_string())?;
        if count > FLOWS_MAX {
            return Err(format!(
                "{count} flows are too many for a time line: at most {FLOWS_MAX}"
            ));
        }
        let starts = |flow: &Flow| !matches!(flow.status, FlowState::NotStarted | FlowState::Unreachable);
        all.retain(starts);
        flows.absent = count - all.len();
        flows.all = all;
        flows.index();
        Ok(flows)
    }

    fn flow(&mut self, row: &FlowRow<'_>, end: u64) -> Flow {
        Flow {
            start: row.start_ps,
            // A flow without a length would have no bar.
            end: row.end_ps().unwrap_or(end).max(row.start_ps.saturating_add(1)),
            size: row.size_bytes,
            ideal: row.ideal_fct_ps,
            retransmitted: row.retransmitted_bytes,
            slowdown: row.slowdown.unwrap_or(f64::NAN),
            id: row.flow_id,
            src: row.src,
            dst: row.dst,
            label: self.labels.number(&row.label) as u32,
            scheme: self.schemes.number(&row.scheme) as u16,
            row: 0,
            status: row.status,
        }
    }

    /// Sorts the flows, and gives each the first row that is free when it starts.
    fn index(&mut self) {
        self.all.sort_by_key(|flow| (flow.start, flow.id));
        let (mut busy, mut free) = (BinaryHeap::new(), BinaryHeap::new());
        let mut rows = 0;
        for flow in &mut self.all {
            while let Some(&Reverse((end, row))) = busy.peek()
                && end <= flow.start
            {
                busy.pop();
                free.push(Reverse(row));
            }
            flow.row = free.pop().map_or(rows, |Reverse(row)| row);
            rows = rows.max(flow.row + 1);
            busy.push(Reverse((flow.end, flow.row)));
            self.labels.flows[flow.label as usize] += 1;
            self.schemes.flows[usize::from(flow.scheme)] += 1;
        }
        let ends = self
            .all
            .chunks(BLOCK)
            .map(|block| block.iter().map(|flow| flow.end).max().unwrap_or(0));
        self.ends = ends.collect();
        self.by_id = (0..self.all.len() as u32).collect();
        self.by_id.sort_by_key(|&index| self.all[index as usize].id);
        self.labels.color();
        self.schemes.color();
        // Schemes have the colours of the other pages.
        let names: Vec<&str> = self.schemes.all.iter().map(String::as_str).collect();
        if names.len() < COLORS {
            self.schemes.colors = palette::assign(&names)
                .into_iter()
                .map(|(color, _)| color)
                .collect();
        }
    }

    /// Returns the index of the flow with a number.
    pub(crate) fn with_id(&self, id: u32) -> Option<usize> {
        let found = self
            .by_id
            .binary_search_by_key(&id, |&index| self.all[index as usize].id);
        found.ok().map(|position| self.by_id[position] as usize)
    }

    /// Returns the indices of the flows that are active between two times.
    pub(crate) fn between(&self, from: u64, to: u64) -> impl Iterator<Item = usize> {
        let last = self.all.partition_point(|flow| flow.start < to);
        let blocks = self.ends.iter().enumerate().filter(move |(_, end)| **end > from);
        let of_block = move |(block, _): (usize, &u64)| block * BLOCK..((block + 1) * BLOCK).min(last);
        blocks
            .flat_map(of_block)
            .filter(move |&index| self.all[index].end > from)
    }

    /// Returns the latest end of a flow, if there are flows.
    pub(crate) fn last_end(&self) -> Option<u64> {
        self.ends.iter().copied().max()
    }

    pub(crate) fn color(&self, index: usize, by: By) -> usize {
        let flow = &self.all[index];
        match by {
            By::Scheme => self.schemes.colors[usize::from(flow.scheme)],
            By::Label => self.labels.colors[flow.label as usize],
        }
    }

    /// Returns the number of flows in a window, and its content; a density has this number of bins.
    pub(crate) fn window(&self, (from, to): (u64, u64), bins: usize, by: By) -> (usize, Shown) {
        let mut indices: Vec<usize> = self.between(from, to).take(BARS_MAX + 1).collect();
        if indices.len() <= BARS_MAX {
            let mut rows: Vec<u32> = indices.iter().map(|&index| self.all[index].row).collect();
            rows.order();
            rows.dedup();
            if rows.len() <= ROWS_MAX {
                let row = |index: usize| rows.binary_search(&self.all[index].row).unwrap_or(0);
                let count = indices.len();
                let bars = indices.drain(..).map(|index| (row(index), index));
                return (count, Shown::Bars(rows.len(), bars.collect()));
            }
        }
        let bin = |time: u64| (u128::from(time - from) * bins as u128 / u128::from(to - from)) as usize;
        // Changes of the number of flows from bin to bin.
        let mut changes = vec![vec![0i64; bins + 1]; COLORS];
        let mut count = 0;
        for index in self.between(from, to) {
            let flow = &self.all[index];
            let of_color = &mut changes[self.color(index, by)];
            of_color[bin(flow.start.max(from))] += 1;
            of_color[bin(flow.end.min(to) - 1) + 1] -= 1;
            count += 1;
        }
        let sums = changes.into_iter().map(|changes| {
            let mut active = 0;
            let each = changes[..bins].iter().map(|change| {
                active += change;
                active as u32
            });
            each.collect()
        });
        (count, Shown::Density(sums.collect()))
    }

    /// Returns the names with their colours, for both properties.
    pub(crate) fn legends(&self) -> Value {
        json!({ "scheme": self.schemes.legend(), "label": self.labels.legend() })
    }

    /// Returns a flow with all that its bar knows.
    pub(crate) fn described(&self, index: usize) -> Value {
        let flow = &self.all[index];
        json!({
            "flow": flow.id, "label": self.labels.all[flow.label as usize],
            "scheme": self.schemes.all[usize::from(flow.scheme)], "src": flow.src, "dst": flow.dst,
            "from": flow.start, "to": flow.end, "size_bytes": flow.size, "status": flow.status.name(),
            "ideal_ps": flow.ideal, "slowdown": flow.slowdown, "retransmitted_bytes": flow.retransmitted,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    const HEADER: &str = "flow_id,label,scheme,src,dst,priority,size_bytes,start_ps,fct_ps,ideal_fct_ps,slowdown,\
        retransmitted_bytes,sent_bytes,unscheduled_bytes,ce_packets,ue_packets,status\n";

    fn folder(flows: &[(u64, u64, usize)]) -> tempfile::TempDir {
        let tmp = tempfile::tempdir().unwrap();
        let mut text = HEADER.to_string();
        for (id, (start, fct, label)) in flows.iter().enumerate() {
            writeln!(
                text,
                "{id},label {label},hpcc,1,2,0,1000,{start},{fct},1,1.5,0,1000,0,0,0,completed"
            )
            .unwrap();
        }
        std::fs::write(tmp.path().join("flows.csv"), text).unwrap();
        tmp
    }

    /// Reads start, end and label of each flow from the text of a table.
    fn plain(folder: &Path) -> Vec<(u64, u64, String)> {
        let text = std::fs::read_to_string(folder.join("flows.csv")).unwrap();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |cell: usize| cells[cell].parse::<u64>().unwrap();
            (
                number(7),
                (number(7) + number(8)).max(number(7) + 1),
                cells[1].to_string(),
            )
        };
        text.lines().skip(1).map(row).collect()
    }

    fn check(flows: &Flows, plain: &[(u64, u64, String)], (from, to): (u64, u64), bins: usize) {
        let inside: Vec<usize> = (0..plain.len())
            .filter(|&id| plain[id].0 < to && plain[id].1 > from)
            .collect();
        let (count, shown) = flows.window((from, to), bins, By::Label);
        assert_eq!(count, inside.len());
        match shown {
            Shown::Bars(rows, bars) => {
                assert!(bars.len() <= BARS_MAX && rows <= ROWS_MAX);
                let mut ids: Vec<usize> = bars
                    .iter()
                    .map(|&(_, index)| flows.all[index].id as usize)
                    .collect();
                ids.sort_unstable();
                assert_eq!(ids, inside);
                for (n, &(row, a)) in bars.iter().enumerate() {
                    let apart = |b: usize| {
                        flows.all[a].end <= flows.all[b].start || flows.all[b].end <= flows.all[a].start
                    };
                    assert!(row < rows && bars[n + 1..].iter().all(|&(other, b)| other != row || apart(b)));
                }
            }
            Shown::Density(colors) => {
                assert!(count > ROWS_MAX);
                let bin = |time: u64| ((time - from) as u128 * bins as u128 / (to - from) as u128) as usize;
                for (color, active) in colors.iter().enumerate() {
                    for (k, &active) in active.iter().enumerate() {
                        let is_active = |&&id: &&usize| {
                            let (start, end, label) = &plain[id];
                            let number = flows.labels.all.iter().position(|name| name == label).unwrap();
                            flows.labels.colors[number] == color
                                && (bin(*start.max(&from))..=bin(end.min(&to) - 1)).contains(&k)
                        };
                        assert_eq!(
                            active as usize,
                            inside.iter().filter(is_active).count(),
                            "bin {k}"
                        );
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_window_shows_the_flows_of_the_table(
            flows in prop::collection::vec((0u64..5_000, 0u64..3_000, 0usize..10), 0..400),
            from in 0u64..8_000, length in 1u64..8_000, bins in 1usize..50,
        ) {
            let tmp = folder(&flows);
            let read = Flows::read(tmp.path(), 10_000).unwrap();
            check(&read, &plain(tmp.path()), (from, from + length), bins);
        }
    }

    #[test]
    fn many_flows_are_counted_and_not_sent() {
        let flows: Vec<(u64, u64, usize)> = (0..3 * BARS_MAX as u64).map(|n| (n * 10, 5, 0)).collect();
        let tmp = folder(&flows);
        let read = Flows::read(tmp.path(), 1_000_000).unwrap();
        let plain = plain(tmp.path());
        assert!(matches!(
            read.window((0, 200_000), 100, By::Label).1,
            Shown::Density(_)
        ));
        check(&read, &plain, (0, 200_000), 100);
        check(&read, &plain, (50_000, 60_000), 100);
        assert_eq!(read.with_id(17).map(|index| read.all[index].start), Some(170));
        assert_eq!(read.with_id(u32::MAX), None);
    }

    #[test]
    fn repeated_flows_are_flows() {
        let tmp = folder(&[(10, 5, 0), (20, 5, 1)]);
        std::fs::rename(tmp.path().join("flows.csv"), tmp.path().join("unique_flows.csv")).unwrap();
        let again = "flow_id,flows,as_flow_id,later_ps\n2,4,0,100\n";
        std::fs::write(tmp.path().join("flow_repeats.csv"), again).unwrap();
        let read = Flows::read(tmp.path(), 1_000).unwrap();
        let all: Vec<(u32, u64, u64)> = read
            .all
            .iter()
            .map(|flow| (flow.id, flow.start, flow.end))
            .collect();
        assert_eq!(
            all,
            [
                (0, 10, 15),
                (1, 20, 25),
                (2, 110, 115),
                (3, 120, 125),
                (4, 210, 215),
                (5, 220, 225)
            ]
        );
    }
}
