//! RoCEv2 and PFC packets, byte by byte.
//!
//! Ethernet (IEEE 802.3), IPv4 (RFC 791), UDP (RFC 768) to port 4791, then InfiniBand's headers
//! (Architecture Specification, volume 1: BTH in 9.2, RETH and AETH in 9.3, reliable connected
//! opcodes in 9.2.1; annex A17 for RoCEv2, its congestion notification packet and invariant CRC).
//! Pause frames are IEEE 802.1Qbb's.

use super::uet;

/// UDP destination port of RoCEv2.
const ROCE_PORT: u16 = 4791;
/// Values of fields that the simulator does not model: the default partition, a key, a time to live.
const PARTITION: u16 = 0xffff;
const REMOTE_KEY: u32 = 1;
const TIME_TO_LIVE: u8 = 64;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
const BTH: usize = 12;
const RETH: usize = 16;
const AETH: usize = 4;
/// Reserved bytes of a congestion notification packet, which has no payload.
const CNP_RESERVED: usize = 16;
const ICRC: usize = 4;
/// Smallest Ethernet frame, without its checksum.
const FRAME_MIN: usize = 60;

/// Reliable connected opcodes, and that of congestion notification packets.
const WRITE_FIRST: u8 = 0x06;
const WRITE_MIDDLE: u8 = 0x07;
const WRITE_LAST: u8 = 0x08;
const WRITE_ONLY: u8 = 0x0a;
const ACKNOWLEDGE: u8 = 0x11;
const CNP: u8 = 0x81;

/// AETH syndromes: an ACK without a credit count, and a NAK for a PSN sequence error.
const SYNDROME_ACK: u8 = 0x1f;
const SYNDROME_NAK_SEQUENCE: u8 = 0x60;

/// Packet in a form that can be written byte by byte.
pub(super) enum Packet {
    /// RoCEv2 packet between two hosts.
    Roce {
        /// Addresses, queue pair and ECN field.
        header: Header,
        /// Opcode and its headers.
        message: Message,
    },
    /// Ultra Ethernet packet between two hosts.
    Uet {
        /// Addresses, queue pair and ECN field.
        header: Header,
        /// Request or reply, with its headers.
        message: Message,
    },
    /// Pause frame from a node to its neighbour.
    Pfc {
        /// Node at which the frame was traced.
        node: u32,
        class: u8,
        /// Pause in 512 bit times; 0 resumes.
        quanta: u16,
    },
}

/// Fields that all packets between hosts have.
pub(super) struct Header {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) source_port: u16,
    pub(super) class: u8,
    /// ECN field of the IP header.
    pub(super) ecn: u8,
    pub(super) queue_pair: u32,
}

/// Type of a packet, and the fields that depend on it; `number` is the packet sequence number, of which 24 bits go on
/// the wire.
pub(super) enum Message {
    /// Part of the flow's one RDMA WRITE.
    Write {
        number: u32,
        first: bool,
        last: bool,
        /// Length of the whole message in bytes.
        length: u32,
        /// Offset of the payload in the message.
        offset: u32,
        payload: u32,
    },
    Ack {
        number: u32,
        /// True if it acknowledges the whole message.
        complete: bool,
        congested: bool,
    },
    Nack {
        number: u32,
        congested: bool,
    },
    Cnp,
}

impl Message {
    /// Returns the length from the BTH on, without checksums.
    pub(super) fn length(&self) -> usize {
        BTH + match *self {
            Self::Write { first, payload, .. } => padded(payload) + if first { RETH } else { 0 },
            Self::Ack { .. } | Self::Nack { .. } => AETH,
            Self::Cnp => CNP_RESERVED,
        }
    }
}

/// Rounds a payload up to words of four bytes.
fn padded(payload: u32) -> usize {
    payload.next_multiple_of(4) as usize
}

/// Returns the queue pair of a flow at its receiver (for data) or at its sender. The first two of a network adapter are
/// reserved.
pub(super) const fn queue_pair(flow: u32, receiver: bool) -> u32 {
    (flow.wrapping_mul(2).wrapping_add(2) + receiver as u32) & 0x00ff_ffff
}

