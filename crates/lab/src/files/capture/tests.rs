//! A capture is read back by a reader that shares no code with the writer, and by tshark if it is installed.

#![allow(clippy::disallowed_macros, reason = "a test says that it was skipped")]

use std::io::Write as _;
use std::process::Command;

use paceline_fabric::outcome::TraceKind::{Dequeue, Drop, Receive};
use paceline_fabric::spec::NodeId;
use paceline_kernel::Time;

use super::*;
use crate::sample;

mod infiniband;

fn event(node: u32, interface: u32, at_ps: u64, what: TraceKind, kind: PacketKind) -> TraceEvent {
    TraceEvent {
        at: Time::from_ps(at_ps),
        node: NodeId(node),
        interface,
        event: what,
        queue_bytes: 0,
        kind,
        signal: 0,
        flow: 1,
        seq: 0,
        payload: 0,
        wire: 60,
        class: 3,
        mark: Mark::None,
        pause: Span::ZERO,
    }
}

/// Captures flow 1, which sends 2500 bytes from host 2 to host 4: three packets, of which the second is marked and the
/// third is not a multiple of four bytes long; then all replies.
fn capture(snap_length: u32) -> Vec<u8> {
    let (mut input, mut outcome) = sample::incast();
    input.run_mut().record.trace_nodes = vec![NodeId(2), NodeId(0)];
    input.run_mut().flows[1].size = Bytes::new(2_499);
    let data = |seq, payload, wire, mark, at| TraceEvent {
        seq,
        payload,
        wire,
        mark,
        ..event(2, 1, at, Dequeue, PacketKind::Data)
    };
    outcome.trace = vec![
        data(0, 1000, 1048, Mark::None, 5_000_000_000_001),
        data(1000, 1000, 1090, Mark::Congested, 5_000_000_083_842),
        data(2000, 499, 589, Mark::None, 5_000_000_167_683),
        TraceEvent {
            seq: 1000,
            mark: Mark::Congested,
            ..event(0, 4, 5_000_001_000_000, Receive, PacketKind::Ack)
        },
        TraceEvent {
            seq: 2499,
            ..event(0, 4, 5_000_001_000_001, Receive, PacketKind::Ack)
        },
        TraceEvent {
            seq: 1000,
            ..event(0, 4, 5_000_001_000_002, Receive, PacketKind::Nack)
        },
        event(0, 4, 5_000_001_000_003, Receive, PacketKind::Cnp),
        TraceEvent {
            flow: u32::MAX,
            wire: 43,
            pause: Span::from_us(1),
            ..event(2, 1, 5_000_001_000_004, Receive, PacketKind::Pause)
        },
        TraceEvent {
            flow: u32::MAX,
            wire: 43,
            ..event(2, 1, 5_000_001_000_005, Receive, PacketKind::Resume)
        },
        event(0, 4, 5_000_001_000_006, Drop, PacketKind::Data),
    ];
    let mut out = Vec::new();
    write(&mut out, &input.run, &input.names, &outcome, snap_length).unwrap();
    out
}

