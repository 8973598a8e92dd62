//! Context of an event: what switches, hosts and flows share while they handle it.

use crate::core::Core;
use crate::world::World;

/// Constant data, and the clock, packets and ports, as every handler of an event needs them.
pub struct Cx<'a> {
    /// Constant data of the run.
    pub world: &'a World,
    /// Clock, packets and ports.
    pub core: &'a mut Core,
}

impl<'a> Cx<'a> {
    /// Puts the two together for one call.
    #[inline(always)]
    pub(crate) fn new(world: &'a World, core: &'a mut Core) -> Self {
        Self { world, core }
    }
}