/// Returns a locally administered address for each node.
fn mac(node: u32) -> [u8; 6] {
    let [a, b, c, d] = node.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

impl Packet {
    /// Shortens a payload that makes the frame longer than `wire` bytes, if there is room for the headers.
    pub(super) fn fit(&mut self, wire: usize) {
        let length = self.length();
        // RoCE pads payloads to words of four bytes, UET does not.
        let (written, unit, payload) = match self {
            Self::Roce {
                message: Message::Write { payload, .. },
                ..
            } => (padded(*payload), 4, payload),
            Self::Uet {
                message: Message::Write { payload, .. },
                ..
            } => (*payload as usize, 1, payload),
            _ => return,
        };
        if let Some(room) = wire.checked_sub(length - written) {
            *payload = (*payload).min((room - room % unit) as u32);
        }
    }

    /// Returns the length of the frame without its checksum.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Roce { message, .. } => ETHERNET + IPV4 + UDP + message.length() + ICRC,
            Self::Uet { message, .. } => ETHERNET + IPV4 + UDP + uet::length(message),
            Self::Pfc { .. } => FRAME_MIN,
        }
    }

    /// Returns all bytes of the frame without its checksum.
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Roce { header, message } => roce(header, message),
            Self::Uet { header, message } => datagram(header, uet::PORT, 0, |frame| {
                uet::push(frame, header.queue_pair, message);
            }),
            Self::Pfc { node, class, quanta } => pfc(*node, *class, *quanta),
        }
    }
}

