//! Series of every port and every switch's buffer over time, in bins of equal width.
//!
//! Samples are no events: the loop compares the time of the next event with the end of the run anyway, and here with
//! the next sample if that is earlier. So a sample sees the network between two events, costs nothing when there is
//! none, and changes nothing: no tie, no count of events, no end of the run.
//!
//! Memory does not grow with the run: when the bins are full, each pair of them is merged.

use crate::core::port::{Port, Ports};
use crate::ids::{PortId, SwitchId};
use crate::world::links::Profiles;
use paceline_kernel::Span;
use paceline_kernel::ids::{Id, List};
use paceline_run::outcome::{PortBin, PortRef, PortSeries};
use paceline_run::spec::{NodeId, NodeKind, RunSpec};
use serde::{Deserialize, Serialize};

/// Upper limit of the bins of all ports together: 64 MB.
const CELLS_MAX: usize = 1 << 22;
/// Samples of the buffers in a bin that is wider than the narrowest.
const LOOKS: u64 = 8;

/// Recorder of the ports; empty if it is not requested. What is serialised is what the results of a part need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PortRecorder {
    /// Time of the next sample, in ps; `u64::MAX` for none.
    pub(super) due: u64,
    /// Width of a bin, and of the narrowest bins so far, in ps.
    bin: u64,
    narrowest: u64,
    /// End of the current bin, in ps.
    ends: u64,
    /// Number of the first bin, and number of closed bins.
    first: u64,
    bins: usize,
    bins_max: usize,
    cells: Vec<PortBin>,
    buffers: Vec<u32>,
    #[serde(skip)]
    open: List<PortId, Open>,
    /// Ports that have cells, in order: those of one part of a run; `None` for all.
    own: Option<Vec<PortId>>,
    /// Bytes in each switch: at the last sample, and the maximum in the current bin.
    #[serde(skip)]
    held: List<SwitchId, u32>,
    #[serde(skip)]
    held_max: List<SwitchId, u32>,
    /// For each port, the interface of its node that held most bytes of what had come in by the port, when it first
    /// sent a pause in the current bin; 0 if it did not. Empty unless there are detectors.
    #[serde(skip)]
    behind: List<PortId, u16>,
    /// Values of `behind` in closed bins.
    behind_cells: Vec<u16>,
    /// Longest queue in all closed bins, in bytes.
    queue_max: u32,
}

/// State of a port in the current bin.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Bytes that had left the port when the bin started: possibly part of a packet or of a byte.
    sent: f64,
    /// Value of `tx_bytes` at the start of the bin, if the port was idle then: no transmission, no queue, no pause. As
    /// long as it stays the same, the bin is empty.
    idle_at: u64,
    /// Capacity of the link in bytes, per ps and per bin.
    bytes_per_ps: f64,
    full: f64,
    /// Bytes queued at the start of the bin.
    queued: u32,
    /// Packets marked in the bin.
    marks: u32,
    /// Time paused in the bin, up to `paused_from` if the port is paused now; `u64::MAX` there if it is not.
    paused: u64,
    paused_from: u64,
    /// True if the bin has more to record than the bytes sent, as far as is known here.
    is_eventful: bool,
}

impl Open {
    /// Creates the state of a port that has done nothing and is not paused.
    fn new(bytes_per_ps: f64, width: u64) -> Self {
        Self {
            sent: 0.0,
            idle_at: 0,
            bytes_per_ps,
            full: bytes_per_ps * width as f64,
            queued: 0,
            marks: 0,
            paused: 0,
            paused_from: u64::MAX,
            is_eventful: false,
        }
    }

    /// Closes a bin without a queue or pauses at `now`. Returns the utilisation.
    #[inline]
    fn close(&mut self, port: &Port, now: u64) -> f32 {
        // The rest of the current transmission belongs to the next bins. Signed numbers are converted to floating point
        // in one step.
        let left = (port.free_at as i64 - now as i64).max(0);
        let sent = port.tx_bytes as i64 as f64 - left as f64 * self.bytes_per_ps;
        let sent = if sent > self.sent { sent } else { self.sent };
        let utilisation = ((sent - self.sent) / self.full) as f32;
        self.idle_at = if left == 0 { port.tx_bytes } else { u64::MAX };
        self.sent = sent;
        utilisation
    }

