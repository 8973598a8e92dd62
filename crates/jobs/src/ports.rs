//! Source ports of messages between two hosts.

use std::collections::BTreeMap;

use paceline_run::spec::NodeId;
use paceline_run::stream::source_port;

/// Source ports that the messages of a program have used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports {
    /// Number of ports used so far, by pair of hosts.
    used: BTreeMap<(NodeId, NodeId), u16>,
    /// Port of each connection that has carried a message.
    kept: BTreeMap<Connection, u16>,
}

/// Messages that have one source port: those between two ranks, of one communicator and one channel, as NCCL has a
/// connection for each of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Connection {
    pub(crate) src: NodeId,
    pub(crate) dst: NodeId,
    /// Sending and receiving rank, since several ranks may share a host.
    pub(crate) ranks: [u32; 2],
    /// NICs of the two ranks.
    pub(crate) nics: [u8; 2],
    /// Group of the collective; `None` for messages between two ranks.
    pub(crate) group: Option<u32>,
    pub(crate) channel: u32,
}

impl Ports {
    /// Returns the source port of the next message between two hosts.
    pub(crate) fn next(&mut self, src: NodeId, dst: NodeId) -> u16 {
        let count = self.used.entry((src, dst)).or_default();
        let port = source_port(u64::from(*count));
        *count = count.wrapping_add(1);
        port
    }

    /// Returns the source port of a connection's messages.
    pub(crate) fn of(&mut self, connection: Connection) -> u16 {
        if let Some(&port) = self.kept.get(&connection) {
            return port;
        }
        let port = self.next(connection.src, connection.dst);
        self.kept.insert(connection, port);
        port
    }
}

#[cfg(test)]
mod tests {
    use super::{Connection, NodeId, Ports};

    #[test]
    fn a_connection_keeps_its_port_and_shares_it_with_none() {
        let mut ports = Ports::default();
        let send = Connection {
            src: NodeId(1),
            dst: NodeId(2),
            ranks: [0, 1],
            nics: [0, 0],
            group: None,
            channel: 0,
        };
        let others = [
            Connection {
                group: Some(0),
                ..send
            },
            Connection {
                group: Some(0),
                channel: 1,
                ..send
            },
            Connection {
                group: Some(1),
                ..send
            },
            Connection { nics: [1, 1], ..send },
            Connection {
                ranks: [2, 1],
                ..send
            },
        ];
        let first: Vec<u16> = [send].iter().chain(&others).map(|&one| ports.of(one)).collect();
        assert_eq!(first, [10_000, 10_001, 10_002, 10_003, 10_004, 10_005]);
        assert_eq!(ports.of(send), 10_000);
        assert_eq!(ports.of(others[2]), 10_003);
        assert_eq!(ports.next(NodeId(1), NodeId(2)), 10_006);
    }
}