fn pfc(node: u32, class: u8, quanta: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_MIN);
    frame.extend([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
    frame.extend(mac(node));
    frame.extend(0x8808u16.to_be_bytes());
    frame.extend(0x0101u16.to_be_bytes());
    frame.extend((1u16 << (class & 7)).to_be_bytes());
    for other in 0..8 {
        frame.extend(if other == class & 7 { quanta } else { 0 }.to_be_bytes());
    }
    frame.resize(FRAME_MIN, 0);
    frame
}

fn roce(header: &Header, message: &Message) -> Vec<u8> {
    let mut frame = datagram(header, ROCE_PORT, ICRC, |frame| {
        push_transport(frame, header.queue_pair, message);
    });
    let check = invariant_crc(&frame[ETHERNET..]);
    frame.extend(check.to_le_bytes());
    frame
}

/// Builds a frame with a UDP datagram to `port`. `push` adds the content; `trailer` bytes are added later, so the
/// length fields count them.
fn datagram(header: &Header, port: u16, trailer: usize, push: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = Vec::with_capacity(128);
    frame.extend(mac(header.to));
    frame.extend(mac(header.from));
    frame.extend(0x0800u16.to_be_bytes());
    frame.extend(ipv4(header));
    frame.extend(header.source_port.to_be_bytes());
    frame.extend(port.to_be_bytes());
    // UDP's length; no checksum, as both transports recommend.
    frame.extend([0; 4]);
    push(&mut frame);
    // Lengths and checksum cover what `push` has added, so they come last.
    let ip_length = (frame.len() - ETHERNET + trailer) as u16;
    frame[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&ip_length.to_be_bytes());
    let checksum = internet_checksum(&frame[ETHERNET..ETHERNET + IPV4]);
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
    let udp = ETHERNET + IPV4;
    frame[udp + 4..udp + 6].copy_from_slice(&(ip_length - IPV4 as u16).to_be_bytes());
    frame
}

/// Builds the IPv4 header with length and checksum still zero.
fn ipv4(header: &Header) -> [u8; IPV4] {
    let mut ip = [0; IPV4];
    ip[0] = 0x45;
    // The class as a class selector, and the ECN field.
    ip[1] = (header.class << 3) << 2 | header.ecn;
    // Do not fragment.
    ip[6] = 0x40;
    ip[8] = TIME_TO_LIVE;
    ip[9] = 17;
    let address = |node| crate::files::ns3::address(paceline_fabric::spec::NodeId(node)).to_be_bytes();
    ip[12..16].copy_from_slice(&address(header.from));
    ip[16..20].copy_from_slice(&address(header.to));
    ip
}

/// Appends the BTH and the further headers of the opcode.
pub(super) fn push_transport(frame: &mut Vec<u8>, queue_pair: u32, message: &Message) {
    let bth = |frame: &mut Vec<u8>, opcode: u8, pad: u8, becn: bool, ack: bool, number: u32| {
        frame.extend([opcode, pad << 4]);
        frame.extend(PARTITION.to_be_bytes());
        frame.push(u8::from(becn) << 6);
        // Queue pair and packet number have 24 bits.
        frame.extend(&queue_pair.to_be_bytes()[1..]);
        frame.push(u8::from(ack) << 7);
        frame.extend(&number.to_be_bytes()[1..]);
    };
    match *message {
        Message::Write {
            number,
            first,
            last,
            length,
            payload,
            ..
        } => {
            let opcode = match (first, last) {
                (true, true) => WRITE_ONLY,
                (true, false) => WRITE_FIRST,
                (false, false) => WRITE_MIDDLE,
                (false, true) => WRITE_LAST,
            };
            let padded = padded(payload);
            bth(
                frame,
                opcode,
                (padded - payload as usize) as u8,
                false,
                true,
                number,
            );
            // Only the first packet of a message has an RETH (virtual address, key, length).
            if first {
                frame.extend([0; 8]);
                frame.extend(REMOTE_KEY.to_be_bytes());
                frame.extend(length.to_be_bytes());
            }
            frame.resize(frame.len() + padded, 0);
        }
        Message::Ack {
            number,
            complete,
            congested,
        } => {
            bth(frame, ACKNOWLEDGE, 0, congested, false, number);
            frame.extend([SYNDROME_ACK, 0, 0, u8::from(complete)]);
        }
        Message::Nack { number, congested } => {
            bth(frame, ACKNOWLEDGE, 0, congested, false, number);
            frame.extend([SYNDROME_NAK_SEQUENCE, 0, 0, 0]);
        }
        Message::Cnp => {
            bth(frame, CNP, 0, true, false, 0);
            frame.extend([0; CNP_RESERVED]);
        }
    }
}

/// Computes the checksum of RFC 1071: the complement of the one's complement sum of 16-bit words.
fn internet_checksum(words: &[u8]) -> u16 {
    let sum: u32 = words
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Computes the invariant CRC (annex A17.3.3): eight bytes of ones for a link header, then the packet from its IP
/// header on. Fields that routers change count as ones: type of service, time to live, checksums, and the BTH's byte of
/// congestion marks.
fn invariant_crc(packet: &[u8]) -> u32 {
    const MASKED: [usize; 7] = [1, 8, 10, 11, IPV4 + 6, IPV4 + 7, IPV4 + UDP + 4];
    let mut crc = crc32(!0, &[0xff; 8]);
    for (i, &byte) in packet.iter().enumerate() {
        let byte = if MASKED.contains(&i) { 0xff } else { byte };
        crc = crc32(crc, &[byte]);
    }
    !crc
}

/// Computes Ethernet's CRC (polynomial 0x04c11db7, bits reflected), without the final complement.
pub(super) fn crc32(mut crc: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut value = i as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    value >> 1 ^ 0xedb8_8320
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    for &byte in bytes {
        crc = TABLE[((crc ^ u32::from(byte)) & 0xff) as usize] ^ crc >> 8;
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums() {
        // The check value of CRC-32, and the example of RFC 1071, section 3.
        assert_eq!(!crc32(!0, b"123456789"), 0xcbf4_3926);
        assert_eq!(
            internet_checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
    }

    #[test]
    fn routers_may_change_what_the_invariant_crc_leaves_out() {
        let header = |class, ecn| Header {
            from: 1,
            to: 2,
            source_port: 10_000,
            class,
            ecn,
            queue_pair: 3,
        };
        let write = || Message::Write {
            number: 7,
            first: false,
            last: false,
            length: 9,
            offset: 0,
            payload: 1000,
        };
        let plain = roce(&header(3, 2), &write());
        let marked = roce(&header(3, 3), &write());
        let crc = |frame: &[u8]| frame[frame.len() - ICRC..].to_vec();
        assert_ne!(plain, marked);
        assert_eq!(crc(&plain), crc(&marked));
        assert_ne!(
            crc(&plain),
            crc(&roce(
                &Header {
                    to: 4,
                    ..header(3, 2)
                },
                &write()
            ))
        );
        assert_eq!(plain.len(), 14 + 20 + 8 + 12 + 1000 + 4);
    }

    /// Predicted lengths match the bytes for writes, first or not, whole numbers of words or not, and for all replies.
    #[test]
    fn lengths_are_known_before_bytes() {
        let write = |first, payload| Message::Write {
            number: 7,
            first,
            last: true,
            length: 9,
            offset: 0,
            payload,
        };
        let (number, congested) = (7, true);
        let ack = Message::Ack {
            number,
            complete: true,
            congested,
        };
        let messages = [
            write(true, 1000),
            write(false, 997),
            write(true, 0),
            ack,
            Message::Nack { number, congested },
            Message::Cnp,
        ];
        for message in messages {
            let header = Header {
                from: 1,
                to: 2,
                source_port: 10_000,
                class: 3,
                ecn: 2,
                queue_pair: 3,
            };
            let packet = Packet::Roce { header, message };
            assert_eq!(packet.bytes().len(), packet.length());
        }
        let pause = Packet::Pfc {
            node: 1,
            class: 3,
            quanta: 1,
        };
        assert_eq!(pause.bytes().len(), pause.length());
    }

    #[test]
    fn queue_pairs_differ_and_fit() {
        assert_eq!(
            [queue_pair(0, false), queue_pair(0, true), queue_pair(1, false)],
            [2, 3, 4]
        );
        assert!(queue_pair(u32::MAX, true) < 1 << 24);
    }
}
