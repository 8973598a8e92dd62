//! A scenario as it is written: every key of a TOML file, each with its place.
//!
//! No enum here is untagged, flattened or internally tagged: those lose the place of an error.
//! What is absent gets its value in [`crate::resolve`], which also returns a [`Scenario`] in which
//! nothing is absent.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use paceline_congestion::registry::WindowMode;
use paceline_fabric::spec::{PfcMode, Quirks};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use serde::de::{self, Deserializer, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

use paceline_congestion::registry::SchemeParams;

/// Which simulator's behaviour a run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// Exact picosecond time, no quirks.
    #[default]
    Exact,
    /// HPCC's ns-3 simulator, quirk by quirk.
    Ns3Hpcc,
}

impl Fidelity {
    /// As the scenario file says it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Ns3Hpcc => "ns3-hpcc",
        }
    }
}

impl FromStr for Fidelity {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "exact" => Ok(Self::Exact),
            "ns3-hpcc" => Ok(Self::Ns3Hpcc),
            _ => Err(format!(
                "unknown fidelity `{text}`: expected `exact` or `ns3-hpcc`"
            )),
        }
    }
}

macro_rules! tables {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub(crate) struct $name {
            $(
                $(#[$field_meta])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub(crate) $field: Option<$type>,
            )*
        }
    )* };
}

/// A whole file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration: Option<Spanned<Span>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fidelity: Option<Fidelity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ties: Option<Ties>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shuffle_ties: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) topology: Option<Spanned<Topology>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) workload: Vec<Spanned<Workload>>,
    pub(crate) network: Network,
    pub(crate) cc: Cc,
    /// The `[cc.<scheme>]` blocks; in the file they stand in `[cc]`.
    #[serde(skip_serializing)]
    pub(crate) cc_blocks: SchemeParams,
    pub(crate) record: Record,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quirks: Option<Quirks>,
    #[serde(skip_serializing)]
    pub(crate) sweep: Option<toml::Table>,
}

/// Order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ties {
    Structural,
    Insertion,
}

