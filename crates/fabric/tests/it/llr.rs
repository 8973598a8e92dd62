//! Link-level retry: closed forms, the plain model of one direction, random networks.

use std::collections::BTreeSet;

use crate::common::{add_flow, assert_complete, natural, run, scheme_with, star, traced};
use crate::llr_oracle::{self as oracle, Link, gap};
use crate::networks::{build, case, without_choice};
use crate::random_credits::lanes;
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Simulation;
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::probes::LlrPort;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

/// Both ends' processing counts as delay of the cable: 300 ns, and 5 ns/m.
fn cable(metres: u64) -> u64 {
    150_000 + 5_000 * metres
}

/// Returns the plain model's link: 800 Gbit/s over 5 m, with timers and buffers that never matter.
fn link(frame: u64, frames: u64) -> Link {
    Link {
        gbps: 800,
        frame,
        delay: cable(5),
        spacing: 2048,
        min_spacing: 400,
        frames_max: 1 << 19,
        bytes_max: 1 << 40,
        timer: 65_535_000,
        count: 255,
        nack_again: true,
        frames,
        bad: BTreeSet::new(),
        gone: BTreeSet::new(),
        dark: None,
        mute: false,
    }
}

/// Returns the same link as a network of two hosts. The receiver answers the last packet alone, so that nothing but
/// control ordered sets goes back.
fn network(link: &Link) -> RunSpec {
    let mut spec = natural(star(2, scheme_with("none", WindowMode::Off, &[])));
    spec.nodes = vec![NodeKind::Host, NodeKind::Host];
    spec.links = vec![LinkSpec {
        a: NodeId(0),
        b: NodeId(1),
        rate: BitRate::from_gbps(link.gbps),
        delay: Span::from_ps(link.delay),
        error_rate: 0.0,
    }];
    let payload = link.frame - 48;
    spec.packet.mtu = Bytes::new(payload);
    spec.packet.framing = Bytes::new(20);
    spec.nic.ack = AckPolicy::EveryPackets(u32::MAX);
    spec.nic.rto = None;
    spec.stop = Time::from_ns(50_000_000);
    spec.record.trace_nodes = vec![NodeId(1)];
    spec.retries = vec![(
        0,
        LinkRetry {
            frames: link.frames_max as u32,
            bytes: Bytes::new(link.bytes_max),
            timer: Span::from_ps(link.timer),
            count: link.count as u8,
            data_age: Span::from_us(4_000_000),
            pcs_lost: Span::from_us(4_000_000),
            spacing: Bytes::new(link.spacing),
            min_spacing: Bytes::new(link.min_spacing),
            nack_again: link.nack_again,
            reinit: false,
        },
    )];
    let noise = |at_b, kind| Noise {
        link: 0,
        at_b,
        at: Time::ZERO,
        until: None,
        kind,
    };
    let number = |number: &u64| {
        Some(Numbers {
            first: *number,
            last: *number,
        })
    };
    let bad = link.bad.iter().map(|n| NoiseKind::Script(Fault::Bad, number(n)));
    let gone = link
        .gone
        .iter()
        .map(|n| NoiseKind::Script(Fault::Gone, number(n)));
    spec.noise = bad.chain(gone).map(|kind| noise(true, kind)).collect();
    if let Some((from, until)) = link.dark {
        spec.noise.push(Noise {
            at: Time::from_ps(from),
            until: Some(Time::from_ps(until)),
            ..noise(true, NoiseKind::Script(Fault::Dark, None))
        });
    }
    if link.mute {
        spec.noise
            .push(noise(false, NoiseKind::Script(Fault::Acks, None)));
    }
    add_flow(&mut spec, 0, 1, payload * link.frames, 0);
    spec
}

/// Returns the deliveries at host 1.
fn delivered(outcome: &Outcome) -> Vec<u64> {
    let data = traced(outcome, 1, TraceKind::Receive).filter(|event| event.kind == PacketKind::Data);
    data.map(|event| event.at.as_ps()).collect()
}

/// Returns the counters of the ends `a` and `b` of the first link with retry.
fn counters(outcome: &Outcome) -> [LlrPort; 2] {
    let table = outcome.tables.iter().find_map(|table| table.rows::<LlrPort>());
    let rows = table.expect("a link with retry");
    [rows[0].clone(), rows[1].clone()]
}

