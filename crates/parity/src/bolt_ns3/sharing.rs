//! Flows shared by messages between the same hosts (the authors' "aggregation").
//!
//! A message looks for a flow of its pair of hosts. While that flow has packets to send, a short message gets a flow
//! of its own, which ends with it, and a longer message is appended. Otherwise (all data is sent, or the flow is
//! idle) the message gets a new flow that stays. A new flow takes over the window of the flow that was found, after
//! its own first packet. The flow that was found no longer stays, but is never removed if it is already idle: later
//! messages go on finding it, with its old window. If there are several flows, the order of the authors' table
//! decides ([`super::table::HashOrder`]).

use paceline_fabric::model::{FlowId, Net, QpId};

use crate::bolt_ns3::BoltNs3;
use crate::bolt_ns3::sender::Message;
use crate::bolt_ns3::table::OwnFlow;

impl BoltNs3 {
    /// Decides which flow carries message `flow`. Appends it to an existing flow and returns `None`, or returns the
    /// settings of a new flow.
    pub(super) fn share(&mut self, net: &mut Net<'_>, flow: FlowId) -> Option<OwnFlow> {
        let keep = self.spec.share_flows;
        let found = if keep { self.find_flow(net, flow) } else { None };
        let Some(slot) = found else {
            return Some(OwnFlow { keep, found });
        };
        let size = net.cx.world.flow(net.cx.core, flow).size.get();
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

    /// Returns the first flow of the message's hosts in the authors' table.
    fn find_flow(&self, net: &Net<'_>, flow: FlowId) -> Option<QpId> {
        let message = net.cx.world.flow(net.cx.core, flow);
        let table = self.tables.get(&message.src.0)?;
        table.iter().find(|&slot| {
            let other = net.cx.world.flow(net.cx.core, net.hosts.qp(slot).flow());
            other.dst == message.dst
        })
    }

    /// Inserts a new flow into its host's table, and returns its key there.
    pub(super) fn enter_table(&mut self, net: &mut Net<'_>, slot: QpId) -> u16 {
        let host = net.cx.world.flow(net.cx.core, net.hosts.qp(slot).flow()).src.0;
        self.tables.entry(host).or_default().insert(slot)
    }

    /// Removes a flow from its host's table.
    pub(super) fn leave_table(&mut self, net: &mut Net<'_>, slot: QpId) {
        let host = net.cx.world.flow(net.cx.core, net.hosts.qp(slot).flow()).src.0;
        let key = self.senders[slot].key;
        if let Some(table) = self.tables.get_mut(&host) {
            table.remove(key);
        }
    }
}
