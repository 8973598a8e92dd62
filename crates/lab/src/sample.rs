//! Hand-made inputs and outcomes for tests.

use std::path::Path;

use hdrhistogram::Histogram;
use paceline_congestion::registry::{SchemeConfig, WindowMode};
use paceline_fabric::Outcome;
use paceline_fabric::account::{FlowAccount, HopTime, HopTotals, HostTime, SenderTime};
use paceline_fabric::outcome::*;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::files::{Folder, Writing, write_run_into};
use crate::results::{FlowRows, Machine, RunStatus, Summary, summarise};
use crate::run::Finished;
use paceline_scenario::topology::Topology;
use paceline_scenario::{EXACT, LinkTiers, Memoise, NodeNames, Origin, Resolved};

const START: Time = Time::from_ns(2_000_000);

fn at(ns: u64) -> Time {
    START + Span::from_ns(ns)
}

fn flow(src: u32, size: u64, label: u16) -> FlowSpec {
    FlowSpec {
        src: NodeId(src),
        dst: NodeId(4),
        size: Bytes::new(size),
        start: START,
        class: 3,
        sport: 10000,
        dport: 100,
        label,
        scheme: 0,
        connection: None,
        nics: Nics::ANY,
    }
}

/// Returns a network in which hosts 1, 2, 3 send to host 4 through switch 0.
pub fn spec() -> RunSpec {
    let link = |host| LinkSpec {
        a: NodeId(0),
        b: NodeId(host),
        rate: BitRate::from_gbps(100),
        delay: Span::from_us(1),
        error_rate: 0.0,
    };
    RunSpec {
        nodes: [&[NodeKind::Switch][..], &[NodeKind::Host; 4]].concat(),
        links: (1..=4).map(link).collect(),
        packet: PacketFormat {
            pfc_frame: Bytes::new(43),
            cnp: Bytes::new(60),
            ..PacketFormat::default()
        },
        schemes: vec![SchemeSpec {
            config: SchemeConfig::from(paceline_congestion::none::Params::default()),
            window: WindowMode::Off,
        }],
        labels: vec!["mice".into(), "elephants".into()],
        flows: vec![flow(1, 1_000, 0), flow(2, 20_000, 1), flow(3, 1_000_000, 1)],
        stop: at(100_000),
        seed: 7,
        record: RecordSpec {
            queue_every: Some(Span::from_us(1)),
            queue_window: (Time::ZERO, Time::MAX),
            rate_every: Some(Span::from_us(5)),
            rtt_samples: true,
            accounts: Accounted::All,
            ..RecordSpec::default()
        },
        ..RunSpec::default()
    }
}

/// Records these round-trip times.
pub fn rtt(ns: &[u64]) -> RttStats {
    let mut histogram_ns = Histogram::new(4).unwrap();
    ns.iter().for_each(|&ns| histogram_ns.record(ns).unwrap());
    RttStats {
        histogram_ns,
        sum_ps: ns.iter().map(|&ns| u128::from(ns) * 1000).sum(),
        max_ps: ns.iter().max().map_or(0, |ns| ns * 1000),
        samples: ns.len() as u64,
    }
}

fn record(status: FlowStatus, fct_us: u64, ideal_us: u64, delivered: u64) -> FlowRecord {
    FlowRecord {
        start: START,
        received: None,
        status,
        fct: Span::from_us(fct_us),
        ideal: Span::from_us(ideal_us),
        retransmitted: Bytes::ZERO,
        delivered: Bytes::new(delivered),
        sent: Bytes::new(delivered),
        sent_unscheduled: Bytes::new(delivered / 4),
        congested: 0,
        undetermined: 0,
    }
}

fn queue(interface: u32, histogram_kb: Vec<u64>, max: u64, sum: u128, samples: &[u64]) -> QueueRecord {
    QueueRecord {
        port: PortRef {
            node: NodeId(0),
            interface,
            peer: NodeId(interface),
        },
        histogram_kb,
        max: Bytes::new(max),
        sum,
        series: Binned::of_samples(at(2_000), Span::from_us(1), samples.iter().copied()),
    }
}

/// Breaks down the 10 us of flow 0: five at the sender, four to the receiver, one for the acknowledgement.
fn account() -> FlowAccount {
    let port = |node, interface, peer| PortRef {
        node: NodeId(node),
        interface,
        peer: NodeId(peer),
    };
    let hop = |port, serialisation, propagation, queueing, paused| HopTime {
        port,
        serialisation: Span::from_ns(serialisation),
        propagation: Span::from_ns(propagation),
        queueing: Span::from_ns(queueing),
        paused: Span::from_ns(paused),
        retried: Span::ZERO,
    };
    let totals = |port, back, packets, queueing: [u64; 2], paused: [u64; 2]| HopTotals {
        port,
        back,
        packets,
        queueing: Span::from_ns(queueing[0]),
        queueing_max: Span::from_ns(queueing[1]),
        paused: Span::from_ns(paused[0]),
        paused_max: Span::from_ns(paused[1]),
        retried: Span::ZERO,
        retried_max: Span::ZERO,
    };
    let (host, down) = (port(1, 1, 0), port(0, 4, 4));
    let (far, up) = (port(4, 1, 0), port(0, 1, 1));
    FlowAccount {
        flow: 0,
        completed: true,
        sender: SenderTime {
            sending: Span::from_ns(84),
            window: Span::from_ns(3_916),
            paused: Span::from_ns(1_000),
            ..SenderTime::default()
        },
        host: HostTime::default(),
        data: vec![hop(host, 84, 1_000, 0, 0), hop(down, 84, 1_000, 1_332, 500)],
        ack: vec![hop(far, 5, 495, 0, 0), hop(up, 5, 495, 0, 0)],
        hops: vec![
            totals(host, false, 3, [0, 0], [0, 0]),
            totals(down, false, 3, [4_000, 1_500], [500, 500]),
            totals(far, true, 3, [0, 0], [0, 0]),
            totals(up, true, 3, [90, 90], [0, 0]),
        ],
    }
}