/// Returns the result of the engine in the plain model's words, and checks both against each other.
fn both(link: &Link) -> oracle::Result {
    let plain = oracle::run(link);
    let outcome = run(network(link));
    let [a, b] = counters(&outcome);
    let ours = delivered(&outcome);
    let differs = ours.iter().zip(&plain.delivered).position(|(a, b)| a != b);
    let at = |n: usize| (n, ours.get(n).copied(), plain.delivered.get(n).copied());
    assert!(
        differs.is_none() && ours.len() == plain.delivered.len(),
        "{link:?}: {:?}",
        differs.map(at)
    );
    if plain.flushed.is_none() {
        // The last answer of the receiver is a frame of its own.
        assert_eq!((a.tx_ok, a.tx_replay), (plain.sent, plain.replays), "{link:?}");
        assert_eq!(
            (b.tx_nack_ctl_os, b.rx_duplicate_seq),
            (plain.nacks, plain.duplicates),
            "{link:?}"
        );
    }
    plain
}

/// Returns the time of `bytes` bytes at 800 Gbit/s, in ps.
const fn at_800(bytes: u64) -> u64 {
    10 * bytes
}

/// F1: a bad frame delays all behind it by M slots, one that is gone by one more.
#[test]
fn one_bad_frame() {
    let cases = [
        (512, 5, 67, 356_440, 68),
        (4178, 5, 10, 419_800, 11),
        (9216, 5, 5, 461_800, 6),
        (512, 40, 133, 707_560, 134),
        (4178, 40, 18, 755_640, 19),
        (9216, 40, 9, 831_240, 10),
    ];
    for (frame, metres, slots, delay, gone) in cases {
        let mut one = Link {
            delay: cable(metres),
            ..link(frame, 4000)
        };
        let slot = at_800(frame + 20);
        let last = 4000 * slot + one.delay;
        one.bad.insert(2000);
        let found = both(&one).delivered[3999] - last;
        assert_eq!((found, found), (slots * slot, delay), "{frame} B, {metres} m");
        one.bad.clear();
        one.gone.insert(2000);
        assert_eq!(
            both(&one).delivered[3999] - last,
            gone * slot,
            "{frame} B, {metres} m, gone"
        );
    }
    // 64 bytes: the negative acknowledgement waits for its distance to the last ordered set.
    let mut small = link(64, 4000);
    small.bad.insert(2000);
    let found = both(&small).delivered[3999] - (4000 * at_800(84) + small.delay);
    assert_eq!((found, found / at_800(84)), (354_480, 422));
}

/// F1: after the last frame nothing tells of the loss but the timer.
#[test]
fn the_last_frame_is_gone() {
    let mut last = Link {
        timer: 5_000_000,
        ..link(4178, 4000)
    };
    last.gone.insert(3999);
    let found = both(&last).delivered[3999] - (4000 * at_800(4198) + last.delay);
    // The wait is up to one distance of acknowledgements.
    let least = 5_350_080;
    assert!((least..=least + at_800(2048)).contains(&found), "{found}");
}

/// F4: the smallest replay buffer for the full rate.
#[test]
fn the_buffer_that_fills_the_link() {
    let cases = [(64, 5, 800, 443), (4178, 5, 800, 10), (512, 40, 400, 71)];
    for (frame, metres, gbps, frames_max) in cases {
        let with = |frames_max| {
            let limited = Link {
                gbps,
                delay: cable(metres),
                frames_max,
                ..link(frame, 20_000)
            };
            let slot = (frame + 20) * 8000 / gbps;
            (20_000 * slot) as f64 / (both(&limited).delivered[19_999] - limited.delay) as f64
        };
        assert_eq!(with(frames_max), 1.0, "{frame} B, {metres} m");
        assert!(with(frames_max - 1) < 1.0, "{frame} B, {metres} m");
        let (half, whole) = (with(frames_max / 2), frames_max as f64);
        let expected = (frames_max / 2) as f64 / whole;
        assert!((half / expected - 1.0).abs() < 0.15, "{half}, about {expected}");
    }
    // The limit in bytes is the same limit.
    let bytes = Link {
        bytes_max: 10 * 4178,
        ..link(4178, 5000)
    };
    assert_eq!(both(&bytes).delivered[4999] - bytes.delay, 5000 * at_800(4198));
}

/// F4: a timer below the time that a frame is outstanding replays for nothing.
#[test]
fn a_timer_that_is_too_short() {
    for (timer, replays, duplicates) in [(5_000_000, 1, 5953), (5_330_000, 0, 0)] {
        let long = Link {
            delay: cable(500),
            timer,
            ..link(64, 40_000)
        };
        let found = both(&long);
        assert_eq!(
            (found.replays, found.duplicates),
            (replays, duplicates),
            "{timer} ps"
        );
    }
}

