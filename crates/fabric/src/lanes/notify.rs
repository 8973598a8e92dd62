//! Causes of missing credit, for the recorders.

use std::cmp::Reverse;

use crate::core::Core;
use crate::ids::PortId;
use crate::lanes::LaneSwitches;

impl LaneSwitches {
    /// Records why the sender to a port lacks credit: the output that holds most bytes of what came in by the port.
    #[cold]
    pub(crate) fn notify_why(&self, core: &mut Core, ingress: PortId, class: u8) {
        let (node, input) = (core.ports[ingress].node, core.ports[ingress].index);
        let here = core.ports.numbered().filter(|(_, port)| port.node == node);
        let bytes = |output: PortId| {
            let waiting = self.waiting[self.index(output, input, class)].head;
            let packets = core.packets.linked(waiting);
            packets
                .map(|id| u64::from(core.packets.get(id).wire))
                .sum::<u64>()
        };
        let all = here.map(|(output, _)| (bytes(output), output));
        let most = all
            .filter(|&(bytes, _)| bytes > 0)
            .max_by_key(|&(bytes, output)| (bytes, Reverse(output)));
        if let Some((_, output)) = most {
            let recorder = &mut core.watch.recorder;
            recorder.ports.stands_behind(ingress, recorder.interface(output));
        }
    }
}
