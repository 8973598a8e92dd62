//! Record of flows that were isolated.

use paceline_run::outcome::PortRef;
use paceline_run::recorded;
use serde::{Deserialize, Serialize};

recorded! {
    /// a flow that a switch isolated at a port
    #[derive(Serialize, Deserialize)]
    pub struct IsolatedFlow = "isolated", needs "network.isolation" {
        /// the egress port at which it waited apart
        port: PortRef,
        /// number of the flow
        flow_id: u32,
        /// start of the isolation
        at_ps: u64,
        /// its end; empty if it lasted until the end of the run
        until_ps: Option<u64>,
        /// true if the switch behind the port asked for it, false if this port's own queue did
        asked_by_neighbour: bool,
        /// packets that waited in the isolated queue
        packets: u64,
    }
}
