//! Keys that each program reads.

use super::format::InputFormat;
use super::keys::Kind;
use super::tcd::CELL;

/// Keys with the type of their values.
pub(super) type List = &'static [(&'static str, Kind)];

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

/// Keys of ns3-datacenter, equal to those of HPCC's simulator. Its topologies tell it apart.
pub(super) static DATACENTER: Keys = Keys {
    format: InputFormat::Ns3Datacenter,
    lists: &[HPCC],
    aliases: &[],
};

/// Keys of ns3-rdma, and of the simulator of TCD's authors, which is based on it.
const RDMA: List = &[
    ("ENABLE_QCN", Kind::Flag),
    ("USE_DYNAMIC_PFC_THRESHOLD", Kind::Flag),
    ("PACKET_LEVEL_ECMP", Kind::Flag),
    ("FLOW_LEVEL_ECMP", Kind::Flag),
    ("PAUSE_TIME", Kind::Real),
    ("DATA_RATE", Kind::Ignored),
    ("LINK_DELAY", Kind::Ignored),
    ("PACKET_PAYLOAD_SIZE", Kind::Size(1)),
    ("L2_CHUNK_SIZE", Kind::Size(1)),
    ("L2_ACK_INTERVAL", Kind::Size(1)),
    ("L2_WAIT_FOR_ACK", Kind::Flag),
    ("L2_BACK_TO_ZERO", Kind::Flag),
    ("L2_TEST_READ", Kind::Flag),
    ("TOPOLOGY_FILE", Kind::Path),
    ("FLOW_FILE", Kind::Path),
    ("TCP_FLOW_FILE", Kind::Path),
    ("TRACE_FILE", Kind::Path),
    ("TRACE_OUTPUT_FILE", Kind::Path),
    ("SEND_IN_CHUNKS", Kind::Flag),
    ("APP_START_TIME", Kind::Seconds),
    ("APP_STOP_TIME", Kind::Seconds),
    ("SIMULATOR_STOP_TIME", Kind::Seconds),
    ("CNP_INTERVAL", Kind::Real),
    ("ALPHA_RESUME_INTERVAL", Kind::Real),
    ("NP_SAMPLING_INTERVAL", Kind::Real),
    ("CLAMP_TARGET_RATE", Kind::Flag),
    ("CLAMP_TARGET_RATE_AFTER_TIMER", Kind::Flag),
    ("RP_TIMER", Kind::Real),
    ("BYTE_COUNTER", Kind::Size(1)),
    ("DCTCP_GAIN", Kind::Real),
    ("KMAX", Kind::Size(CELL)),
    ("KMIN", Kind::Size(CELL)),
    ("PMAX", Kind::Probability),
    ("FAST_RECOVERY_TIMES", Kind::Int),
    ("RATE_AI", Kind::Rate),
    ("RATE_HAI", Kind::Rate),
    ("ERROR_RATE_PER_LINK", Kind::Probability),
];

/// Keys that TCD's authors added, and three of Paceline's for settings that they change in the source.
const TCD: List = &[
    ("ENABLE_NPECN", Kind::Flag),
    ("ENABLE_ROOTECN", Kind::Flag),
    ("ENABLE_ROOTECNCC", Kind::Flag),
    ("SEED_NUMBER", Kind::Int),
    ("ROOTECN_INTERVAL", Kind::Int),
    ("FCT_OUTPUT_FILE", Kind::Path),
    ("X_NOQCN", Kind::Path),
    ("X_APP", Kind::Path),
    ("X_SLOTS", Kind::Int),
];

/// Paceline's keys for SimAI's command line options and environment variables.
const COMMAND_LINE: List = &[
    ("WORKLOAD_FILE", Kind::Path),
    ("AS_SEND_LAT", Kind::Int),
    ("AS_NVLS_ENABLE", Kind::Flag),
    ("AS_NVLSTREE_ENABLE", Kind::Flag),
    ("AS_PXN_ENABLE", Kind::Flag),
    ("AS_LOG_LEVEL", Kind::Ignored),
];