tables! {
    /// `[topology]`: one of these, but for `parallel`.
    struct Topology {
        parallel: bool,
        file: Spanned<String>,
        star: Star,
        dumbbell: Dumbbell,
        parking_lot: ParkingLot,
        leaf_spine: LeafSpine,
        fat_tree: FatTree,
        hpcc_fat: HpccFat,
        graph: Graph,
    }
    struct Star {
        hosts: Spanned<u32>,
        rate: Spanned<BitRate>,
        delay: Spanned<Span>,
    }
    struct Dumbbell {
        left: Spanned<u32>,
        right: Spanned<u32>,
        rate: Spanned<BitRate>,
        delay: Spanned<Span>,
        bottleneck_rate: Spanned<BitRate>,
        bottleneck_delay: Spanned<Span>,
    }
    struct ParkingLot {
        hops: Spanned<u32>,
        rate: Spanned<BitRate>,
        delay: Spanned<Span>,
    }
    struct LeafSpine {
        leaves: Spanned<u32>,
        spines: Spanned<u32>,
        hosts_per_leaf: Spanned<u32>,
        rate: Spanned<BitRate>,
        delay: Spanned<Span>,
        spine_rate: Spanned<BitRate>,
        spine_delay: Spanned<Span>,
    }
    struct FatTree {
        k: Spanned<u32>,
        oversubscription: Spanned<u32>,
        rate: Spanned<BitRate>,
        delay: Spanned<Span>,
        aggregation_rate: Spanned<BitRate>,
        core_rate: Spanned<BitRate>,
    }
    struct HpccFat {
        rate: Spanned<BitRate>,
        fabric_rate: Spanned<BitRate>,
        delay: Spanned<Span>,
    }
    struct Graph {
        nodes: Spanned<u32>,
        switches: Vec<Spanned<u32>>,
        links: Vec<Spanned<Link>>,
    }
    struct Link {
        a: Spanned<u32>,
        b: Spanned<u32>,
        rate: Spanned<BitRate>,
        delay: Spanned<Span>,
        error_rate: Spanned<f64>,
    }
    /// `[[workload]]`: one of the blocks, and what they share.
    struct Workload {
        label: String,
        scheme: Spanned<String>,
        priority: Spanned<u8>,
        start_jitter: Span,
        file: Spanned<String>,
        incast: Incast,
        poisson: Poisson,
        incast_poisson: IncastPoisson,
        permutation: Permutation,
        all_to_all: AllToAll,
        flows: Vec<Spanned<Flow>>,
    }
    struct Flow {
        src: Spanned<u32>,
        dst: Spanned<u32>,
        size: Spanned<Bytes>,
        start: Time,
    }
    struct Incast {
        fan_in: Spanned<u32>,
        senders: Vec<Spanned<u32>>,
        receiver: Spanned<u32>,
        size: Spanned<Bytes>,
        sizes: Vec<Spanned<Bytes>>,
        start: Time,
        period: Spanned<Span>,
        rounds: u32,
    }
    struct Poisson {
        sizes: Spanned<String>,
        load: Spanned<f64>,
        from: Spanned<Time>,
        to: Spanned<Time>,
    }
    struct IncastPoisson {
        load: Spanned<f64>,
        fan_in: Spanned<u32>,
        size: Spanned<Bytes>,
        from: Spanned<Time>,
        to: Spanned<Time>,
    }
    struct Permutation {
        size: Spanned<Bytes>,
        start: Time,
    }
    struct AllToAll {
        size: Spanned<Bytes>,
        start: Time,
    }
    /// `[network]`.
    struct Network {
        mtu: Spanned<Bytes>,
        data_header: Spanned<Bytes>,
        ack_header: Spanned<Bytes>,
        ack_min: Spanned<Bytes>,
        pfc_frame: Spanned<Bytes>,
        cnp: Spanned<Bytes>,
        int_header: Spanned<Bytes>,
        pint_header: Spanned<Bytes>,
        timestamp_header: Spanned<Bytes>,
        int_multi: Spanned<u32>,
        buffer: Spanned<Bytes>,
        reserve: Spanned<Bytes>,
        #[serde(rename = "flow_control", alias = "flow-control")]
        flow_control: FlowControlKind,
        ack_chunk: Spanned<Bytes>,
        ack_class: Spanned<AckClass>,
        nack_interval: Span,
        back_to_chunk: Spanned<OrOff<Bytes>>,
        rto: OrOff<Span>,
        pacing: bool,
        global_rtt: bool,
        error_rate: Spanned<f64>,
        ack: Ack,
        headroom: Spanned<Headroom>,
        pfc: Pfc,
        ecn: Spanned<Ecn>,
        failure: Vec<Spanned<Failure>>,
    }
    struct Pfc {
        resume_offset: Bytes,
        mode: PfcModeKind,
        pause: Spanned<Span>,
        dynamic: DynamicThreshold,
        #[serde(rename = "static")]
        fixed: Spanned<StaticThreshold>,
    }
    struct DynamicThreshold {
        shift: u32,
        reference_rate: BitRate,
    }
    struct StaticThreshold {
        xoff: Spanned<Bytes>,
        xon: Spanned<Bytes>,
    }
    /// Scaled with the rate, or one curve for each rate.
    struct Ecn {
        kmin: Spanned<Bytes>,
        kmax: Spanned<Bytes>,
        pmax: Spanned<f64>,
        reference_rate: Spanned<BitRate>,
        curves: Vec<Spanned<Curve>>,
    }
    struct Curve {
        rate: Spanned<BitRate>,
        kmin: Spanned<Bytes>,
        kmax: Spanned<Bytes>,
        pmax: Spanned<f64>,
    }
    struct Failure {
        link: Spanned<usize>,
        nodes: Spanned<(u32, u32)>,
        at: Spanned<Time>,
        until: Spanned<Time>,
    }
    /// `[record]`.
    struct Record {
        queue: OrOff<Span>,
        queue_from: Spanned<Time>,
        queue_to: Spanned<Time>,
        queue_dump: OrOff<Span>,
        rates: OrOff<Span>,
        rtt_samples: bool,
        pcap: bool,
        trace: Spanned<Nodes>,
    }
}

