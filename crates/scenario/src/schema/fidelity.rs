//! Whose behaviour a run has. All that a fidelity decides by itself is its row of [`PROFILES`]: nothing else in this
//! crate asks which one it is.

use std::str::FromStr;

use paceline_fabric::spec::{EcmpHash, PacketFormat, Quirks};
use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::values::{Ack, AckClass, FlowControlKind, Headroom, OrOff, PerLink};
use crate::document::writer::shown;
use crate::ns3::format::InputFormat;

/// Which simulator's behaviour a run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// Exact picosecond time, no quirks.
    #[default]
    Exact,
    /// HPCC's ns-3 simulator, quirk by quirk.
    Ns3Hpcc,
    /// SimAI's ns-3 simulator, quirk by quirk.
    Simai,
    /// The Bolt authors' ns-3 simulator, quirk by quirk.
    BoltNs3,
    /// The simulator of TCD's authors (ns-3), quirk by quirk.
    TcdNs3,
    /// The OMNeT++ model of RRCC's author: InfiniBand.
    IbOmnet,
    /// The simulator of Ultra Ethernet's transport, `htsim_uec`.
    UetHtsim,
}

/// A simulator whose network is a model of its own (`paceline_parity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Simulator {
    BoltNs3,
    TcdNs3,
    IbOmnet,
    UetHtsim,
}

/// The priority of acknowledgements of the simulator of TCD's authors: no flow's.
pub(crate) const TCD_ACKS: u8 = 1;

/// To what times are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Picoseconds.
    Picoseconds,
    /// Nanoseconds, cut, as early versions of ns-3 have them.
    Cut,
    /// The nearest nanoseconds, as later versions of ns-3 have them.
    Rounded,
}

/// What a fidelity decides by itself.
pub(crate) struct Profile {
    fidelity: Fidelity,
    pub(crate) name: &'static str,
    /// Whose network it is, if not the engine's.
    pub(crate) simulator: Option<Simulator>,
    /// Deviations from nature.
    pub(crate) quirks: fn() -> Quirks,
    /// Whether it is the engine without any: what only that has is allowed.
    pub(crate) is_exact: bool,
    /// To what times are read.
    pub(crate) clock: Clock,
    /// Whether events of an instant run in the order in which they were scheduled.
    pub(crate) by_insertion: bool,
    /// Seed and duration of a scenario that has none.
    pub(crate) seed: u64,
    pub(crate) duration: Span,

    // Packets.
    pub(crate) mtu: u64,
    pub(crate) pfc_frame: u64,
    pub(crate) cnp: u64,
    /// Of data, of an acknowledgement, and the least that this is.
    pub(crate) headers: (u64, u64, u64),
    pub(crate) scheme_headers: bool,
    pub(crate) framing: u64,

    // Hosts.
    pub(crate) ack: Ack,
    pub(crate) ack_class: AckClass,
    pub(crate) rto: Option<Span>,
    /// Whether schemes have the parameters of HPCC's scripts.
    pub(crate) script_defaults: bool,

    // Switches.
    pub(crate) flow_control: FlowControlKind,
    pub(crate) ecmp_hash: EcmpHash,
    /// Whether the headroom has room for two packets more.
    pub(crate) headroom_of_packets: bool,
    /// Whether thresholds wrap where a buffer is too small, which is an error elsewhere.
    pub(crate) thresholds_wrap: bool,
    /// Whether tiers of switches may differ.
    pub(crate) has_tiers: bool,
    /// Whether switches inside servers neither mark nor pause.
    pub(crate) plain_servers: bool,
    /// Whether switches have detectors.
    pub(crate) has_detectors: bool,
    /// Whether acknowledgements and queues without a curve are marked all the same.
    pub(crate) marks_anyway: bool,
    /// Whether marking thresholds and windows are compared with the network.
    pub(crate) judges_thresholds: bool,

    // Records.
    pub(crate) accounts: bool,
    pub(crate) accounts_by_default: bool,
    pub(crate) latency: bool,
    /// Bins of ports by default, up to so many ports.
    pub(crate) port_bins_up_to: usize,
}

const EXACT: Profile = Profile {
    fidelity: Fidelity::Exact,
    name: "exact",
    simulator: None,
    quirks: Quirks::default,
    is_exact: true,
    clock: Clock::Picoseconds,
    by_insertion: false,
    seed: 1,
    duration: Span::from_ps(paceline_kernel::units::PS_PER_S),
    mtu: 1000,
    pfc_frame: 64,
    cnp: 64,
    headers: (48, 46, 60),
    scheme_headers: true,
    framing: 0,
    ack: Ack::EveryPackets(std::num::NonZeroU32::MIN),
    ack_class: AckClass(Some(0)),
    rto: Some(Span::from_us(4000)),
    script_defaults: false,
    flow_control: FlowControlKind::Pfc,
    ecmp_hash: EcmpHash::PerSwitch,
    headroom_of_packets: true,
    thresholds_wrap: false,
    has_tiers: true,
    plain_servers: false,
    has_detectors: true,
    marks_anyway: false,
    judges_thresholds: true,
    accounts: true,
    accounts_by_default: true,
    latency: true,
    port_bins_up_to: usize::MAX,
};

/// What the reproduced simulators have in common.
const REPRODUCED: Profile = Profile {
    is_exact: false,
    by_insertion: true,
    rto: None,
    judges_thresholds: false,
    accounts: false,
    accounts_by_default: false,
    latency: false,
    port_bins_up_to: 0,
    ..EXACT
};

