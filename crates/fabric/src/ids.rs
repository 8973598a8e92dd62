//! Dense numbers that identify the parts of a network.

use paceline_kernel::ids;
ids! {
    /// Index of one end of a link: ends of link `i` are ports `2i` and `2i + 1`.
    pub PortId: u32;
    /// Index of a link, as in the run's list.
    pub LinkId: u32;
    /// Index of the rate and delay that links share.
    pub ProfileId: u16;
    /// Index of a switch among the switches.
    pub SwitchId: u32;
    /// Index of a host's port among the NICs.
    pub NicId: u32;
    /// Index of a switch that packets are spread to (`switch/spread.rs`).
    pub(crate) ColumnId: u32;
    /// Slot of a packet; used again once the packet is removed.
    pub PacketId: u32;
    /// Index of a flow, in [`paceline_run::spec::RunSpec::flows`] first.
    pub FlowId: u32;
    /// Slot of a queue pair; used again once its flow is over.
    pub QpId: u32;
    /// Slot of a flow's receiver.
    pub(crate) ReceiverId: u32;
    /// Slot of the description of a flow that a stream or a program has started.
    pub(crate) HeldId: u32;
    /// Index of a flow's account.
    pub(crate) AccountId: u32;
}

impl PortId {
    /// Returns the port at the other end of the link.
    #[inline]
    pub(crate) const fn other(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Returns the port's link.
    #[inline]
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// Returns the end of the link that the port is: 0 or 1.
    #[inline]
    pub(crate) const fn end(self) -> usize {
        (self.0 % 2) as usize
    }
}

impl LinkId {
    /// Returns the ports at both ends.
    pub(crate) const fn ends(self) -> [PortId; 2] {
        [PortId(2 * self.0), PortId(2 * self.0 + 1)]
    }
}
