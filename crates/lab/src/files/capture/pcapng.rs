//! The pcapng container: section header, interface descriptions, enhanced packets.
//!
//! The format is that of the IETF's draft-ietf-opsawg-pcapng; everything is little-endian.

use std::io::{self, Write};

use paceline_kernel::{BitRate, Time};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_SECTION_APPLICATION: u16 = 4;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_INTERFACE_SPEED: u16 = 8;
const OPTION_INTERFACE_TIME_RESOLUTION: u16 = 9;
const OPTION_PACKET_FLAGS: u16 = 2;

/// Resolution of times: 10^-12 s.
const PICOSECONDS: u8 = 12;

/// Direction of a packet through an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Inbound = 1,
    Outbound = 2,
}

/// Interface at which packets were captured.
pub(super) struct Interface<'a> {
    pub(super) name: &'a str,
    pub(super) rate: BitRate,
    /// Number in the registry of link types, which determines the packets' first header.
    pub(super) link_type: u16,
    pub(super) snap_length: u32,
}

/// Writer of a pcapng file, block by block.
pub(super) struct Writer<'a, W: Write> {
    out: &'a mut W,
}

impl<'a, W: Write> Writer<'a, W> {
    /// Starts a file written by `application`, with a comment on the whole file.
    pub(super) fn new(out: &'a mut W, application: &str, comment: &str) -> io::Result<Self> {
        let mut block = Block::new(SECTION_HEADER);
        block.u32(0x1a2b_3c4d);
        block.u16(1);
        block.u16(0);
        block.u64(u64::MAX);
        block.option(OPTION_COMMENT, comment.as_bytes());
        block.option(OPTION_SECTION_APPLICATION, application.as_bytes());
        block.option(OPTION_END, &[]);
        block.write(out)?;
        Ok(Self { out })
    }

    /// Adds an interface; the first has number 0.
    pub(super) fn interface(&mut self, interface: &Interface<'_>) -> io::Result<()> {
        let mut block = Block::new(INTERFACE_DESCRIPTION);
        block.u16(interface.link_type);
        block.u16(0);
        block.u32(interface.snap_length);
        block.option(OPTION_INTERFACE_NAME, interface.name.as_bytes());
        block.option(OPTION_INTERFACE_SPEED, &interface.rate.as_bps().to_le_bytes());
        block.option(OPTION_INTERFACE_TIME_RESOLUTION, &[PICOSECONDS]);
        block.option(OPTION_END, &[]);
        block.write(self.out)
    }

    /// Adds the first `bytes` of a packet of `length` bytes.
    pub(super) fn packet(
        &mut self,
        interface: u32,
        at: Time,
        direction: Direction,
        bytes: &[u8],
        length: u32,
    ) -> io::Result<()> {
        let time = at.as_ps();
        let mut block = Block::new(ENHANCED_PACKET);
        block.u32(interface);
        block.u32((time >> 32) as u32);
        block.u32(time as u32);
        block.u32(bytes.len() as u32);
        block.u32(length);
        block.padded(bytes);
        block.option(OPTION_PACKET_FLAGS, &(direction as u32).to_le_bytes());
        block.option(OPTION_END, &[]);
        block.write(self.out)
    }
}

/// Block of the file: its type and length, its body, its length again.
struct Block {
    bytes: Vec<u8>,
}

impl Block {
    fn new(kind: u32) -> Self {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend([0; 4]);
        Self { bytes }
    }
    fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_le_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }
    fn padded(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }
    fn write(mut self, out: &mut impl Write) -> io::Result<()> {
        let length = (self.bytes.len() as u32 + 4).to_le_bytes();
        self.bytes[4..8].copy_from_slice(&length);
        self.bytes.extend(length);
        out.write_all(&self.bytes)
    }
}
