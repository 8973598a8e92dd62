//! Switches: buffers, flow control, losses and marks.

use paceline_congestion::detect::{Detector, tcd};
use paceline_kernel::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

use super::isolation::Isolation;
use super::node::NodeId;
use super::notices::FastCnp;

/// Buffers, flow control and marking of every switch, except for those of a [`SwitchTier`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SwitchSpec {
    /// Buffer of a switch.
    pub buffer: Bytes,
    /// True if headroom and reserve of all ports are added to `buffer`, which ports share entirely; otherwise
    /// they are taken from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headroom_on_top: bool,
    /// Bytes guaranteed to each (ingress port, class).
    pub reserve: Bytes,
    /// Buffer of each ingress port for packets that arrive after it requested a pause.
    pub headroom: Headroom,
    /// Flow control between neighbours.
    pub flow_control: FlowControl,
    /// Marking curves by rate of the egress port; empty for no marking.
    pub ecn: Vec<EcnCurve>,
    /// Detector that overrules the curves, in the lossless classes that `class_detection` does not name.
    pub detection: Detection,
    /// Detectors of single priorities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_detection: Vec<(u8, Detection)>,
    /// Ports that provide the support for schemes in addition to marks and telemetry; `None` for none, and then no
    /// scheme may ask.
    pub assist: Option<AssistPorts>,
    /// Handling of packets for which there is no room.
    pub loss: LossSpec,
    /// Watchdog against pauses that last too long; `None` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<PfcWatchdog>,
    /// Congestion notifications that switches make; `None` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_cnp: Option<FastCnp>,
    /// Isolation of flows that congest a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Groups of switches that differ; if several name a switch, the first counts.
    #[serde(default)]
    pub tiers: Vec<SwitchTier>,
}

/// A buffer of 32 MiB under PFC with dynamic thresholds, without marks.
impl Default for SwitchSpec {
    fn default() -> Self {
        Self {
            buffer: Bytes::new(32 << 20),
            headroom_on_top: false,
            reserve: Bytes::new(4096),
            headroom: Headroom::PerLink {
                factor: 3.0,
                extra: Bytes::ZERO,
            },
            flow_control: FlowControl::Pfc(Pfc {
                threshold: PfcThreshold::Dynamic {
                    shift: 3,
                    reference_rate: BitRate::from_gbps(100),
                },
                resume_offset: Bytes::new(3072),
                mode: PfcMode::OnOff,
                response: PfcResponse::NONE,
            }),
            ecn: Vec::new(),
            detection: Detection::Red,
            class_detection: Vec::new(),
            assist: None,
            loss: LossSpec::NONE,
            watchdog: None,
            fast_cnp: None,
            isolation: None,
            tiers: Vec::new(),
        }
    }
}

/// Differing properties of a group of switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SwitchTier {
    /// Switches of the group.
    pub switches: Vec<NodeId>,
    /// Buffer that replaces [`SwitchSpec::buffer`].
    pub buffer: Bytes,
    /// Flag that replaces [`SwitchSpec::headroom_on_top`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headroom_on_top: bool,
    /// Headroom that replaces [`SwitchSpec::headroom`].
    pub headroom: Headroom,
    /// Replaces [`Pfc::threshold`], if both are dynamic; ignored without priority flow control. A static one
    /// applies to all switches, because it is checked for every packet.
    pub threshold: Option<PfcThreshold>,
    /// True if they send pauses. Those that do not drop packets beyond the threshold and the headroom.
    pub pauses: bool,
    /// Curves that replace [`SwitchSpec::ecn`].
    pub ecn: Vec<EcnCurve>,
}

/// Congestion detection at ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detection {
    /// Marking curves without a detector.
    #[default]
    Red,
    /// The curves, except for packets that a pause held back ([`paceline_congestion::detect::NonPausedEcn`]).
    NpEcn,
    /// Ternary congestion detection ([`paceline_congestion::detect::tcd`]).
    Tcd(Tcd),
}

