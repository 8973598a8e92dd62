//! Cases that failed once. They are written out, because a seed would draw other cases after a change of the
//! generators.

use super::Case;
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span};

const IRN: Irn = Irn {
    rto_low: Span::from_us(1000),
    rto_high: Span::from_us(1500),
    low_packets: 3,
    bdp_cap: false,
    reordering: 0,
};

/// Common settings of several cases: one flow in a network without losses.
fn plain(switches: u32, homes: &[&[u32]]) -> Case {
    Case {
        switches,
        extra: Vec::new(),
        homes: homes.iter().map(|switches| switches.to_vec()).collect(),
        rates: vec![25, 25, 25, 25],
        flows: vec![(0, 1, 1, 0, 3)],
        scheme: "hpcc",
        flow_control: FlowControl::None,
        buffer_kb: 100,
        error_rate: 0.0,
        failures: Vec::new(),
        ack: AckPolicy::EveryPackets(1),
        chunk: None,
        recovery: Recovery::GoBackN,
        ties: TieOrder::Structural,
        pacing: true,
        global_rtt: true,
        ack_class: None,
        connections: None,
        seed: 1,
    }
}

/// A host with two links to one switch loses one of them, in a random order of events.
fn a_link_of_two() -> Case {
    Case {
        flows: vec![(3, 1, 85_233, 3_948, 3)],
        failures: vec![(5, 1, 9_022)],
        recovery: Recovery::SelectiveRepeat(IRN),
        ties: TieOrder::Shuffled(8_857_914_005_899_371_532),
        global_rtt: false,
        ack_class: Some(0),
        seed: 6_114_986_654_071_988_269,
        ..plain(2, &[&[0], &[0, 0], &[0], &[0, 1]])
    }
}

/// A host whose flows move to its other link and back, under timed pauses, losses and signals of switches.
fn flows_that_move() -> Case {
    Case {
        extra: vec![(0, 1), (1, 0), (0, 1)],
        flows: vec![
            (1, 1, 37_052, 6_535, 3),
            (1, 2, 75_985, 28_189, 1),
            (1, 2, 70_062, 20_322, 3),
            (2, 2, 9_998, 1_297, 3),
        ],
        scheme: "bolt",
        flow_control: FlowControl::Pfc(Pfc {
            threshold: PfcThreshold::Static {
                xoff: Bytes::new(27_000),
                xon: Bytes::new(24_000),
            },
            resume_offset: Bytes::new(3_072),
            mode: PfcMode::Quanta {
                pause: Span::from_us(4),
            },
            response: PfcResponse::NONE,
        }),
        buffer_kb: 1_426,
        error_rate: 0.009_405_466_448_088_248,
        failures: vec![(6, 36_293, 39_964)],
        ties: TieOrder::Insertion,
        seed: 16_650_074_201_576_475_362,
        ..plain(3, &[&[0], &[0, 1], &[2, 0]])
    }
}

/// Links fail before, during and after the start of a flow, two of them for a nanosecond.
fn three_failures() -> Case {
    Case {
        extra: vec![(2, 1)],
        rates: vec![40, 25, 400, 25],
        flows: vec![(0, 4, 24_965, 27_164, 3)],
        failures: vec![(4, 1_186, 30_781), (0, 32_995, 1), (1, 1, 1)],
        recovery: Recovery::SelectiveRepeat(Irn {
            low_packets: 2,
            bdp_cap: true,
            ..IRN
        }),
        ties: TieOrder::Insertion,
        seed: 10_670_494_376_375_028_410,
        ..plain(4, &[&[1, 0], &[0], &[0], &[0], &[1], &[0]])
    }
}

/// Receivers count whole chunks, and a link fails for a microsecond.
fn chunks_and_a_failure() -> Case {
    Case {
        failures: vec![(3, 5_698, 6_840)],
        chunk: Some(17_162),
        seed: 10_376_939_617_136_174_010,
        ..plain(3, &[&[0], &[0, 2], &[0], &[0], &[0], &[0], &[0]])
    }
}

/// No pacing and no limits, but timers.
fn unpaced() -> Case {
    Case {
        extra: vec![(0, 1)],
        scheme: "none",
        recovery: Recovery::SelectiveRepeat(Irn {
            low_packets: 1,
            ..IRN
        }),
        pacing: false,
        global_rtt: false,
        ack_class: Some(0),
        seed: 12_596_860_699_644_480_270,
        ..plain(2, &[&[1], &[0], &[0]])
    }
}

/// Returns all known cases.
pub fn known() -> [Case; 5] {
    [
        a_link_of_two(),
        flows_that_move(),
        three_failures(),
        chunks_and_a_failure(),
        unpaced(),
    ]
}