    /// Closes the bin of this width at `now`, and returns its contents.
    fn close_eventful(&mut self, port: &mut Port, now: u64, width: f64) -> PortBin {
        let mut bin = PortBin {
            utilisation: self.close(port, now),
            paused: 0.0,
            queue_max: port.queue_max.max(port.queued).max(self.queued),
            marks: self.marks,
        };
        if port.queued != 0 {
            self.idle_at = u64::MAX;
        }
        self.queued = port.queued;
        (self.marks, port.queue_max) = (0, 0);
        if self.paused > 0 || self.paused_from != u64::MAX {
            bin.paused = self.close_pause(now, width);
        }
        self.is_eventful = self.queued != 0 || self.paused_from != u64::MAX;
        bin
    }

    /// Returns the share of the bin in which the port was paused.
    #[cold]
    fn close_pause(&mut self, now: u64, width: f64) -> f32 {
        if self.paused_from != u64::MAX {
            self.paused += now - self.paused_from;
            self.paused_from = now;
            self.idle_at = u64::MAX;
        }
        (std::mem::take(&mut self.paused) as f64 / width) as f32
    }
}

impl PortRecorder {
    pub(in crate::watch) fn new(spec: &RunSpec, ports: &Ports, profiles: &Profiles) -> Self {
        let mut recorder = Self {
            due: u64::MAX,
            bin: 0,
            narrowest: 0,
            ends: 0,
            first: 0,
            bins: 0,
            bins_max: 0,
            cells: Vec::new(),
            buffers: Vec::new(),
            open: List::new(),
            own: None,
            held: List::new(),
            held_max: List::new(),
            behind: List::new(),
            behind_cells: Vec::new(),
            queue_max: 0,
        };
        // The network is empty before the first flow.
        let (Some(bin), Some(first)) = (spec.record.port_bin, spec.first_start()) else {
            return recorder;
        };
        let bin = bin.as_ps().max(1);
        let switches = spec
            .nodes
            .iter()
            .filter(|&&kind| kind == NodeKind::Switch)
            .count();
        recorder.bins_max = (CELLS_MAX / ports.len().max(1)).clamp(4, PortSeries::BINS_MAX);
        recorder.first = first.as_ps() / bin;
        (recorder.bin, recorder.narrowest) = (bin, bin);
        recorder.ends = (recorder.first + 1).saturating_mul(bin);
        recorder.due = recorder.ends;
        recorder.cells.reserve(recorder.bins_max * ports.len());
        recorder.buffers.reserve(recorder.bins_max * switches);
        let open = |port: &Port| {
            let rate = profiles[port.profile].rate;
            Open::new(rate.as_bps() as f64 / 8e12, bin)
        };
        recorder.open = ports.iter().map(open).collect();
        if !spec.switch.detectors().is_empty() || spec.is_under_credits() {
            recorder.behind = List::of(ports.len(), 0);
        }
        recorder.held = List::of(switches, 0);
        recorder.held_max = List::of(switches, 0);
        recorder
    }

    pub(super) fn due(&self) -> u64 {
        self.due
    }

    /// Counts a packet that got its mark at `port`.
    pub(crate) fn marked(&mut self, port: PortId) {
        if let Some(open) = self.open.get_mut(port) {
            open.marks += 1;
            open.is_eventful = true;
        }
    }

    /// Notes that some class of `port` is paused or not, which may have changed.
    pub(crate) fn paused(&mut self, port: PortId, is: bool, now: u64) {
        let Some(open) = self.open.get_mut(port) else {
            return;
        };
        open.idle_at = u64::MAX;
        open.is_eventful = true;
        let was = open.paused_from != u64::MAX;
        if is && !was {
            // Time before the first bin does not count.
            open.paused_from = now.max(self.ends - self.bin);
        } else if was && !is {
            open.paused += now.saturating_sub(open.paused_from);
            open.paused_from = u64::MAX;
        }
    }

    /// Returns true if the recorder wants the cause of a pause that a port sends.
    pub(crate) fn asks_why(&self, port: PortId) -> bool {
        self.behind.get(port) == Some(&0)
    }

    /// Stores the interface that holds most of the bytes.
    pub(crate) fn stands_behind(&mut self, port: PortId, interface: u32) {
        self.behind[port] = interface as u16;
    }

    /// Takes what is due at `due`: a sample of the buffers, or the end of a bin.
    pub(super) fn sample(&mut self, ports: &mut Ports) {
        let now = self.due;
        if now < self.ends {
            self.look(ports);
        } else {
            self.close(now, ports);
            // The next bin has an even number, so that all bins have a partner.
            let even = (self.first + self.bins as u64).is_multiple_of(2);
            if even && self.bins + 1 >= self.bins_max {
                self.double();
            }
            self.ends = now.saturating_add(self.bin);
        }
        let look = (self.bin / LOOKS).max(self.narrowest);
        self.due = now.saturating_add(look).min(self.ends);
    }

