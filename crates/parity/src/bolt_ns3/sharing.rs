//! Flows that messages of the same pair of hosts share (the authors' "aggregation").
//!
//! A message looks for a flow of its pair. While that has packets to send, a short message gets a flow for
//! itself, which ends with it, and a longer one is appended. Otherwise (all is sent, or the flow is
//! idle) the message gets a flow that stays. A new flow takes over the window of the one that was found, once
//! its own first packet has left. The flow that was found and stays no longer is never taken away once it
//! is idle: it goes on being found, with a window of long ago. Which of several flows is found depends on the
//! order of the authors' table, [`HashOrder`].

use paceline_fabric::model::{FlowId, Net, QpId};
use paceline_kernel::Bytes;

use super::sender::Message;
use crate::bolt_ns3::BoltNs3;

/// What a message gets that has no place in a flow that there is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnFlow {
    /// Whether its flow stays for others.
    pub(super) keep: bool,
    /// The flow that it was found to share with.
    pub(super) found: Option<QpId>,
}

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

/// A new flow takes over the window of the one that its message had been to share.
pub(super) fn inherit_window(net: &mut Net<'_>, slot: QpId, found: QpId) {
    let window = Bytes::new(net.hosts.qp(found).window());
    net.hosts
        .call_scheme(net.world, net.core, slot, |scheme, _| scheme.inherit(window));
}

/// Queue pairs by a running 16-bit key, in the order of libstdc++'s `unordered_map`: the hash is the key
/// itself, an entry goes to the front of its bucket or, if that is empty, of the whole list.
#[derive(Clone, Debug, Default)]
pub(super) struct HashOrder {
    next_key: u16,
    buckets: usize,
    /// Keys and queue pairs, in the order of the list; each bucket's are together.
    list: Vec<(u16, QpId)>,
}

impl HashOrder {
    /// The sizes that a table grows through.
    const PRIMES: [usize; 14] = [
        13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172_933,
    ];

    fn insert(&mut self, slot: QpId) -> u16 {
        if self.list.len() + 1 > self.buckets {
            let larger = Self::PRIMES.into_iter().find(|&size| size > self.list.len());
            self.buckets = larger.unwrap_or(usize::from(u16::MAX) + 1);
            let old = std::mem::take(&mut self.list);
            for entry in old {
                self.link(entry);
            }
        }
        let key = self.next_key;
        self.next_key = key.wrapping_add(1);
        self.link((key, slot));
        key
    }

    fn link(&mut self, entry: (u16, QpId)) {
        let bucket = usize::from(entry.0) % self.buckets;
        let same = |other: &(u16, QpId)| usize::from(other.0) % self.buckets == bucket;
        let place = self.list.iter().position(same).unwrap_or(0);
        self.list.insert(place, entry);
    }

    fn remove(&mut self, key: u16) {
        self.list.retain(|&(other, _)| other != key);
    }

    fn iter(&self) -> impl Iterator<Item = QpId> + '_ {
        self.list.iter().map(|&(_, slot)| slot)
    }
}
