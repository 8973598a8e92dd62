//! Counters of lanes under Ethernet's credits.

use paceline_run::outcome::PortRef;
use paceline_run::recorded;
use serde::{Deserialize, Serialize};

recorded! {
    /// a lane of a port under Ethernet's credits; columns from `s_cc` to `r_cf` are its cyclic counters of 20 bits
    #[derive(Default, Serialize, Deserialize)]
    pub struct CbfcLane = "cbfc", needs "network.credit" {
        /// the port that sends and receives
        port: PortRef,
        /// virtual lane, from 0
        lane: u32,
        /// credits consumed by the sender
        s_cc: u32,
        /// credits that the sender knows to be freed
        s_cf: u32,
        /// credits consumed, as the receiver counts them
        r_cc: u32,
        /// credits freed by the receiver
        r_cf: u32,
        /// CF_Updates sent about the lane
        tx_cf_updates: u64,
        /// CF_Updates received about the lane
        rx_cf_updates: u64,
        /// CC_Updates sent by the port, which are about all lanes
        tx_cc_updates: u64,
        /// CC_Updates received by the port
        rx_cc_updates: u64,
        /// credits that CC_Updates have given back, since the link had lost their frames
        restored: u64,
    }
}
