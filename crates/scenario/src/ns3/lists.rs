//! Keys that each program reads.

use super::format::InputFormat;
use super::keys::ValueKind;
use super::tcd::CELL;

/// Keys with the type of their values.
pub(super) type List = &'static [(&'static str, ValueKind)];

/// Keys of a program.
pub(super) struct Keys {
    /// Program that reads these keys.
    pub(super) format: InputFormat,
    /// Lists of keys; the first list that has a key determines its type.
    pub(super) lists: &'static [List],
    /// Alternative names, each with the key that it stands for.
    pub(super) aliases: &'static [(&'static str, &'static str)],
}

/// Key lists of the programs that keys can tell apart, the most common program first. If several know the same number
/// of keys in a configuration, the first one wins.
pub(super) static ALL: [Keys; 6] = [
    Keys {
        format: InputFormat::Ns3Hpcc,
        lists: &[HPCC],
        aliases: &[],
    },
    Keys {
        format: InputFormat::Simai,
        lists: &[HPCC, MONITORS, COMMAND_LINE],
        aliases: &[],
    },
    Keys {
        format: InputFormat::Ns3Alibabacloud,
        lists: &[HPCC, MONITORS, NAMESPACED],
        aliases: ALIASES,
    },
    Keys {
        format: InputFormat::Conweave,
        lists: &[CONWEAVE, HPCC],
        aliases: &[],
    },
    Keys {
        format: InputFormat::TcdNs3,
        lists: &[RDMA, TCD],
        aliases: &[],
    },
    Keys {
        format: InputFormat::Ns3Rdma,
        lists: &[RDMA],
        aliases: &[],
    },
];

/// Keys of THEMIS' simulator, equal to those of HPCC's. Links from a node to itself tell it apart.
pub(super) static THEMIS: Keys = Keys {
    format: InputFormat::Themis,
    lists: &[HPCC],
    aliases: &[],
};

/// Keys of ns3-datacenter, equal to those of HPCC's simulator. Its topologies tell it apart.
pub(super) static DATACENTER: Keys = Keys {
    format: InputFormat::Ns3Datacenter,
    lists: &[HPCC],
    aliases: &[],
};

/// Keys of ns3-rdma, and of the simulator of TCD's authors, which is based on it.
const RDMA: List = &[
    ("ENABLE_QCN", ValueKind::Flag),
    ("USE_DYNAMIC_PFC_THRESHOLD", ValueKind::Flag),
    ("PACKET_LEVEL_ECMP", ValueKind::Flag),
    ("FLOW_LEVEL_ECMP", ValueKind::Flag),
    ("PAUSE_TIME", ValueKind::Real),
    ("DATA_RATE", ValueKind::Ignored),
    ("LINK_DELAY", ValueKind::Ignored),
    ("PACKET_PAYLOAD_SIZE", ValueKind::Size(1)),
    ("L2_CHUNK_SIZE", ValueKind::Size(1)),
    ("L2_ACK_INTERVAL", ValueKind::Size(1)),
    ("L2_WAIT_FOR_ACK", ValueKind::Flag),
    ("L2_BACK_TO_ZERO", ValueKind::Flag),
    ("L2_TEST_READ", ValueKind::Flag),
    ("TOPOLOGY_FILE", ValueKind::Path),
    ("FLOW_FILE", ValueKind::Path),
    ("TCP_FLOW_FILE", ValueKind::Path),
    ("TRACE_FILE", ValueKind::Path),
    ("TRACE_OUTPUT_FILE", ValueKind::Path),
    ("SEND_IN_CHUNKS", ValueKind::Flag),
    ("APP_START_TIME", ValueKind::Seconds),
    ("APP_STOP_TIME", ValueKind::Seconds),
    ("SIMULATOR_STOP_TIME", ValueKind::Seconds),
    ("CNP_INTERVAL", ValueKind::Real),
    ("ALPHA_RESUME_INTERVAL", ValueKind::Real),
    ("NP_SAMPLING_INTERVAL", ValueKind::Real),
    ("CLAMP_TARGET_RATE", ValueKind::Flag),
    ("CLAMP_TARGET_RATE_AFTER_TIMER", ValueKind::Flag),
    ("RP_TIMER", ValueKind::Real),
    ("BYTE_COUNTER", ValueKind::Size(1)),
    ("DCTCP_GAIN", ValueKind::Real),
    ("KMAX", ValueKind::Size(CELL)),
    ("KMIN", ValueKind::Size(CELL)),
    ("PMAX", ValueKind::Probability),
    ("FAST_RECOVERY_TIMES", ValueKind::Int),
    ("RATE_AI", ValueKind::Rate),
    ("RATE_HAI", ValueKind::Rate),
    ("ERROR_RATE_PER_LINK", ValueKind::Probability),
];

