//! The blocks of `[[workload]]` and their keys.

use super::{Entry, Parameter, SIZE, TIME, entries};

/// The workloads, blocks of `[[workload]]`.
pub fn workloads() -> &'static [Entry] {
    entries! {
        "flows": "A list of flows: { src, dst, size, start }." {
            "src", "", "", "sending host";
            "dst", "", "", "receiving host";
            "size", SIZE, "", "payload";
            "start", TIME, "0s", "start of the flow";
        }
        "file": "A flow file of HPCC's ns-3 simulator or one of its relatives, or a connection matrix of htsim (.cm): `file = \"flow.txt\"`." {}
        "trace": "Flows from a table with named columns, in any order: `src`, `dst`, `size_bytes`, one of `start_ps`, `start_us`, `start_s`; where they are there `label`, `priority` and `scheme`, `connection` (flows of the same number go over one persistent connection), `flow_id`, and `after` (`after_ack`, `after_start`): the flows whose last byte (last acknowledgement, start) this one waits for, and `delay_ps` (`delay_us`, `delay_s`) how long beyond that. The `flows.csv` of a run is such a table. What the workload says of all its flows goes before the columns." {
            "file", "", "", "a CSV or Parquet file";
            "ignore", "", "[]", "columns to ignore, such as the scheme of the recorded run";
            "connections", "", "per-message", "`per-message`: one queue pair per flow. `persistent`: flows of the same hosts, priority and scheme share one; a column `connection` overrides this";
        }
        "incast": "Several hosts send to one at the same time, once or periodically." {
            "receiver", "", "", "the receiving host";
            "fan-in", "", "", "number of senders: the first hosts other than the receiver";
            "senders", "", "", "the senders, a set of hosts; instead of fan-in";
            "size", SIZE, "500KB", "payload per sender";
            "sizes", SIZE, "", "list of payloads, one per sender, the last for all others; instead of size";
            "start", TIME, "0s", "start of the first round";
            "rounds", "", "1", "number of rounds";
            "period", TIME, "", "time between rounds";
        }
        "poisson": "Poisson arrivals at every host. Sizes are drawn from a distribution, destinations at random (HPCC's traffic generator)." {
            "sizes", "", "", "distribution of flow sizes: websearch, fb-hadoop, alistorage, google-rpc, google-rpc-read, google-rpc-batch, a file of lines `bytes percent`, or a list of { size, share }";
            "hosts", "", "all", "hosts that send to each other: a set of hosts";
            "load", "", "", "payload rate as a share of the hosts' link rate";
            "from", TIME, "0s", "start of arrivals";
            "to", TIME, "the duration", "end of arrivals";
        }
        "incast-poisson": "Poisson incasts: a random receiver, random senders (HPCC's evaluation)." {
            "hosts", "", "all", "participating hosts: a set of hosts";
            "load", "", "0.02", "payload rate as a share of the total link rate of these hosts";
            "fan-in", "", "60", "senders per incast";
            "size", SIZE, "500KB", "payload per sender";
            "from", TIME, "0s", "start of arrivals";
            "to", TIME, "the duration", "end of arrivals";
        }
        "permutation": "Every host sends to one other host and receives from one, chosen at random." {
            "hosts", "", "all", "participating hosts: a set of hosts";
            "size", SIZE, "1MB", "payload of each flow";
            "start", TIME, "0s", "start of the flows";
        }
        "closed-loop": "Senders with a constant number of outstanding messages: an acknowledgement starts the next message. Each message is a flow, on its own queue pair or over a persistent connection. Messages of the same slot or connection to the same receiver use the same ports." {
            "senders", "", "all", "sending hosts: a set of hosts";
            "receivers", "", "all", "receiving hosts: a set of hosts; a host does not send to itself";
            "to", "", "random", "`random`: each message goes to a random receiver. `all`: the messages are outstanding to each receiver";
            "processes", "", "1", "number of independent processes per sender";
            "outstanding", "", "1", "outstanding messages per process; with `to = \"all\"`, per receiver";
            "messages", "", "", "total messages per process; with `to = \"all\"`, per receiver";
            "size", SIZE, "64KB", "payload per message";
            "sizes", "", "", "distribution of payloads, as for poisson; instead of size";
            "think-time", TIME, "0s", "time from an acknowledgement to the next message";
            "start", TIME, "0s", "start of the first messages";
            "connections", "", "per-message", "`per-message`: one queue pair per message. `persistent`: one queue pair per process and receiver, reused";
        }
        "messages": "Hosts that send messages one after another: the gap to the next starts when the last packet of a message was created. The workload of networks under credits (`fidelity = \"ib-omnet\"`); at most one source per host." {
            "senders", "", "all", "sending hosts: a set of hosts";
            "receivers", "", "", "the receiving host, or one per sender";
            "messages", "", "1", "messages per sender";
            "size", SIZE, "4096B", "payload per message";
            "gap", TIME, "1ns", "time from the last packet of a message to the next message, and from `start` to the first";
            "start", TIME, "0s", "start of the sources";
            "until", TIME, "off", "end of new messages";
            "file", "", "", "a table that replaces all keys but `until`: columns src_lid, dst_lid, msg_bytes, n_msgs, gap_ns, start_ms, one row per sender; hosts are counted from 1";
        }
        "all-to-all": "Every host sends to every other host. `linear`: all at once, the i-th host starting with its successor. `pairwise`: one after another, after both directions of the previous step; with rank XOR k if the number of hosts is a power of two, otherwise to rank + k and from rank - k (MPICH, OSU's benchmark)." {
            "algorithm", "", "linear", "`linear` or `pairwise`";
            "hosts", "", "all", "hosts by rank: a set of hosts";
            "size", SIZE, "1MB", "payload per pair of hosts";
            "iterations", "", "1", "number of iterations; a host starts the next when it has finished the last";
            "compute", TIME, "0s", "computation time of a host between iterations";
            "start", TIME, "0s", "start of the first iteration";
            "connections", "", "persistent", "`persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of fidelities other than `exact`";
        }
        "all-reduce": "Every host gets the sum of all hosts' data; a step starts when its input has arrived. `ring`: 2(n-1) steps of 1/n of the data (reduce-scatter, then all-gather). `hierarchical`: ring reduce-scatter in each group of hosts, rings across groups, ring all-gather in each group. `halving-doubling`: 2 log2(n) steps, n a power of two (Rabenseifner)." {
            "algorithm", "", "ring", "`ring`, `hierarchical` or `halving-doubling`";
            "group-size", "", "", "with `hierarchical`: hosts per group, consecutive in `hosts`";
            "hosts", "", "all", "hosts by rank: a set of hosts";
            "size", SIZE, "1MB", "data per host";
            "iterations", "", "1", "number of iterations; a host starts the next when it has finished the last";
            "compute", TIME, "0s", "computation time of a host between iterations";
            "start", TIME, "0s", "start of the first iteration";
            "connections", "", "persistent", "`persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of fidelities other than `exact`";
        }
        "reduce-scatter": "Every host gets 1/n of the sum of all hosts' data: n-1 steps around a ring." {
            "hosts", "", "all", "hosts by rank: a set of hosts";
            "size", SIZE, "1MB", "data per host before";
            "iterations", "", "1", "number of iterations; a host starts the next when it has finished the last";
            "compute", TIME, "0s", "computation time of a host between iterations";
            "start", TIME, "0s", "start of the first iteration";
            "connections", "", "persistent", "`persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of fidelities other than `exact`";
        }
        "all-gather": "Every host gets 1/n of the data from each other host: n-1 steps around a ring." {
            "hosts", "", "all", "hosts by rank: a set of hosts";
            "size", SIZE, "1MB", "data per host afterwards";
            "iterations", "", "1", "number of iterations; a host starts the next when it has finished the last";
            "compute", TIME, "0s", "computation time of a host between iterations";
            "start", TIME, "0s", "start of the first iteration";
            "connections", "", "persistent", "`persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of fidelities other than `exact`";
        }
    }
}
