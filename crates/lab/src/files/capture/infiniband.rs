//! InfiniBand packets and flow-control packets, byte by byte, as ERF records (Endace).
//!
//! Local route header, base transport header with its extensions, invariant and variant CRC (InfiniBand Architecture
//! Specification, volume 1: LRH in 7.7, CRCs in 7.8, flow-control packets in 7.9.4). Headers that the simulated packets
//! lack are added, so a frame is longer than the simulated packet. A host's local identifier is its number plus one.

use paceline_congestion::Mark;
use paceline_fabric::outcome::{PacketKind, TraceEvent};
use paceline_fabric::spec::{NodeId, RunSpec};
use paceline_kernel::Time;

use super::wire::{Message, crc32, push_transport, queue_pair};
use super::{SentAs, ends, message};

const LRH: usize = 8;
/// Offset of the congestion bits' byte in the base transport header, after the LRH.
const MARKS: usize = LRH + 4;
const FECN: u8 = 1 << 7;
/// Link next header of the LRH: a BTH follows, without a global route header.
const LOCAL: u8 = 0b10;
const ICRC: usize = 4;
const VCRC: usize = 2;
/// Opcode of a congestion notification packet; RoCEv2 has another.
const CNP: u8 = 0x80;

/// Length to which flow-control packets are padded, in bytes.
const LINK_MIN: usize = 64;

/// Record types of ERF: InfiniBand, and InfiniBand link.
const ERF_PACKET: u8 = 21;
const ERF_LINK: u8 = 25;
const ERF_HEADER: usize = 16;
/// Flag of records whose length varies with their packets.
const VARYING_LENGTH: u8 = 1 << 2;

/// Builds the record of an event; returns `None` if its flow is unknown.
pub(super) fn record(spec: &RunSpec, event: &TraceEvent, sent_as: SentAs) -> Option<Vec<u8>> {
    let (kind, frame) = match event.kind {
        PacketKind::Credit => (ERF_LINK, update(event)),
        _ => (ERF_PACKET, packet(spec, event, sent_as)?),
    };
    let length = frame.len() as u16;
    let mut record = time(event.at).to_le_bytes().to_vec();
    record.extend([kind, VARYING_LENGTH]);
    record.extend((ERF_HEADER as u16 + length).to_be_bytes());
    record.extend([0; 2]);
    record.extend(length.to_be_bytes());
    record.extend(frame);
    Some(record)
}

/// Returns the length of an event's packet without the record's header; `None` if its flow is unknown.
pub(super) fn length(spec: &RunSpec, event: &TraceEvent, sent_as: SentAs) -> Option<usize> {
    if event.kind == PacketKind::Credit {
        return Some(LINK_MIN);
    }
    let flow = spec.flows.get(event.flow as usize)?;
    Some(LRH + message(spec, flow, event, sent_as.start).length() + ICRC + VCRC)
}

/// Converts to seconds in fixed point, with 32 fractional bits.
fn time(at: Time) -> u64 {
    const PS_PER_S: u128 = 1_000_000_000_000;
    ((u128::from(at.as_ps()) << 32) / PS_PER_S) as u64
}

/// Builds a flow-control packet: blocks sent, and the limit up to which the other end may send, both modulo 2^12.
fn update(event: &TraceEvent) -> Vec<u8> {
    let (sent, limit) = (event.payload as u16 & 0xfff, event.seq as u16 & 0xfff);
    let mut frame = sent.to_be_bytes().to_vec();
    frame.extend((u16::from(event.class) << 12 | limit).to_be_bytes());
    let check = !crc16(&frame);
    frame.extend(check.to_le_bytes());
    // Padding: Wireshark looks for route headers of a packet here, and reports a shorter frame as malformed.
    frame.resize(LINK_MIN, 0);
    frame
}

fn packet(spec: &RunSpec, event: &TraceEvent, sent_as: SentAs) -> Option<Vec<u8>> {
    let flow = spec.flows.get(event.flow as usize)?;
    let data = event.kind == PacketKind::Data;
    let (from, to) = ends(flow, data);
    let lane = match &spec.lanes {
        Some(lanes) => lanes.lane_of[usize::from(event.class & 7)],
        None => event.class,
    };
    // The local route header: lane, service level, destination, length (filled in below), source.
    let mut frame = vec![lane << 4, event.class << 4 | LOCAL];
    frame.extend(lid(to).to_be_bytes());
    frame.extend([0; 2]);
    frame.extend(lid(from).to_be_bytes());
    let message = message(spec, flow, event, sent_as.start);
    push_transport(&mut frame, queue_pair(sent_as.named_by, data), &message);
    match (&message, event.mark) {
        (Message::Write { .. }, Mark::Congested) => frame[MARKS] |= FECN,
        (Message::Cnp, _) => frame[LRH] = CNP,
        _ => {}
    }
    // The packet length of the LRH counts words, from the LRH to the invariant CRC.
    let words = ((frame.len() + ICRC) / 4) as u16;
    frame[4..6].copy_from_slice(&words.to_be_bytes());
    let check = invariant_crc(&frame);
    frame.extend(check.to_le_bytes());
    // The variant CRC covers the invariant one, so it comes last.
    let check = !crc16(&frame);
    frame.extend(check.to_le_bytes());
    Some(frame)
}

/// Returns the local identifier of a host; 0 is reserved.
fn lid(host: NodeId) -> u16 {
    (host.0 + 1) as u16
}

/// Computes the invariant CRC: the virtual lane and the byte of congestion marks, which switches change, count as ones.
fn invariant_crc(frame: &[u8]) -> u32 {
    let mut crc = crc32(!0, &[frame[0] | 0xf0]);
    crc = crc32(crc, &frame[1..MARKS]);
    crc = crc32(crc, &[0xff]);
    !crc32(crc, &frame[MARKS + 1..])
}

/// Computes the CRC of links (polynomial 0x100b, bits reflected), without the final complement.
fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = u16::MAX;
    for &byte in bytes {
        crc ^= u16::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xd008 } else { crc >> 1 };
        }
    }
    crc
}
