//! Switch halves that have packets trimmed or dropped: every loss is traced.

use crate::common::{add_flow, assert_complete, build_with, natural, run_with, scheme, star};
use paceline_congestion::api::{AckInfo, CongestionControl, Ctx, PathInfo, Requirements, SendLimits};
use paceline_congestion::params::{Parameters as _, Range};
use paceline_congestion::registry::{Definition, Scheme, SchemeFactory, WindowMode};
use paceline_congestion::signal::{Carrier, Signal, Words};
use paceline_congestion::switch::*;
use paceline_congestion::{scheme_choice, scheme_params};
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::rng::Rng;
use paceline_kernel::{Bytes, Span};

scheme_choice! {
    /// Fate of a packet.
    pub enum Fate {
        /// Loses its payload on the way.
        Trimmed = "trimmed",
        /// Lost as a whole.
        Dropped = "dropped",
    }
}

scheme_params! {
    /// A scheme whose switches trim or drop data packets at a fixed interval.
    pub struct Params {
        /// Packets from one to the next that is trimmed or dropped.
        every: u32 = 10, in Range::AtLeast(1.0), from "test";
        /// Fate of these packets.
        fate: Fate = Fate::Trimmed, in Range::Any, from "test";
        /// True if the sender gets a signal.
        tells: bool = false, in Range::Any, from "test";
        /// True if the scheme declares that it trims.
        trims: bool = true, in Range::Any, from "test";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "verdicts",
        aliases: &[],
        title: "Verdicts",
        paper: "",
        summary: "",
        scope: "a test.",
        default_window: WindowMode::Fixed,
        params: Self::docs,
        source: "",
    };
    fn needs(&self) -> Requirements {
        Requirements::default()
    }
    fn switch_part(&self) -> Option<SwitchSupport> {
        Some(SwitchSupport {
            task: "that trim or drop",
            hooks: Hooks {
                arrivals: true,
                ..Hooks::default()
            },
            turns_back: true,
            signal: Some("lost"),
            trims: self.trims,
            ..SwitchSupport::default()
        })
    }
    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        let half = |_: &EgressPort, _: &mut Rng| Half {
            params: self.clone(),
            count: 0,
        };
        Some(PerPort::boxed(ports, rngs, half))
    }
    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Sender {
            rate: path.line_rate,
            told: 0,
        })
    }
}

#[derive(Clone, Debug)]
struct Half {
    params: Params,
    count: u32,
}

impl SwitchHalf for Half {
    fn on_arrival(&mut self, _at: &mut Egress<'_>, packet: &PacketView) -> Verdict {
        let mut verdict = Verdict::pass(packet);
        if packet.load != PayloadKind::Data {
            return verdict;
        }
        self.count += 1;
        if self.count.is_multiple_of(self.params.every) {
            verdict.action = match self.params.fate {
                Fate::Trimmed => Action::Trim,
                Fate::Dropped => Action::Drop,
            };
            if self.params.tells {
                let words = Words::EMPTY.with_u64(0, u64::from(self.count)).with_u32(8, !0);
                verdict.notify = Notify::Sender(words, Carrier::Headers);
            }
        }
        verdict
    }
}

/// Sends at line rate, and halves the rate at each signal.
#[derive(Clone, Debug)]
struct Sender {
    rate: paceline_kernel::BitRate,
    told: u64,
}

impl CongestionControl for Sender {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }
    fn on_ack(&mut self, _cx: &mut Ctx<'_>, _ack: &AckInfo<'_>) {}
    fn on_signal(&mut self, _cx: &mut Ctx<'_>, signal: &Signal) {
        self.told += 1;
        assert_eq!(signal.words.u64(0), 10 * self.told, "in order, each once");
        assert_eq!(signal.words.u32(8), u32::MAX);
        assert_eq!(signal.port_rate.as_bps(), 100_000_000_000);
        // There and back over a link of 1 us each.
        assert!(
            signal.after > Span::from_us(2) && signal.after < Span::from_us(3),
            "{}",
            signal.after
        );
    }
}

/// Three hosts send to a fourth, or one of them does.
fn incast(senders: u32, lossless: bool, recovery: Recovery) -> RunSpec {
    let mut any = scheme("none");
    any.window = WindowMode::Fixed;
    let mut spec = natural(star(4, any));
    spec.switch.ecn.clear();
    spec.switch.assist = Some(AssistPorts::Switches);
    spec.nic.recovery = recovery;
    if !lossless {
        spec.switch.flow_control = FlowControl::None;
    }
    for host in 1..=senders {
        add_flow(&mut spec, host, 4, 300_000, 0);
    }
    spec.record.trace_nodes = vec![NodeId(0), NodeId(4)];
    spec.record.accounts = Accounted::All;
    spec
}

