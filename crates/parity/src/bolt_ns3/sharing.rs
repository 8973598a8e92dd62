//! Flows that messages of the same pair of hosts share (the authors' "aggregation").
//!
//! A message looks for a flow of its pair. While that has packets to send, a short message gets a flow for
//! itself, which ends with it, and a longer one is appended. Otherwise (all is sent, or the flow is
//! idle) the message gets a flow that stays. A new flow takes over the window of the one that was found, once
//! its own first packet has left. The flow that was found and stays no longer is never taken away once it
//! is idle: it goes on being found, with a window of long ago. Which of several flows is found depends on the
//! order of the authors' table, [`super::table::HashOrder`].

use paceline_fabric::model::{FlowId, Net, QpId};

use crate::bolt_ns3::BoltNs3;
use crate::bolt_ns3::sender::Message;
use crate::bolt_ns3::table::OwnFlow;

impl BoltNs3 {
    /// Finds out what message `flow` gets; if it is a place in a flow that there is, it takes it.
    pub(super) fn share(&mut self, net: &mut Net<'_>, flow: FlowId) -> Option<OwnFlow> {
        let keep = self.spec.share_flows;
        let found = if keep { self.find_flow(net, flow) } else { None };
        let Some(slot) = found else {
            return Some(OwnFlow { keep, found });
        };
        let size = net.world.flow(net.core, flow).size.get();
        let qp = net.hosts.qp_mut(slot);
        if qp.max_sent() >= qp.size() {
            self.senders[slot].keep = false;
            return Some(OwnFlow { keep: true, found });
        }
        if size <= self.senders[slot].first_window {
            return Some(OwnFlow { keep: false, found });
        }
        let (end, shared) = (qp.extend(size), qp.flow());
        let ideal = net.traffic.record_mut(shared).ideal;
        net.traffic.record_mut(flow).ideal = ideal;
        let message = Message {
            flow,
            end,
            received: false,
        };
        self.senders[slot].messages.push_back(message);
        self.send_down(net, slot);
        None
    }

    /// The flow of the message's pair that the authors' table gives first.
    fn find_flow(&self, net: &Net<'_>, flow: FlowId) -> Option<QpId> {
        let message = net.world.flow(net.core, flow);
        let table = self.tables.get(&message.src.0)?;
        table.iter().find(|&slot| {
            let other = net.world.flow(net.core, net.hosts.qp(slot).flow());
            other.dst == message.dst
        })
    }

    /// A new flow enters its host's table; gives its key there.
    pub(super) fn enter_table(&mut self, net: &mut Net<'_>, slot: QpId) -> u16 {
        let host = net.world.flow(net.core, net.hosts.qp(slot).flow()).src.0;
        self.tables.entry(host).or_default().insert(slot)
    }

    /// A flow is gone.
    pub(super) fn leave_table(&mut self, net: &mut Net<'_>, slot: QpId) {
        let host = net.world.flow(net.core, net.hosts.qp(slot).flow()).src.0;
        let key = self.senders[slot].key;
        if let Some(table) = self.tables.get_mut(&host) {
            table.remove(key);
        }
    }
}