/// Settings of ternary congestion detection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tcd {
    /// Variant of the algorithm.
    pub variant: tcd::Variant,
    /// Excess of congested flows over the departure rate, as a share of the link's rate: ε.
    pub epsilon: f64,
    /// max(Ton) of all ports; `None` for each port's own, which follows from ε, its link and the pause
    /// thresholds.
    pub max_ton: Option<Span>,
}

impl SwitchSpec {
    /// Returns the tier of a number, from 1 on.
    pub fn tier(&self, number: u16) -> Option<&SwitchTier> {
        self.tiers.get(usize::from(number.checked_sub(1)?))
    }

    /// Returns the number of each node's tier; 0 for nodes of none.
    pub fn tier_of(&self, nodes: usize) -> Vec<u16> {
        let mut tier_of = vec![0; nodes];
        for (tier, number) in self.tiers.iter().zip(1..) {
            for node in &tier.switches {
                let slot: &mut u16 = &mut tier_of[node.0 as usize];
                // The first tier that names a switch counts.
                if *slot == 0 {
                    *slot = number;
                }
            }
        }
        tier_of
    }

    /// Returns the bytes between the thresholds at which a pause starts and ends; `None` without flow
    /// control.
    pub fn pause_gap(&self) -> Option<Bytes> {
        let FlowControl::Pfc(pfc) = self.flow_control else {
            return None;
        };
        Some(match pfc.threshold {
            PfcThreshold::Dynamic { .. } => pfc.resume_offset,
            PfcThreshold::Static { xoff, xon } => Bytes::new(xoff.get().saturating_sub(xon.get())),
        })
    }

    /// Returns the longest time from the arrival of a pause frame to its effect.
    pub fn longest_response(&self) -> Span {
        match self.flow_control {
            FlowControl::Pfc(pfc) => pfc.response.longest(),
            FlowControl::None | FlowControl::Credits => Span::ZERO,
        }
    }

    /// Returns the detectors, each with a bit mask of its priorities.
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

/// Watchdog that ends overlong pauses of switches' egress queues, like SONiC's PFC watchdog.
///
/// A queue is in a storm if it has been paused for [`Self::detection`] without interruption and then holds
/// packets. The action lasts until no pause has been in force for [`Self::restoration`]. (A queue that is
/// empty when the time expires is checked again after the same time.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PfcWatchdog {
    /// Duration from which on a pause is a storm.
    pub detection: Span,
    /// Time without a pause after which the storm is over.
    pub restoration: Span,
    /// Action during the storm.
    pub action: WatchdogAction,
}

/// Action of a watchdog on the queue of a port and class in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Drop the packets in the queue, those for it, and those that arrive through the port in this class.
    Drop,
    /// Ignore the pauses and forward.
    Forward,
    /// Only report the storm.
    Alert,
}

/// Handling of packets for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LossSpec {
    /// Bit mask of the priorities under flow control; the others are lossy. Without flow control all are.
    pub lossless: u8,
    /// Time at which a lossy packet is dropped.
    pub drop: DropPolicy,
    /// Trimming of lossy data packets, which lose their payload only.
    pub trim: Option<Trim>,
}

impl LossSpec {
    /// With flow control no class is lossy, without it all are; lossy packets are dropped if the buffer is
    /// full.
    pub const NONE: Self = Self {
        lossless: u8::MAX,
        drop: DropPolicy::Shared,
        trim: None,
    };
}

/// Condition that drops a packet of a lossy class, in addition to a full buffer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropPolicy {
    /// No condition other than a full buffer.
    Shared,
    /// The egress queue would exceed this length.
    Tail(Bytes),
    /// The egress queue would exceed `alpha` times the free part of the shared buffer (Choudhury and Hahne,
    /// "Dynamic queue length thresholds for shared-memory packet switches", 1998).
    Dynamic {
        /// Factor of the free buffer.
        alpha: f64,
    },
}

