//! Ultra Ethernet packets, byte by byte, as flows with reliable unordered delivery send them.
//!
//! UDP to port 4793, then the headers of the UE Specification 1.0: the packet delivery sublayer (RUD request in table
//! 3-33, ACK in 3-35, NACK and control packet after it), and the standard request of the semantic sublayer (section
//! 3.4) as a WRITE. Fields that the trace does not record are zero: entropy values of packets (the source port is the
//! flow's), SACK bitmaps, the state of congestion control, the amount of a credit. There is no trailing CRC.

use super::wire::Message;

/// UDP destination port of UET.
pub(super) const PORT: u16 = 4793;

/// Header length of a RUD request or an ACK.
const PDS: usize = 12;
/// Header length of a NACK or a control packet, both with a payload of four bytes.
const PDS_LONG: usize = 16;
/// Header length of a standard request (UE Specification 1.0, section 3.4).
const SES: usize = 44;

/// Packet types of the packet delivery sublayer.
const RUD_REQUEST: u16 = 2;
const ACK: u16 = 7;
const NACK: u16 = 10;
const CONTROL: u16 = 11;
/// Values of the next-header field: none, or a standard request.
const NO_SES: u16 = 0;
const STANDARD: u16 = 3;
/// Type of a control packet that grants credit.
const CREDIT: u16 = 7;
/// Flags: a request asks for an ACK; an ACK or NACK echoes a mark.
const ASKS_FOR_ACK: u16 = 0x08;
const MARKED: u16 = 0x20;
/// NACK code for a trimmed payload.
const TRIMMED: u8 = 1;
/// Opcode of a WRITE, and its flags: end and start of the message.
const WRITE: u8 = 1;
const END: u8 = 0x02;
const START: u8 = 0x01;

/// Returns the length of a message from the packet delivery sublayer on.
pub(super) fn length(message: &Message) -> usize {
    match *message {
        Message::Write { payload, .. } => PDS + SES + payload as usize,
        Message::Ack { .. } => PDS,
        Message::Nack { .. } | Message::Cnp => PDS_LONG,
    }
}

/// Packs type, next header (or kind of a control packet) and flags.
fn prologue(kind: u16, next: u16, flags: u16) -> [u8; 2] {
    (kind << 11 | next << 7 | flags).to_be_bytes()
}

/// Appends a message for the context `to` at its receiver.
pub(super) fn push(frame: &mut Vec<u8>, to: u32, message: &Message) {
    // Contexts have 16 bits. That of the sender differs in its last.
    let contexts = [(to ^ 1) as u16, to as u16].map(u16::to_be_bytes);
    match *message {
        Message::Write {
            number,
            first,
            last,
            length,
            offset,
            payload,
        } => {
            frame.extend(prologue(RUD_REQUEST, STANDARD, ASKS_FOR_ACK));
            // The offset of the CLEAR PSN.
            frame.extend([0; 2]);
            frame.extend(number.to_be_bytes());
            frame.extend(contexts.as_flattened());
            let flags = if last { END } else { 0 } | if first { START } else { 0 };
            frame.extend([WRITE, flags]);
            // Message, generation, job, process, resource, buffer, initiator, key.
            frame.extend([0; 30]);
            match first {
                // The header's data.
                true => frame.extend([0; 8]),
                false => {
                    frame.extend(payload.to_be_bytes());
                    frame.extend(offset.to_be_bytes());
                }
            }
            frame.extend(length.to_be_bytes());
            frame.resize(frame.len() + payload as usize, 0);
        }
        Message::Ack {
            number, congested, ..
        } => {
            frame.extend(prologue(ACK, NO_SES, if congested { MARKED } else { 0 }));
            // The acknowledged packet is the cumulative one.
            frame.extend([0; 2]);
            frame.extend(number.to_be_bytes());
            frame.extend(contexts.as_flattened());
        }
        Message::Nack { number, congested } => {
            frame.extend(prologue(NACK, NO_SES, if congested { MARKED } else { 0 }));
            frame.extend([TRIMMED, 0]);
            frame.extend(number.to_be_bytes());
            frame.extend(contexts.as_flattened());
            frame.extend([0; 4]);
        }
        Message::Cnp => {
            frame.extend(prologue(CONTROL, CREDIT, 0));
            frame.extend([0; 6]);
            frame.extend(contexts.as_flattened());
            frame.extend([0; 4]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(message: &Message) -> Vec<u8> {
        let mut frame = Vec::new();
        push(&mut frame, 0x1_0305, message);
        assert_eq!(frame.len(), length(message));
        frame
    }

    fn write(first: bool, last: bool) -> Message {
        Message::Write {
            number: 0x0102_0304,
            first,
            last,
            length: 0x8000,
            offset: 0x4000,
            payload: 3,
        }
    }

    /// Headers worked out by hand from the tables of the specification.
    #[test]
    fn headers_by_hand() {
        let middle = bytes(&write(false, false));
        // 00010 0011 0001000: RUD request, standard request, asks for an ACK.
        assert_eq!(
            middle[..12],
            [0x11, 0x88, 0, 0, 1, 2, 3, 4, 0x03, 0x04, 0x03, 0x05]
        );
        assert_eq!(middle[12..14], [1, 0]);
        assert_eq!(middle[44..52], [0, 0, 0, 3, 0, 0, 0x40, 0]);
        assert_eq!(middle[52..56], [0, 0, 0x80, 0]);
        assert_eq!(middle.len(), 12 + 44 + 3);
        assert_eq!(bytes(&write(true, false))[13], 1);
        let only = bytes(&write(true, true));
        assert_eq!((only[13], &only[44..52]), (3, &[0; 8][..]));
        let ack = |congested| {
            bytes(&Message::Ack {
                number: 7,
                complete: false,
                congested,
            })
        };
        // 00111 0000 0100000.
        assert_eq!(ack(true), [0x38, 0x20, 0, 0, 0, 0, 0, 7, 0x03, 0x04, 0x03, 0x05]);
        assert_eq!(ack(false)[1], 0);
        let nack = bytes(&Message::Nack {
            number: 9,
            congested: false,
        });
        // 01010 0000 0000000, TRIMMED.
        assert_eq!(nack[..8], [0x50, 0, 1, 0, 0, 0, 0, 9]);
        // 01011 0111 0000000.
        assert_eq!(bytes(&Message::Cnp)[..2], [0x5b, 0x80]);
    }
}
