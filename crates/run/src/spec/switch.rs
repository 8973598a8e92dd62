//! Switches: buffers, flow control, what is lost, marks.

use paceline_congestion::detect::{Detector, tcd};
use paceline_kernel::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

use super::node::NodeId;

/// Buffers, flow control, marking of every switch, but for those of a [`SwitchTier`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SwitchSpec {
    /// Buffer of a switch.
    pub buffer: Bytes,
    /// Headroom and reserve of all ports come on top of `buffer`, which ports share whole; otherwise they come out of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headroom_on_top: bool,
    /// Bytes that each (ingress port, class) always has.
    pub reserve: Bytes,
    /// What each ingress port keeps for packets that arrive after it asked for a pause.
    pub headroom: Headroom,
    /// Flow control.
    pub flow_control: FlowControl,
    /// Marking curves by rate of the egress port; empty for no marking.
    pub ecn: Vec<EcnCurve>,
    /// What overrules the curves, in the lossless classes that `class_detection` does not name.
    pub detection: Detection,
    /// What overrules them in single priorities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_detection: Vec<(u8, Detection)>,
    /// Which ports do what schemes ask of switches alongside marks and telemetry; `None`: none, and no
    /// scheme may ask.
    pub assist: Option<AssistPorts>,
    /// What happens to packets for which there is no room.
    pub loss: LossSpec,
    /// What ends pauses that last too long; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<PfcWatchdog>,
    /// Switches that have some of this in their own way; of several that name a switch, the first counts.
    #[serde(default)]
    pub tiers: Vec<SwitchTier>,
}

/// What some switches have in their own way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SwitchTier {
    /// Which.
    pub switches: Vec<NodeId>,
    /// Instead of [`SwitchSpec::buffer`].
    pub buffer: Bytes,
    /// Instead of [`SwitchSpec::headroom_on_top`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headroom_on_top: bool,
    /// Instead of [`SwitchSpec::headroom`].
    pub headroom: Headroom,
    /// Instead of [`Pfc::threshold`], where both are dynamic; without priority flow control it is ignored. (A static one is
    /// all switches': it is looked at with every packet.)
    pub threshold: Option<PfcThreshold>,
    /// Whether they pause at all. Those that do not drop packets beyond the threshold and the headroom.
    pub pauses: bool,
    /// Instead of [`SwitchSpec::ecn`].
    pub ecn: Vec<EcnCurve>,
}

/// How ports tell that they are congested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detection {
    /// By the curves alone.
    #[default]
    Red,
    /// By the curves, and packets that a pause held back are spared ([`paceline_congestion::detect::NonPausedEcn`]).
    NpEcn,
    /// Ternary ([`paceline_congestion::detect::tcd`]).
    Tcd(Tcd),
}

/// Ternary congestion detection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tcd {
    /// Which.
    pub variant: tcd::Variant,
    /// How much more congested flows bring than leaves, as a share of the link's rate: ε.
    pub epsilon: f64,
    /// max(Ton) of all ports; `None`: each port's own, by ε, its link and the thresholds of pauses.
    pub max_ton: Option<Span>,
}

impl SwitchSpec {
    /// The tier of a number: from 1.
    pub fn tier(&self, number: u16) -> Option<&SwitchTier> {
        self.tiers.get(usize::from(number.checked_sub(1)?))
    }

    /// By node, the number of the tier that it is of; 0 for all others.
    pub fn tier_of(&self, nodes: usize) -> Vec<u16> {
        let mut tier_of = vec![0; nodes];
        for (tier, number) in self.tiers.iter().zip(1..) {
            for node in &tier.switches {
                let slot: &mut u16 = &mut tier_of[node.0 as usize];
                if *slot == 0 {
                    *slot = number;
                }
            }
        }
        tier_of
    }

