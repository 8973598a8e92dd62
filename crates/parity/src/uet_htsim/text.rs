//! The simulator's output: lines of its standard output, and tables of flows and totals.

use std::fmt::Write;

use super::counters::LogLine;
use super::sim::Sim;

/// Formats a number as C++ does by default: six significant digits, without trailing zeros.
pub(super) fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    // Rounded first, since rounding may raise the exponent: 999999.5 turns into 1e+06.
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("an exponent is printed");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(digits), exponent.abs());
    }
    trim(&format!("{value:.*}", (5 - exponent) as usize))
}

fn us(at: u64) -> String {
    short(at as f64 / 1e6)
}

/// Header line of `uet_flows.tsv`.
const COLUMNS: &str = "name\tflow_id\tstart_ps\tfinish_ps\tnew\trtx\trts\tacks\tnacks\tpulls\ttimeouts\tcum_at_finish\t\
                       in_flight\tcwnd\tbase_rtt_ps\tavg_delay_ps\tmaxwnd\tfair_inc\tprop_inc\tfast_inc\teta_inc\t\
                       multi_dec\tquick_dec\tnack_dec\n";

/// Interval of the simulator's progress ticks, ps.
const TICK: u64 = 50_000_000_000;

/// Progress ticks that are not printed yet.
struct Ticks {
    next: u64,
    count: u64,
}

impl Ticks {
    /// Prints ticks while `comes` returns true for a tick's time. The first tick is flagged: it is scheduled before
    /// all other events.
    fn print(&mut self, text: &mut String, comes: impl Fn(u64, bool) -> bool) {
        while self.next < self.count && comes((self.next + 1) * TICK, self.next == 0) {
            self.next += 1;
            text.push(if self.next.is_multiple_of(11) { '|' } else { '.' });
        }
    }
}

impl Sim {
    /// Returns the simulator's output from the start of the run to its totals.
    pub(super) fn print(&self) -> String {
        let mut text = String::from("Starting simulation\n");
        let mut ticks = self.ticks();
        for line in &self.lines {
            ticks.print(
                &mut text,
                |tick, first| if first { tick <= line.at } else { tick < line.at },
            );
            let at = us(line.at);
            let name = |flow: u32| {
                let c = &self.conns[flow as usize];
                format!("Flow {} flowId {} uecSrc {flow}", c.name(), c.flow)
            };
            match &line.what {
                LogLine::Starting(flow) => writeln!(text, "{} starting at {at}", name(*flow)),
                LogLine::Finished(flow, end) => {
                    let packets = end.cum - end.requests;
                    let sums = end.sums;
                    writeln!(
                        text,
                        "{} finished at {at} total messages {} total packets {} RTS {} total bytes {} in_flight now {} \
                         fair_inc {} prop_inc {} fast_inc {} eta_inc {} multi_dec -{} quick_dec -{} nack_dec -{}",
                        name(*flow),
                        end.messages,
                        end.cum,
                        end.requests,
                        i64::from(packets) * self.set.payload,
                        end.in_flight,
                        sums.fair,
                        sums.proportional,
                        sums.fast,
                        sums.eta,
                        sums.multiplicative,
                        sums.quick,
                        sums.nack
                    )
                }
                LogLine::DataDrop(low, high, flow) => {
                    writeln!(text, "A [ {low} {high} ] DROP  flowid {flow}")
                }
                LogLine::HeaderDrop(low, high, flow) => writeln!(text, "B[ {low} {high} ] DROP {flow}"),
                LogLine::Spurious(flow, seq) => writeln!(text, "{at} flowid {flow} Spurious {seq}"),
                LogLine::Fired(what, id, targets) => {
                    writeln!(text, "{what} {id} fired, {targets} targets")
                }
                LogLine::Waiting(id, more) => {
                    writeln!(text, "Trigger {id} activated, activations remaining: {more}")
                }
                LogLine::NoneLeft => writeln!(text, "Noone left to activate"),
                LogLine::Dctcp(flow, window, marked, bytes) => writeln!(
                    text,
                    "{at} DCTCP start {} cwnd {window} with params skip {} acked bytes {bytes}",
                    self.conns[*flow as usize].name(),
                    u8::from(*marked)
                ),
                LogLine::NoBdp(flow, raw) => writeln!(
                    text,
                    "{at} flowid {flow} _bdp 0 0 in pkts 0 raw_rtt {}",
                    us(*raw)
                ),
                LogLine::Again(flow, message, seq) => writeln!(
                    text,
                    "UecMsg::addRecvd  flow_id {flow} msg id {message} seq no {seq} duplicate packet received"
                ),
                LogLine::Activate(flow) => writeln!(text, "{} activate", self.conns[*flow as usize].name()),
            }
            .expect("a string takes all");
        }
        let sum = |of: fn(&super::conn::Packed) -> u64| -> u64 {
            self.conns.iter().map(|conn| of(&conn.packets)).sum()
        };
        // The simulator prints totals only at a regular end.
        if self.abort.is_some() {
            return text;
        }
        ticks.print(&mut text, |_, _| true);
        let _ = writeln!(
            text,
            "Done\nNew: {} Rtx: {} RTS: {} Bounced: 0 ACKs: {} NACKs: {} Pulls: {} sleek_pkts: {}",
            sum(|packets| packets.new),
            sum(|packets| packets.again),
            sum(|packets| packets.requests.into()),
            sum(|packets| packets.acks),
            sum(|packets| packets.nacks),
            sum(|packets| packets.pulls),
            self.counters.sleek_packets
        );
        text
    }

