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

/// A random stream for each port, made when it is first drawn from: in most networks none is, and a large network has
/// hundreds of thousands of ports.
#[derive(Clone, Debug)]
pub(crate) struct PortStreams {
    seed: u64,
    purpose: Purpose,
    made: Vec<Rng>,
    /// Number of each port's stream among those that are made, counted from 1; 0 if it has none.
    number: List<PortId, u32>,
}

impl PortStreams {
    /// Prepares the streams of `ports` ports.
    pub(crate) fn new(seed: u64, purpose: Purpose, ports: usize) -> Self {
        Self {
            seed,
            purpose,
            made: Vec::new(),
            number: List::of(ports, 0),
        }
    }

    /// Returns true if ports have streams.
    pub(crate) fn is_on(&self) -> bool {
        !self.number.is_empty()
    }

    /// Returns the stream of a port, to be drawn from.
    #[inline]
    pub(crate) fn get(&mut self, port: PortId) -> &mut Rng {
        if self.number[port] == 0 {
            self.make(port);
        }
        &mut self.made[self.number[port] as usize - 1]
    }

    #[cold]
    fn make(&mut self, port: PortId) {
        let stream = Rng::stream(self.seed, self.purpose, port.index() as u64);
        self.made.push(stream);
        self.number[port] = self.made.len() as u32;
    }

    /// Returns true if something has been drawn.
    pub(crate) fn have_drawn(&self) -> bool {
        !self.made.is_empty()
    }

    /// Notes the states of all streams.
    pub(crate) fn note(&self, print: &mut Print) {
        if self.have_drawn() {
            for (port, number) in self.number.numbered().filter(|(_, number)| **number > 0) {
                print.note(port.index() as u64);
                print.note_stream(&self.made[*number as usize - 1]);
            }
        }
    }

    /// Takes over a port's stream from another part of the run.
    pub(crate) fn take_over(&mut self, other: &Self, port: PortId) {
        if let Some(made) = other.number[port].checked_sub(1) {
            self.get(port).clone_from(&other.made[made as usize]);
        }
    }
}

/// Decides which packets links lose.
#[derive(Clone, Debug)]
pub(super) enum LinkErrors {
    /// A stream for each port, of the packets that arrive there: each direction of a link has its own.
    Ports(PortStreams),
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
    pub(super) fn have_drawn(&self) -> bool {
        matches!(self, Self::Ports(streams) if streams.have_drawn())
    }

    pub(super) fn of(spec: &RunSpec) -> Self {
        if !spec.quirks.ns3_random {
            let ports = 2 * spec.links.len();
            return Self::Ports(PortStreams::new(spec.seed, Purpose::LinkError, ports));
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
            Self::Ports(streams) => streams.get(port).next_f64(),
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
