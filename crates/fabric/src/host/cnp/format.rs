//! Encoding of CNPs in packets.

use paceline_congestion::Mark;
use paceline_congestion::receiver::Cnp;
use paceline_kernel::BitRate;

use crate::core::order::ORDER_FLAGS;
use crate::core::packet::Packet;

/// Flag in a CNP's tag: its note has a rate.
const TELLS_RATE: u8 = 1 << 7;

const MBPS: u64 = 1_000_000;

/// Returns the contents of a CNP packet.
pub(crate) fn read_cnp(packet: &Packet) -> Cnp {
    let marks = [Mark::None, Mark::Undetermined, Mark::Congested];
    let of_tag = |mark: &Mark| *mark as u8 == packet.tag & !(TELLS_RATE | ORDER_FLAGS);
    let rate = BitRate::from_bps(u64::from(packet.note) * MBPS);
    Cnp {
        mark: marks.into_iter().find(of_tag).unwrap_or_default(),
        rate: (packet.tag & TELLS_RATE != 0).then_some(rate),
    }
}

/// Writes a CNP into a packet.
pub(super) fn write_cnp(cnp: &Cnp, packet: &mut Packet) {
    packet.tag = cnp.mark as u8;
    if let Some(rate) = cnp.rate {
        packet.tag |= TELLS_RATE;
        packet.note = u32::try_from(rate.as_bps() / MBPS).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cnp_says_what_was_written() {
        let rates = [None, Some(BitRate::from_gbps(400)), Some(BitRate::from_bps(0))];
        for mark in [Mark::None, Mark::Undetermined, Mark::Congested] {
            for rate in rates {
                let (cnp, mut packet) = (Cnp { mark, rate }, Packet::EMPTY);
                write_cnp(&cnp, &mut packet);
                assert_eq!(read_cnp(&packet), cnp);
            }
        }
    }
}