/// `[cc]`, without the schemes' blocks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cc {
    pub(crate) scheme: Option<Spanned<String>>,
    pub(crate) window: Option<Spanned<WindowMode>>,
    pub(crate) windows: Option<BTreeMap<String, WindowMode>>,
    /// The blocks again, every parameter with its value, for writing.
    #[serde(skip)]
    pub(crate) explicit: toml::Table,
}

impl Serialize for Cc {
    /// With the blocks beside the other keys, where a file has them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(scheme) = &self.scheme {
            map.serialize_entry("scheme", scheme)?;
        }
        if let Some(window) = &self.window {
            map.serialize_entry("window", window)?;
        }
        if let Some(windows) = &self.windows {
            map.serialize_entry("windows", windows)?;
        }
        for (name, block) in &self.explicit {
            map.serialize_entry(name, block)?;
        }
        map.end()
    }
}

/// Hop-by-hop flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FlowControlKind {
    Pfc,
    None,
}

/// How long a pause lasts: see [`PfcMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PfcModeKind {
    OnOff,
    Quanta,
}

impl From<PfcMode> for PfcModeKind {
    fn from(mode: PfcMode) -> Self {
        match mode {
            PfcMode::OnOff => Self::OnOff,
            PfcMode::Quanta { .. } => Self::Quanta,
        }
    }
}

/// When the receiver acknowledges: `ack.every-packets = 1`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ack {
    EveryPackets(std::num::NonZeroU32),
    EveryBytes(Bytes),
}

/// Room for what arrives after a pause: `headroom.fixed = "64KB"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Headroom {
    Fixed(Bytes),
    PerLink(PerLink),
}

/// `factor` times rate times delay, plus `extra`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct PerLink {
    pub(crate) factor: f64,
    pub(crate) extra: Bytes,
}

/// A quantity, or `"off"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrOff<T>(pub(crate) Option<T>);

impl<T: fmt::Display> Serialize for OrOff<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_str("off"),
        }
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for OrOff<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<T>(std::marker::PhantomData<T>);
        impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
            type Value = OrOff<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity as a text with its unit, or \"off\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OrOff<T>, E> {
                match text {
                    "off" => Ok(OrOff(None)),
                    _ => text.parse().map(|value| OrOff(Some(value))).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_str(Text(std::marker::PhantomData))
    }
}

/// The class of ACKs: a number, or `"flow"` for the flow's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckClass(pub(crate) Option<u8>);

impl Serialize for AckClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(class) => serializer.serialize_u8(class),
            None => serializer.serialize_str("flow"),
        }
    }
}

impl<'de> Deserialize<'de> for AckClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Class;
        impl Visitor<'_> for Class {
            type Value = AckClass;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a class from 0 to 7, or \"flow\"")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<AckClass, E> {
                match u8::try_from(value) {
                    Ok(class) if class <= 7 => Ok(AckClass(Some(class))),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(value), &self)),
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<AckClass, E> {
                match text {
                    "flow" => Ok(AckClass(None)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Class)
    }
}

/// A list of nodes, or `"all"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nodes {
    All,
    List(Vec<u32>),
}

impl Serialize for Nodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::List(nodes) => nodes.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Nodes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of nodes, or \"all\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Nodes, E> {
                match text {
                    "all" => Ok(Nodes::All),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut sequence: A) -> Result<Nodes, A::Error> {
                let mut nodes = Vec::new();
                while let Some(node) = sequence.next_element()? {
                    nodes.push(node);
                }
                Ok(Nodes::List(nodes))
            }
        }
        deserializer.deserialize_any(List)
    }
}
