//! Random numbers of links, and those that the reference draws from shared generators.

use paceline_kernel::rng::{Mrg32k3a, Ns3Streams, Purpose, Rng};

use crate::spec::RunSpec;

/// The reference's shared generators; absent unless [`crate::spec::Quirks::ns3_random`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedRandom {
    /// A new stream of ns-3's generator for every draw.
    pub(crate) ns3: Option<Ns3Streams>,
    /// The C library's `rand`.
    pub(crate) c_library: Option<Rng>,
}

impl SharedRandom {
    pub(crate) fn of(spec: &RunSpec) -> Self {
        if !spec.quirks.ns3_random {
            return Self::default();
        }
        Self {
            ns3: Some(Ns3Streams::new(first_free_stream(spec))),
            c_library: Some(Rng::c_library()),
        }
    }
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
    /// One for each link, or (at place 0) the reference's one for all.
    pub(crate) fn of(spec: &RunSpec) -> Vec<Self> {
        if !spec.quirks.ns3_random {
            let stream = |link| Self::Stream(Rng::stream(spec.seed, Purpose::LinkError, link as u64));
            return (0..spec.links.len()).map(stream).collect();
        }
        let generators = if shares_error_model(spec) {
            1
        } else {
            spec.links.len()
        };
        vec![Self::Ns3(Mrg32k3a::ns3_stream(NS3_ERROR_STREAM)); generators]
    }

    pub(crate) fn next_f64(&mut self) -> f64 {
        match self {
            Self::Stream(rng) => rng.next_f64(),
            Self::Ns3(generator) => generator.next_f64(),
        }
    }
}

/// Stream 50 of those that ns-3 programs number themselves.
const NS3_ERROR_STREAM: u64 = (1 << 63) + 50;

/// The stream of ns-3's generator that the reference's first draw uses. Its set-up takes six streams
/// per node (the random variables of the node's protocols) and two per error model, of which there is
/// one for all links and one more for each link with an error rate of its own.
///
/// Found from its runs: with any other number its DCQCN marks do not come out.
fn first_free_stream(spec: &RunSpec) -> u64 {
    let own = if shares_error_model(spec) {
        0
    } else {
        spec.links.iter().filter(|link| link.error_rate > 0.0).count()
    };
    6 * spec.nodes.len() as u64 + 2 + 2 * own as u64
}

/// Whether all links lose packets at one rate, so that the reference's one error model does it.
fn shares_error_model(spec: &RunSpec) -> bool {
    spec.links
        .windows(2)
        .all(|pair| pair[0].error_rate == pair[1].error_rate)
}
