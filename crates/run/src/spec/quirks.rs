//! Deviations of other simulators from realistic behaviour.

use serde::{Deserialize, Serialize};

/// Deviations of reference simulators from realistic behaviour, one switch each; all off by default.
///
/// They belong to HPCC's ns-3 simulator ([`Quirks::ns3_hpcc`]), to SimAI's ([`Quirks::simai`]), and to
/// simulators whose networks are separate models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quirks {
    /// Every real-valued duration is truncated to whole nanoseconds, so links are slightly too fast.
    pub truncate_to_ns: bool,
    /// Telemetry has the header's narrow, wrapping fields: 24-bit ns, 20-bit and 17-bit byte counts in units
    /// of 128 and 80 bytes times `int_multi`; at most 5 hops; codes for links of 25, 50, 100, 200 and 400
    /// Gbit/s, any other rate is read as 25. After a change of path, samples of different ports are compared.
    pub int_wire_precision: bool,
    /// A queue pair that is blocked by its window or a pause, and whose pacing time has passed, suppresses
    /// the wake-up of the other queue pairs of its NIC.
    pub wakeup_suppression: bool,
    /// Finished queue pairs leave the round-robin in a scan that shifts the positions of the others.
    pub lazy_qp_removal: bool,
    /// The ACK interval is a threshold in bytes on the expected sequence number, not an interval.
    pub ack_threshold: bool,
    /// The class that blocks ACKs in the host's NIC is independent of their class in switches: 3, or 0 with
    /// `ack_high_priority`.
    pub ack_nic_class: bool,
    /// With `ack_nic_class`: ACKs are blocked by pauses of class 0 (never), not 3.
    pub ack_high_priority: bool,
    /// ACKs can be marked, but nobody reads the mark.
    pub mark_acks: bool,
    /// A receiver ignores data that it already has, so that a lost last acknowledgement is never repeated.
    pub ignore_duplicates: bool,
    /// Thresholds have 32 bits and wrap if the buffer is smaller than headroom plus reserve.
    pub wrapping_threshold: bool,
    /// HPCC divides by the window even if there is none: with the window off, by zero.
    pub hpcc_divides_by_window: bool,
    /// The ideal completion time of a flow is the simulator's formula, not that of the flow alone: a round
    /// trip with one packet's time per link, plus all bytes at the slowest link's rate.
    pub ideal_by_formula: bool,
    /// Only the last of several links between two nodes is used.
    pub last_parallel_link_only: bool,
    /// Equal next hops are ordered as a breadth-first search from the destination reaches them, not by
    /// number; at each node the search continues in descending numbers.
    pub next_hops_as_found: bool,
    /// Random numbers come from ns-3's generator (a new stream for each draw) and from the C library's
    /// `rand`.
    pub ns3_random: bool,
    /// HPCC-PINT's switches use approximate logarithms, as the reference does; if the digest has 8 bits,
    /// larger values lose their upper bits.
    pub pint_approximate_logs: bool,
    /// With pacing off, a change of HPCC's rate still moves the next packet, by as much as if it were on.
    pub repaces_unpaced: bool,
    /// A receiver forgets a flow that its sender has completed. Late data restarts it at byte zero, and is
    /// answered with NACKs that nobody reads.
    pub receiver_forgets: bool,
    /// Bytes in flight are an unsigned difference: an ACK that overtakes a return to a gap makes it huge, and
    /// with a window nothing more is sent before the next NACK.
    pub unsigned_in_flight: bool,
    /// With `back-to-chunk`, ACKs count whole chunks only: a flow ends only if its size is a multiple of the
    /// chunk.
    pub whole_chunks_only: bool,
    /// Base RTT and BDP of two hosts, and the ideal completion time, are those of the first path that a
    /// breadth-first search finds, not the flow's; after a failure only the rate in the last is recomputed.
    pub first_path_found: bool,
    /// A failed link drops its queues, but their bytes stay counted in the switch's buffer, and the pauses
    /// that they caused continue.
    pub lost_bytes_stay: bool,
    /// After a failure a host's queue pairs are in the order of the C++ library's hash table, and each
    /// insertion makes the NIC send.
    pub hash_ordered_qps: bool,
    /// The shift of a dynamic PFC threshold is one less for each started doubling of the rate, not for each
    /// completed one.
    pub shift_rounds_up: bool,
    /// Every duration is truncated to whole nanoseconds; unlike with `truncate_to_ns` alone, whole values
    /// stay exact.
    pub floor_to_ns: bool,
    /// A failing link still delivers the packets on it and in its ports' queues, and routes do not change.
    pub gentle_failures: bool,
    /// ECMP hashes the hosts alone, not ports: all flows between two hosts take one path.
    pub hash_hosts_only: bool,
}

/// Rounding of transmission times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To picoseconds, without systematic error.
    Exact,
    /// To nanoseconds, through real numbers of seconds ([`Quirks::truncate_to_ns`]).
    RealNs,
    /// To nanoseconds, in integers ([`Quirks::floor_to_ns`]).
    WholeNs,
}

impl Quirks {
    /// Returns the deviations of HPCC's ns-3 simulator.
    pub const fn ns3_hpcc() -> Self {
        Self {
            truncate_to_ns: true,
            int_wire_precision: true,
            wakeup_suppression: true,
            lazy_qp_removal: true,
            ack_threshold: true,
            ack_nic_class: true,
            ack_high_priority: false,
            mark_acks: true,
            ignore_duplicates: true,
            wrapping_threshold: true,
            hpcc_divides_by_window: true,
            ideal_by_formula: true,
            last_parallel_link_only: true,
            next_hops_as_found: true,
            ns3_random: true,
            pint_approximate_logs: true,
            repaces_unpaced: true,
            receiver_forgets: true,
            unsigned_in_flight: true,
            whole_chunks_only: true,
            first_path_found: true,
            lost_bytes_stay: true,
            hash_ordered_qps: true,
            shift_rounds_up: true,
            floor_to_ns: false,
            gentle_failures: false,
            hash_hosts_only: false,
        }
    }

    /// Returns the deviations of SimAI's ns-3 simulator: HPCC's on a later ns-3, whose transmission times are
    /// integers.
    pub const fn simai() -> Self {
        Self {
            floor_to_ns: true,
            ..Self::ns3_hpcc()
        }
    }

    /// Returns the rounding of transmission times.
    pub const fn rounding(&self) -> Rounding {
        match (self.floor_to_ns, self.truncate_to_ns) {
            (true, _) => Rounding::WholeNs,
            (false, true) => Rounding::RealNs,
            (false, false) => Rounding::Exact,
        }
    }
}
