//! Fidelity of a run: the simulator whose behaviour it reproduces. Everything that a fidelity determines is in its
//! row of [`PROFILES`]: nothing else in this crate asks which one it is.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use paceline_fabric::spec::{EcmpHash, PacketFormat, Quirks};
use paceline_kernel::{Bytes, Span};
use serde::de::VariantAccess as _;
use serde::de::{self, DeserializeSeed, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::values::{Ack, AckClass, FlowControlKind, Headroom, OrOff, PerLink};
use crate::document::writer::shown;
use crate::left_out::left_out;

/// Simulator whose behaviour a run reproduces: a row of the known ones.
#[derive(Clone, Copy)]
pub struct Fidelity(&'static Profile);

/// Paceline's own model: exact picosecond time, no quirks.
pub const EXACT: Fidelity = Fidelity(&PROFILES[0]);
/// HPCC's ns-3 simulator, quirk by quirk.
pub const NS3_HPCC: Fidelity = Fidelity(&PROFILES[1]);
/// SimAI's ns-3 simulator, quirk by quirk.
pub const SIMAI: Fidelity = Fidelity(&PROFILES[2]);

/// Precision to which times are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Picoseconds, without rounding.
    Picoseconds,
    /// Truncation to nanoseconds, as in early versions of ns-3.
    Cut,
    /// Rounding to the nearest nanosecond, as in later versions of ns-3.
    Rounded,
}

/// Authors' formula for the completion time of a flow in an empty network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    /// Name in files.
    pub name: &'static str,
    /// Author, in the form used within a sentence.
    pub author: &'static str,
}

/// Buffer and pause settings of a fidelity's own switches.
pub struct SwitchDefaults {
    /// Whole buffer, in bytes.
    pub buffer: u64,
    /// Headroom of each port and class, in bytes.
    pub headroom: u64,
    /// Reserve of each port, in bytes.
    pub reserve: u64,
    /// Duration of a pause.
    pub pause: Span,
    /// Queue in bytes above which a pause starts.
    pub xoff: u64,
    /// Queue in bytes below which a pause ends.
    pub xon: u64,
}

/// Settings that a fidelity determines.
pub struct Profile {
    /// Formula for slowdowns, if the authors use their own.
    pub formula: Option<Formula>,
    /// Name in scenarios.
    pub name: &'static str,
    /// True if the network is the simulator's model instead of the engine's.
    pub own_network: bool,
    /// True if transport and congestion control are the simulator's too, so that scenarios have no `[cc]`.
    pub own_transport: bool,
    /// Deviations from the exact model.
    pub quirks: fn() -> Quirks,
    /// True for the exact model, which supports features that no other has.
    pub is_exact: bool,
    /// Precision to which times are read.
    pub clock: Clock,
    /// True if simultaneous events run in the order in which they were scheduled.
    pub by_insertion: bool,
    /// Default seed of a scenario.
    pub seed: u64,
    /// Default duration of a scenario.
    pub duration: Span,

    // Packets: sizes in bytes.
    /// Payload of a full packet.
    pub mtu: u64,
    /// Size of a pause frame.
    pub pfc_frame: u64,
    /// Size of a congestion notification packet.
    pub cnp: u64,
    /// Header of data, header of an acknowledgement, and smallest size of an acknowledgement.
    pub headers: (u64, u64, u64),
    /// True if schemes add their own headers.
    pub scheme_headers: bool,
    /// Bytes on the wire per packet beyond its size, such as preamble and gap.
    pub framing: u64,

    // Hosts: acknowledgements, timeouts and parameters of schemes.
    /// Trigger of receivers' acknowledgements.
    pub ack: Ack,
    /// Priority class of acknowledgements.
    pub ack_class: AckClass,
    /// Retransmission timeout, if there is one.
    pub rto: Option<Span>,
    /// True if the schemes' parameters default to those of HPCC's scripts.
    pub script_defaults: bool,

    // Switches: flow control, buffers and marking.
    /// Default hop-by-hop flow control.
    pub flow_control: FlowControlKind,
    /// Default hash function for paths.
    pub ecmp_hash: EcmpHash,
    /// Description of the simulator's only hash function; `None` if any can be chosen.
    pub only_hash: Option<&'static str>,
    /// Buffer and pause settings, if they differ from the engine's.
    pub switch: Option<SwitchDefaults>,
    /// True if the headroom includes two further packets.
    pub headroom_of_packets: bool,
    /// True if thresholds wrap around when a buffer is too small, which is an error otherwise.
    pub thresholds_wrap: bool,
    /// True if tiers of switches may differ.
    pub has_tiers: bool,
    /// True if switches inside servers neither mark nor pause.
    pub plain_servers: bool,
    /// True if switches support detectors.
    pub has_detectors: bool,
    /// True if acknowledgements, and queues without a curve, are marked too.
    pub marks_anyway: bool,
    /// True if marking thresholds and windows are checked against the network.
    pub judges_thresholds: bool,

    // Traffic: restrictions on workloads.
    /// True if hosts send only `messages`, one after the other.
    pub paced_messages: bool,
    /// True if results depend on the order in which flows were written.
    pub keeps_order: bool,

    // Records: their availability and defaults.
    /// True if ports have congestion states only under TCD, regardless of the detector.
    pub states_of_tcd: bool,
    /// True if packets are traced in that program's file format.
    pub own_trace: bool,
    /// True if the time of flows can be accounted for.
    pub accounts: bool,
    /// True if that is the default.
    pub accounts_by_default: bool,
    /// True if latencies of packets can be recorded.
    pub latency: bool,
    /// Largest number of ports that are recorded in bins by default.
    pub port_bins_up_to: usize,
}