/// Trimming: a data packet that would be dropped loses its payload, and its headers continue in class 0,
/// which overtakes all others (Cheng et al., "Catch the Whole Lot in an Action: Rapid Precise Packet Loss
/// Notification in Data Centers", NSDI 2014; Handley et al., NDP, SIGCOMM 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Trim {
    /// Bytes that class 0 of the egress port may hold; further headers are dropped.
    pub queue: Bytes,
}

/// Ports that run the switch halves of schemes.
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
        /// Additional bytes: packets already started, processing time.
        extra: Bytes,
    },
    /// One size for every port.
    Fixed(Bytes),
}

/// Flow control between neighbouring nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowControl {
    /// None: packets are dropped if there is no room for them, see [`LossSpec`].
    None,
    /// Priority flow control (IEEE 802.1Qbb).
    Pfc(Pfc),
    /// Credits, with the settings of [`crate::spec::RunSpec::lanes`].
    Credits,
}

/// Settings of priority flow control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pfc {
    /// Threshold that starts a pause.
    pub threshold: PfcThreshold,
    /// Distance of the resume threshold below a dynamic pause threshold, in shared bytes.
    pub resume_offset: Bytes,
    /// End of a pause.
    pub mode: PfcMode,
    /// Time from a frame's arrival to its effect.
    pub response: PfcResponse,
}

/// Reaction time of a port to a pause frame: `least`, plus a random time up to `jitter` that is drawn for
/// each frame. A frame does not overtake another of its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PfcResponse {
    /// Constant part of the reaction time.
    pub least: Span,
    /// Upper limit of the random part.
    pub jitter: Span,
}

impl PfcResponse {
    /// Immediate reaction, without extra time.
    pub const NONE: Self = Self {
        least: Span::ZERO,
        jitter: Span::ZERO,
    };

    /// Returns the longest reaction time.
    pub const fn longest(self) -> Span {
        Span::from_ps(self.least.as_ps().saturating_add(self.jitter.as_ps()))
    }
}

/// Threshold at which an ingress (port, class) requests a pause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum PfcThreshold {
    /// Shared bytes of the (port, class) reach `alpha` times the free part of the shared pool, with alpha =
    /// `2^-shift`. The shift is one less for each doubling of the port's rate above `reference_rate`, but the
    /// reduction never takes it below zero.
    Dynamic {
        /// Shift of ports at `reference_rate`: from [`PfcThreshold::SHIFT_MIN`] to
        /// [`PfcThreshold::SHIFT_MAX`].
        shift: i32,
        /// Rate for which `shift` holds: the hosts' link rate. With [`BitRate::LARGEST`] ports of every rate
        /// have `shift`.
        reference_rate: BitRate,
    },
    /// Bytes of the (port, class) exceed `xoff`; the pause ends below `xon`.
    Static {
        /// Bytes above which a pause starts.
        xoff: Bytes,
        /// Bytes below which it ends.
        xon: Bytes,
    },
}

impl PfcThreshold {
    /// Smallest shift of a dynamic threshold: alpha is 128, more than any switch offers.
    pub const SHIFT_MIN: i32 = -7;
    /// Largest shift: 2^-56 of any buffer is nothing.
    pub const SHIFT_MAX: i32 = 56;

    /// Returns the shift of ports whose rate is `doublings` doublings above the reference.
    pub const fn shift_at(shift: i32, doublings: u32) -> i32 {
        let faster = shift - doublings as i32;
        match shift > 0 {
            true if faster > 0 => faster,
            true => 0,
            false => shift,
        }
    }
}

/// Duration of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PfcMode {
    /// Until the resume frame arrives.
    OnOff,
    /// For `pause` unless renewed; the pausing port renews it every half of that as long as necessary.
    Quanta {
        /// Duration that a pause frame carries.
        pause: Span,
    },
}

/// Marking curve of the ports of one rate (RED at dequeue). `kmin == kmax` is a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EcnCurve {
    /// Rate of the ports.
    pub rate: BitRate,
    /// Queue length up to which nothing is marked.
    pub kmin: Bytes,
    /// Queue length above which every packet is marked.
    pub kmax: Bytes,
    /// Marking probability at `kmax`.
    pub pmax: f64,
}