/// Keys that TCD's authors added, and three of Paceline's for settings that they change in the source.
const TCD: List = &[
    ("ENABLE_NPECN", ValueKind::Flag),
    ("ENABLE_ROOTECN", ValueKind::Flag),
    ("ENABLE_ROOTECNCC", ValueKind::Flag),
    ("SEED_NUMBER", ValueKind::Int),
    ("ROOTECN_INTERVAL", ValueKind::Int),
    ("FCT_OUTPUT_FILE", ValueKind::Path),
    ("X_NOQCN", ValueKind::Path),
    ("X_APP", ValueKind::Path),
    ("X_SLOTS", ValueKind::Int),
];

/// Paceline's keys for SimAI's command line options and environment variables.
const COMMAND_LINE: List = &[
    ("WORKLOAD_FILE", ValueKind::Path),
    ("AS_SEND_LAT", ValueKind::Int),
    ("AS_NVLS_ENABLE", ValueKind::Flag),
    ("AS_NVLSTREE_ENABLE", ValueKind::Flag),
    ("AS_PXN_ENABLE", ValueKind::Flag),
    ("AS_LOG_LEVEL", ValueKind::Ignored),
];

/// Keys of HPCC's ns-3 simulator.
const HPCC: List = &[
    ("ENABLE_QCN", ValueKind::Flag),
    ("USE_DYNAMIC_PFC_THRESHOLD", ValueKind::Ignored),
    ("PAUSE_TIME", ValueKind::Ignored),
    ("DATA_RATE", ValueKind::Ignored),
    ("LINK_DELAY", ValueKind::Ignored),
    ("PACKET_PAYLOAD_SIZE", ValueKind::Size(1)),
    ("L2_CHUNK_SIZE", ValueKind::Size(1)),
    ("L2_ACK_INTERVAL", ValueKind::Size(1)),
    ("L2_BACK_TO_ZERO", ValueKind::Flag),
    ("TOPOLOGY_FILE", ValueKind::Path),
    ("FLOW_FILE", ValueKind::Path),
    ("TRACE_FILE", ValueKind::Path),
    ("TRACE_OUTPUT_FILE", ValueKind::Path),
    ("FCT_OUTPUT_FILE", ValueKind::Path),
    ("PFC_OUTPUT_FILE", ValueKind::Path),
    ("SIMULATOR_STOP_TIME", ValueKind::Seconds),
    ("CC_MODE", ValueKind::Int),
    ("ALPHA_RESUME_INTERVAL", ValueKind::Real),
    ("RATE_DECREASE_INTERVAL", ValueKind::Real),
    ("CLAMP_TARGET_RATE", ValueKind::Flag),
    ("RP_TIMER", ValueKind::Real),
    ("EWMA_GAIN", ValueKind::Real),
    ("FAST_RECOVERY_TIMES", ValueKind::Int),
    ("RATE_AI", ValueKind::Rate),
    ("RATE_HAI", ValueKind::Rate),
    ("MIN_RATE", ValueKind::Rate),
    ("DCTCP_RATE_AI", ValueKind::Rate),
    ("ERROR_RATE_PER_LINK", ValueKind::Probability),
    ("HAS_WIN", ValueKind::Flag),
    ("GLOBAL_T", ValueKind::Flag),
    ("VAR_WIN", ValueKind::Flag),
    ("FAST_REACT", ValueKind::Flag),
    ("U_TARGET", ValueKind::Real),
    ("MI_THRESH", ValueKind::Int),
    ("INT_MULTI", ValueKind::Int),
    ("MULTI_RATE", ValueKind::Flag),
    ("SAMPLE_FEEDBACK", ValueKind::Flag),
    ("PINT_LOG_BASE", ValueKind::Real),
    ("PINT_PROB", ValueKind::Probability),
    ("RATE_BOUND", ValueKind::Flag),
    ("ACK_HIGH_PRIO", ValueKind::Flag),
    ("LINK_DOWN", ValueKind::LinkDown),
    ("ENABLE_TRACE", ValueKind::Flag),
    ("KMAX_MAP", ValueKind::Map),
    ("KMIN_MAP", ValueKind::Map),
    ("PMAX_MAP", ValueKind::Map),
    ("BUFFER_SIZE", ValueKind::Size(1 << 20)),
    ("QLEN_MON_FILE", ValueKind::Path),
    ("QLEN_MON_START", ValueKind::Int),
    ("QLEN_MON_END", ValueKind::Int),
];

/// Keys that SimAI added for the output files and intervals of its monitors.
const MONITORS: List = &[
    ("SEND_OUTPUT_FILE", ValueKind::LeftOut),
    ("RATE_MON_FILE", ValueKind::LeftOut),
    ("CNP_MON_FILE", ValueKind::LeftOut),
    ("BW_MON_FILE", ValueKind::LeftOut),
    ("MON_START", ValueKind::LeftOut),
    ("MON_END", ValueKind::LeftOut),
    ("QP_MON_INTERVAL", ValueKind::LeftOut),
    ("QLEN_MON_INTERVAL", ValueKind::LeftOut),
    ("BW_MON_INTERVAL", ValueKind::LeftOut),
    ("NIC_TOTAL_PAUSE_TIME", ValueKind::LeftOut),
];

