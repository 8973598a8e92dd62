//! Bytes that have arrived of flows that are not complete, at the end of a run.
//!
//! In a run in parts, a flow's receiver may be in another part than what the flow's record and its connection say, so
//! the bytes are written when the results of all parts are together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::host::Hosts;
use crate::ids::FlowId;
use crate::traffic::Traffic;
use paceline_kernel::Bytes;

/// Bytes that have arrived in order at receivers, and the messages of connections.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Arrivals {
    flows: Vec<(FlowId, u64)>,
    /// By the first flow of each connection.
    connections: BTreeMap<FlowId, u64>,
    messages: Vec<Message>,
}

/// Message of a connection that is not complete.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Message {
    /// First flow of the connection.
    first: FlowId,
    flow: FlowId,
    /// Position of its first byte in the connection's, and its size.
    start: u64,
    size: u64,
}

impl Hosts {
    /// Returns what has arrived at these hosts, and what they have posted to connections.
    pub(crate) fn arrivals(&self) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for receiver in self.receivers.iter() {
            match receiver.is_connection() {
                true => {
                    arrivals.connections.insert(receiver.flow, receiver.expected);
                }
                false => arrivals.flows.push((receiver.flow, receiver.expected)),
            }
        }
        for qp in self.qps.iter().filter(|qp| !qp.done) {
            let posted = qp.connection.iter().flat_map(|connection| connection.messages());
            arrivals.messages.extend(posted.map(|message| Message {
                first: qp.flow,
                flow: message.flow,
                start: message.start,
                size: message.size,
            }));
        }
        arrivals
    }
}

impl Arrivals {
    pub(crate) fn append(&mut self, mut other: Self) {
        self.flows.append(&mut other.flows);
        self.connections.append(&mut other.connections);
        self.messages.append(&mut other.messages);
    }

    /// Writes the bytes into the records of the flows.
    pub(crate) fn write(&self, traffic: &mut Traffic) {
        for &(flow, bytes) in &self.flows {
            traffic.has_delivered(flow, Bytes::new(bytes));
        }
        for message in &self.messages {
            if let Some(&expected) = self.connections.get(&message.first) {
                let end = message.start + message.size;
                let arrived = expected.clamp(message.start, end) - message.start;
                traffic.has_delivered(message.flow, Bytes::new(arrived));
            }
        }
    }
}
