//! Counters of ports with link-level retry.

use paceline_run::outcome::PortRef;
use paceline_run::recorded;
use serde::{Deserialize, Serialize};

recorded! {
    /// a port whose link has link-level retry; columns from `tx_ok` to `rx_duplicate_seq` are the counters of the Switch
    /// Abstraction Interface, `SAI_PORT_STAT_LLR_` and the name in capitals
    #[derive(Default, Serialize, Deserialize)]
    pub struct LlrPort = "llr", needs "network.llr" {
        /// the port whose link has retry
        port: PortRef,
        /// frames sent, those sent again included
        tx_ok: u64,
        /// replays: times at which all outstanding frames were to be sent again
        tx_replay: u64,
        /// requests to begin with a new number
        tx_init_ctl_os: u64,
        /// answers to such requests
        tx_init_echo_ctl_os: u64,
        /// acknowledgements that were sent
        tx_ack_ctl_os: u64,
        /// negative acknowledgements that were sent
        tx_nack_ctl_os: u64,
        /// requests of the other end that came
        rx_init_ctl_os: u64,
        /// answers of the other end that came
        rx_init_echo_ctl_os: u64,
        /// acknowledgements of the other end that came
        rx_ack_ctl_os: u64,
        /// negative acknowledgements that came
        rx_nack_ctl_os: u64,
        /// acknowledgements of frames that were not sent
        rx_ack_nack_seq_error: u64,
        /// frames that came with a good checksum and any number
        rx_ok: u64,
        /// frames that came marked as damaged before the link
        rx_poisoned: u64,
        /// frames that came with a wrong checksum
        rx_bad: u64,
        /// expected frames that were accepted
        rx_expected_seq_good: u64,
        /// expected frames that were damaged before the link
        rx_expected_seq_poisoned: u64,
        /// expected frames with a wrong checksum
        rx_expected_seq_bad: u64,
        /// frames with a number ahead of the expected one
        rx_missing_seq: u64,
        /// frames that had been accepted before
        rx_duplicate_seq: u64,
        /// frames that were sent again
        replayed_frames: u64,
        /// bytes of frames that were sent again
        replayed_bytes: u64,
        /// times at which the port gave up its outstanding frames
        flushes: u64,
        /// frames that the port gave up
        given_up_frames: u64,
        /// most frames outstanding at a time
        outstanding_max: u64,
        /// time for which the port could send no new frame: during replays, with a full replay buffer, after a flush
        held_ps: u64,
    }
}