    /// Samples the bytes in each switch.
    fn look(&mut self, ports: &Ports) {
        self.held.as_mut_slice().fill(0);
        for port in ports.iter().filter(|port| !port.is_host) {
            self.held[port.switch()] += port.queued;
        }
        for (most, &held) in self.held_max.iter_mut().zip(&self.held) {
            *most = held.max(*most);
        }
    }

    /// Closes the current bin at `now`.
    pub(super) fn close(&mut self, now: u64, ports: &mut Ports) {
        let Self { held, held_max, .. } = self;
        let (width, mut largest) = (self.bin as f64, self.queue_max);
        held.as_mut_slice().fill(0);
        let mut cell = |port: &mut Port, open: &mut Open| {
            // In a large network most ports are idle most of the time, so those are checked first.
            if port.queued | port.queue_max == 0 && !open.is_eventful {
                let idle = port.tx_bytes == open.idle_at;
                let utilisation = if idle { 0.0 } else { open.close(port, now) };
                return PortBin {
                    utilisation,
                    ..PortBin::default()
                };
            }
            if !port.is_host {
                held[port.switch()] += port.queued;
                let most = &mut held_max[port.switch()];
                *most = port.queue_max.max(*most);
            }
            largest = largest.max(port.queue_max);
            open.close_eventful(port, now, width)
        };
        match &self.own {
            None => {
                let all = ports.iter_mut().zip(&mut self.open);
                self.cells.extend(all.map(|(port, open)| cell(port, open)));
            }
            Some(own) => {
                let open = &mut self.open;
                let own = own.iter().map(|&id| cell(&mut ports[id], &mut open[id]));
                self.cells.extend(own);
            }
        }
        self.queue_max = largest;
        for (most, &held) in held_max.iter_mut().zip(held.iter()) {
            *most = held.max(*most);
        }
        self.buffers.extend_from_slice(held_max.as_slice());
        held_max.as_mut_slice().copy_from_slice(held.as_slice());
        self.behind_cells.extend_from_slice(self.behind.as_slice());
        // The cause lasts as long as the pause.
        let over = self.behind.iter_mut().zip(ports.iter());
        over.filter(|(_, port)| port.asked == 0)
            .for_each(|(behind, _)| *behind = 0);
        self.bins += 1;
    }

    /// Scales the shares of a bin that the end of the run cuts short to its actual length: a pause that lasts to the
    /// end must not seem to fade.
    pub(super) fn scale_last(&mut self, now: u64) {
        let part = now - (self.ends - self.bin).min(now);
        if part == self.bin {
            return;
        }
        let row = self.cells.len() - self.width();
        for (i, cell) in self.cells[row..].iter_mut().enumerate() {
            let open = &self.open[self.own.as_ref().map_or(PortId::new(i), |own| own[i])];
            if part == 0 {
                cell.paused = f32::from(u8::from(open.paused_from != u64::MAX));
                continue;
            }
            let times = self.bin as f64 / part as f64;
            cell.utilisation = (f64::from(cell.utilisation) * times) as f32;
            cell.paused = (f64::from(cell.paused) * times) as f32;
        }
    }

    /// Merges every two bins into one.
    fn double(&mut self) {
        let needs_slow_path = !self.first.is_multiple_of(2);
        let width = self.width();
        merge_rows(&mut self.cells, width, needs_slow_path, PortBin::merged);
        merge_rows(&mut self.buffers, self.held.len(), needs_slow_path, Ord::max);
        let later = |first, second| if second == 0 { first } else { second };
        merge_rows(&mut self.behind_cells, self.behind.len(), needs_slow_path, later);
        self.bins = (self.bins + usize::from(needs_slow_path)) / 2;
        self.first /= 2;
        self.bin *= 2;
        let width = self.bin as f64;
        for open in &mut self.open {
            open.full = open.bytes_per_ps * width;
        }
    }

    /// Returns the longest queue of any port in all closed bins, in bytes.
    pub(crate) fn queue_max(&self) -> u32 {
        self.queue_max
    }

    /// Returns the number of ports that have cells.
    fn width(&self) -> usize {
        self.own.as_ref().map_or(self.open.len(), Vec::len)
    }