/// Returns an incast with two completed flows and one unfinished.
pub fn incast() -> (Resolved, Outcome) {
    let input = Resolved {
        name: "tiny".into(),
        description: "Three flows to one host.".into(),
        scheme: "none".into(),
        schemes: vec!["none".into()],
        fidelity: EXACT,
        seed: 7,
        threads: 1,
        memoise: Memoise::On,
        run: spec().into(),
        collectives: Vec::new(),
        jobs: Vec::new(),
        services: Vec::new(),
        link_tiers: LinkTiers::default(),
        names: NodeNames::of(&Topology::of(&spec())),
        toml: "name = \"tiny\"\ndescription = \"Three flows to one host.\"\n".into(),
        files: vec![("flows/f.csv".into(), "src,dst\n1,4\n".into())],
        named: Vec::new(),
        decisions: None,
        warnings: Vec::new(),
        origin: Origin::Toml,
        input_format: None,
        pcap: false,
        measures: Vec::new(),
        sweep: None,
    };
    let pfc = |ns, pause| PfcEvent {
        at: at(ns),
        node: NodeId(3),
        is_switch: false,
        interface: 1,
        class: 3,
        pause,
    };
    let outcome = Outcome {
        end: at(100_000),
        flows: vec![
            record(FlowStatus::Completed, 10, 5, 1_000),
            record(FlowStatus::Completed, 6, 6, 20_000),
            record(FlowStatus::Unfinished, 0, 84, 4_000),
        ],
        ended: Vec::new(),
        first_half: None,
        begun: 0,
        programs: Vec::new(),
        completions: vec![1, 0],
        counters: Counters {
            events: 4_000,
            data_hops: 1_000,
            ack_hops: 990,
            control_hops: 10,
            control_bytes: 59_830,
            pauses: 1,
            pause_frames: 1,
            resume_frames: 1,
            paused_ps: 2_000_000,
            ..Counters::default()
        },
        pfc: vec![pfc(4_000, true), pfc(6_000, false)],
        rtt_per_round_trip: rtt(&[4_000, 5_000, 6_000]),
        rtt_per_ack: rtt(&[4_000, 4_500, 5_000, 5_500, 6_000]),
        latency: None,
        rtt_samples: vec![RttSample {
            at: at(4_174),
            flow: 0,
            seq: 1_000,
            rtt: Span::from_ps(4_174_400),
        }],
        queues: vec![
            queue(1, vec![100], 0, 0, &[]),
            queue(2, vec![97, 2, 1], 2_096, 4_192, &[1_048, 2_096, 2_096, 0]),
        ],
        queue_dumps: Vec::new(),
        states: Vec::new(),
        ports: None,
        flow_series: Vec::new(),
        queue_max: Bytes::new(2_500),
        rates: vec![
            RateRecord {
                flow: 0,
                first_bin: 400,
                bytes: vec![0, 1_000],
            },
            RateRecord {
                flow: 1,
                first_bin: 400,
                bytes: vec![15_000, 5_000],
            },
        ],
        rate_bin: Span::from_us(5),
        trace: Vec::new(),
        signals: Vec::new(),
        base_rtt: Span::from_ns(4_160),
        bdp: Bytes::new(52_000),
        accounts: vec![account()],
        flow_probes: Vec::new(),
        tables: paceline_fabric::table::Tables::default(),
        deadlock: None,
        storms: Vec::new(),
        decisions: None,
        model: None,
        credit_series: Vec::new(),
        stalls: Default::default(),
        ties: TiedArrivals::default(),
        hangs_on_seed: false,
        repeats: None,
        digest: 0x0123_4567_89ab_cdef,
    };
    (input, outcome)
}

/// Makes the result of a run from `outcome`.
pub fn finished(input: &Resolved, outcome: Outcome) -> Finished {
    let summary = summarised(input, &outcome, Machine::default());
    let flows = rows(input, &outcome);
    Finished {
        outcome,
        flows,
        summary,
    }
}

/// Summarises a run with this outcome.
pub fn summarised(input: &Resolved, outcome: &Outcome, machine: Machine) -> Summary {
    summarise(
        input,
        outcome,
        &rows(input, outcome),
        RunStatus::Completed,
        machine,
    )
}

/// Returns the flows of a run with this outcome.
pub fn rows(input: &Resolved, outcome: &Outcome) -> FlowRows {
    FlowRows::of_list(input, outcome, &std::env::temp_dir()).expect("few rows need no file")
}

/// Writes the folder of a run.
pub fn write(folder: &Path, input: &Resolved, finished: &Finished, how: Writing) {
    let folder = Folder::create(folder, how.force).unwrap().written(how);
    write_run_into(&folder, Path::new(""), input, finished).unwrap();
    folder.commit().unwrap();
}
