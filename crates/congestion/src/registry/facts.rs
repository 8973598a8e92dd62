//! Facts about schemes' parameters, for defaults elsewhere and for warnings.

use paceline_kernel::{BitRate, Bytes};

/// Lower bound of what a flow sends, however strong congestion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendFloor {
    /// A constant rate, set by a parameter.
    Rate {
        /// Parameter that sets it.
        param: &'static str,
        /// Value of the bound.
        rate: BitRate,
    },
    /// One packet per round trip.
    Packet,
}

/// Marking curve published with a scheme: for ports of rate `line`, scaled in proportion for others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// Queue length below which nothing is marked.
    pub kmin: Bytes,
    /// Queue length above which everything is marked.
    pub kmax: Bytes,
    /// Marking probability at `kmax`.
    pub pmax: f64,
    /// Rate of the ports for which the thresholds hold.
    pub line: BitRate,
}

impl Marking {
    /// Curve of the launcher of HPCC's public code.
    pub const LAUNCHER: Self = Self::of(100, 400, 0.2, 25);
    /// Step of the same launcher for DCTCP: 30 KB per 10 Gbit/s.
    pub const STEP: Self = Self::of(30, 30, 1.0, 10);
    /// Curve of UEC's public simulator: from 0.2 to 0.8 bandwidth-delay products of 100 Gbit/s and 14 us.
    pub const UEC: Self = Self::of(35, 140, 1.0, 100);
    /// Step for ACC: ours, since no number is published.
    pub const ACC: Self = Self::of(50, 50, 1.0, 40);
    /// Step for IBCC with ternary detection, for which no number is known: a sixteenth of a lane's buffer,
    /// like the threshold of IBCC's own marks.
    pub const IBCC_TCD: Self = Self::of(20, 20, 1.0, 400);
    /// Curve of DCQCN's paper, at 40 Gbit/s.
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

/// Properties of a network that may not suit a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkFacts {
    /// True if each full packet is acknowledged.
    pub acks_each_packet: bool,
    /// True if go-back-N returns to the start of a chunk of packets.
    pub chunks: bool,
    /// True if packets are paced.
    pub pacing: bool,
    /// True if switches mark packets.
    pub marks: bool,
    /// True if priority flow control sends pauses.
    pub pauses: bool,
    /// True if links use credits.
    pub credits: bool,
    /// True if ports mark packets as undetermined.
    pub undetermined: bool,
}

/// Property of a network with which a scheme does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incompatible {
    /// The scheme could not work as defined: the run is refused.
    Refused {
        /// Setting that is responsible.
        setting: Setting,
        /// Reason for the refusal.
        why: &'static str,
        /// Advice on what to write instead.
        instead: &'static str,
    },
    /// The scheme behaves differently from what its name suggests: the run prints a warning.
    Doubtful(&'static str),
}

impl Incompatible {
    /// Creates the refusal of retransmission by chunks, for a scheme whose window may be smaller than a
    /// chunk.
    pub const fn with_chunks(why: &'static str) -> Self {
        Self::Refused {
            setting: Setting::Chunk,
            why,
            instead: "write `back-to-chunk = \"off\"`",
        }
    }
}

/// Network setting that determines one of the [`NetworkFacts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Frequency of receivers' acknowledgements.
    Ack,
    /// Chunk to whose start go-back-N returns.
    Chunk,
    /// Pacing of packets in NICs.
    Pacing,
    /// Marking curves of switches.
    Marks,
}

/// Parameter with a value published for lines of one rate, used on another line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateScaled {
    /// Key of the parameter.
    pub param: &'static str,
    /// Present value, as a scenario writes it.
    pub value: String,
    /// Rate of lines for which the value is published.
    pub line: BitRate,
    /// Value in proportion to the present line.
    pub in_proportion: String,
}

impl RateScaled {
    /// Returns the parameters among `at_hand` (name and present value) that equal the `published` value for
    /// one of the lines `known`, but not that for `line`.
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
