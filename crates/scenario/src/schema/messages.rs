//! Messages that hosts send one after another.

use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use super::{Nodes, OrOff, tables};

tables! {
    /// Hosts that send messages one after another: the gap to the next starts when the last packet of a message was
    /// created. The workload of networks under credits (`fidelity = "ib-omnet"`); at most one source per host.
    struct Messages {
        /// sending hosts: a set of hosts
        senders: Spanned<Nodes> = "all";
        /// the receiving host, or one per sender
        receivers: Spanned<Nodes>;
        /// messages per sender
        messages: Spanned<u32> = "1";
        /// payload per message
        size: Spanned<Bytes> = "4096B";
        /// time from the last packet of a message to the next message, and from `start` to the first
        gap: Spanned<Span> = "1ns";
        /// start of the sources
        start: Spanned<Time> = "0s";
        /// end of new messages
        until: Spanned<OrOff<Time>> = "off";
        /// a table that replaces all keys but `until`: columns src_lid, dst_lid, msg_bytes, n_msgs, gap_ns, start_ms,
        /// one row per sender; hosts are counted from 1
        file: Spanned<String>;
    }
}
