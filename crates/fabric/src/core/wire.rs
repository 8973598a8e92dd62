//! Packets as bytes, for parts of the run in other processes of the same build.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::core::link::Crossing;
use crate::core::packet::Packet;
use crate::core::parts::Mail;
use crate::ids::{FlowId, PacketId, PortId, ProfileId, QpId};
use paceline_congestion::{HopSample, Mark};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;
use paceline_run::outcome::PacketKind;

/// Returns a value as bytes.
pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_allocvec(value).expect("results are plain data")
}

/// Returns the value that [`encode`] has written.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).expect("all ranks run the same build")
}

/// Bytes that are still to be read.
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().expect("all ranks run the same build");
        self.0 = rest;
        *first
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn u8(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }
}

impl Mail {
    /// Appends the mail to `bytes`, and empties it.
    pub(crate) fn write(&mut self, bytes: &mut Vec<u8>) {
        let is_empty = self.crossings.is_empty() && self.ways.is_empty();
        bytes.push(u8::from(is_empty));
        if is_empty {
            return;
        }
        bytes.extend((self.crossings.len() as u32).to_le_bytes());
        bytes.extend((self.samples.len() as u32).to_le_bytes());
        bytes.extend((self.words.len() as u32).to_le_bytes());
        for crossing in self.crossings.drain(..) {
            bytes.extend(crossing.at.to_le_bytes());
            bytes.extend(crossing.port.0.to_le_bytes());
            bytes.push(crossing.lane.number());
        }
        for packet in self.packets.drain(..) {
            bytes.extend(to_bytes(&packet));
        }
        for sample in self.samples.drain(..) {
            bytes.extend(sample.at_ps.to_le_bytes());
            bytes.extend(sample.tx_bytes.to_le_bytes());
            bytes.extend(sample.queue_bytes.to_le_bytes());
            bytes.extend(sample.rate_gbps.to_le_bytes());
        }
        for words in self.words.drain(..) {
            bytes.extend(words.to_le_bytes());
        }
        let logs = (&self.heads, &self.steps, &self.ways);
        *bytes = postcard::to_extend(&logs, std::mem::take(bytes)).expect("logs are plain data");
        self.heads.clear();
        self.steps.clear();
        self.ways.clear();
    }

    /// Fills the mail, which is empty, with what [`Mail::write`] has written.
    pub(crate) fn read(&mut self, bytes: &mut Bytes<'_>) {
        if bytes.u8() != 0 {
            return;
        }
        let (count, samples, words) = (bytes.u32(), bytes.u32(), bytes.u32());
        self.crossings.extend((0..count).map(|_| Crossing {
            at: bytes.u64(),
            port: PortId(bytes.u32()),
            // The packet gets a slot here when it is taken in.
            packet: PacketId::NONE,
            lane: LaneId::of_number(bytes.u8()),
        }));
        self.packets.extend((0..count).map(|_| of_bytes(bytes.array())));
        self.samples.extend((0..samples).map(|_| HopSample {
            at_ps: bytes.u64(),
            tx_bytes: bytes.u64(),
            queue_bytes: bytes.u32(),
            rate_gbps: bytes.u32(),
        }));
        self.words.extend((0..words).map(|_| bytes.u64()));
        ((self.heads, self.steps, self.ways), bytes.0) =
            postcard::take_from_bytes(bytes.0).expect("all ranks run the same build");
    }
}

const MARKS: [Mark; 3] = [Mark::None, Mark::Undetermined, Mark::Congested];

fn to_bytes(packet: &Packet) -> [u8; 64] {
    let mut bytes = [0; 64];
    let mut at = 0;
    let mut put = |field: &[u8]| {
        bytes[at..at + field.len()].copy_from_slice(field);
        at += field.len();
    };
    // All fields by name, so that none is forgotten.
    let &Packet {
        next,
        flow,
        qp,
        ingress,
        path,
        seq,
        sent_at,
        wire,
        payload,
        pint,
        epoch,
        kind,
        class,
        mark,
        hops,
        flags,
        tag,
        note_port,
        note,
        answers,
    } = packet;
    put(&next.0.to_le_bytes());
    put(&flow.0.to_le_bytes());
    put(&qp.0.to_le_bytes());
    put(&ingress.0.to_le_bytes());
    put(&path.to_le_bytes());
    put(&seq.to_le_bytes());
    put(&sent_at.to_le_bytes());
    put(&wire.to_le_bytes());
    put(&payload.to_le_bytes());
    put(&pint.to_le_bytes());
    put(&epoch.to_le_bytes());
    put(&[kind as u8, class, mark as u8, hops, flags, tag]);
    put(&note_port.0.to_le_bytes());
    put(&note.to_le_bytes());
    put(&answers.to_le_bytes());
    bytes
}