/// Single traced ports are captured like those of whole nodes.
#[test]
fn single_ports() {
    let (mut input, mut outcome) = sample::incast();
    input.run_mut().record.trace_ports = vec![(NodeId(0), NodeId(4)), (NodeId(3), NodeId(0))];
    outcome.trace = vec![
        event(0, 4, 5_000_000_000_000, Dequeue, PacketKind::Data),
        event(3, 1, 5_000_001_000_000, Receive, PacketKind::Ack),
    ];
    let names: Vec<String> = traced_ports(&input.run, &input.names)
        .into_iter()
        .map(|port| port.name)
        .collect();
    assert_eq!(
        names,
        ["leaf 0 (0), port 4 to host 4", "host 3, port 1 to leaf 0 (0)"]
    );
    let mut out = Vec::new();
    write(&mut out, &input.run, &input.names, &outcome, WHOLE).unwrap();
    assert_eq!(packets(&blocks(&out)).len(), 2);
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Returns (type, body) of every block and checks the lengths.
fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
    let mut found = Vec::new();
    while !file.is_empty() {
        let length = u32_at(file, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(
            u32_at(file, length - 4) as usize,
            length,
            "the length is repeated"
        );
        found.push((u32_at(file, 0), &file[8..length - 4]));
        file = &file[length..];
    }
    found
}

/// Returns (code, value) of options up to their end.
fn options(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while u16_at(bytes, 0) != 0 {
        let length = u16_at(bytes, 2) as usize;
        found.push((u16_at(bytes, 0), &bytes[4..4 + length]));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
    assert_eq!(bytes, [0; 4], "nothing follows the end of options");
    found
}

struct Read<'a> {
    interface: u32,
    ps: u64,
    length: u32,
    bytes: &'a [u8],
    flags: u32,
}

fn packets<'a>(blocks: &[(u32, &'a [u8])]) -> Vec<Read<'a>> {
    let packet = |body: &'a [u8]| {
        let kept = u32_at(body, 12) as usize;
        let options = options(&body[20 + kept.next_multiple_of(4)..]);
        Read {
            interface: u32_at(body, 0),
            ps: u64::from(u32_at(body, 4)) << 32 | u64::from(u32_at(body, 8)),
            length: u32_at(body, 16),
            bytes: &body[20..20 + kept],
            flags: u32_at(options[0].1, 0),
        }
    };
    blocks
        .iter()
        .filter(|(kind, _)| *kind == 6)
        .map(|(_, body)| packet(body))
        .collect()
}

#[test]
fn the_container() {
    let file = capture(128);
    let blocks = blocks(&file);
    let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
    // A section, the five ports of nodes 0 and 2, nine packets: drops are not packets on a link.
    assert_eq!(kinds, [&[0x0a0d_0d0a][..], &[1; 5], &[6; 9]].concat());
    assert_eq!(u32_at(blocks[0].1, 0), 0x1a2b_3c4d);
    let last = options(&blocks[5].1[8..]);
    assert_eq!(last[0].1, b"host 2, port 1 to leaf 0 (0)");
    assert_eq!(last[1].1, 100_000_000_000u64.to_le_bytes());
    assert_eq!(last[2], (9, &[12][..]));
    let packets = packets(&blocks);
    assert_eq!(
        (packets[0].interface, packets[0].ps, packets[0].flags),
        (4, 5_000_000_000_001, 2)
    );
    assert_eq!(
        (packets[3].interface, packets[3].ps, packets[3].flags),
        (3, 5_000_001_000_000, 1)
    );
    // Cut at 128 bytes; as long as the simulated packet, unless its headers alone are longer.
    let sizes: Vec<(usize, u32)> = packets.iter().map(|p| (p.bytes.len(), p.length)).collect();
    assert_eq!(
        sizes,
        [
            (128, 1048),
            (128, 1090),
            (128, 589),
            (62, 62),
            (62, 62),
            (62, 62),
            (74, 74),
            (60, 60),
            (60, 60)
        ]
    );
}

/// Lengths add up to the simulated ones, and a comment lists those that do not.
#[test]
fn longer_frames_are_named() {
    let file = capture(WHOLE);
    let blocks = blocks(&file);
    let options = options(&blocks[0].1[16..]);
    assert_eq!(options[0].0, 1, "a comment");
    assert_eq!(
        String::from_utf8_lossy(options[0].1),
        "Made from a simulation: headers and payloads are made up, lengths are the simulated ones. Longer than simulated, \
         for their headers: acknowledgements (62 for 60 bytes); negative acknowledgements (62 for 60 bytes); notifications \
         (74 for 60 bytes); pause frames (60 for 43 bytes)."
    );
    let sizes: Vec<(usize, u32)> = packets(&blocks)
        .iter()
        .map(|p| (p.bytes.len(), p.length))
        .collect();
    // Payloads of the first and the third are whole words; the second carries telemetry.
    assert_eq!(sizes[..3], [(1046, 1048), (1058, 1090), (558, 589)]);
}

