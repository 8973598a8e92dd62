//! Header fields that ECMP hashes.

use paceline_run::spec::{FlowSpec, Nics};

/// Header fields that ECMP hashes, packed as in the reference: addresses, then ports. The second
/// field has the NICs that the packets use, which no switch hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey([u32; 3], Nics);

impl FlowKey {
    /// Returns the key of a flow's data packets.
    pub fn of(flow: &FlowSpec) -> Self {
        Self::new(flow.src.0, flow.dst.0, flow.sport, flow.dport).with_nics(flow.nics)
    }
    /// Returns the key of packets from node `src` to node `dst`.
    pub fn new(src: u32, dst: u32, sport: u16, dport: u16) -> Self {
        let ports = u32::from(sport) | u32::from(dport) << 16;
        Self([address(src), address(dst), ports], Nics::ANY)
    }
    /// Returns the key of the flow's acknowledgements.
    pub fn reversed(self) -> Self {
        Self(
            [self.0[1], self.0[0], self.0[2].rotate_left(16)],
            self.1.reversed(),
        )
    }
    /// Returns the key of packets with this entropy value, which changes the source port.
    pub fn with_entropy(self, entropy: u16) -> Self {
        let [src, dst, ports] = self.0;
        Self([src, dst, ports ^ u32::from(entropy)], self.1)
    }
    /// Returns the key of packets that use these NICs.
    pub(crate) fn with_nics(self, nics: Nics) -> Self {
        Self(self.0, nics)
    }
    /// Returns the NICs that the packets use.
    pub(crate) fn nics(self) -> Nics {
        self.1
    }
    /// Returns the MurmurHash3 (x86, 32 bits) of the key's 12 bytes.
    pub fn hash(self, seed: u32) -> u32 {
        let mut h = seed;
        for word in self.0 {
            let k = word
                .wrapping_mul(0xcc9e_2d51)
                .rotate_left(15)
                .wrapping_mul(0x1b87_3593);
            h = (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        }
        h ^= 12;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        h ^ (h >> 16)
    }
}

/// Returns a node's address: 11.x.y.1, as the reference numbers its nodes.
pub fn address(node: u32) -> u32 {
    0x0b00_0001 + (node / 256) * 0x1_0000 + (node % 256) * 0x100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur3_of_known_keys() {
        // 12 zero bytes with seed 0, worked out by hand from the algorithm's definition: only the additive constants
        // and the finaliser have an effect.
        let mut h: u32 = 0;
        for _ in 0..3 {
            h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        }
        h ^= 12;
        h ^= h >> 16;
        h = h.wrapping_mul(0x85eb_ca6b);
        h ^= h >> 13;
        h = h.wrapping_mul(0xc2b2_ae35);
        h ^= h >> 16;
        assert_eq!(FlowKey([0; 3], Nics::ANY).hash(0), h);
    }

    #[test]
    fn addresses_and_reversal() {
        assert_eq!(address(1), 0x0b00_0101);
        assert_eq!(address(300), 0x0b01_2c01);
        let key = FlowKey::new(84, 123, 10000, 100);
        assert_eq!(key.reversed(), FlowKey::new(123, 84, 100, 10000));
    }
}
