//! A scenario as it is written: every key of a TOML file, each with its place.
//!
//! No enum here is untagged, flattened or internally tagged: those lose the place of an error.
//! What is absent gets its value in [`crate::resolve`], which also returns a [`Scenario`] in which
//! nothing is absent.

mod accounts;
mod detection;
mod fidelity;
mod ib_omnet;
mod job;
mod lanes;
mod nodes;
mod quirks;
mod recovery;
mod scheduling;
mod values;
mod workload;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use paceline_congestion::registry::WindowMode;
use paceline_fabric::spec::EcmpHash;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use paceline_parity::bolt_ns3::DiscPorts;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

use crate::cc::Blocks;
use crate::ns3::format::InputFormat;
use crate::sweep::Grid;

pub(crate) use accounts::Accounts;
pub(crate) use detection::{DetectionKind, TcdKind};
pub use fidelity::Fidelity;
pub(crate) use fidelity::{Profile, Simulator, TCD_ACKS};
pub(crate) use ib_omnet::*;
pub(crate) use job::*;
pub(crate) use lanes::*;
pub(crate) use nodes::{NodeItem, Nodes};
pub(crate) use quirks::Quirks;
pub(crate) use recovery::{ArrivalOrder, DropKind, RecoveryKind};
pub(crate) use scheduling::SchedulingKind;
pub(crate) use values::{
    Ack, AckClass, AdaptivePer, AssistKind, AssistPortsKind, Balancing, ExitKind, FlowControlKind, Headroom,
    OrAuto, OrOff, PerLink, PfcModeKind, PortBins, Ratio,
};
pub(crate) use workload::*;

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

pub(crate) use tables;

/// A whole file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Scenario {
    /// First, where [`crate::Resolved::decided`] writes its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decisions: Option<Spanned<String>>,
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration: Option<Spanned<Span>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fidelity: Option<Fidelity>,
    /// Written by a run, changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_format: Option<InputFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ties: Option<Ties>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shuffle_ties: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<bool>,
    /// About the machine: not written.
    #[serde(skip_serializing)]
    pub(crate) threads: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) topology: Option<Spanned<Topology>>,
    /// Names of sets of hosts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) hosts: BTreeMap<String, Spanned<Nodes>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) workload: Vec<Spanned<Workload>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) job: Vec<Spanned<Job>>,
    pub(crate) network: Network,
    #[serde(skip_serializing_if = "Parity::is_empty")]
    pub(crate) parity: Parity,
    pub(crate) cc: Cc,
    /// The `[cc.<scheme>]` and `[cc.<alias>]` blocks; in the file they stand in `[cc]`.
    #[serde(skip_serializing)]
    pub(crate) cc_blocks: Blocks,
    pub(crate) record: Record,
    pub(crate) quirks: Quirks,
    /// Read apart from the rest, since its keys are paths.
    #[serde(skip_serializing)]
    pub(crate) sweep: Option<Grid>,
}

impl Parity {
    /// Whether nothing is told.
    fn is_empty(&self) -> bool {
        let Self {
            bolt_ns3,
            tcd_ns3,
            ib_omnet,
        } = self;
        bolt_ns3.is_none() && tcd_ns3.is_none() && ib_omnet.is_none()
    }
}

