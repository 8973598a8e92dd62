//! Random numbers that the reference draws from shared generators.

use paceline_kernel::rng::{Ns3Streams, Rng};

/// The reference's shared generators; absent unless [`crate::spec::Quirks::ns3_random`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedRandom {
    /// A new stream of ns-3's generator for every draw.
    pub(crate) ns3: Option<Ns3Streams>,
    /// The C library's `rand`.
    pub(crate) c_library: Option<Rng>,
}
