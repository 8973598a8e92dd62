//! InfiniBand packets, in both forms that networks with credits have.

use paceline_fabric::spec::{
    Arbitration, Cbfc, Forwarding, Model, ModelSpec, Phase, Release, RunSpec, Scope,
};

use super::*;

/// Network model outside the built-in ones, whose ports wait for credits.
#[derive(Clone, Debug, PartialEq)]
struct Credits;

impl ModelSpec for Credits {
    fn name(&self) -> &'static str {
        "credits"
    }

    fn check(&self, _: &RunSpec) -> Result<(), String> {
        Ok(())
    }

    fn builder(&self) -> &'static dyn std::any::Any {
        &()
    }

    fn credit_lanes(&self) -> u8 {
        2
    }
}

/// Captures a network with credits: host 1 sends a message of 5000 bytes to host 3, of which the second packet is
/// marked; a notification comes back, and flow-control packets go in both directions.
fn infiniband() -> Vec<u8> {
    let (mut input, mut outcome) = sample::incast();
    let run = input.run_mut();
    run.model = Some(Model::new(Credits));
    run.packet.mtu = Bytes::new(2048);
    run.record.trace_nodes = vec![NodeId(2)];
    run.flows[1].size = Bytes::new(5000);
    let data = |seq: u64, mark, at| TraceEvent {
        seq,
        payload: 2048,
        wire: 2048,
        class: 1,
        mark,
        ..event(2, 1, at, Dequeue, PacketKind::Data)
    };
    let update = |what, at| TraceEvent {
        flow: u32::MAX,
        seq: 0x1_2034,
        payload: 0xf007,
        class: 2,
        wire: 8,
        ..event(2, 1, at, what, PacketKind::Credit)
    };
    outcome.trace = vec![
        data(0, Mark::None, 1_500_000_000_000),
        data(2048, Mark::Congested, 1_500_000_512_000),
        data(4096, Mark::None, 1_500_001_024_000),
        update(Dequeue, 1_500_001_536_000),
        update(Receive, 1_500_001_538_000),
        TraceEvent {
            class: 1,
            wire: 2048,
            ..event(2, 1, 1_500_002_000_000, Receive, PacketKind::Cnp)
        },
    ];
    let mut out = Vec::new();
    write(&mut out, &input.run, &input.names, &outcome, WHOLE).unwrap();
    out
}

#[test]
fn infiniband_packets() {
    let file = infiniband();
    let blocks = blocks(&file);
    assert_eq!(u16_at(blocks[1].1, 0), 197, "records of ERF");
    let packets = packets(&blocks);
    let be = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
    for packet in &packets {
        let record = packet.bytes;
        assert_eq!(usize::from(be(&record[10..])), record.len());
        assert_eq!(usize::from(be(&record[14..])), record.len() - 16);
        assert_eq!(u32_at(record, 4), 1, "seconds");
        assert_eq!(u32_at(record, 0) >> 31, 1, "and a half");
    }
    let types: Vec<u8> = packets.iter().map(|packet| packet.bytes[8]).collect();
    assert_eq!(types, [21, 21, 21, 25, 25, 21]);
    let frame = |i: usize| &packets[i].bytes[16..];
    for i in [0, 1, 2, 5] {
        let lrh = &frame(i)[..8];
        assert_eq!(
            (lrh[0] >> 4, lrh[1] >> 4, lrh[1] & 3),
            (1, 1, 2),
            "VL, SL, what follows"
        );
        // The length is in words of 4 bytes, without the CRC of links.
        assert_eq!(usize::from(be(&lrh[4..])) * 4 + 2, frame(i).len());
        let (to, from) = if i == 5 { (3, 5) } else { (5, 3) };
        assert_eq!((be(&lrh[2..]), be(&lrh[6..])), (to, from), "local identifiers");
    }
    let opcodes: Vec<u8> = [0, 1, 2, 5].iter().map(|&i| frame(i)[8]).collect();
    assert_eq!(opcodes, [0x06, 0x07, 0x08, 0x80]);
    let marks: Vec<u8> = [0, 1, 2, 5].iter().map(|&i| frame(i)[12] >> 6).collect();
    assert_eq!(marks, [0, 0b10, 0, 0b01], "FECN, BECN");
    // The last has 904 bytes, which are whole words.
    assert_eq!(
        [0, 1, 2].map(|i| frame(i).len()),
        [8 + 12 + 16 + 2048 + 6, 8 + 12 + 2048 + 6, 8 + 12 + 904 + 6]
    );
    // Blocks sent and the limit, of 12 bits each, and the lane.
    assert_eq!(frame(3)[..4], [0x00, 0x07, 0x20, 0x34]);
    assert_eq!((frame(3).len(), frame(3)), (64, frame(4)));
}

