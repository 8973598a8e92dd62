//! The numbers of a network's things.

use paceline_kernel::ids;
ids! {
    /// One end of a link.
    pub PortId: u32;
    /// A link.
    pub LinkId: u32;
    /// What links of one rate and delay share.
    pub ProfileId: u16;
    /// A switch.
    pub SwitchId: u32;
    /// A host's port.
    pub NicId: u32;
    /// A switch that packets are spread to (`switch/spread.rs`).
    pub(crate) ColumnId: u32;
    /// A packet: its slot.
    pub PacketId: u32;
    /// A flow: its place in [`paceline_run::spec::RunSpec::flows`].
    pub FlowId: u32;
    /// A queue pair: its slot.
    pub QpId: u32;
    /// A flow's receiver: its slot.
    pub(crate) ReceiverId: u32;
    /// A flow of a stream that is not over: where what is known of it stands.
    pub(crate) HeldId: u32;
    /// A flow's account.
    pub(crate) AccountId: u32;
}

impl PortId {
    /// The other end of its link.
    #[inline]
    pub(crate) const fn other(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The link of a port: its ends are ports `2i` and `2i + 1`.
    #[inline]
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// Which end of its link it is: 0 or 1.
    #[inline]
    pub(crate) const fn end(self) -> usize {
        (self.0 % 2) as usize
    }
}

impl LinkId {
    /// Its ports.
    pub(crate) const fn ends(self) -> [PortId; 2] {
        [PortId(2 * self.0), PortId(2 * self.0 + 1)]
    }
}