/// Order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ties {
    Structural,
    Drawn,
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
        rail: Rail,
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
        oversubscription: Spanned<Ratio>,
        rate: Spanned<BitRate>,
        delay: Spanned<Span>,
        spine_rate: Spanned<BitRate>,
        spine_delay: Spanned<Span>,
    }
    struct Rail {
        servers: Spanned<u32>,
        gpus: Spanned<u32>,
        servers_per_pod: Spanned<u32>,
        spines: Spanned<u32>,
        oversubscription: Spanned<Ratio>,
        rate: Spanned<BitRate>,
        delay: Spanned<Span>,
        spine_rate: Spanned<BitRate>,
        spine_delay: Spanned<Span>,
        server_rate: Spanned<OrOff<BitRate>>,
        server_delay: Spanned<Span>,
    }
    struct FatTree {
        k: Spanned<u32>,
        oversubscription: Spanned<Ratio>,
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
        scheme_headers: bool,
        framing: Spanned<Bytes>,
        int_multi: Spanned<u32>,
        buffer: Spanned<Bytes>,
        port_reserve: Spanned<Bytes>,
        flow_control: FlowControlKind,
        lossless: Spanned<Vec<u8>>,
        ack_chunk: Spanned<Bytes>,
        ack_class: Spanned<AckClass>,
        nack_interval: Span,
        back_to_chunk: Spanned<OrOff<Bytes>>,
        rto: Spanned<OrOff<Span>>,
        recovery: Spanned<RecoveryKind>,
        receiver_order: Spanned<ArrivalOrder>,
        pacing: Spanned<bool>,
        global_rtt: bool,
        idle_reset: OrOff<Span>,
        qp_scheduling: Spanned<SchedulingKind>,
        qp_quantum: Spanned<Bytes>,
        assist: Spanned<AssistKind>,
        assist_ports: Spanned<AssistPortsKind>,
        error_rate: Spanned<f64>,
        ack: Spanned<Ack>,
        endpoint: Endpoint,
        headroom: Spanned<Headroom>,
        irn: Irn,
        drop: Drop,
        pfc: Pfc,
        ecn: Spanned<Ecn>,
        detection: Spanned<Detection>,
        credit: Spanned<Lanes>,
        load_balancing: Spanned<Balancing>,
        ecmp_hash: Spanned<EcmpHash>,
        flowlet: Flowlet,
        adaptive: Adaptive,
        failure: Vec<Spanned<Failure>>,
        pause_storm: Vec<Spanned<PauseStorm>>,
        route: Vec<Spanned<Route>>,
        tier: BTreeMap<String, Spanned<Tier>>,
    }
    /// `[parity]`: what simulators of others are told, each by its own fidelity.
    struct Parity {
        bolt_ns3: Spanned<BoltNs3>,
        tcd_ns3: Spanned<TcdNs3>,
        ib_omnet: Spanned<IbOmnet>,
    }
    /// `[parity.bolt-ns3]`: what that simulator is told alongside its quirks.
    struct BoltNs3 {
        ports: DiscPorts,
        threshold: OrAuto<Bytes>,
        buffer_packets: Spanned<u32>,
        src_factor: Spanned<u32>,
        share_flows: bool,
        strikes: Spanned<u32>,
        window_pause: bool,
        sm_drift: bool,
        inc_kept_by_hosts: bool,
        src_drain_time: bool,
        ungated_halving: bool,
        swift_beta_sign: bool,
        swift_double_update: bool,
    }
    /// `[parity.tcd-ns3]`: what that simulator is told alongside all else.
    struct TcdNs3 {
        dynamic_pfc: bool,
        flow_ecmp: bool,
        clamp_after_timer: bool,
        ack_interval: u32,
        ack_chunk: Spanned<u32>,
        unmanaged: Vec<Spanned<u32>>,
        fixed_rate: Vec<Spanned<FixedRate>>,
        listen_until: Spanned<Time>,
        flow_slots: Spanned<u32>,
        log: bool,
    }
    /// A host whose applications push at a fixed rate.
    struct FixedRate {
        host: Spanned<u32>,
        factor: Spanned<f64>,
    }
    /// `[network.drop]`.
    struct Drop {
        policy: Spanned<DropKind>,
        limit: Spanned<Bytes>,
        packets: Spanned<u32>,
        alpha: Spanned<f64>,
        trim: Spanned<bool>,
        headers: Spanned<Bytes>,
    }
    /// `[network.endpoint]`.
    struct Endpoint {
        delay: Span,
        per_packet: Span,
        rate: Spanned<OrOff<BitRate>>,
        jitter: Span,
    }
    /// `[network.irn]`.
    struct Irn {
        rto_low: Spanned<Span>,
        rto_high: Spanned<Span>,
        low_packets: u32,
        bdp_cap: bool,
        reordering: Spanned<u32>,
    }
    /// `[network.flowlet]`.
    struct Flowlet {
        gap: Spanned<Span>,
        entries: Spanned<u32>,
    }
    /// `[network.adaptive]`.
    struct Adaptive {
        per: Spanned<AdaptivePer>,
    }
    struct PauseStorm {
        node: Spanned<Nodes>,
        priority: Spanned<u8>,
        at: Spanned<Time>,
        until: Spanned<Time>,
    }
    struct Route {
        node: Spanned<u32>,
        to: Spanned<Nodes>,
        via: Spanned<u32>,
    }
    struct Pfc {
        resume_offset: Bytes,
        mode: PfcModeKind,
        pause: Spanned<Span>,
        reaction_time: Spanned<Span>,
        reaction_jitter: Spanned<Span>,
        dynamic: DynamicThreshold,
        #[serde(rename = "static")]
        fixed: Spanned<StaticThreshold>,
    }
    struct DynamicThreshold {
        shift: Spanned<u32>,
        reference_rate: BitRate,
    }
    struct StaticThreshold {
        xoff: Spanned<Bytes>,
        xon: Spanned<Bytes>,
    }
    /// `[network.tier.NAME]`.
    struct Tier {
        buffer: Spanned<Bytes>,
        headroom: Spanned<Headroom>,
        pfc: Spanned<TierPfc>,
        ecn: Spanned<Ecn>,
    }
    struct TierPfc {
        dynamic: DynamicThreshold,
    }
    /// `[network.detection]`, and in its `class` the same of single classes, each with its `priority`.
    struct Detection {
        priority: Spanned<u8>,
        kind: Spanned<DetectionKind>,
        variant: Spanned<TcdKind>,
        epsilon: Spanned<f64>,
        max_ton: Spanned<OrAuto<Span>>,
        exit: Spanned<ExitKind>,
        periods: Spanned<f64>,
        times: Spanned<f64>,
        class: Vec<Spanned<Detection>>,
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
        queue: Spanned<OrOff<Span>>,
        queue_from: Spanned<Time>,
        queue_to: Spanned<Time>,
        queue_dump: Spanned<OrOff<Span>>,
        ports: Spanned<PortBins>,
        states: Spanned<PortBins>,
        credits: Spanned<PortBins>,
        flows: Spanned<OrOff<Span>>,
        flows_max: u32,
        pfc: bool,
        rates: Spanned<OrOff<Span>>,
        rtt_samples: bool,
        latency: Spanned<bool>,
        measures: Vec<String>,
        accounts: Spanned<Accounts>,
        pcap: bool,
        trace: Spanned<Nodes>,
        trace_ports: Vec<Spanned<(u32, u32)>>,
        trace_from: Spanned<Time>,
        trace_to: Spanned<Time>,
    }
}

/// `[cc]`, without the schemes' blocks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cc {
    pub(crate) scheme: Option<Spanned<String>>,
    pub(crate) window: Option<Spanned<WindowMode>>,
    pub(crate) windows: Option<Spanned<BTreeMap<String, WindowMode>>>,
    pub(crate) defaults: Option<CcDefaults>,
    /// The blocks again, every parameter with its value, for writing.
    #[serde(skip)]
    pub(crate) explicit: toml::Table,
}

/// `[cc.defaults]`: values of this file that came with the scheme `of`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CcDefaults {
    pub(crate) of: String,
    pub(crate) keys: Vec<String>,
}

impl Serialize for Cc {
    /// With the blocks alongside the other keys, where a file has them.
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
        if let Some(defaults) = &self.defaults {
            map.serialize_entry("defaults", defaults)?;
        }
        for (name, block) in &self.explicit {
            map.serialize_entry(name, block)?;
        }
        map.end()
    }
}