/// Credits as the standard defines them, with several lanes: the priority is the service level, which maps to a lane;
/// acknowledgements have their own opcode. Links with credits returned per event are Ethernet's.
#[test]
fn packets_under_credits_of_the_standard() {
    let file = standard(Binding::Ib {
        period: Span::from_us(4),
        phase: Phase::Aligned,
    });
    let blocks = blocks(&file);
    assert_eq!(u16_at(blocks[1].1, 0), 197, "records of ERF");
    let packets = packets(&blocks);
    let frame = |i: usize| &packets[i].bytes[16..];
    let lrh = |i: usize| (frame(i)[0] >> 4, frame(i)[1] >> 4);
    assert_eq!([lrh(0), lrh(1)], [(1, 5); 2], "VL, SL");
    assert_eq!((frame(0)[8], frame(1)[8]), (0x06, 0x11));
    assert_eq!((frame(0)[12] >> 6, frame(1)[12] >> 6), (0b10, 0b01), "FECN, BECN");
    // LRH, BTH, RETH, payload, CRCs; LRH, BTH, AETH, CRCs, which is what an acknowledgement takes on the wire.
    assert_eq!([frame(0).len(), frame(1).len()], [8 + 12 + 16 + 1000 + 6, 30]);
    // FCTBS 7, lane 1, FCCL 52.
    assert_eq!(
        (packets[2].bytes[8], &frame(2)[..4]),
        (25, &[0x00, 0x07, 0x10, 0x34][..])
    );
    let file = standard(Binding::Cbfc(Cbfc {
        overhead: 0,
        cf_min: Bytes::new(800),
        cf_max: Bytes::new(65_536),
        cc_timer: Span::from_us(10),
        phase: Phase::Aligned,
        scope: Scope::Lane,
    }));
    let found = super::blocks(&file);
    assert_eq!(u16_at(found[1].1, 0), 1, "Ethernet");
    assert_eq!(super::packets(&found).len(), 2);
}

/// Captures a message of two packets and one of a single packet as they were simulated: each captured packet has the
/// length that it had on the wire, RETH included, and its opcode is RDMA WRITE FIRST, LAST or ONLY.
#[test]
fn first_packets_are_as_long_as_they_were_on_the_wire() {
    let scenario = "duration = '1ms'\n\
                    topology.star = { hosts = 2, rate = '32Gbps', delay = '100ns' }\n\
                    [[workload]]\n\
                    flows = [{ src = 1, dst = 2, size = '3000B' }, { src = 1, dst = 2, size = '8B' }]\n\
                    [network]\nflow-control = 'credits'\n\
                    [record]\ntrace = [1]\n\
                    [cc]\nscheme = 'none'\n";
    let input = paceline_scenario::load_text("test.toml", scenario, &Default::default()).unwrap();
    let mut simulation = paceline_fabric::Simulation::new(input.run.clone()).unwrap();
    while !simulation.advance(u64::MAX).done {}
    let outcome = simulation.finish();
    let mut out = Vec::new();
    write(&mut out, &input.run, &input.names, &outcome, WHOLE).unwrap();
    let data = |event: &&TraceEvent| event.kind == PacketKind::Data && event.event == Dequeue;
    let wires: Vec<usize> = outcome
        .trace
        .iter()
        .filter(data)
        .map(|event| event.wire as usize)
        .collect();
    let mut frames: Vec<(u8, usize)> = packets(&blocks(&out))
        .iter()
        .filter(|packet| packet.bytes[8] == 21)
        .map(|packet| (packet.bytes[16 + 8], packet.bytes.len() - 16))
        .collect();
    frames.retain(|&(opcode, _)| opcode < 0x11);
    let lengths: Vec<usize> = frames.iter().map(|&(_, length)| length).collect();
    assert_eq!(lengths, wires);
    // 26 bytes of headers, and 16 of the first: 2048, 952 and 8 of payload.
    frames.sort_unstable();
    assert_eq!(frames, [(0x06, 2090), (0x08, 978), (0x0a, 50)]);
}

/// Captures the first packet of a message of 5000 bytes, marked, its acknowledgement and a flow-control packet.
fn standard(binding: Binding) -> Vec<u8> {
    let (mut input, mut outcome) = sample::incast();
    let run = input.run_mut();
    run.lanes = Some(Box::new(LaneSpec {
        binding,
        unit: Bytes::new(64),
        buffers: vec![512; 2],
        lane_of: [0, 0, 0, 0, 0, 1, 1, 1],
        update: Bytes::new(8),
        first_header: Bytes::new(16),
        forwarding: Forwarding::StoreAndForward,
        release: Release::End,
        arbitration: Arbitration::fair(2),
    }));
    run.record.trace_nodes = vec![NodeId(2)];
    run.flows[1].size = Bytes::new(5000);
    outcome.trace = vec![
        TraceEvent {
            class: 5,
            payload: 1000,
            mark: Mark::Congested,
            ..event(2, 1, 1_000, Dequeue, PacketKind::Data)
        },
        TraceEvent {
            class: 5,
            seq: 1000,
            payload: 0,
            mark: Mark::Congested,
            ..event(2, 1, 2_000, Receive, PacketKind::Ack)
        },
        TraceEvent {
            flow: u32::MAX,
            seq: 0x34,
            payload: 7,
            class: 1,
            wire: 8,
            ..event(2, 1, 3_000, Receive, PacketKind::Credit)
        },
    ];
    let mut out = Vec::new();
    write(&mut out, &input.run, &input.names, &outcome, WHOLE).unwrap();
    out
}

#[test]
fn tshark_reads_infiniband() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return eprintln!("there is no tshark");
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&infiniband()).unwrap();
    let fields = [
        "infiniband.lrh.dlid",
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "infiniband_link.fctbs",
        "infiniband_link.vl",
        "infiniband_link.fccl",
        "_ws.malformed",
    ];
    let args = fields.iter().flat_map(|field| ["-e", field]);
    let out = Command::new("tshark")
        .args(["-T", "fields", "-r"])
        .arg(file.path())
        .args(args)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 6, "{text}{}", String::from_utf8_lossy(&out.stderr));
    let column = |i: usize| rows.iter().map(|row| row[i]).collect::<Vec<&str>>();
    assert_eq!(column(2)[..3], ["0", "1", "2"], "{text}");
    assert_eq!(column(3)[3..5], ["7"; 2], "{text}");
    assert_eq!(column(4)[3..5], ["2"; 2], "{text}");
    assert_eq!(column(5)[3..5], ["52"; 2], "{text}");
    assert!(column(6).iter().all(|field| field.is_empty()), "{text}");
}
