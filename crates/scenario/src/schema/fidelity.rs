//! Whose behaviour a run has. All that a fidelity decides by itself is its row of [`PROFILES`]: nothing else in this
//! crate asks which one it is.

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

/// Which simulator's behaviour a run has: a row of those that are known.
#[derive(Clone, Copy)]
pub struct Fidelity(&'static Profile);

/// Exact picosecond time, no quirks.
pub const EXACT: Fidelity = Fidelity(&PROFILES[0]);
/// HPCC's ns-3 simulator, quirk by quirk.
pub const NS3_HPCC: Fidelity = Fidelity(&PROFILES[1]);
/// SimAI's ns-3 simulator, quirk by quirk.
pub const SIMAI: Fidelity = Fidelity(&PROFILES[2]);

/// To what times are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Picoseconds.
    Picoseconds,
    /// Nanoseconds, cut, as early versions of ns-3 have them.
    Cut,
    /// The nearest nanoseconds, as later versions of ns-3 have them.
    Rounded,
}

/// What authors take for the completion time of a flow alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    /// As files say it.
    pub name: &'static str,
    /// Whose it is, in the middle of a sentence.
    pub author: &'static str,
}

/// Buffer and pauses of switches that a fidelity has: bytes, and how long a pause lasts.
pub struct SwitchDefaults {
    /// The whole buffer.
    pub buffer: u64,
    /// Headroom of each port and class.
    pub headroom: u64,
    /// Reserve of each port.
    pub reserve: u64,
    /// How long a pause lasts.
    pub pause: Span,
    /// Pauses begin above this.
    pub xoff: u64,
    /// They end below this.
    pub xon: u64,
}

/// What a fidelity decides by itself.
pub struct Profile {
    /// By what formula slowdowns are counted, where the authors have one of their own.
    pub formula: Option<Formula>,
    /// As scenarios say it.
    pub name: &'static str,
    /// Whether the network is a model of its own, not the engine's.
    pub own_network: bool,
    /// Whether transport and control are the simulator's, too, so that scenarios have no `[cc]`.
    pub own_transport: bool,
    /// Deviations from nature.
    pub quirks: fn() -> Quirks,
    /// Whether it is the engine without any: what only that has is allowed.
    pub is_exact: bool,
    /// To what times are read.
    pub clock: Clock,
    /// Whether events of an instant run in the order in which they were scheduled.
    pub by_insertion: bool,
    /// Seed and duration of a scenario that has none.
    pub seed: u64,
    /// See `seed`.
    pub duration: Span,

    // Packets, in bytes.
    /// Payload of a full packet.
    pub mtu: u64,
    /// A pause frame.
    pub pfc_frame: u64,
    /// A notification.
    pub cnp: u64,
    /// Of data, of an acknowledgement, and the least that this is.
    pub headers: (u64, u64, u64),
    /// Whether schemes add their headers.
    pub scheme_headers: bool,
    /// What a packet takes on a wire alongside its bytes.
    pub framing: u64,

    // Hosts.
    /// When receivers acknowledge.
    pub ack: Ack,
    /// The class of acknowledgements.
    pub ack_class: AckClass,
    /// The retransmission timeout, if there is one.
    pub rto: Option<Span>,
    /// Whether schemes have the parameters of HPCC's scripts.
    pub script_defaults: bool,

    // Switches.
    /// Hop-by-hop flow control.
    pub flow_control: FlowControlKind,
    /// What flows are hashed with.
    pub ecmp_hash: EcmpHash,
    /// What the simulator's hash is like, where it has no other.
    pub only_hash: Option<&'static str>,
    /// Buffer and pauses of switches, where they are not the engine's.
    pub switch: Option<SwitchDefaults>,
    /// Whether the headroom has room for two packets more.
    pub headroom_of_packets: bool,
    /// Whether thresholds wrap where a buffer is too small, which is an error elsewhere.
    pub thresholds_wrap: bool,
    /// Whether tiers of switches may differ.
    pub has_tiers: bool,
    /// Whether switches inside servers neither mark nor pause.
    pub plain_servers: bool,
    /// Whether switches have detectors.
    pub has_detectors: bool,
    /// Whether acknowledgements and queues without a curve are marked all the same.
    pub marks_anyway: bool,
    /// Whether marking thresholds and windows are compared with the network.
    pub judges_thresholds: bool,

    // Traffic.
    /// Whether hosts send `messages`, one after the other, and nothing else.
    pub paced_messages: bool,
    /// Whether the order matters in which flows were written.
    pub keeps_order: bool,

    // Records.
    /// Whether ports have states under TCD alone, whatever detectors there are.
    pub states_of_tcd: bool,
    /// Whether packets are traced in a file of that program's.
    pub own_trace: bool,
    /// Whether it accounts for where the time of flows goes.
    pub accounts: bool,
    /// Whether it does so unless it is told otherwise.
    pub accounts_by_default: bool,
    /// Whether latencies of packets are recorded.
    pub latency: bool,
    /// Bins of ports by default, up to so many ports.
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

/// What the reproduced simulators have in common.
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

/// HPCC's simulator, and what is made of it.
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
        // Sequence numbers of eight bytes.
        headers: (52, 50, 60),
        plain_servers: true,
        ..HPCC
    },
];

/// Rows of simulators that are not built in.
static ADDED: OnceLock<Vec<Profile>> = OnceLock::new();

/// Adds rows; returns false if fidelities have been looked up already.
pub(crate) fn add(profiles: Vec<Profile>) -> bool {
    ADDED.set(profiles).is_ok()
}

/// Fidelities that a program could have, each with what to do to have it.
static LEFT_OUT: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();

/// Says what the program was built without; returns false if that was asked for already.
pub(crate) fn leave_out(names: Vec<(&'static str, String)>) -> bool {
    LEFT_OUT.set(names).is_ok()
}

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
    /// All that are known.
    fn all() -> impl Iterator<Item = Self> {
        PROFILES.iter().chain(ADDED.get_or_init(Vec::new)).map(Self)
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|fidelity| fidelity.name() == name)
    }

    /// By what formula its authors count slowdowns, if they have one of their own.
    pub fn formula(self) -> Option<Formula> {
        self.0.formula
    }

    /// The authors' formula of this name.
    pub fn formula_named(name: &str) -> Option<Formula> {
        let mut formulas = Self::all().filter_map(Self::formula);
        formulas.find(|formula| formula.name == name)
    }

    /// What to do to have the fidelity of this name, if the program could have it and was built without.
    pub fn left_out(name: &str) -> Option<&'static str> {
        let all = LEFT_OUT.get_or_init(Vec::new);
        let found = all.iter().find(|(known, _)| *known == name);
        found.map(|(_, why)| why.as_str())
    }

    /// What it decides.
    pub(crate) fn profile(self) -> &'static Profile {
        self.0
    }

    /// Whether transport and control are the simulator's, so that scenarios have no `[cc]`.
    pub fn has_own_transport(self) -> bool {
        self.0.own_transport
    }

    /// Whether the network is a model of its own, not the engine's.
    pub fn has_own_network(self) -> bool {
        self.0.own_network
    }

    /// Whether packets are traced in a file of that program's.
    pub fn has_own_trace(self) -> bool {
        self.0.own_trace
    }

    /// Whether it accounts for where the time of flows goes.
    pub fn accounts(self) -> bool {
        self.0.accounts
    }

    /// As the scenario file says it.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The names of all.
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
            if let Some(why) = Self::left_out(text) {
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

/// As an enum of all names.
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
        Fidelity::named(name).ok_or_else(|| match Fidelity::left_out(name) {
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
