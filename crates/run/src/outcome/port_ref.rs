//! What a port is called in results.

use crate::spec::NodeId;

/// A port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRef {
    /// The node that it belongs to.
    pub node: NodeId,
    /// Its interface, counted from 1 in the order of links.
    pub interface: u32,
    /// The node at the other end.
    pub peer: NodeId,
}
