//! Details of a flow in words.

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;

use super::{CauseRow, CutRow, Deeper, PauseRow, SharedRow, gbps, size, us};

/// Maximum number of flows, cuts or ports that are named; the others are counted.
const NAMED: usize = 4;

impl Deeper {
    /// Formats the details as lines of a name and a text; times count from `start_ps`, the flow's start.
    pub(in crate::why) fn lines(&self, flow: u32, start_ps: u64) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        let mut add = |name: &'static str, texts: Vec<String>| {
            for (i, text) in texts.into_iter().enumerate() {
                let name = if i == 0 { name } else { "" };
                lines.push((name.to_string(), text));
            }
        };
        add("slowed down", self.slowed(start_ps));
        add("marked", self.marked(start_ps));
        add("behind", self.behind(flow));
        add(
            "held back",
            self.pauses
                .iter()
                .take(NAMED)
                .map(|row| self.held(row, start_ps))
                .collect(),
        );
        add(
            "shared",
            self.shared_ports()
                .map(|row| self.shared_with(row, flow))
                .collect(),
        );
        add("its NIC", self.at_nic());
        add("before", self.chain());
        lines
    }

    /// Formats a time of the run relative to the flow's start.
    fn after(start_ps: u64, at_ps: u64) -> String {
        us(at_ps.saturating_sub(start_ps))
    }

    fn slowed(&self, start: u64) -> Vec<String> {
        if self.causes.is_empty() {
            let share = match self.began_rate_bps {
                full if full >= self.line_rate_bps => {
                    format!("it could send at {}, its link's rate", gbps(full))
                }
                part => format!(
                    "it began with {} of its link's {}, and ended with {}",
                    gbps(part),
                    gbps(self.line_rate_bps),
                    gbps(self.ended_rate_bps)
                ),
            };
            return vec![format!("never: {share}")];
        }
        let mut lines: Vec<String> = (self.causes.iter().take(NAMED))
            .map(|row| self.cause(row, start))
            .collect();
        if self.causes.len() > NAMED {
            let rest: u64 = self.causes[NAMED..].iter().map(|row| row.count).sum();
            lines.push(format!(
                "and {rest} times by {} other causes",
                self.causes.len() - NAMED
            ));
        }
        let mut deepest: Vec<&CutRow> = self.cuts.iter().collect();
        deepest.order_by(|a, b| b.factor().total_cmp(&a.factor()).then(a.at_ps.cmp(&b.at_ps)));
        deepest.truncate(NAMED);
        // Selected by depth, but listed in the order of time.
        deepest.order_by_key(|cut| cut.at_ps);
        let cuts: Vec<String> = deepest.iter().map(|cut| cut.cause(start)).collect();
        lines.push(format!("deepest: {}", cuts.join("; ")));
        lines
    }

    fn cause(&self, row: &CauseRow, start: u64) -> String {
        let times = match row.count {
            1 => format!("once, after {},", Self::after(start, row.first_ps)),
            count => format!(
                "{count} times, {} to {} after its start,",
                Self::after(start, row.first_ps),
                Self::after(start, row.last_ps)
            ),
        };
        let port = row.port.as_ref().map(|port| self.place(port));
        let by = match (row.cause.as_ref(), port) {
            ("mark", Some(port)) => format!("by marks of {port}"),
            ("cnp", Some(port)) => format!("by notifications (CNP) of marks of {port}"),
            ("report", Some(port)) => format!("by reports of the receiver, about {port}"),
            ("notice", Some(port)) => format!("by messages about {port}"),
            ("telemetry", Some(port)) => format!("by telemetry: the most utilised hop was {port}"),
            ("digest", Some(port)) => format!("by the utilisation of {port} (PINT)"),
            ("delay", Some(port)) => format!("by round-trip times, the longest wait of which was at {port}"),
            ("delay", None) => "by round-trip times, without a wait in a queue".to_string(),
            ("loss", _) => "by losses that the receiver reported".to_string(),
            ("timeout", _) => "by timeouts".to_string(),
            ("itself", _) => "by its own timers".to_string(),
            (cause, _) => format!("by {cause}"),
        };
        format!("{times} {by}; down to {}", gbps(row.lowest_rate_bps))
    }

    fn marked(&self, start: u64) -> Vec<String> {
        let line = |row: &super::MarkRow| {
            let undetermined = match row.undetermined {
                0 => String::new(),
                all if all == row.packets => " as undetermined".to_string(),
                some => format!(" ({some} of them as undetermined)"),
            };
            format!(
                "{} packets{undetermined} by {}, {} to {} after its start, with up to {} behind them",
                row.packets,
                self.place(&row.port),
                Self::after(start, row.first_ps),
                Self::after(start, row.last_ps),
                size(row.queue_max_bytes)
            )
        };
        self.marks.iter().take(NAMED).map(line).collect()
    }

    /// Describes the root ports of pauses that held the flow back without having any of its packets, one line each.
    fn behind(&self, flow: u32) -> Vec<String> {
        let mut roots: SortedMap<&str, (u64, SortedMap<u32, u64>)> = SortedMap::new();
        for row in &self.pauses {
            let Some(root) = row.way.last() else { continue };
            let (time, flows) = roots.entry(root).or_default();
            *time += row.time_ps;
            for &(of, bytes) in &row.flows {
                *flows.entry(of).or_default() += bytes;
            }
        }
        roots.retain(|_, (_, flows)| !flows.is_empty() && !flows.contains_key(&flow));
        let mut roots: Vec<_> = roots.into_iter().collect();
        roots.order_by_key(|(_, (time, _))| std::cmp::Reverse(*time));
        let line = |(root, (time, flows)): (&str, (u64, SortedMap<u32, u64>))| {
            let mut flows: Vec<(u32, u64)> = flows.into_iter().collect();
            flows.order_by_key(|&(of, bytes)| (std::cmp::Reverse(bytes), of));
            let total: u64 = flows.iter().map(|flow| flow.1).sum();
            format!(
                "congestion that it did not cause: none of its packets were queued at {}, and ports on its path were \
                 paused for {} in total because of it: {}",
                self.place(root),
                us(time),
                self.shares(&flows, total)
            )
        };
        roots.into_iter().take(NAMED).map(line).collect()
    }

    fn held(&self, row: &PauseRow, start: u64) -> String {
        let times = if row.count == 1 {
            "once".to_string()
        } else {
            format!("{} times", row.count)
        };
        let peer = row.port.split_once("->").map_or("", |(_, peer)| peer);
        let by = match row.way.as_slice() {
            [] => format!("by {} itself", self.names.name(peer.parse().unwrap_or(u32::MAX))),
            [root] => format!("for what stood at {}", self.place(root)),
            [.., root] => {
                let between: Vec<String> = row.way[..row.way.len() - 1]
                    .iter()
                    .map(|port| self.place(port))
                    .collect();
                format!(
                    "because of packets queued at {}, via {}",
                    self.place(root),
                    between.join(", ")
                )
            }
        };
        let total: u64 = row.flows.iter().map(|flow| flow.1).sum();
        let flows: Vec<(u32, u64)> = row.flows.clone();
        let whose = match flows.is_empty() {
            true => String::new(),
            false => format!(": {}", self.shares(&flows, total)),
        };
        format!(
            "{} was paused {times}, {} in all, {} to {} after its start, {by}{whose}",
            self.place(&row.port),
            us(row.time_ps),
            Self::after(start, row.first_ps),
            Self::after(start, row.last_ps)
        )
    }

    /// Returns the ports where it waited longest.
    fn shared_ports(&self) -> impl Iterator<Item = &SharedRow> {
        let waited = |row: &&SharedRow| row.flows.iter().map(|flow| flow.waited_ps).sum::<u64>();
        let mut rows: Vec<&SharedRow> = self.shared.iter().filter(|row| waited(row) > 0).collect();
        rows.order_by_key(|row| std::cmp::Reverse(waited(row)));
        rows.into_iter().take(2)
    }

    fn shared_with(&self, row: &SharedRow, flow: u32) -> String {
        let total: u64 = row.flows.iter().map(|of| of.bytes).sum();
        let own = row
            .flows
            .iter()
            .find(|of| of.flow_id == flow)
            .map_or(0, |of| of.bytes);
        let others: Vec<(u32, u64)> = row
            .flows
            .iter()
            .filter(|of| of.flow_id != flow)
            .map(|of| (of.flow_id, of.bytes))
            .collect();
        let own = format!("{:.0} % were its own", 100.0 * own as f64 / total.max(1) as f64);
        let others = match others.is_empty() {
            true => String::new(),
            false => format!(", {}", self.shares(&others, total)),
        };
        format!(
            "{}: while its packets waited, {} left: {own}{others}",
            self.place(&row.port),
            size(total)
        )
    }

    /// Formats flows with their shares of `total` bytes.
    fn shares(&self, flows: &[(u32, u64)], total: u64) -> String {
        let part = |&(flow, bytes): &(u32, u64)| {
            format!(
                "{:.0} % {}",
                100.0 * bytes as f64 / total.max(1) as f64,
                self.named(flow)
            )
        };
        let mut parts: Vec<String> = flows.iter().take(NAMED).map(part).collect();
        if flows.len() > NAMED {
            let rest: u64 = flows[NAMED..].iter().map(|flow| flow.1).sum();
            let percent = 100.0 * rest as f64 / total.max(1) as f64;
            parts.push(format!("{percent:.0} % {} others", flows.len() - NAMED));
        }
        parts.join(", ")
    }

    /// Formats a flow with its hosts.
    fn named(&self, flow: u32) -> String {
        match self.ends.get(flow as usize) {
            Some((src, dst)) => format!("flow {flow} ({src} → {dst})"),
            None => "control frames".to_string(),
        }
    }

    fn at_nic(&self) -> Vec<String> {
        if self.nic.is_empty() {
            return Vec::new();
        }
        let total: u64 = self.nic.iter().map(|row| row.waited_ps).sum();
        let flows: Vec<(u32, u64)> = self
            .nic
            .iter()
            .map(|row| (row.flow_id.unwrap_or(u32::MAX), row.waited_ps))
            .collect();
        vec![format!(
            "waited {} for others: {}",
            us(total),
            self.shares(&flows, total)
        )]
    }

    /// Describes the chain of flows that were waited for.
    fn chain(&self) -> Vec<String> {
        let line = |row: &super::WaitRow| {
            let until = match row.until.as_ref() {
                "received" => "had been received whole",
                "acknowledged" => "had been acknowledged",
                _ => "had started",
            };
            let then = match row.delay_ps {
                0 => String::new(),
                delay => format!(", and {} more", us(delay)),
            };
            format!(
                "flow {} started at {}: it waited until {} {until} (at {}){then}",
                row.flow_id,
                us(row.start_ps),
                self.named(row.waited_for),
                us(row.at_ps)
            )
        };
        let mut lines: Vec<String> = self.waited_for.iter().take(2 * NAMED).map(line).collect();
        if self.waited_for.len() > 2 * NAMED {
            let last = &self.waited_for[self.waited_for.len() - 1];
            lines.push(format!(
                "and so on over {} flows, the first of which is {}",
                self.waited_for.len() - 2 * NAMED,
                self.named(last.waited_for)
            ));
        }
        lines
    }

    /// Formats `port 0.17->17` as `leaf 0 -> host 17`.
    fn place(&self, port: &str) -> String {
        let named = self.names.entity(port);
        named.strip_prefix("port ").map(str::to_string).unwrap_or(named)
    }
}

impl CutRow {
    /// Returns the factor of the cut: that of the rate or the window, whichever fell more.
    fn factor(&self) -> f64 {
        let of = |before: u64, after: u64| before as f64 / after.max(1) as f64;
        let window = match self.window_bytes {
            [Some(before), Some(after)] => of(before, after),
            _ => 1.0,
        };
        of(self.rate_bps[0], self.rate_bps[1]).max(window)
    }

    fn cause(&self, start: u64) -> String {
        let rtt = self
            .rtt_ps
            .map_or_else(String::new, |rtt| format!(" (RTT {})", us(rtt)));
        let from_to = match (self.rate_bps[0] == self.rate_bps[1], self.window_bytes) {
            (true, [Some(before), Some(after)]) => format!("window {} to {}", size(before), size(after)),
            _ => format!("{} to {}", gbps(self.rate_bps[0]), gbps(self.rate_bps[1])),
        };
        format!("after {} {from_to}{rtt}", Deeper::after(start, self.at_ps))
    }
}