    /// Bytes between the threshold of a pause and that of its end; none without flow control.
    pub fn pause_gap(&self) -> Option<Bytes> {
        let FlowControl::Pfc(pfc) = self.flow_control else {
            return None;
        };
        Some(match pfc.threshold {
            PfcThreshold::Dynamic { .. } => pfc.resume_offset,
            PfcThreshold::Static { xoff, xon } => Bytes::new(xoff.get().saturating_sub(xon.get())),
        })
    }

    /// The longest time that a pause may take to be heeded once its frame has arrived.
    pub fn longest_response(&self) -> Span {
        match self.flow_control {
            FlowControl::Pfc(pfc) => pfc.response.longest(),
            FlowControl::None | FlowControl::Credits => Span::ZERO,
        }
    }

    /// What overrules the curves, and in which priorities (a bit each), where anything does.
    pub fn detectors(&self) -> Vec<(u8, Detector)> {
        let mut rest = self.loss.lossless;
        let mut found = Vec::new();
        for &(priority, detection) in &self.class_detection {
            rest &= !(1 << priority);
            found.extend(self.detector(detection).map(|detector| (1 << priority, detector)));
        }
        found.extend(self.detector(self.detection).map(|detector| (rest, detector)));
        found
    }

    fn detector(&self, detection: Detection) -> Option<Detector> {
        match detection {
            Detection::Red => None,
            Detection::NpEcn => Some(Detector::NonPaused),
            Detection::Tcd(tcd) => Some(Detector::Ternary(tcd::Settings {
                variant: tcd.variant,
                epsilon: tcd.epsilon,
                gap: self.pause_gap().unwrap_or(Bytes::ZERO),
                max_ton: tcd.max_ton,
            })),
        }
    }
}

/// Ends pauses of switches' egress queues that last too long, as SONiC's PFC watchdog does.
///
/// A queue that has been paused for [`Self::detection`] without an end, and holds packets then, is in a storm. What is done
/// lasts until no pause has been in force for [`Self::restoration`]. (A queue that is empty when the time is over is looked at
/// again after as long.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PfcWatchdog {
    /// How long a pause lasts before it is a storm.
    pub detection: Span,
    /// How long there must be no pause before the storm is over.
    pub restoration: Span,
    /// What is done meanwhile.
    pub action: WatchdogAction,
}

/// What a watchdog does with the queue of a port and class in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Drops what the queue holds, what is for it, and what comes in through the port in this class.
    Drop,
    /// Ignores the pauses.
    Forward,
    /// Tells of it.
    Alert,
}

/// What happens to packets for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LossSpec {
    /// Priorities under flow control, a bit each; the others are lossy. Without flow control all are.
    pub lossless: u8,
    /// When a lossy packet is dropped.
    pub drop: DropPolicy,
    /// Whether lossy data packets lose their payload only.
    pub trim: Option<Trim>,
}

impl LossSpec {
    /// With flow control no class is lossy, without it all are; what is lossy is dropped when the
    /// buffer is full.
    pub const NONE: Self = Self {
        lossless: u8::MAX,
        drop: DropPolicy::Shared,
        trim: None,
    };
}

/// When a packet of a lossy class is dropped: always when the buffer is full, and perhaps before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropPolicy {
    /// Not before.
    Shared,
    /// When its egress queue would be longer than this.
    Tail(Bytes),
    /// When its egress queue would be longer than `alpha` times what is free of the shared buffer
    /// (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
    /// 1998).
    Dynamic {
        /// The factor.
        alpha: f64,
    },
}

/// A data packet that would be dropped loses its payload, and its headers go on in class 0, which
/// overtakes all others (Cheng et al., "Catch the Whole Lot in an Action: Rapid Precise Packet Loss
/// Notification in Data Centers", NSDI 2014; Handley et al., NDP, SIGCOMM 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Trim {
    /// Bytes that class 0 of the egress port may hold; a header beyond them is dropped.
    pub queue: Bytes,
}

