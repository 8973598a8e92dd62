//! What schemes say of their numbers, for defaults elsewhere and for warnings.

use paceline_kernel::{BitRate, Bytes};

/// What a flow of a scheme always sends, however strong congestion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendFloor {
    /// At this rate.
    Rate {
        /// The parameter that says so.
        param: &'static str,
        /// The rate.
        rate: BitRate,
    },
    /// A packet per round trip.
    Packet,
}

/// The marking curve that a scheme is published with: at ports of rate `line`, on others in proportion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// Bytes in the queue below which nothing is marked.
    pub kmin: Bytes,
    /// Bytes in the queue above which everything is marked.
    pub kmax: Bytes,
    /// The probability at `kmax`.
    pub pmax: f64,
    /// The rate of ports that these are for.
    pub line: BitRate,
}

impl Marking {
    /// What the launcher of HPCC's public code writes.
    pub const LAUNCHER: Self = Self::of(100, 400, 0.2, 25);
    /// The same launcher for DCTCP: a step at 30 KB per 10 Gbit/s.
    pub const STEP: Self = Self::of(30, 30, 1.0, 10);
    /// UEC's public simulator: from 0.2 to 0.8 bandwidth-delay products of 100 Gbit/s and 14 us.
    pub const UEC: Self = Self::of(35, 140, 1.0, 100);
    /// A step for ACC, of which no number is known: ours.
    pub const ACC: Self = Self::of(50, 50, 1.0, 40);
    /// A step for IBCC with ternary detection, of which no number is known: a sixteenth of a lane's buffer, as the
    /// threshold of IBCC's own marks.
    pub const IBCC_TCD: Self = Self::of(20, 20, 1.0, 400);
    /// DCQCN's paper, at 40 Gbit/s.
    pub const DCQCN_PAPER: Self = Self::of(5, 200, 0.01, 40);

    const fn of(kmin_kb: u64, kmax_kb: u64, pmax: f64, gbps: u64) -> Self {
        Self {
            kmin: Bytes::new(kmin_kb * 1000),
            kmax: Bytes::new(kmax_kb * 1000),
            pmax,
            line: BitRate::from_gbps(gbps),
        }
    }
}

/// A network, as far as a scheme may not work in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkFacts {
    /// Whether each full packet is acknowledged.
    pub acks_each_packet: bool,
    /// Whether go-back-N goes back to the start of a chunk of packets.
    pub chunks: bool,
    /// Whether packets are paced.
    pub pacing: bool,
    /// Whether switches mark.
    pub marks: bool,
    /// Whether there are pauses.
    pub pauses: bool,
    /// Whether links are under credits.
    pub credits: bool,
    /// Whether ports mark packets as undetermined.
    pub undetermined: bool,
}

/// What of a network a scheme does not work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incompatible {
    /// It would not be the scheme: such a run is refused.
    Refused {
        /// What says so.
        setting: Setting,
        /// Why.
        why: &'static str,
        /// What to write instead.
        instead: &'static str,
    },
    /// It is another scheme than it seems: such a run is warned of.
    Doubtful(&'static str),
}

impl Incompatible {
    /// Going back to chunks, for a scheme whose window may be less than one.
    pub const fn with_chunks(why: &'static str) -> Self {
        Self::Refused {
            setting: Setting::Chunk,
            why,
            instead: "write `back-to-chunk = \"off\"`",
        }
    }
}

/// The setting of a network that says one of its [`NetworkFacts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// When receivers acknowledge.
    Ack,
    /// The chunk that go-back-N goes back to the start of.
    Chunk,
    /// Whether packets are paced.
    Pacing,
    /// How switches mark.
    Marks,
}

/// A parameter that has a value published for lines of one rate, on another line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateScaled {
    /// The parameter.
    pub param: &'static str,
    /// Its value.
    pub value: String,
    /// The rate of lines that the value is for.
    pub line: BitRate,
    /// What would be in proportion on the line at hand.
    pub in_proportion: String,
}

impl RateScaled {
    /// The parameters among `values` (name, value at hand, the same as published for a line of a given rate)
    /// that have what is published for one of the lines `known` and not for `line`.
    pub(crate) fn among<const N: usize>(
        line: BitRate,
        known: &[BitRate],
        at_hand: [(&'static str, String); N],
        published: impl Fn(BitRate) -> [String; N],
    ) -> Vec<Self> {
        let fitting = published(line);
        let mut found = Vec::new();
        for (i, (param, value)) in at_hand.into_iter().enumerate() {
            let meant = known.iter().find(|&&known| published(known)[i] == value);
            if let Some(&meant) = meant
                && value != fitting[i]
            {
                found.push(Self {
                    param,
                    value,
                    line: meant,
                    in_proportion: fitting[i].clone(),
                });
            }
        }
        found
    }
}
