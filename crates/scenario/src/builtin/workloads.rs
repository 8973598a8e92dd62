//! The blocks of `[[workload]]` and their keys.

use super::{Entry, Parameter, SIZE, TIME, entries};

/// The workloads, blocks of `[[workload]]`.
pub fn workloads() -> &'static [Entry] {
    entries! {
        "flows": "Flows one by one: a list of { src, dst, size, start }." {
            "src", "", "", "sending host";
            "dst", "", "", "receiving host";
            "size", SIZE, "", "payload";
            "start", TIME, "0s", "when the sender starts";
        }
        "file": "A flow file of HPCC's ns-3 simulator or one of its relatives, or a connection matrix of htsim (.cm): `file = \"flow.txt\"`." {}
        "trace": "Flows from a table with named columns, in any order: `src`, `dst`, `size_bytes`, one of `start_ps`, `start_us`, `start_s`; where they are there `label`, `priority` and `scheme`, `connection` (flows of the same number go over one persistent connection), `flow_id`, and `after` (`after_ack`, `after_start`): the flows whose last byte (last acknowledgement, start) this one waits for, and `delay_ps` (`delay_us`, `delay_s`) how long beyond that. The `flows.csv` of a run is such a table. What the workload says of all its flows goes before the columns." {
            "file", "", "", "a CSV or Parquet file";
            "ignore", "", "[]", "list of columns to leave out, such as the scheme of the run that is replayed";
            "connections", "", "per-message", "`per-message`: each has a queue pair of its own. `persistent`: flows of the same hosts, priority and scheme share one that stays; a column `connection` says which do, instead";
        }
        "incast": "Several hosts send to one at the same time, once or periodically." {
            "receiver", "", "", "the host that all send to";
            "fan-in", "", "", "number of senders: the first hosts that are not the receiver";
            "senders", "", "", "the senders, a set of hosts; instead of fan-in";
            "size", SIZE, "500KB", "payload of each sender";
            "sizes", SIZE, "", "list of payloads, one per sender, the last for all others; instead of size";
            "start", TIME, "0s", "when they start";
            "rounds", "", "1", "how often";
            "period", TIME, "", "time from one round to the next";
        }
        "poisson": "Poisson arrivals at every host, sizes drawn from a distribution, to another host at random (HPCC's traffic generator)." {
            "sizes", "", "", "distribution of flow sizes: websearch, fb-hadoop, alistorage, google-rpc, google-rpc-read, google-rpc-batch, a file of lines `bytes percent`, or a list of { size, share }";
            "hosts", "", "all", "hosts that send to each other: a set of hosts";
            "load", "", "", "share of the hosts' rate that the payload fills";
            "from", TIME, "0s", "first arrivals";
            "to", TIME, "the duration", "no arrivals from here on";
        }
        "incast-poisson": "Poisson incasts: a random receiver, random senders (HPCC's evaluation)." {
            "hosts", "", "all", "hosts that take part: a set of hosts";
            "load", "", "0.02", "share of these hosts' rate together that the payload fills";
            "fan-in", "", "60", "senders of each incast";
            "size", SIZE, "500KB", "payload of each sender";
            "from", TIME, "0s", "first arrivals";
            "to", TIME, "the duration", "no arrivals from here on";
        }
        "permutation": "Every host sends to another one and receives from another one, chosen at random." {
            "hosts", "", "all", "hosts that take part: a set of hosts";
            "size", SIZE, "1MB", "payload of each flow";
            "start", TIME, "0s", "when they start";
        }
        "closed-loop": "Senders that keep a number of messages under way: the next one starts when one is acknowledged. Each message is a flow, on a queue pair of its own or over a persistent connection; those of one place, or connection, and receiver have the same ports." {
            "senders", "", "all", "hosts that send: a set of hosts";
            "receivers", "", "all", "hosts that receive, a set: each message goes to one of them at random that is not its sender";
            "to", "", "random", "`random`: each message to one of the receivers at random. `all`: so many messages are under way to each of them at a time";
            "processes", "", "1", "processes of each sender, which do all this beside each other";
            "outstanding", "", "1", "messages of a process that are under way at a time; with `to = \"all\"`, to each receiver";
            "messages", "", "", "messages of each process in all; with `to = \"all\"`, to each receiver";
            "size", SIZE, "64KB", "payload of each message";
            "sizes", "", "", "distribution of payloads, as for poisson; instead of size";
            "think-time", TIME, "0s", "from a message's acknowledgement to the start of the next";
            "start", TIME, "0s", "when the first ones start";
            "connections", "", "per-message", "`per-message`: each has a queue pair of its own. `persistent`: each process has one to each of its receivers, which stays";
        }
        "messages": "Hosts that send messages one after the other: the next one comes a while after the last packet of the one before was made. What a network under credits carries (`fidelity = \"ib-omnet\"`); a host has one source at most." {
            "senders", "", "all", "hosts that send: a set of hosts";
            "receivers", "", "", "the host that all send to, or one for each sender";
            "messages", "", "1", "messages of each sender";
            "size", SIZE, "4096B", "payload of each message";
            "gap", TIME, "1ns", "from the last packet of a message to the next message, and from `start` to the first";
            "start", TIME, "0s", "when they begin";
            "until", TIME, "off", "no message comes from here on";
            "file", "", "", "instead of all but `until`: a table with the columns src_lid, dst_lid, msg_bytes, n_msgs, gap_ns, start_ms, a line for each sender; hosts are counted from 1";
        }
        "all-to-all": "Every host sends to every other host. `linear`: at once, the i-th host beginning with the one after it. `pairwise`: to one after another, each step when both directions of the one before are done: with rank XOR k where the number of hosts is a power of two, otherwise to rank + k and from rank - k (MPICH, OSU's benchmark)." {
            "algorithm", "", "linear", "`linear` or `pairwise`";
            "hosts", "", "all", "hosts by rank: a set of hosts";
            "size", SIZE, "1MB", "payload from each host to each other one";
            "iterations", "", "1", "how often; a host begins the next when it is done with the last";
            "compute", TIME, "0s", "what a host computes between two iterations";
            "start", TIME, "0s", "when the first one starts";
            "connections", "", "persistent", "`persistent`: each host has a queue pair to each other that it sends to, which stays. `per-message`: each message has one of its own; the default where hosts know no other (fidelities but `exact`)";
        }
        "all-reduce": "Every host gets the sum of what all have; a step starts when what it needs has arrived. `ring`: 2(n-1) steps of a n-th (reduce-scatter, then all-gather). `hierarchical`: a ring's reduce-scatter in each group of hosts, rings over the groups, a ring's all-gather in each group. `halving-doubling`: 2 log2(n) steps, n a power of two (Rabenseifner)." {
            "algorithm", "", "ring", "`ring`, `hierarchical` or `halving-doubling`";
            "group-size", "", "", "hierarchical: hosts of a group, those next to each other in `hosts`";
            "hosts", "", "all", "hosts by rank: a set of hosts";
            "size", SIZE, "1MB", "what each host has";
            "iterations", "", "1", "how often; a host begins the next when it is done with the last";
            "compute", TIME, "0s", "what a host computes between two iterations";
            "start", TIME, "0s", "when the first one starts";
            "connections", "", "persistent", "`persistent`: each host has a queue pair to each other that it sends to, which stays. `per-message`: each message has one of its own; the default where hosts know no other (fidelities but `exact`)";
        }
        "reduce-scatter": "Every host gets a n-th of the sum of what all have: n-1 steps around a ring." {
            "hosts", "", "all", "hosts by rank: a set of hosts";
            "size", SIZE, "1MB", "what each host has before";
            "iterations", "", "1", "how often; a host begins the next when it is done with the last";
            "compute", TIME, "0s", "what a host computes between two iterations";
            "start", TIME, "0s", "when the first one starts";
            "connections", "", "persistent", "`persistent`: each host has a queue pair to each other that it sends to, which stays. `per-message`: each message has one of its own; the default where hosts know no other (fidelities but `exact`)";
        }
        "all-gather": "Every host gets every other one's n-th: n-1 steps around a ring." {
            "hosts", "", "all", "hosts by rank: a set of hosts";
            "size", SIZE, "1MB", "what each host has afterwards";
            "iterations", "", "1", "how often; a host begins the next when it is done with the last";
            "compute", TIME, "0s", "what a host computes between two iterations";
            "start", TIME, "0s", "when the first one starts";
            "connections", "", "persistent", "`persistent`: each host has a queue pair to each other that it sends to, which stays. `per-message`: each message has one of its own; the default where hosts know no other (fidelities but `exact`)";
        }
    }
}
