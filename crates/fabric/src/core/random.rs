//! Random numbers of links, and those that the reference draws from shared generators.

use paceline_kernel::ids::{Id, List};
use paceline_kernel::rng::{Mrg32k3a, Ns3Streams, Purpose, Rng};

use crate::core::print::Print;
use crate::ids::{LinkId, PortId};
use paceline_run::spec::RunSpec;

/// The reference's shared generators; absent unless [`paceline_run::spec::Quirks::ns3_random`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedRandom {
    /// A new stream of ns-3's generator for every draw.
    ns3: Option<Ns3Streams>,
    /// The C library's `rand`.
    c_library: Option<Rng>,
}

impl SharedRandom {
    pub(super) fn of(spec: &RunSpec) -> Self {
        if !spec.quirks.ns3_random {
            return Self::default();
        }
        Self {
            ns3: Some(Ns3Streams::new(first_free_stream(spec))),
            c_library: Some(Rng::c_library()),
        }
    }
}

/// Decides which packets links lose.
#[derive(Clone, Debug)]
pub(super) enum LinkErrors {
    /// A stream for each port, of the packets that arrive there: each direction of a link has its own.
    Ports(List<PortId, Rng>),
    /// ns-3's generators: one for each link, or the reference's one for all.
    Links(List<LinkId, Mrg32k3a>),
}

impl SharedRandom {
    /// That of ns-3, if it is shared.
    #[inline]
    pub(crate) fn ns3(&mut self) -> Option<&mut Ns3Streams> {
        self.ns3.as_mut()
    }

    /// That from which schemes draw, if it is shared.
    #[inline]
    pub(crate) fn of_schemes(&mut self) -> Option<&mut Rng> {
        self.c_library.as_mut()
    }
}

impl SharedRandom {
    /// Where they are.
    pub(super) fn note(&self, print: &mut Print) {
        if self.ns3.is_some() || self.c_library.is_some() {
            print.note_whole(self);
        }
    }
}

impl LinkErrors {
    /// Whether it has drawn from a stream of the seed. (The reference's generators know no seed of ours.)
    pub(super) fn have_drawn(&self, seed: u64) -> bool {
        matches!(self, Self::Ports(streams) if have_moved(streams, seed, Purpose::LinkError))
    }

    pub(super) fn of(spec: &RunSpec) -> Self {
        if !spec.quirks.ns3_random {
            let stream = |port| Rng::stream(spec.seed, Purpose::LinkError, port as u64);
            return Self::Ports((0..2 * spec.links.len()).map(stream).collect());
        }
        let generators = if shares_error_model(spec) {
            1
        } else {
            spec.links.len()
        };
        Self::Links(List::of(generators, Mrg32k3a::ns3_stream(NS3_ERROR_STREAM)))
    }

    /// A number for a packet that arrives at `port` of `link`.
    pub(super) fn next_f64(&mut self, port: PortId, link: LinkId) -> f64 {
        match self {
            Self::Ports(streams) => streams[port].next_f64(),
            Self::Links(generators) => {
                let last = LinkId::new(generators.len() - 1);
                generators[last.min(link)].next_f64()
            }
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

/// Whether any of the streams of ports has been drawn from.
pub(crate) fn have_moved(rngs: &List<PortId, Rng>, seed: u64, purpose: Purpose) -> bool {
    let mut numbered = (0..).zip(rngs);
    numbered.any(|(port, rng)| *rng != Rng::stream(seed, purpose, port))
}