#[test]
fn the_packets() {
    let file = capture(WHOLE);
    let packets = packets(&blocks(&file));
    let bth = |i: usize| &packets[i].bytes[42..54];
    let opcodes: Vec<u8> = (0..7).map(|i| bth(i)[0]).collect();
    assert_eq!(opcodes, [0x06, 0x07, 0x08, 0x11, 0x11, 0x11, 0x81]);
    let numbers: Vec<u32> = (0..6)
        .map(|i| u32::from_be_bytes(bth(i)[8..].try_into().unwrap()) & 0xff_ffff)
        .collect();
    // ACKs carry the last packet in order, the NACK the one that is missing.
    assert_eq!(numbers, [0, 1, 2, 0, 2, 1]);
    let first = packets[0].bytes;
    assert_eq!(first[12..14], [0x08, 0x00]);
    assert_eq!(first[26..34], [11, 0, 2, 1, 11, 0, 4, 1]);
    assert_eq!(u16::from_be_bytes([first[36], first[37]]), 4791);
    // Message length in the RETH of the first packet; padding of the last.
    assert_eq!(first[66..70], 2_499u32.to_be_bytes());
    assert_eq!(bth(2)[1] >> 4 & 3, 1);
    assert_eq!(packets[1].bytes[15] & 3, 3, "congestion experienced");
    assert_eq!(packets[0].bytes[15] >> 2, 24, "class selector 3");
    // The echo is in the BTH of the ACK, and in every CNP.
    assert_eq!([3, 4, 6].map(|i| bth(i)[4] >> 6 & 1), [1, 0, 1]);
    assert_eq!([3, 4, 5].map(|i| packets[i].bytes[54]), [0x1f, 0x1f, 0x60]);
    assert_eq!([3, 4].map(|i| packets[i].bytes[57]), [0, 1], "messages completed");
    // IP header checksums: the sum over each header is all ones.
    for packet in &packets[..7] {
        let sum: u32 = packet.bytes[14..34]
            .chunks(2)
            .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]))
            .sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
    // 1 us at 100 Gbit/s is 195.3 quanta, rounded up.
    assert_eq!(
        packets[7].bytes[..18],
        [1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 8, 1, 1, 0, 8]
    );
    assert_eq!(
        packets[7].bytes[18..34],
        [0, 0, 0, 0, 0, 0, 0, 196, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        packets[8].bytes[16..34],
        [0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn pauses_without_end_last_as_long_as_can_be_said() {
    let rate = BitRate::from_gbps(100);
    assert_eq!(pause_quanta(Span::ZERO, rate), u16::MAX);
    assert_eq!(pause_quanta(Span::MAX, rate), u16::MAX);
    assert_eq!(pause_quanta(Span::from_us(5), rate), 977);
}

#[test]
fn tshark_agrees() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&capture(WHOLE)).unwrap();
    let fields = [
        "frame.len",
        "ip.checksum.status",
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "infiniband.bth.padcnt",
        "infiniband.reth.dmalen",
        "infiniband.aeth.syndrome.opcode",
        "macc.opcode",
        "macc.cbfc.enbv",
        "macc.cbfc.pause_time.c3",
    ];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file.path()).args([
        "-o",
        "ip.check_checksum:TRUE",
        "-T",
        "fields",
        "-E",
        "separator=|",
    ]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("skipped: tshark is not installed");
            return;
        }
        Err(error) => panic!("tshark: {error}"),
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8(output.stdout).unwrap();
    // Length, good IP checksum, opcode, sequence number, padding, length of the message, kind of
    // acknowledgement; opcode, classes and time of a pause.
    let expected = [
        "1048|1|6|0|0|2499||||",
        "1090|1|7|1|0|||||",
        "589|1|8|2|1|||||",
        "62|1|17|0|0||0|||",
        "62|1|17|2|0||0|||",
        "62|1|17|1|0||3|||",
        "74|1|129|0|0|||||",
        "60|||||||0x0101|0x0008|196",
        "60|||||||0x0101|0x0008|0",
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
    let packets = Command::new("tshark")
        .arg("-r")
        .arg(file.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&packets.stdout);
    assert!(
        text.contains("RC RDMA Write First") && !text.contains("Malformed"),
        "{text}"
    );
}
