//! Property test of all schemes: for any events, rates stay within the line's and timers stay few.

use paceline_congestion::registry::{SCHEMES, SchemeConfig, SchemeParams};
use paceline_congestion::testkit::Pair;
use paceline_congestion::{AckInfo, Cnp, HopSample, IntFormat, Mark, PathInfo, TimerBank};
use paceline_kernel::{BitRate, Bytes, Span};
use proptest::prelude::*;

/// Random event at a sender.
#[derive(Clone, Debug)]
enum Event {
    Wait(Span),
    Send(u64),
    Ack {
        bytes: u64,
        rtt: Span,
        ecn: bool,
        hops: Vec<HopSample>,
        pint_power: u16,
        nack: bool,
    },
    Cnp,
    Timeout,
}

fn hop() -> impl Strategy<Value = HopSample> {
    (0..1u64 << 34, any::<u64>(), any::<u32>()).prop_map(|(at_ps, tx_bytes, queue_bytes)| HopSample {
        at_ps,
        tx_bytes,
        queue_bytes,
        rate_gbps: 0,
    })
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (
        0..5000u64,
        0..2_000_000_000u64,
        any::<bool>(),
        prop::collection::vec(hop(), 0..4),
        0..300u16,
        prop::bool::weighted(0.1),
    )
        .prop_map(|(bytes, rtt_ps, ecn, hops, pint_power, nack)| Event::Ack {
            bytes,
            rtt: Span::from_ps(rtt_ps),
            ecn,
            hops,
            pint_power,
            nack,
        });
    prop_oneof![
        3 => (0..200_000_000u64).prop_map(|ps| Event::Wait(Span::from_ps(ps))),
        3 => (1..=4096u64).prop_map(Event::Send),
        6 => ack,
        1 => Just(Event::Cnp),
        1 => Just(Event::Timeout),
    ]
}

fn path() -> impl Strategy<Value = PathInfo> {
    (1..=800_000_000_000u64, 0..200_000u64, any::<bool>()).prop_map(|(line_bps, bdp, exact)| PathInfo {
        line_rate: BitRate::from_bps(line_bps),
        base_rtt: Span::from_ns(4160),
        bdp: Bytes::new(bdp),
        mtu: Bytes::new(1000),
        full_packet: Bytes::new(1048),
        first_message: Bytes::new(2 * bdp),
        hop_rates: vec![BitRate::from_gbps(100); 3],
        int: if exact {
            IntFormat::EXACT
        } else {
            IntFormat {
                time_wrap_ps: 1 << 34,
                bytes_wrap: 1 << 32,
                room: 5,
            }
        },
    })
}

/// Every scheme and alias, and variants that enable the remaining options.
fn configs() -> Vec<SchemeConfig> {
    let mut configs = Vec::new();
    for scheme in SCHEMES {
        let names = std::iter::once(scheme.name).chain(scheme.aliases.iter().map(|alias| alias.name));
        for name in names {
            configs.push(SchemeParams::default().configure(name).unwrap());
        }
    }
    for (name, settings) in [
        (
            "hpcc",
            &[
                ("multi-rate", "true"),
                ("sample-feedback", "true"),
                ("max-stage", "5"),
            ][..],
        ),
        ("hpcc", &[("fast-react", "false"), ("sample-feedback", "true")]),
        (
            "hpcc-pint",
            &[("probability", "0.5"), ("log-base", "1.01"), ("max-stage", "5")],
        ),
        (
            "dcqcn",
            &[("clamp-target", "true"), ("rate-on-first-cnp", "0.01")],
        ),
        (
            "dcqcn",
            &[
                ("flavour", "paper"),
                ("byte-counter", "10KB"),
                ("cnp-interval", "0us"),
            ],
        ),
    ] {
        let mut config = SchemeParams::default().configure(name).unwrap();
        for (key, value) in settings {
            config.set(key, value).unwrap();
        }
        config.validate().unwrap();
        configs.push(config);
    }
    configs
}

/// Returns the scheme's lowest rate: its `min-rate`, unless the line is slower. A scheme with its own window
/// paces windows below a packet, at arbitrarily low rates.
fn lowest(config: &SchemeConfig, path: &PathInfo) -> BitRate {
    let values = config.values();
    match values.iter().find(|(name, _)| name == "min-rate") {
        // TIMELY's default: 1 % of the line.
        Some((_, value)) if value == "auto" => BitRate::from_bps((path.line_rate.as_bps() / 100).max(1)),
        Some((_, value)) => value.parse::<BitRate>().unwrap().min(path.line_rate),
        None if config.name() == "none" => path.line_rate,
        // Without credit these schemes do not send.
        None if config.needs().grants => BitRate::from_bps(0),
        None => BitRate::from_bps(1),
    }
}

fn run(config: &SchemeConfig, path: &PathInfo, events: &[Event]) -> Vec<BitRate> {
    let lowest = lowest(config, path);
    let mut pair = Pair::new(path.clone(), |path| config.build(path));
    pair.by_grants = config.needs().grants;
    let (mut acked, mut snd_nxt) = (0, 0);
    let mut rates = Vec::new();
    for event in events {
        match event {
            Event::Wait(span) => pair.advance(*span),
            Event::Send(payload) => {
                snd_nxt += payload;
                pair.send(Bytes::new(*payload));
            }
            Event::Ack {
                bytes,
                rtt,
                ecn,
                hops,
                pint_power,
                nack,
            } => {
                let newly_acked = (*bytes).min(snd_nxt - acked);
                acked += newly_acked;
                if *nack {
                    snd_nxt = acked;
                }
                pair.ack(&AckInfo {
                    packet: 0,
                    trimmed: None,
                    highest: acked,
                    delivered: acked,
                    newly_acked,
                    snd_nxt,
                    rtt: *rtt,
                    mark: Mark::congested_if(*ecn),
                    hops,
                    header_bits: *pint_power,
                    tag: 0,
                    congested: None,
                    endpoint_delay: Span::ZERO,
                    nack: *nack,
                });
            }
            Event::Cnp => pair.cnp(&Cnp::MARKED),
            Event::Timeout => {
                snd_nxt = acked;
                pair.timeout();
            }
        }
        assert!(
            pair.rate() >= lowest,
            "{} below {lowest} after {event:?}",
            pair.rate()
        );
        rates.push(pair.rate());
    }
    assert!(
        pair.expired
            .iter()
            .all(|(_, slot)| (slot.0 as usize) < TimerBank::SLOTS)
    );
    rates
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(64), failure_persistence: None, ..ProptestConfig::default() })]

    /// [`Pair`] checks after each callback that the rate is above zero and at most the line's, and that
    /// timers are not in the past and do not loop. This test adds the lowest rate, and that a second run
    /// gives the same rates.
    #[test]
    fn every_scheme_stays_within_its_bounds(path in path(), events in prop::collection::vec(event(), 1..120)) {
        for config in configs() {
            let rates = run(&config, &path, &events);
            prop_assert_eq!(rates, run(&config, &path, &events), "{} differs from itself", config.label());
        }
    }
}