/// F5: without any acknowledgement all is sent `count + 1` times, and then given up.
#[test]
fn nobody_answers() {
    for (frames, at) in [(100, 20_252_000), (1000, 22_520_000)] {
        let mute = Link {
            timer: 5_000_000,
            count: 3,
            mute: true,
            ..link(64, frames)
        };
        assert_eq!(both(&mute).flushed, Some(at));
        let outcome = run(network(&mute));
        let [a, b] = counters(&outcome);
        assert_eq!(
            (a.tx_ok, a.tx_replay, a.flushes, a.given_up_frames),
            (4 * frames, 3, 1, frames)
        );
        assert_eq!(
            (b.rx_ok, b.rx_expected_seq_good, b.rx_duplicate_seq),
            (4 * frames, frames, 3 * frames)
        );
        // No acknowledgement, no loss: the receiver has all.
        assert_eq!(outcome.flows[0].delivered, spec_size(&mute));
    }
}

fn spec_size(link: &Link) -> Bytes {
    Bytes::new((link.frame - 48) * link.frames)
}

/// F7: a link that is dark for longer than its window lasts.
#[test]
fn a_dark_link() {
    let flap = |us: u64, timer, count| Link {
        frames_max: 12,
        timer,
        count,
        dark: Some((50_000_000, 50_000_000 + us * 1_000_000)),
        ..link(4178, 20_000)
    };
    let cases = [(1, 5.392), (4, 5.392), (6, 10.896), (10, 10.896), (14, 16.400)];
    for (us, expected) in cases {
        let found = gap(&both(&flap(us, 5_000_000, 3)).delivered) as f64 / 1e6;
        assert!(
            (found - expected).abs() < 0.05,
            "{us} us dark: {found}, not {expected}"
        );
    }
    let found = gap(&both(&flap(1, 65_535_000, 255)).delivered) as f64 / 1e6;
    assert!((found - 65.927).abs() < 0.05, "{found}");
    for us in [18, 25] {
        let at = both(&flap(us, 5_000_000, 3)).flushed.expect("it gives up") - 50_000_000;
        assert!((at as f64 / 1e6 - 21.860).abs() < 0.05, "{us} us dark: {at}");
    }
}

/// F2: throughput with errors that are independent.
#[test]
fn throughput_with_errors() {
    let mut spec = network(&link(4178, 40_000));
    spec.links[0].error_rate = 0.01;
    let rates = (1..=8).map(|seed| {
        spec.seed = seed;
        let outcome = run(spec.clone());
        40_000.0 * at_800(4198) as f64 / (delivered(&outcome)[39_999] - cable(5)) as f64
    });
    let mean = rates.sum::<f64>() / 8.0;
    // (1 - p) / (1 - p + p M), M = 10.
    assert!((mean - 0.9083).abs() < 0.004, "{mean}");
}