/// Keys of HPCC's ns-3 simulator.
const HPCC: List = &[
    ("ENABLE_QCN", Kind::Flag),
    ("USE_DYNAMIC_PFC_THRESHOLD", Kind::Ignored),
    ("PAUSE_TIME", Kind::Ignored),
    ("DATA_RATE", Kind::Ignored),
    ("LINK_DELAY", Kind::Ignored),
    ("PACKET_PAYLOAD_SIZE", Kind::Size(1)),
    ("L2_CHUNK_SIZE", Kind::Size(1)),
    ("L2_ACK_INTERVAL", Kind::Size(1)),
    ("L2_BACK_TO_ZERO", Kind::Flag),
    ("TOPOLOGY_FILE", Kind::Path),
    ("FLOW_FILE", Kind::Path),
    ("TRACE_FILE", Kind::Path),
    ("TRACE_OUTPUT_FILE", Kind::Path),
    ("FCT_OUTPUT_FILE", Kind::Path),
    ("PFC_OUTPUT_FILE", Kind::Path),
    ("SIMULATOR_STOP_TIME", Kind::Seconds),
    ("CC_MODE", Kind::Int),
    ("ALPHA_RESUME_INTERVAL", Kind::Real),
    ("RATE_DECREASE_INTERVAL", Kind::Real),
    ("CLAMP_TARGET_RATE", Kind::Flag),
    ("RP_TIMER", Kind::Real),
    ("EWMA_GAIN", Kind::Real),
    ("FAST_RECOVERY_TIMES", Kind::Int),
    ("RATE_AI", Kind::Rate),
    ("RATE_HAI", Kind::Rate),
    ("MIN_RATE", Kind::Rate),
    ("DCTCP_RATE_AI", Kind::Rate),
    ("ERROR_RATE_PER_LINK", Kind::Probability),
    ("HAS_WIN", Kind::Flag),
    ("GLOBAL_T", Kind::Flag),
    ("VAR_WIN", Kind::Flag),
    ("FAST_REACT", Kind::Flag),
    ("U_TARGET", Kind::Real),
    ("MI_THRESH", Kind::Int),
    ("INT_MULTI", Kind::Int),
    ("MULTI_RATE", Kind::Flag),
    ("SAMPLE_FEEDBACK", Kind::Flag),
    ("PINT_LOG_BASE", Kind::Real),
    ("PINT_PROB", Kind::Probability),
    ("RATE_BOUND", Kind::Flag),
    ("ACK_HIGH_PRIO", Kind::Flag),
    ("LINK_DOWN", Kind::LinkDown),
    ("ENABLE_TRACE", Kind::Flag),
    ("KMAX_MAP", Kind::Map),
    ("KMIN_MAP", Kind::Map),
    ("PMAX_MAP", Kind::Map),
    ("BUFFER_SIZE", Kind::Size(1 << 20)),
    ("QLEN_MON_FILE", Kind::Path),
    ("QLEN_MON_START", Kind::Int),
    ("QLEN_MON_END", Kind::Int),
];

/// Keys that SimAI added for the output files and intervals of its monitors.
const MONITORS: List = &[
    ("SEND_OUTPUT_FILE", Kind::LeftOut),
    ("RATE_MON_FILE", Kind::LeftOut),
    ("CNP_MON_FILE", Kind::LeftOut),
    ("BW_MON_FILE", Kind::LeftOut),
    ("MON_START", Kind::LeftOut),
    ("MON_END", Kind::LeftOut),
    ("QP_MON_INTERVAL", Kind::LeftOut),
    ("QLEN_MON_INTERVAL", Kind::LeftOut),
    ("BW_MON_INTERVAL", Kind::LeftOut),
    ("NIC_TOTAL_PAUSE_TIME", Kind::LeftOut),
];

/// Keys that ConWeave added. It has no TRACE_FILE, PINT_PROB and the like, whose presence does no harm.
const CONWEAVE: List = &[
    ("FLOWGEN_START_TIME", Kind::Seconds),
    ("FLOWGEN_STOP_TIME", Kind::Seconds),
    // These are in seconds in ConWeave, which does not use them.
    ("QLEN_MON_START", Kind::LeftOut),
    ("QLEN_MON_END", Kind::LeftOut),
    ("LB_MODE", Kind::Int),
    ("ENABLE_PFC", Kind::Flag),
    ("ENABLE_IRN", Kind::Flag),
    ("RANDOM_SEED", Kind::Int),
    ("LOAD", Kind::LeftOut),
    ("FLOW_INPUT_FILE", Kind::LeftOut),
    ("CNP_OUTPUT_FILE", Kind::LeftOut),
    ("VOQ_MON_FILE", Kind::LeftOut),
    ("VOQ_MON_DETAIL_FILE", Kind::LeftOut),
    ("UPLINK_MON_FILE", Kind::LeftOut),
    ("CONN_MON_FILE", Kind::LeftOut),
    ("EST_ERROR_MON_FILE", Kind::LeftOut),
    ("SW_MONITORING_INTERVAL", Kind::LeftOut),
    ("CONWEAVE_TX_EXPIRY_TIME", Kind::LeftOut),
    ("CONWEAVE_REPLY_TIMEOUT_EXTRA", Kind::LeftOut),
    ("CONWEAVE_PATH_PAUSE_TIME", Kind::LeftOut),
    ("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", Kind::LeftOut),
    ("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", Kind::LeftOut),
];

/// Keys that ns-3-alibabacloud added to those of HPCC's simulator.
const NAMESPACED: List = &[
    ("ENABLE_PFC", Kind::Flag),
    ("GROUP_START{", Kind::LeftOut),
    ("TYPE", Kind::LeftOut),
    ("NODES", Kind::LeftOut),
    ("}GROUP_END", Kind::LeftOut),
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