    /// Records only the ports of one part of the network from now on. No bin may have been closed.
    pub(crate) fn keep_only(&mut self, own: impl Iterator<Item = PortId>) {
        if self.open.is_empty() {
            return;
        }
        let own: Vec<PortId> = own.collect();
        self.cells = Vec::with_capacity(self.bins_max * own.len());
        self.own = Some(own);
    }

    /// Makes room for the cells of all ports, those of other parts empty.
    fn spread(&mut self) {
        if let Some(own) = self.own.take() {
            let cells = vec![PortBin::default(); self.bins * self.open.len()];
            let narrow = std::mem::replace(&mut self.cells, cells);
            self.scatter(&narrow, &own);
        }
    }

    /// Writes the cells of some ports, row by row.
    fn scatter(&mut self, cells: &[PortBin], own: &[PortId]) {
        if own.is_empty() {
            return;
        }
        let rows = self.cells.chunks_mut(self.open.len());
        for (row, theirs) in rows.zip(cells.chunks(own.len())) {
            for (&port, &cell) in own.iter().zip(theirs) {
                row[port.index()] = cell;
            }
        }
    }

    /// Adds the records of another part of the network, up to the same instant, for the ports that belong to it.
    pub(super) fn merge(&mut self, other: &Self) {
        assert_eq!(
            (self.first, self.bin, self.bins),
            (other.first, other.bin, other.bins),
            "parts of a network are recorded in the same bins"
        );
        self.spread();
        match &other.own {
            Some(own) => self.scatter(&other.cells, own),
            None => assert!(other.cells.is_empty(), "a part records its own ports"),
        }
        // A port sends pauses in one part only.
        for (mine, behind) in self.behind_cells.iter_mut().zip(&other.behind_cells) {
            *mine = (*mine).max(*behind);
        }
        // A switch belongs to one part, and is empty in others.
        for (mine, held) in self.buffers.iter_mut().zip(&other.buffers) {
            *mine = (*mine).max(*held);
        }
        self.queue_max = self.queue_max.max(other.queue_max);
    }

    /// Ends the recorder, and returns the series if they were requested.
    pub(crate) fn finish(
        self,
        nodes: &[NodeKind],
        ports: Vec<PortRef>,
        peer: impl Fn(PortId) -> PortId,
    ) -> Option<PortSeries> {
        if self.open.is_empty() {
            return None;
        }
        // A port's pause holds back its peer.
        let count = ports.len();
        let rows = self.behind_cells.chunks(count);
        let of_row = |row| (0..count).map(move |port| (row, port));
        let paused_for = rows
            .flat_map(of_row)
            .map(|(row, port)| row[peer(PortId::new(port)).index()]);
        let switches = (0..).zip(nodes).filter(|&(_, &kind)| kind == NodeKind::Switch);
        Some(PortSeries {
            bin: Span::from_ps(self.bin),
            first: self.first,
            ports,
            switches: switches.map(|(node, _)| NodeId(node)).collect(),
            paused_for: paused_for.collect(),
            cells: self.cells,
            buffers: self.buffers,
        })
    }
}

/// Merges rows of `width` values in pairs; the first row alone (with zeros) if it has no partner.
fn merge_rows<T: Copy + Default>(rows: &mut Vec<T>, width: usize, first_alone: bool, merge: fn(T, T) -> T) {
    let mut to = if first_alone { width } else { 0 };
    for value in &mut rows[..to] {
        *value = merge(T::default(), *value);
    }
    let mut from = to;
    while from < rows.len() {
        let (row, next) = rows[from..from + 2 * width].split_at_mut(width);
        for (value, &other) in row.iter_mut().zip(&*next) {
            *value = merge(*value, other);
        }
        rows.copy_within(from..from + width, to);
        (to, from) = (to + width, from + 2 * width);
    }
    rows.truncate(to);
}

#[cfg(test)]
mod tests {
    use super::merge_rows;

    #[test]
    fn rows_merge_in_pairs() {
        let mut even = vec![1, 10, 2, 20, 3, 30, 4, 40];
        merge_rows(&mut even, 2, false, |a, b| a + b);
        assert_eq!(even, [3, 30, 7, 70]);
        let mut needs_slow_path = vec![1, 10, 2, 20, 3, 30];
        merge_rows(&mut needs_slow_path, 2, true, |a, b| a + b);
        assert_eq!(needs_slow_path, [1, 10, 5, 50]);
    }
}