const IRN: Irn = Irn {
    rto_low: Span::from_us(100),
    rto_high: Span::from_us(320),
    low_packets: 3,
    bdp_cap: true,
    reordering: 0,
};

fn count(outcome: &Outcome, node: u32, event: TraceKind, kind: PacketKind) -> u64 {
    crate::common::traced(outcome, node, event)
        .filter(|e| e.kind == kind)
        .count() as u64
}

#[test]
fn every_tenth_is_trimmed_and_comes_again() {
    for lossless in [true, false] {
        for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat(IRN)] {
            let spec = incast(3, lossless, recovery);
            let outcome = run_with(spec.clone(), &SchemeFactory::of(Params::default()));
            assert_complete(&spec, &outcome);
            let counters = outcome.counters;
            // The trace of arrivals at the switch has the data from the hosts' links: as many packets as were sent.
            let came = count(&outcome, 0, TraceKind::Receive, PacketKind::Data);
            assert_eq!(counters.trimmed, came / 10, "{recovery:?}");
            assert_eq!(counters.data_received + counters.trimmed, came);
            assert_eq!((counters.buffer_drops, counters.timeouts), (0, 0), "{recovery:?}");
            if recovery != Recovery::GoBackN {
                assert_eq!(counters.retransmitted_bytes, 1000 * counters.trimmed);
            }
            let headers = crate::common::traced(&outcome, 4, TraceKind::Receive);
            let headers: Vec<_> = headers
                .filter(|e| e.kind == PacketKind::Data && e.payload == 0)
                .map(|e| (e.wire, e.class))
                .collect();
            assert_eq!(headers.len() as u64, counters.trimmed);
            assert!(headers.iter().all(|header| *header == (48, 0)));
        }
    }
}

#[test]
fn some_are_dropped_and_come_again() {
    // Few enough for go-back-N, which retransmits a window for each.
    let drops = SchemeFactory::of(Params {
        every: 97,
        fate: Fate::Dropped,
        ..Params::default()
    });
    for lossless in [true, false] {
        for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat(IRN)] {
            let spec = incast(3, lossless, recovery);
            let outcome = run_with(spec.clone(), &drops);
            assert_complete(&spec, &outcome);
            let counters = outcome.counters;
            let came = count(&outcome, 0, TraceKind::Receive, PacketKind::Data);
            assert_eq!(counters.buffer_drops, came / 97, "{recovery:?}");
            assert_eq!(
                count(&outcome, 0, TraceKind::Drop, PacketKind::Data),
                counters.buffer_drops
            );
            assert_eq!(counters.data_received + counters.buffer_drops, came);
            // Headroom is not involved.
            assert_eq!((counters.lossless_drops, counters.trimmed), (0, 0));
        }
    }
}

/// The sender gets a signal with the full packet's headers, no matter what becomes of the packet.
#[test]
fn what_is_lost_may_be_signalled() {
    for fate in [Fate::Trimmed, Fate::Dropped] {
        let spec = incast(1, true, Recovery::SelectiveRepeat(IRN));
        let factory = SchemeFactory::of(Params {
            fate,
            tells: true,
            ..Params::default()
        });
        let outcome = run_with(spec.clone(), &factory);
        assert_complete(&spec, &outcome);
        let lost = outcome.counters.trimmed + outcome.counters.buffer_drops;
        assert_eq!(outcome.counters.notices, lost);
        assert!(lost > 30 && outcome.counters.notifications >= lost, "{lost}");
        assert_eq!(outcome.signals, ["lost"]);
        let signals = crate::common::traced(&outcome, 0, TraceKind::Dequeue);
        let signals: Vec<_> = signals.filter(|e| e.kind == PacketKind::Signal).collect();
        assert_eq!(signals.len() as u64, lost);
        // Headers alone, and the scheme's words do not count as payload.
        assert!(
            signals
                .iter()
                .all(|e| (e.wire, e.payload, e.signal) == (60, 0, 0))
        );
    }
}

#[test]
fn a_run_that_forks_is_the_same() {
    let factory = SchemeFactory::of(Params::default());
    let spec = incast(3, false, Recovery::GoBackN);
    let alone = run_with(spec.clone(), &factory);
    let mut simulation = build_with(spec, &factory);
    simulation.advance(700);
    assert_eq!(crate::common::to_the_end(simulation.clone()), alone);
    assert_eq!(crate::common::to_the_end(simulation), alone);
}

#[test]
#[should_panic(expected = "SwitchSupport::trims")]
fn who_trims_says_so() {
    let silent = SchemeFactory::of(Params {
        trims: false,
        ..Params::default()
    });
    run_with(incast(1, true, Recovery::GoBackN), &silent);
}
