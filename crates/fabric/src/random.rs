//! Random numbers of links, and those that the reference draws from shared generators.

use paceline_kernel::rng::{Mrg32k3a, Ns3Streams, Rng};

/// The reference's shared generators; absent unless [`crate::spec::Quirks::ns3_random`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedRandom {
    /// A new stream of ns-3's generator for every draw.
    pub(crate) ns3: Option<Ns3Streams>,
    /// The C library's `rand`.
    pub(crate) c_library: Option<Rng>,
}

/// Decides which packets a link loses.
#[derive(Clone, Debug)]
pub(crate) enum LinkErrors {
    /// A stream of the link's own.
    Stream(Rng),
    /// ns-3's generator.
    Ns3(Mrg32k3a),
}

impl LinkErrors {
    pub(crate) fn next_f64(&mut self) -> f64 {
        match self {
            Self::Stream(rng) => rng.next_f64(),
            Self::Ns3(generator) => generator.next_f64(),
        }
    }
}
