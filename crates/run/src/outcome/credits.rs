//! Under credits: how ports waited for some.

use paceline_kernel::Span;

/// Lanes of ports that had a packet to send and no credit for it, of all ports together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// How often that began.
    pub count: u64,
    /// How long it lasted, summed.
    pub time: Span,
}