/// After a flush both ends begin again, and what was given up is sent by the sender once more.
#[test]
fn both_ends_begin_again() {
    let mute = Link {
        timer: 5_000_000,
        count: 3,
        mute: true,
        ..link(64, 200)
    };
    let mut spec = network(&mute);
    spec.retries[0].1.reinit = true;
    spec.noise[0].until = Some(Time::from_ns(15_200));
    // The second half of the flow's packets comes when the first was given up.
    spec.flows[0].size = Bytes::new(16 * 100);
    add_flow(&mut spec, 0, 1, 16 * 100, 30_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let [a, b] = counters(&outcome);
    assert_eq!(
        (a.flushes, a.tx_init_ctl_os, b.tx_init_echo_ctl_os),
        (0, 0, 0),
        "light came in time"
    );
    spec.noise[0].until = Some(Time::from_ns(21_000));
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let [a, b] = counters(&outcome);
    assert_eq!(
        (
            a.flushes,
            a.tx_init_ctl_os,
            b.tx_init_echo_ctl_os,
            a.rx_init_echo_ctl_os
        ),
        (1, 1, 1, 1)
    );
    assert_eq!((b.rx_duplicate_seq, b.rx_expected_seq_good), (300, 200));
}

/// A frame that was damaged before the link is passed on as such, and not asked for again.
#[test]
fn poisoned_frames() {
    let mut spec = network(&link(64, 1000));
    spec.noise.push(Noise {
        link: 0,
        at_b: true,
        at: Time::ZERO,
        until: None,
        kind: NoiseKind::Script(Fault::Poisoned, None),
    });
    spec.nic.rto = None;
    let [a, b] = counters(&run(spec));
    assert_eq!((b.rx_poisoned, b.rx_expected_seq_poisoned), (1000, 1000));
    assert_eq!((b.tx_nack_ctl_os, a.tx_replay), (0, 0));
}

fn random_link() -> impl Strategy<Value = Link> {
    let numbers = || prop::collection::btree_set(0u64..700, 0..12);
    let shape = (
        prop::sample::select(vec![100u64, 200, 400, 800]),
        prop_oneof![Just(64u64), Just(256), Just(512), Just(1518), 100u64..4200],
        0u64..400_000,
        400u64..3000,
        1u64..600,
    );
    let limits = (
        prop_oneof![Just(1u64 << 19), 1u64..60],
        prop_oneof![2 => Just(1u64 << 40), 1 => 5_000u64..100_000],
        1_000_000u64..9_000_000,
        prop_oneof![Just(255u64), 1u64..6],
        any::<bool>(),
    );
    let dark = prop::option::of((0u64..3_000_000, 0u64..12_000_000));
    (shape, limits, (numbers(), numbers()), dark).prop_map(|(shape, limits, (bad, gone), dark)| {
        let (gbps, frame, delay, min_spacing, frames) = shape;
        let (frames_max, bytes_max, timer, count, nack_again) = limits;
        Link {
            gbps,
            frame,
            delay: delay + 1000,
            spacing: min_spacing + 1648,
            min_spacing,
            frames_max,
            bytes_max,
            timer,
            count,
            nack_again,
            frames,
            gone: gone.difference(&bad).copied().collect(),
            bad,
            dark: dark.map(|(from, span)| (from, from + span)),
            mute: false,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// One direction of a link: each delivery at the same picosecond as in the plain model, and as many frames, replays,
    /// negative acknowledgements and duplicates.
    #[test]
    fn a_link_is_like_the_plain_model(link in random_link()) {
        both(&link);
    }
}

/// Returns any errors of a link's direction.
fn noise(link: usize, draw: u64) -> Noise {
    let share = |bits: u32| f64::from(1 << (draw >> 20 & 3)) * 1e-2 / f64::from(bits);
    let kind = match draw & 7 {
        0 | 1 => NoiseKind::Hits {
            bits: 1,
            hit: share(8000),
        },
        2 | 3 => NoiseKind::Hits {
            bits: 20_480,
            hit: share(4),
        },
        4 => NoiseKind::Bursts {
            bits: 5120,
            hit: [0.0, 0.3],
            change: [share(2), 0.2],
        },
        5 => NoiseKind::Script(
            Fault::Bad,
            Some(Numbers {
                first: draw >> 24 & 31,
                last: draw >> 29 & 63,
            }),
        ),
        6 => NoiseKind::Script(
            Fault::Gone,
            Some(Numbers {
                first: draw >> 24 & 31,
                last: draw >> 29 & 63,
            }),
        ),
        _ => NoiseKind::Script(
            [Fault::Acks, Fault::Nacks, Fault::Dark][(draw >> 24) as usize % 3],
            None,
        ),
    };
    let at = Time::from_ns(draw >> 35 & 0xffff);
    let ends = matches!(kind, NoiseKind::Script(_, None)) || draw >> 3 & 1 == 0;
    Noise {
        link,
        at_b: draw >> 4 & 1 == 0,
        at,
        until: ends.then(|| at + Span::from_ns(1 + (draw >> 51 & 0xfff))),
        kind,
    }
}

/// Returns retry with room for the whole link, or with any limits.
fn retry(spec: &RunSpec, link: usize, draw: u64) -> LinkRetry {
    let longest = spec.packet.largest().get() + 64;
    let any = draw & 1 == 0;
    LinkRetry {
        frames: if any {
            1 + (draw >> 1 & 127) as u32
        } else {
            1 << 19
        },
        bytes: Bytes::new(if any {
            longest + (draw >> 8 & 0x3ffff)
        } else {
            1 << 30
        }),
        timer: spec.links[link].delay * 2 + Span::from_ns(3000 + (draw >> 26 & 0x3fff)),
        count: [LinkRetry::NO_LIMIT, LinkRetry::NO_LIMIT, 3, 1][(draw >> 40 & 3) as usize],
        data_age: Span::from_us(4_000_000),
        pcs_lost: Span::from_us(if draw >> 42 & 1 == 0 { 1 } else { 4_000_000 }),
        spacing: Bytes::new(2048),
        min_spacing: Bytes::new(400),
        nack_again: draw >> 43 & 1 == 0,
        reinit: true,
    }
}

/// Adds link-level retry to some links, or to all, and errors to some of those.
fn add_retry(spec: &mut RunSpec, draws: [u64; 4], all: bool) {
    let mut draw = draws[0] | 1;
    let mut next = || {
        draw = draw.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ draws[1];
        draw
    };
    for link in 0..spec.links.len() {
        if all || next() & 1 == 0 {
            spec.retries.push((link, retry(spec, link, next())));
        }
        if next() & 3 == 0 {
            spec.noise.push(noise(link, next()));
        }
        if next() & 3 == 0 {
            spec.links[link].error_rate = 0.02;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(300), ..ProptestConfig::default() })]

    /// With retry on all links, which never gives up, nothing is lost, overtaken or sent again end to end, with any
    /// errors; under pauses, under credits, and in any number of parts.
    #[test]
    fn nothing_is_lost(
        case in case(&["none", "dcqcn", "hpcc", "timely", "dctcp"]),
        draws in any::<[u64; 4]>(),
        lanes in prop::option::weighted(0.3, lanes()),
    ) {
        let mut spec = build(&case);
        spec.record.flow_probes.clear();
        spec.failures.clear();
        spec.links.iter_mut().for_each(|link| link.error_rate = 0.0);
        spec.ties = TieOrder::Structural;
        add_retry(&mut spec, draws, true);
        for (_, retry) in &mut spec.retries {
            (retry.count, retry.pcs_lost) = (LinkRetry::NO_LIMIT, Span::from_us(4_000_000));
        }
        // A timeout would be no loss.
        spec.nic.rto = Some(Span::from_us(1_000_000));
        if let Some(mut lanes) = lanes {
            lanes.forwarding = Forwarding::StoreAndForward;
            without_choice(&mut spec);
            (spec.lanes, spec.switch.flow_control) = (Some(Box::new(lanes)), FlowControl::Credits);
        } else {
            // After a pause, what is in replay buffers may still come.
            let most = spec.retries.iter().map(|(_, retry)| retry.bytes.get().min(2_000_000)).max();
            spec.switch.headroom = Headroom::Fixed(Bytes::new(most.unwrap_or(0) + 600_000));
            spec.switch.buffer = Bytes::new(1 << 31);
        }
        // Some lanes hold no packet.
        if Simulation::new(spec.clone()).is_err() {
            return Ok(());
        }
        let outcome = run(spec.clone());
        prop_assert_eq!(outcome.completions.len(), spec.flows.len(), "{:?} {:?}", outcome.counters, outcome.deadlock);
        // Credit updates have no numbers: the next one makes good for them.
        if spec.lanes.is_none() {
            prop_assert_eq!(outcome.counters.link_drops, 0);
        }
        if spec.has_one_way_per_flow() && spec.nic.recovery == Recovery::GoBackN {
            prop_assert_eq!((outcome.counters.nacks, outcome.counters.buffer_drops), (0, 0));
        }
        for account in &outcome.accounts {
            prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        }
        same_in_parts(spec, &outcome)?;
    }

    /// With retry on some links, which give up, fail and come back, every flow still ends, and the run is the same in parts.
    #[test]
    fn links_that_give_up_and_fail(case in case(&["none", "dcqcn", "hpcc", "nscc"]), draws in any::<[u64; 4]>()) {
        let mut spec = build(&case);
        spec.record.flow_probes.clear();
        spec.ties = TieOrder::Structural;
        // A chunk of many packets never comes whole over a link that loses half of them.
        spec.nic.back_to_chunk = None;
        add_retry(&mut spec, draws, false);
        if Simulation::new(spec.clone()).is_err() {
            return Ok(());
        }
        let outcome = run(spec.clone());
        prop_assert_eq!(outcome.completions.len(), spec.flows.len(), "{:?} {:?}", outcome.counters, outcome.deadlock);
        for account in &outcome.accounts {
            prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        }
        same_in_parts(spec, &outcome)?;
    }
}

/// Fails unless the run has this outcome again, in one part and in several.
fn same_in_parts(spec: RunSpec, outcome: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(run(spec.clone()).digest, outcome.digest);
    for parts in [2, 3] {
        let mut cut = Simulation::new(spec.clone()).unwrap();
        if cut.cut(parts).is_ok() {
            while !cut.advance(1 << 16).done {}
            let cut = cut.finish();
            prop_assert_eq!(&cut.counters, &outcome.counters, "in {} parts", parts);
            prop_assert_eq!(cut.end, outcome.end, "in {} parts", parts);
            prop_assert_eq!(cut.digest, outcome.digest, "in {} parts", parts);
            prop_assert_eq!(&cut.tables, &outcome.tables, "in {} parts", parts);
            prop_assert!(cut == *outcome, "in {} parts", parts);
        }
    }
    Ok(())
}