/// HPCC's simulator, and what is made of it.
const NS3_HPCC: Profile = Profile {
    fidelity: Fidelity::Ns3Hpcc,
    name: "ns3-hpcc",
    quirks: Quirks::ns3_hpcc,
    clock: Clock::Cut,
    pfc_frame: 43,
    ack: Ack::EveryBytes(Bytes::new(1)),
    ack_class: AckClass(None),
    script_defaults: true,
    headroom_of_packets: false,
    thresholds_wrap: true,
    judges_thresholds: true,
    accounts: true,
    latency: true,
    ..REPRODUCED
};

static PROFILES: [Profile; 7] = [
    EXACT,
    NS3_HPCC,
    Profile {
        fidelity: Fidelity::Simai,
        name: "simai",
        quirks: Quirks::simai,
        clock: Clock::Rounded,
        // Sequence numbers of eight bytes.
        headers: (52, 50, 60),
        plain_servers: true,
        ..NS3_HPCC
    },
    Profile {
        fidelity: Fidelity::BoltNs3,
        name: "bolt-ns3",
        simulator: Some(Simulator::BoltNs3),
        quirks: Quirks::bolt_ns3,
        mtu: 1459,
        headers: (41, 41, 0),
        scheme_headers: false,
        framing: 2,
        rto: Some(Span::from_us(10_000)),
        flow_control: FlowControlKind::None,
        has_tiers: false,
        has_detectors: false,
        ..REPRODUCED
    },
    Profile {
        fidelity: Fidelity::TcdNs3,
        name: "tcd-ns3",
        simulator: Some(Simulator::TcdNs3),
        quirks: Quirks::tcd_ns3,
        clock: Clock::Cut,
        pfc_frame: 31,
        cnp: 30,
        headers: (20, 30, 0),
        scheme_headers: false,
        ack_class: AckClass(Some(TCD_ACKS)),
        ecmp_hash: EcmpHash::Shared,
        has_tiers: false,
        marks_anyway: true,
        ..REPRODUCED
    },
    Profile {
        fidelity: Fidelity::IbOmnet,
        name: "ib-omnet",
        simulator: Some(Simulator::IbOmnet),
        mtu: 2048,
        // A packet is its payload there.
        headers: (0, 0, 0),
        flow_control: FlowControlKind::Credits,
        accounts: true,
        accounts_by_default: true,
        port_bins_up_to: 1024,
        ..REPRODUCED
    },
    Profile {
        fidelity: Fidelity::UetHtsim,
        name: "uet-htsim",
        simulator: Some(Simulator::UetHtsim),
        seed: 13,
        duration: Span::from_us(1000),
        mtu: 4086,
        headers: (64, 64, 0),
        scheme_headers: false,
        flow_control: FlowControlKind::None,
        has_tiers: false,
        has_detectors: false,
        ..REPRODUCED
    },
];

impl Profile {
    /// The headroom of a link: three times what is on its way, and what had started on either side when the pause was sent
    /// and when it arrived.
    pub(crate) fn headroom(&self, packet: &PacketFormat) -> PerLink {
        let packets = 2 * (packet.mtu + packet.data_header + packet.int_header).get();
        PerLink {
            factor: 3.0,
            extra: Bytes::new(if self.headroom_of_packets { packets } else { 0 }),
        }
    }

    /// The defaults that it decides, by the paths of their keys.
    pub(crate) fn defaults(&self, packet: &PacketFormat) -> [(&'static str, String); 13] {
        let size = |bytes| shown(&Bytes::new(bytes));
        let (data, ack, least) = self.headers;
        [
            ("network.mtu", size(self.mtu)),
            ("network.data-header", size(data)),
            ("network.ack-header", size(ack)),
            ("network.ack-min", size(least)),
            ("network.pfc-frame", size(self.pfc_frame)),
            ("network.cnp", size(self.cnp)),
            ("network.scheme-headers", shown(&self.scheme_headers)),
            ("network.framing", size(self.framing)),
            ("network.ack", shown(&self.ack)),
            ("network.ack-class", shown(&self.ack_class)),
            (
                "network.headroom",
                shown(&Headroom::PerLink(self.headroom(packet))),
            ),
            ("network.rto", shown(&OrOff(self.rto))),
            (
                "record.accounts",
                if self.accounts_by_default { "auto" } else { "off" }.to_string(),
            ),
        ]
    }
}

impl Fidelity {
    /// What it decides.
    pub(crate) fn profile(self) -> &'static Profile {
        let own = PROFILES.iter().find(|profile| profile.fidelity == self);
        own.expect("each fidelity has a row")
    }

    /// Whether transport and control are the simulator's, so that scenarios have no `[cc]`.
    pub fn has_own_transport(self) -> bool {
        self.profile().simulator == Some(Simulator::UetHtsim)
    }

    /// Whether it accounts for where the time of flows goes.
    pub fn accounts(self) -> bool {
        self.profile().accounts
    }

    /// As the scenario file says it.
    pub fn name(self) -> &'static str {
        self.profile().name
    }

    /// The names of all.
    pub fn names() -> [&'static str; PROFILES.len()] {
        PROFILES.each_ref().map(|profile| profile.name)
    }

    /// The default of an input. Programs that are not reproduced quirk by quirk have `exact`: the same experiment in
    /// Paceline's own model.
    pub(crate) const fn of_input(format: InputFormat) -> Self {
        match format {
            InputFormat::Ns3Hpcc => Self::Ns3Hpcc,
            InputFormat::TcdNs3 => Self::TcdNs3,
            InputFormat::Simai => Self::Simai,
            _ => Self::Exact,
        }
    }
}

impl FromStr for Fidelity {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = PROFILES.iter().find(|profile| profile.name == text);
        known.map(|profile| profile.fidelity).ok_or_else(|| {
            let [others @ .., last] = PROFILES.each_ref().map(|profile| format!("`{}`", profile.name));
            format!(
                "unknown fidelity `{text}`: expected {} or {last}",
                others.join(", ")
            )
        })
    }
}