fn of_bytes(bytes: [u8; 64]) -> Packet {
    let mut bytes = Bytes(&bytes);
    // Fields are read in the order in which they stand here.
    Packet {
        next: PacketId(bytes.u32()),
        flow: FlowId(bytes.u32()),
        qp: QpId(bytes.u32()),
        ingress: PortId(bytes.u32()),
        path: bytes.u64(),
        seq: bytes.u64(),
        sent_at: bytes.u64(),
        wire: bytes.u16(),
        payload: bytes.u16(),
        pint: bytes.u16(),
        epoch: bytes.u16(),
        kind: PacketKind::ALL[usize::from(bytes.u8())],
        class: bytes.u8(),
        mark: MARKS[usize::from(bytes.u8())],
        hops: bytes.u8(),
        flags: bytes.u8(),
        tag: bytes.u8(),
        note_port: ProfileId(bytes.u16()),
        note: bytes.u32(),
        answers: bytes.u32(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::account::{Head, Step};
    use proptest::prelude::*;

    fn packet(values: &[u64; 8], kind: usize, mark: usize) -> Packet {
        let [a, b, path, seq, sent_at, c, d, e] = *values;
        Packet {
            next: PacketId(a as u32),
            flow: FlowId((a >> 32) as u32),
            qp: QpId(b as u32),
            ingress: PortId((b >> 32) as u32),
            path,
            seq,
            sent_at,
            wire: c as u16,
            payload: (c >> 16) as u16,
            pint: (c >> 32) as u16,
            epoch: (c >> 48) as u16,
            kind: PacketKind::ALL[kind],
            class: d as u8,
            mark: MARKS[mark],
            hops: (d >> 8) as u8,
            flags: (d >> 16) as u8,
            tag: (d >> 24) as u8,
            note_port: ProfileId((d >> 32) as u16),
            note: e as u32,
            answers: (e >> 32) as u32,
        }
    }

    proptest! {
        /// Mail arrives as it was sent.
        #[test]
        fn mail_comes_as_it_went(
            packets in prop::collection::vec((any::<[u64; 8]>(), 0..PacketKind::COUNT, 0usize..3), 0..20),
            samples in prop::collection::vec(any::<(u64, u64, u32, u32)>(), 0..20),
            words in any::<bool>(),
        ) {
            let mail = || {
                let crossing = |(i, (values, _, _)): (usize, &([u64; 8], usize, usize))| Crossing {
                    at: values[0],
                    port: PortId(values[1] as u32),
                    packet: PacketId::NONE,
                    lane: LaneId::of_number(i as u8),
                };
                let sample = |&(at_ps, tx_bytes, queue_bytes, rate_gbps): &(u64, u64, u32, u32)| HopSample {
                    at_ps,
                    tx_bytes,
                    queue_bytes,
                    rate_gbps,
                };
                let has_any = !packets.is_empty();
                Mail {
                    crossings: packets.iter().enumerate().map(crossing).collect(),
                    packets: packets.iter().map(|(values, kind, mark)| packet(values, *kind, *mark)).collect(),
                    samples: samples.iter().filter(|_| has_any).map(sample).collect(),
                    words: packets.iter().filter(|_| words).map(|(values, _, _)| values[2]).collect(),
                    heads: Vec::<Option<Head>>::new(),
                    steps: Vec::<Step>::new(),
                    ways: Vec::new(),
                }
            };
            let mut bytes = Vec::new();
            let mut sent = mail();
            sent.write(&mut bytes);
            sent.write(&mut bytes);
            let (mut came, mut nothing, mut rest) = (Mail::default(), Mail::default(), Bytes::new(&bytes));
            came.read(&mut rest);
            nothing.read(&mut rest);
            prop_assert!(rest.0.is_empty());
            prop_assert_eq!(format!("{came:?}"), format!("{:?}", mail()));
            prop_assert_eq!(format!("{nothing:?}"), format!("{:?}", Mail::default()));
        }
    }
}