    /// Returns the ticks of the simulator's clock. The first is always printed, even after the end of the run.
    /// Another one needs events pending at the previous tick, and a time before the end of the run.
    fn ticks(&self) -> Ticks {
        let (last, end) = (self.now(), self.schedule.end());
        let mut count = 1;
        let goes_on = |count: u64| count * TICK < last || (count == 1 && TICK == last);
        while goes_on(count) && (count + 1) * TICK < end {
            count += 1;
        }
        Ticks { next: 0, count }
    }

    /// Returns the text of `uet_flows.tsv`.
    pub(super) fn flow_table(&self) -> String {
        let mut text = String::from(COLUMNS);
        for conn in &self.conns {
            let time = |at: Option<u64>| at.map_or("-1".to_string(), |at| at.to_string());
            let end = conn.finish.unwrap_or_default();
            let (packets, sums) = (conn.packets, conn.nscc.sums);
            let _ = write!(
                text,
                "{}\t{}\t{}\t{}",
                conn.name(),
                conn.flow,
                time(conn.started),
                time(conn.finish.map(|end| end.at))
            );
            let counts = [
                packets.new,
                packets.again,
                u64::from(packets.requests),
                packets.acks,
                packets.nacks,
                packets.pulls,
                packets.timeouts,
                u64::from(end.cum),
            ];
            let states = [
                end.in_flight,
                end.window,
                end.base as i64,
                end.average as i64,
                end.max_window,
                sums.fair,
                sums.proportional,
                sums.fast,
                sums.eta,
                sums.multiplicative,
                sums.quick,
                sums.nack,
            ];
            for value in counts.map(|count| count as i64).into_iter().chain(states) {
                let _ = write!(text, "\t{value}");
            }
            text.push('\n');
        }
        text
    }

    /// Returns the text of `uet_counters.tsv`.
    pub(super) fn counter_table(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.totals().rows() {
            let _ = writeln!(text, "{name}\t{value}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_have_six_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (29.9416, "29.9416"),
            (2464.44154, "2464.44"),
            (177.367660, "177.368"),
            (0.00159157872, "0.00159158"),
            (0.0000123, "1.23e-05"),
            (42068160.0, "4.20682e+07"),
            (999999.5, "1e+06"),
            (100000.0, "100000"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
