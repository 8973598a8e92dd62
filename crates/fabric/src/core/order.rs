//! Orders of switches in congestion notifications, which a NIC carries out under any scheme.

use paceline_congestion::Mark;
use paceline_kernel::Span;

use crate::core::packet::Packet;

/// Flags in a notification's tag: it has an order, it is not for the scheme.
const ORDERS: u8 = 1 << 5;
const HIDDEN: u8 = 1 << 6;

/// Flags of orders among those of a notification's tag.
pub(crate) const ORDER_FLAGS: u8 = ORDERS | HIDDEN;

/// Writes a notification of congestion with the order to send nothing for `silence`, rounded up to ns. The scheme sees it
/// only if it is `shown`.
pub(crate) fn write_order(packet: &mut Packet, mark: Mark, silence: Span, shown: bool) {
    packet.tag = mark as u8;
    if silence > Span::ZERO {
        packet.tag |= ORDERS;
        packet.answers = u32::try_from(silence.as_ps().div_ceil(1000)).unwrap_or(u32::MAX);
    }
    if !shown {
        packet.tag |= HIDDEN;
    }
}

/// Returns the time for which a notification orders its flow to send nothing, and whether the scheme sees it.
pub(crate) fn read_order(packet: &Packet) -> (Span, bool) {
    let silence = match packet.tag & ORDERS {
        0 => Span::ZERO,
        _ => Span::from_ns(u64::from(packet.answers)),
    };
    (silence, packet.tag & HIDDEN == 0)
}