const ENGINE: Profile = Profile {
    name: "exact",
    formula: None,
    own_network: false,
    own_transport: false,
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
    only_hash: None,
    switch: None,
    headroom_of_packets: true,
    thresholds_wrap: false,
    has_tiers: true,
    plain_servers: false,
    has_detectors: true,
    marks_anyway: false,
    judges_thresholds: true,
    paced_messages: false,
    keeps_order: false,
    states_of_tcd: false,
    own_trace: false,
    accounts: true,
    accounts_by_default: true,
    latency: true,
    port_bins_up_to: usize::MAX,
};

/// Common settings of the reproduced simulators.
pub const REPRODUCED: Profile = Profile {
    is_exact: false,
    by_insertion: true,
    rto: None,
    judges_thresholds: false,
    accounts: false,
    accounts_by_default: false,
    latency: false,
    port_bins_up_to: 0,
    ..ENGINE
};

/// Settings of HPCC's simulator and its derivatives.
const HPCC: Profile = Profile {
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
    own_trace: true,
    accounts: true,
    latency: true,
    ..REPRODUCED
};

static PROFILES: [Profile; 3] = [
    ENGINE,
    HPCC,
    Profile {
        name: "simai",
        quirks: Quirks::simai,
        clock: Clock::Rounded,
        // Sequence numbers have eight bytes, hence the longer header.
        headers: (52, 50, 60),
        plain_servers: true,
        ..HPCC
    },
];

/// Profiles of simulators that are not built in.
static ADDED: OnceLock<Vec<Profile>> = OnceLock::new();

/// Adds profiles; returns false if fidelities have been looked up already.
pub(crate) fn add(profiles: Vec<Profile>) -> bool {
    ADDED.set(profiles).is_ok()
}

impl Profile {
    /// Returns the headroom of a link: three times the data in flight on it, and the packets whose transmission had
    /// started on either side when the pause was sent and when it arrived.
    pub(crate) fn headroom(&self, packet: &PacketFormat) -> PerLink {
        let packets = 2 * (packet.mtu + packet.data_header + packet.int_header).get();
        PerLink {
            factor: 3.0,
            extra: Bytes::new(if self.headroom_of_packets { packets } else { 0 }),
        }
    }

    /// Returns the defaults that it determines, by the paths of their keys.
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
    /// Returns all known fidelities.
    fn all() -> impl Iterator<Item = Self> {
        PROFILES.iter().chain(ADDED.get_or_init(Vec::new)).map(Self)
    }

    /// Returns the fidelity with this name, if it is known.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|fidelity| fidelity.name() == name)
    }

    /// Returns the authors' formula for slowdowns, if they use their own.
    pub fn formula(self) -> Option<Formula> {
        self.0.formula
    }

    /// Returns the authors' formula with this name.
    pub fn formula_named(name: &str) -> Option<Formula> {
        let mut formulas = Self::all().filter_map(Self::formula);
        formulas.find(|formula| formula.name == name)
    }

    /// Returns the settings that it determines.
    pub(crate) fn profile(self) -> &'static Profile {
        self.0
    }

    /// Returns true if transport and congestion control are the simulator's, so that scenarios have no `[cc]`.
    pub fn has_own_transport(self) -> bool {
        self.0.own_transport
    }

    /// Returns true if the network is the simulator's model instead of the engine's.
    pub fn has_own_network(self) -> bool {
        self.0.own_network
    }

    /// Returns true if packets are traced in that program's file format.
    pub fn has_own_trace(self) -> bool {
        self.0.own_trace
    }

    /// Returns true if the time of flows can be accounted for.
    pub fn accounts(self) -> bool {
        self.0.accounts
    }

    /// Returns the name in scenario files.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the names of all known fidelities.
    pub fn names() -> &'static [&'static str] {
        static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
        NAMES.get_or_init(|| Self::all().map(Self::name).collect())
    }
}

impl Default for Fidelity {
    fn default() -> Self {
        EXACT
    }
}

impl PartialEq for Fidelity {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Fidelity {}

impl fmt::Debug for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fidelity {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| {
            if let Some(why) = left_out(text) {
                return format!("fidelity `{text}`: {why}");
            }
            let names: Vec<String> = Self::names().iter().map(|name| format!("`{name}`")).collect();
            let (last, others) = names.split_last().expect("some are built in");
            format!(
                "unknown fidelity `{text}`: expected {} or {last}",
                others.join(", ")
            )
        })
    }
}

impl Serialize for Fidelity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Reads a name, like an enum with all names as variants.
impl<'de> Deserialize<'de> for Fidelity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Fidelity", Self::names(), Word)
    }
}

struct Word;

impl<'de> Visitor<'de> for Word {
    type Value = Fidelity;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a fidelity")
    }
    fn visit_str<E: de::Error>(self, name: &str) -> Result<Fidelity, E> {
        Fidelity::named(name).ok_or_else(|| match left_out(name) {
            Some(why) => E::custom(format!("fidelity `{name}`: {why}")),
            None => E::unknown_variant(name, Fidelity::names()),
        })
    }
    fn visit_enum<A: de::EnumAccess<'de>>(self, data: A) -> Result<Fidelity, A::Error> {
        let (fidelity, content) = data.variant_seed(Self)?;
        content.unit_variant()?;
        Ok(fidelity)
    }
}

impl<'de> DeserializeSeed<'de> for Word {
    type Value = Fidelity;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fidelity, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}