/// Ports that run the switches' halves of schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssistPorts {
    /// All ports of switches.
    Switches,
    /// Ports of switches that lead to other switches.
    BetweenSwitches,
}

/// Size of an ingress port's headroom.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Headroom {
    /// `factor` times rate times one-way delay, plus `extra` bytes.
    PerLink {
        /// Multiple of rate times delay.
        factor: f64,
        /// Bytes on top: packets that had started, processing time.
        extra: Bytes,
    },
    /// The same for every port.
    Fixed(Bytes),
}

/// Hop-by-hop flow control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowControl {
    /// None: packets are dropped when there is no room for them, see [`LossSpec`].
    None,
    /// Priority flow control (IEEE 802.1Qbb).
    Pfc(Pfc),
    /// Credits: what they are says [`crate::spec::RunSpec::lanes`].
    Credits,
}

/// Priority flow control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pfc {
    /// When to pause.
    pub threshold: PfcThreshold,
    /// A dynamic threshold's resume: shared bytes at least this far below the threshold.
    pub resume_offset: Bytes,
    /// How long a pause lasts.
    pub mode: PfcMode,
    /// From a frame's arrival to its effect.
    pub response: PfcResponse,
}

/// How long a port takes to apply a frame that has arrived: `least`, and a time at random up to `jitter`, of each frame
/// again. A frame does not overtake another of its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PfcResponse {
    /// What each takes.
    pub least: Span,
    /// What it may take longer.
    pub jitter: Span,
}

impl PfcResponse {
    /// At once, as links' delays and the packets before it let it.
    pub const NONE: Self = Self {
        least: Span::ZERO,
        jitter: Span::ZERO,
    };

    /// What a frame may take.
    pub const fn longest(self) -> Span {
        Span::from_ps(self.least.as_ps().saturating_add(self.jitter.as_ps()))
    }
}

/// When an ingress (port, class) asks for a pause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum PfcThreshold {
    /// Shared bytes of the (port, class) reach `alpha` times what is free of the shared pool, where
    /// alpha is `2^-shift`, the shift one less for each doubling of the port's rate above
    /// `reference_rate` (not below zero for that).
    Dynamic {
        /// The shift of ports at `reference_rate`: from [`PfcThreshold::SHIFT_MIN`] to [`PfcThreshold::SHIFT_MAX`].
        shift: i32,
        /// The rate that goes with `shift`: the hosts' link rate. [`BitRate::LARGEST`]: ports of every rate have `shift`.
        reference_rate: BitRate,
    },
    /// Bytes of the (port, class) exceed `xoff`; resume below `xon`.
    Static {
        /// Pause above.
        xoff: Bytes,
        /// Resume below.
        xon: Bytes,
    },
}

impl PfcThreshold {
    /// The least shift of a dynamic threshold: alpha is 128, more than any switch offers.
    pub const SHIFT_MIN: i32 = -7;
    /// The largest: 2^-56 of any buffer is nothing.
    pub const SHIFT_MAX: i32 = 56;

    /// The shift of ports whose rate is `doublings` times twice the reference.
    pub const fn shift_at(shift: i32, doublings: u32) -> i32 {
        let faster = shift - doublings as i32;
        match shift > 0 {
            true if faster > 0 => faster,
            true => 0,
            false => shift,
        }
    }
}

/// How long a pause lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PfcMode {
    /// Until the resume frame.
    OnOff,
    /// For `pause` unless renewed; the pausing port renews it every half of that while it must.
    Quanta {
        /// The time that a pause frame carries.
        pause: Span,
    },
}

/// RED marking of the ports of one rate, at dequeue. `kmin == kmax` is a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EcnCurve {
    /// The ports' rate.
    pub rate: BitRate,
    /// No mark at or below.
    pub kmin: Bytes,
    /// Every packet is marked above.
    pub kmax: Bytes,
    /// Probability at `kmax`.
    pub pmax: f64,
}