/// Keys that ConWeave added. It has no TRACE_FILE, PINT_PROB and the like, whose presence does no harm.
const CONWEAVE: List = &[
    ("FLOWGEN_START_TIME", ValueKind::Seconds),
    ("FLOWGEN_STOP_TIME", ValueKind::Seconds),
    // These are in seconds in ConWeave, which does not use them.
    ("QLEN_MON_START", ValueKind::LeftOut),
    ("QLEN_MON_END", ValueKind::LeftOut),
    ("LB_MODE", ValueKind::Int),
    ("ENABLE_PFC", ValueKind::Flag),
    ("ENABLE_IRN", ValueKind::Flag),
    ("RANDOM_SEED", ValueKind::Int),
    ("LOAD", ValueKind::LeftOut),
    ("FLOW_INPUT_FILE", ValueKind::LeftOut),
    ("CNP_OUTPUT_FILE", ValueKind::LeftOut),
    ("VOQ_MON_FILE", ValueKind::LeftOut),
    ("VOQ_MON_DETAIL_FILE", ValueKind::LeftOut),
    ("UPLINK_MON_FILE", ValueKind::LeftOut),
    ("CONN_MON_FILE", ValueKind::LeftOut),
    ("EST_ERROR_MON_FILE", ValueKind::LeftOut),
    ("SW_MONITORING_INTERVAL", ValueKind::LeftOut),
    ("CONWEAVE_TX_EXPIRY_TIME", ValueKind::LeftOut),
    ("CONWEAVE_REPLY_TIMEOUT_EXTRA", ValueKind::LeftOut),
    ("CONWEAVE_PATH_PAUSE_TIME", ValueKind::LeftOut),
    ("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", ValueKind::LeftOut),
    ("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", ValueKind::LeftOut),
];

/// Keys that ns-3-alibabacloud added to those of HPCC's simulator.
const NAMESPACED: List = &[
    ("ENABLE_PFC", ValueKind::Flag),
    ("GROUP_START{", ValueKind::LeftOut),
    ("TYPE", ValueKind::LeftOut),
    ("NODES", ValueKind::LeftOut),
    ("}GROUP_END", ValueKind::LeftOut),
];

/// Prefix of a class and its attribute.
pub(super) const NAMESPACE: &str = "ns3::";

/// Attributes that correspond to keys of HPCC's simulator.
const ALIASES: &[(&str, &str)] = &[
    ("ns3::QbbNetDevice::QcnEnabled", "ENABLE_QCN"),
    ("ns3::QbbNetDevice::DynamicThreshold", "USE_DYNAMIC_PFC_THRESHOLD"),
    ("ns3::QbbNetDevice::PauseTime", "PAUSE_TIME"),
    ("ns3::SwitchNode::PfcEnabled", "ENABLE_PFC"),
    ("ns3::RdmaHw::Mtu", "PACKET_PAYLOAD_SIZE"),
    ("ns3::RdmaHw::CcMode", "CC_MODE"),
    ("ns3::RdmaHw::RateAI", "RATE_AI"),
    ("ns3::RdmaHw::RateHAI", "RATE_HAI"),
    ("ns3::RdmaHw::MinRate", "MIN_RATE"),
    ("ns3::RdmaHw::L2ChunkSize", "L2_CHUNK_SIZE"),
    ("ns3::RdmaHw::L2AckInterval", "L2_ACK_INTERVAL"),
    ("ns3::RdmaHw::L2BackToZero", "L2_BACK_TO_ZERO"),
    ("ns3::RdmaHw::VarWin", "VAR_WIN"),
    ("ns3::RdmaHw::RateBound", "RATE_BOUND"),
    ("ns3::MellanoxDcqcn::AlphaResumInterval", "ALPHA_RESUME_INTERVAL"),
    (
        "ns3::MellanoxDcqcn::RateDecreaseInterval",
        "RATE_DECREASE_INTERVAL",
    ),
    ("ns3::MellanoxDcqcn::ClampTargetRate", "CLAMP_TARGET_RATE"),
    ("ns3::MellanoxDcqcn::RPTimer", "RP_TIMER"),
    ("ns3::MellanoxDcqcn::EwmaGain", "EWMA_GAIN"),
    ("ns3::MellanoxDcqcn::FastRecoveryTimes", "FAST_RECOVERY_TIMES"),
    ("ns3::Dctcp::DctcpRateAI", "DCTCP_RATE_AI"),
    ("ns3::Hpcc::FastReact", "FAST_REACT"),
    ("ns3::Hpcc::TargetUtil", "U_TARGET"),
    ("ns3::Hpcc::MiThresh", "MI_THRESH"),
    ("ns3::Hpcc::MultiRate", "MULTI_RATE"),
    ("ns3::Hpcc::SampleFeedback", "SAMPLE_FEEDBACK"),
    ("ns3::HpccPint::PintProb", "PINT_PROB"),
];
