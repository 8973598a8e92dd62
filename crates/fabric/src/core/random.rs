//! Random numbers of links, and those that the reference draws from shared generators.

use paceline_kernel::ids::{Id, List};
use paceline_kernel::rng::{Mrg32k3a, Ns3Streams, Purpose, Rng};

use crate::core::print::StateHash;
use crate::ids::{LinkId, PortId};
use paceline_run::spec::RunSpec;

/// The reference's shared generators; absent unless [`paceline_run::spec::Quirks::ns3_random`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedRandom {
    /// Streams of ns-3's generator, of which every draw takes the next.
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

/// A random stream for each port, created when it is first drawn from: most networks draw from none, and a large
/// network has hundreds of thousands of ports.
#[derive(Clone, Debug)]
pub(crate) struct PortStreams {
    seed: u64,
    purpose: Purpose,
    made: Vec<Rng>,
    /// Index of each port's stream in `made`, counted from 1; 0 if it has none.
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
        // By the port's number, not in order of creation, which differs between runs in one part and in several.
        let stream = Rng::stream(self.seed, self.purpose, port.index() as u64);
        self.made.push(stream);
        self.number[port] = self.made.len() as u32;
    }

    /// Returns true if something has been drawn.
    pub(crate) fn have_drawn(&self) -> bool {
        !self.made.is_empty()
    }

    /// Notes the states of all streams.
    pub(crate) fn note(&self, print: &mut StateHash) {
        if self.have_drawn() {
            for (port, number) in self.number.numbered().filter(|(_, number)| **number > 0) {
                print.note(port.index() as u64);
                print.note_stream(&self.made[*number as usize - 1]);
            }
        }
    }
}

/// Random decisions which packets links lose.
#[derive(Clone, Debug)]
pub(super) enum LinkErrors {
    /// A stream for each port, for the packets that arrive there: each direction of a link has its own.
    Ports(PortStreams),
    /// ns-3's generators: one for each link, or the reference's single one.
    Links(List<LinkId, Mrg32k3a>),
}

impl SharedRandom {
    /// Returns ns-3's streams, if the run shares them.
    #[inline]
    pub(crate) fn ns3(&mut self) -> Option<&mut Ns3Streams> {
        self.ns3.as_mut()
    }

    /// Returns the generator that schemes draw from, if it is shared.
    #[inline]
    pub(crate) fn of_schemes(&mut self) -> Option<&mut Rng> {
        self.c_library.as_mut()
    }
}

impl SharedRandom {
    /// Notes the positions of the generators.
    pub(super) fn note(&self, print: &mut StateHash) {
        if self.ns3.is_some() || self.c_library.is_some() {
            print.note_whole(self);
        }
    }
}

impl LinkErrors {
    /// Returns true if a number has been drawn from a stream of the seed. (The reference's generators do not depend on
    /// the seed.)
    pub(super) fn have_drawn(&self) -> bool {
        matches!(self, Self::Ports(streams) if streams.have_drawn())
    }

    pub(super) fn of(spec: &RunSpec) -> Self {
        if !spec.quirks.ns3_random {
            let ports = 2 * spec.links.len();
            return Self::Ports(PortStreams::new(spec.seed, Purpose::LinkError, ports));
        }
        // With equal rates the reference has a single error model, from which all links draw in turn.
        let generators = if shares_error_model(spec) {
            1
        } else {
            spec.links.len()
        };
        Self::Links(List::of(generators, Mrg32k3a::ns3_stream(NS3_ERROR_STREAM)))
    }

    /// Returns a number in [0, 1) for a packet that arrives at `port` of `link`.
    pub(super) fn next_f64(&mut self, port: PortId, link: LinkId) -> f64 {
        match self {
            Self::Ports(streams) => streams.get(port).next_f64(),
            Self::Links(generators) => {
                // A single generator serves all links.
                let last = LinkId::new(generators.len() - 1);
                generators[last.min(link)].next_f64()
            }
        }
    }
}

/// Stream 50 of those that ns-3 programs number themselves.
const NS3_ERROR_STREAM: u64 = (1 << 63) + 50;

/// Returns the stream of ns-3's generator that the reference's first draw uses. Its set-up takes six streams per node
/// (the random variables of the node's protocols) and two per error model. There is one error model for all links, and
/// one more for each link with a different error rate.
///
/// The numbers were found from its runs: with any other, its DCQCN marks differ.
fn first_free_stream(spec: &RunSpec) -> u64 {
    let own = if shares_error_model(spec) {
        0
    } else {
        spec.links.iter().filter(|link| link.error_rate > 0.0).count()
    };
    6 * spec.nodes.len() as u64 + 2 + 2 * own as u64
}

/// Returns true if all links lose packets at one rate, so that the reference needs one error model.
fn shares_error_model(spec: &RunSpec) -> bool {
    spec.links
        .windows(2)
        .all(|pair| pair[0].error_rate == pair[1].error_rate)
}

/// Returns true if any of the streams has been drawn from.
pub(crate) fn have_moved(rngs: &List<PortId, Rng>, seed: u64, purpose: Purpose) -> bool {
    let mut numbered = (0..).zip(rngs);
    numbered.any(|(port, rng)| *rng != Rng::stream(seed, purpose, port))
}
