//! Names of ports in results.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::spec::NodeId;
use crate::table::{Cell, ColumnKind, Value};

/// Port, written `port NODE.INTERFACE->PEER` in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRef {
    /// Node to which the port belongs.
    pub node: NodeId,
    /// Interface of the node, counted from 1 in the order of links.
    pub interface: u32,
    /// Node at the other end of the link.
    pub peer: NodeId,
}

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}.{}->{}", self.node.0, self.interface, self.peer.0)
    }
}

impl PortRef {
    fn parse(text: &str) -> Option<Self> {
        let (node, rest) = text.strip_prefix("port ")?.split_once('.')?;
        let (interface, peer) = rest.split_once("->")?;
        Some(Self {
            node: NodeId(node.parse().ok()?),
            interface: interface.parse().ok()?,
            peer: NodeId(peer.parse().ok()?),
        })
    }
}

impl Value for PortRef {
    const KIND: ColumnKind = ColumnKind::Text;
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self.to_string().into())
    }
    fn of(cell: Cell<'static>) -> Result<Self, String> {
        match &cell {
            Cell::Text(text) => Self::parse(text),
            _ => None,
        }
        .ok_or_else(|| "a port such as `port 0.1->4`".into())
    }
}
