//! The sections of a scenario file and their keys.

use super::{Entry, Parameter, RATE, SIZE, TIME, entries};

/// The sections, by their tables' names; the first is the top level. Schemes' blocks, topologies
/// and workloads have tables of their own.
pub fn sections() -> &'static [Entry] {
    entries! {
        "": "The keys before the first table." {
            "name", "", "the file's name", "name of the scenario, part of the results' folder";
            "description", "", "", "one-line description";
            "seed", "", "1", "seed of all random streams";
            "duration", TIME, "1s", "simulated time at which the run ends at the latest";
            "fidelity", "", "exact", "simulate exactly (`exact`), or bug-for-bug like HPCC's ns-3 simulator (`ns3-hpcc`), that of Bolt's authors (`bolt-ns3`), that of TCD's authors (`tcd-ns3`), or an InfiniBand simulator on OMNeT++ (`ib-omnet`)";
            "input-format", "", "", "simulator of the `config.txt` that this scenario was converted from: `ns3-hpcc`, `tcd-ns3`, `ns3-rdma`, `conweave`, `ns3-datacenter`, `simai`, `ns3-alibabacloud`; written by runs, without effect";
            "ties", "", "structural (lossy classes: drawn)", "order of simultaneous events: `structural` (by the component that scheduled them), `drawn` (the same, with arrivals in a random order of each instant, so that no sender always loses) or `insertion` (like ns-3)";
            "shuffle-ties", "", "", "seed of a random order of simultaneous events";
            "decisions", "", "", "in the folder of a run with flows under `external`: the file of recorded decisions, which are replayed";
            "check", "", "false", "check all invariants while running";
            "threads", "", "1", "number of threads, and of partitions of the network if it can be partitioned; never changes results, and is not written to the run's folder";
            "topology", "", "", "the network: one block";
            "hosts", "", "", "named sets of hosts";
            "workload", "", "", "the flows: one or more tables with one block each";
            "job", "", "", "training jobs: one or more tables";
            "network", "", "", "packets, NICs, switches, failures";
            "cc", "", "", "congestion control";
            "record", "", "", "data to record";
            "parity", "", "", "settings of other simulators: `bolt-ns3`, `tcd-ns3`, `ib-omnet`, one table per simulator";
            "quirks", "", "", "behaviour of the reference simulator that real networks do not have, one switch per quirk";
            "sweep", "", "", "the grid of a sweep";
        }
        "hosts": "Named sets of hosts. A set of hosts, here and elsewhere, is a host number, a list of numbers and texts, or a text. A text has parts separated by commas. Each part is a number, a range (\"0..127\" or \"0-127\", both ends included; \"0..127 step 8\"), \"all\", a part of the network (\"leaf 0-3\", \"leaf 0..7 step 2\", \"pod 2\", \"rail 1\", \"server 5\", counted from 0), or a name of this table. `except` excludes hosts (\"all except leaf 0, storage\"). The order is preserved. A leaf is a switch with hosts; a pod is the part below the core of a three-tier network; `topology.rail` has rails and servers." {
            "a-name", "", "", "the hosts of the set; sets of this table cannot refer to each other";
        }
        "workload": "Keys of every workload, next to its block." {
            "label", "", "the block's name", "name of these flows in results";
            "scheme", "", "that of [cc]", "congestion control of these flows";
            "priority", "", "3", "priority class, 1 to 7";
            "start-jitter", TIME, "0s", "delay the start of each flow without dependencies by a random time below this";
        }
        "job": "A training job. Its ranks are hosts that repeat the same steps in every iteration. A host finishes each step before it starts the next; there is no barrier between hosts. Flows are labelled `label/step`." {
            "label", "", "job-0, job-1, ..", "name of the job in results";
            "hosts", "", "", "hosts by rank: a set of hosts";
            "ranks", "", "", "instead of `hosts`: number of ranks, placed on hosts without a job";
            "placement", "", "packed", "with `ranks`: `packed` (leaf by leaf), `spread` (one host per leaf in turn), `random` (by seed) or `rail` (along one rail after another). In `topology.rail`, the first three place whole servers, pod by pod or one per pod in turn";
            "among", "", "all", "with `ranks`: the set of hosts to choose from";
            "share-hosts", "", "false", "allow hosts of other jobs";
            "start", TIME, "0s", "start of the first iteration";
            "iterations", "", "1", "number of iterations";
            "connections", "", "persistent", "`persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of fidelities other than `exact`";
            "scheme", "", "that of [cc]", "congestion control of its flows";
            "priority", "", "3", "priority class, 1 to 7";
            "step", "", "", "the steps of an iteration: a list of tables";
        }
        "job.step": "A step of a job: computation, then one collective (all-to-all, all-reduce, reduce-scatter or all-gather). It has the keys of the workload of that name, except `hosts`, `iterations`, `compute` and `start`." {
            "label", "", "the collective's name", "name of the step in results";
            "compute", TIME, "0s", "computation time of a host before the collective";
            "within", "", "all ranks", "run the collective separately in each group of this many consecutive ranks (tensor parallelism)";
            "across", "", "all ranks", "run the collective separately among the ranks at the same position of each group of this size (data parallelism)";
        }
        "network": "Packets, NICs and switches." {
            "mtu", SIZE, "1000B", "maximum payload of a data packet";
            "data-header", SIZE, "48B", "header size of a data packet, without headers of the scheme";
            "ack-header", SIZE, "46B", "header size of an ACK, without headers of the scheme";
            "ack-min", SIZE, "60B", "minimum size of an ACK";
            "pfc-frame", SIZE, "64B", "size of a PFC frame (ns3-hpcc: 43B)";
            "cnp", SIZE, "64B", "size of a congestion notification packet";
            "int-header", SIZE, "42B", "size of HPCC's telemetry header";
            "pint-header", SIZE, "2B", "size of HPCC-PINT's digest";
            "timestamp-header", SIZE, "8B", "size of a timestamp";
            "scheme-headers", "", "true", "count the headers that schemes add (bolt-ns3: false)";
            "framing", SIZE, "0B", "overhead per packet on the wire, such as preamble and gap; costs transmission time only (bolt-ns3: 2B)";
            "int-multi", "", "1", "factor of telemetry units, whose fields are narrow (ns3-hpcc)";
            "buffer", SIZE, "32MiB", "shared buffer of a switch";
            "port-reserve", SIZE, "4096B", "buffer guaranteed to each ingress port and class";
            "flow-control", "", "pfc", "`pfc`, `credits` or `none`; ib-omnet: `credits`. With `credits`, packets have InfiniBand's sizes unless [network] sets them or network.credit.binding is `cbfc`";
            "lossless", "", "[1, 2, 3, 4, 5, 6, 7]", "with `pfc`: the priority classes under flow control; other classes are lossy";
            "ack", "", "every-packets = 1", "when receivers acknowledge: { every-packets = n } or { every-bytes = \"size\" }";
            "ack-chunk", SIZE, "4000B", "ns3-hpcc: also acknowledge at each multiple of this size";
            "ack-class", "", "0", "priority class of ACKs, or `flow` for that of the flow (ns3-hpcc)";
            "nack-interval", TIME, "500us", "minimum time between two NACKs for the same gap";
            "back-to-chunk", SIZE, "off", "go-back-N returns to the start of a chunk of this size";
            "rto", TIME, "4ms", "retransmission timeout of go-back-N, or `off` (ns3-hpcc)";
            "recovery", "", "go-back-n", "loss recovery: `go-back-n`, or `irn` for selective repeat";
            "receiver-order", "", "in-order (irn: out-of-order)", "whether receiving NICs accept packets out of order: `in-order` or `out-of-order`";
            "pacing", "", "true", "pace packets at the scheme's rate";
            "global-rtt", "", "true", "use the largest base RTT of all pairs of hosts, instead of each flow's own";
            "idle-reset", TIME, "off", "reset the scheme of a persistent connection that was idle for this long; `off` keeps its state";
            "qp-scheduling", "", "round-robin", "how a NIC selects the next queue pair that may send: `round-robin` (one packet each), `quantum` (`qp-quantum` bytes each: deficit round robin) or `max-min` (the one with the smallest share: start-time fair queueing)";
            "qp-quantum", SIZE, "16KB", "with `quantum`: bytes on the wire per turn; the last packet is sent whole, and the excess is deducted from the next turn";
            "assist", "", "auto", "support of schemes by switches, other than marks and telemetry (such as Bolt's tokens and reports): `auto` (what the schemes need) or `none`";
            "assist-ports", "", "switches", "ports that provide it: `switches` (all) or `between-switches`";
            "error-rate", "", "0", "packet loss probability of links without one of their own";
            "headroom", "", "per-link = { factor = 3, extra = two packets }", "buffer for packets that arrive after a pause: { per-link = { factor, extra } } (factor times rate times delay, plus extra) or { fixed = \"size\" }";
            "irn", "", "", "selective repeat";
            "drop", "", "", "packet drops in lossy classes";
            "pfc", "", "", "priority flow control";
            "ecn", "", "", "ECN marking";
            "detection", "", "", "how ports distinguish congestion from the effects of pauses; default: `ecn` alone (ACC: `tcd`)";
            "credit", "", "", "with `flow-control = \"credits\"`: virtual lanes, their buffers and credits";
            "endpoint", "", "", "delay of receiving hosts before they answer; default: none";
            "load-balancing", "", "ecmp", "how switches select among equal-cost next hops: `ecmp` (by flow hash), `flowlet` (at random after a gap), `spray` (at random per packet) or `adaptive` (the least loaded port)";
            "ecmp-hash", "", "per-switch", "ECMP hash: `per-switch` (a seed per switch), `d-mod-k` (by destination, a different digit per tier) or `shared` (the same at all switches, which leaves most paths unused: polarisation)";
            "flowlet", "", "", "flowlet detection";
            "adaptive", "", "", "granularity of adaptive routing";
            "failure", "", "", "list of failing links";
            "pause-storm", "", "", "list of hosts whose NICs pause forever";
            "route", "", "", "list of next hops that replace those of shortest paths";
            "tier", "", "", "settings per tier of switches: one table per tier name";
        }
        "network.tier": "Settings of the switches of one tier, such as `[network.tier.spine]`. A tier contains the switches at the same distance from hosts. One tier is called `leaf`; two are `leaf` and `spine`; three are `edge`, `aggregation` and `core`; more are `tier-1` to `tier-n`, upwards from the hosts. In `topology.rail`, the switches inside servers are `server`. Keys that are not set here are those of [network]." {
            "buffer", SIZE, "network.buffer", "shared buffer of each of these switches";
            "headroom", "", "network.headroom", "buffer for packets that arrive after a pause";
            "pfc", "", "network.pfc", "{ dynamic = { shift, reference-rate } }, if [network.pfc] is dynamic";
            "ecn", "", "network.ecn", "{ kmin, kmax, pmax, reference-rate }, each optional, or { curves }";
        }
        "network.irn": "IRN's selective repeat (Mittal et al., SIGCOMM 2018)." {
            "rto-low", TIME, "100us", "retransmission timeout while few packets are in flight";
            "rto-high", TIME, "320us", "retransmission timeout otherwise: propagation plus the longest queue";
            "low-packets", "", "3", "from this many packets in flight on, `rto-high` applies";
            "bdp-cap", "", "true", "limit new packets to one bandwidth-delay product beyond the first unacknowledged byte (BDP-FC)";
            "reordering", "", "0", "a packet is lost when one more than this many packets beyond it has arrived; above 0 for networks that reorder";
        }
        "network.drop": "Packets of lossy classes that do not fit in the buffer." {
            "policy", "", "shared (with lossless classes: dynamic)", "when to drop: `shared` (buffer full), `tail` (also when the egress queue reaches a limit) or `dynamic` (also when it reaches alpha times the free buffer)";
            "limit", SIZE, "", "with `tail`: limit per egress queue and class";
            "packets", "", "", "with `tail`: the limit in full packets, instead of `limit`";
            "alpha", "", "1", "with `dynamic`: the factor";
            "trim", "", "false", "instead of dropping a data packet, cut its payload and forward its headers to the receiver in class 0";
            "headers", SIZE, "100KB", "with `trim`: limit of class 0 per egress port, beyond which headers are dropped";
        }
        "network.pfc": "Priority flow control." {
            "mode", "", "on-off", "duration of a pause: `on-off` or `quanta`";
            "pause", TIME, "5us", "with `quanta`: time that a pause frame carries";
            "reaction-time", TIME, "0s", "delay between a pause frame's arrival and the port stopping; a headroom per link grows by it";
            "reaction-jitter", TIME, "0s", "random extra delay of each frame, up to this; frames do not overtake each other";
            "resume-offset", SIZE, "3072B", "distance of the resume threshold below a dynamic pause threshold";
            "dynamic", "", "shift = 3", "pause at 2^-shift of the free buffer: { shift, reference-rate }";
            "static", "", "", "pause above xoff, resume below xon: { xoff, xon }; replaces dynamic";
        }
        "network.ecn": "ECN marking by queue length, scaled with the port's rate. Defaults depend on the first scheme: a step at 30KB for 10Gbps with DCTCP and PCN; a step at 50KB for 40Gbps with ACC; 5KB, 200KB and 1% for 40Gbps with the published DCQCN (dcqcn-paper); for all others, the values below." {
            "kmin", SIZE, "100KB", "no marks below this queue length, at `reference-rate`; scaled with the rate of each link, so 200KB are 3.2MB at 400Gbps unless that is the reference-rate";
            "kmax", SIZE, "400KB", "all packets are marked above this queue length; scaled too";
            "pmax", "", "0.2", "marking probability at kmax";
            "reference-rate", RATE, "25Gbps", "link rate of kmin and kmax";
            "curves", "", "", "list of { rate, kmin, kmax, pmax }, one per rate, instead of the above; [] disables marking";
        }
        "network.detection": "How ports distinguish congestion from the effects of pauses. Overrides the curves of `[network.ecn]` where it applies." {
            "kind", "", "", "`red` (no distinction), `np-ecn` (no marks on packets delayed by a pause) or `tcd` (a port that alternates between paused and sending is undetermined, and marks packets accordingly)";
            "variant", "", "thesis", "with `tcd`: as in the `thesis`, `as-coded` in its authors' simulator, or `adaptive`, by observed sending times";
            "epsilon", "", "0.05", "with `tcd`: excess of arrivals over departures of a congested port, as a share of its rate; smaller is more certain and slower";
            "max-ton", TIME, "auto", "with `tcd`: maximum sending time of an undetermined port; `auto` derives it per port from epsilon, the link and the pause thresholds";
            "exit", "", "periods (cbfc: formula)", "with `tcd` under credits: basis of `max-ton = \"auto\"`: a number of flow-control `periods`, or the `formula` of epsilon, period and packet size (cbfc: as with pauses)";
            "periods", "", "5", "with exit `periods`: number of periods";
            "times", "", "2", "with variant `adaptive`: multiple of the recent maximum";
            "class", "", "", "list of classes with a different detector, each with `priority` and the keys above";
            "priority", "", "", "in `class` only: the class";
        }
        "parity": "Settings of simulators whose networks Paceline reproduces event by event. The fidelity of that name uses a table; other fidelities ignore it, so that one scenario serves several." {
            "bolt-ns3", "", "", "settings of the simulator of Bolt's authors";
            "tcd-ns3", "", "", "settings of the simulator of TCD's authors";
            "ib-omnet", "", "", "settings of the InfiniBand simulator of RRCC's author";
        }
        "parity.bolt-ns3": "Settings of the simulator of Bolt's authors, including deviations from its paper; used with `fidelity = \"bolt-ns3\"` only." {
            "ports", "", "all", "ports with Bolt's queues: `all`, including hosts, or `between-switches`; others have a single FIFO";
            "threshold", SIZE, "auto", "marking threshold of schemes without one (Swift); `auto`: a full packet";
            "buffer-packets", "", "1000", "buffer of a port in packets; checked by congested ports only";
            "src-factor", "", "1", "send one SRC per this many; counts SRCs sent, so any value above 1 means one per port and run";
            "share-flows", "", "false", "messages between the same hosts share flows (the authors' aggregation)";
            "strikes", "", "5", "give up a flow after this many consecutive retransmission timeouts";
            "window-pause", "", "true", "a window with room for part of a packet pauses its flow for a packet's share of the round-trip time, then sends one packet";
            "sm-drift", "", "true", "Bolt's SM token counts each packet one byte too small";
            "inc-kept-by-hosts", "", "true", "without SM, ports of hosts leave INC on packets without a token";
            "src-drain-time", "", "true", "SRC carries the time to drain the queue in whole nanoseconds, instead of its bytes";
            "ungated-halving", "", "true", "each SRC halves a window of at most one packet, however soon after the last one";
            "swift-beta-sign", "", "true", "Swift's flow scaling adds what it should subtract: the target is 4us too high";
            "swift-double-update", "", "true", "an ACK of a packet that a switch marked for Bolt updates Swift's window twice";
        }
        "parity.tcd-ns3": "Settings of the simulator of TCD's authors; used with `fidelity = \"tcd-ns3\"` only." {
            "dynamic-pfc", "", "false", "pause by the free buffer instead of `network.pfc.static`";
            "flow-ecmp", "", "true", "spread flows over equal-cost paths by hash; otherwise all take the first";
            "clamp-after-timer", "", "false", "if DCQCN's target is not clamped: a notification still sets it after an increase by time";
            "ack-interval", "", "256", "packets per acknowledgement; 0 acknowledges every packet";
            "ack-chunk", "", "4000", "also acknowledge at each multiple of this many packets";
            "unmanaged", "", "[]", "hosts without DCQCN, which neither send nor react to notifications";
            "fixed-rate", "", "[]", "hosts with fixed-rate applications: list of { host, factor }; factor 1 is a packet per 0.4 us (19.6 Gbit/s of data), 4 a quarter of that";
            "listen-until", TIME, "duration", "when receivers stop";
            "flow-slots", "", "12182", "flow slots of a receiver; each further flow takes over the slot of an earlier one, with its next acknowledgements";
            "log", "", "false", "record all changes of port states, pauses and sender rates";
        }
        "network.credit": "Credit-based flow control, with `flow-control = \"credits\"`. Each lane of a port has an input buffer at the other end of the link. The port sends only packets that it has credits for. Packets are queued at the input port." {
            "binding", "", "ib", "when credits are sent: `ib` (InfiniBand: once per period) or `cbfc` (Ethernet: when buffer becomes free)";
            "lanes", "", "1", "number of virtual lanes, 1 to 7";
            "sl-to-vl", "", "in turn", "lane of each priority from 1 to 7, a list";
            "buffer", SIZE, "auto", "input buffer per lane; `auto` is enough for the full rate of the most demanding link, as far as credits can be counted";
            "unit", SIZE, "64B", "bytes per credit; packets use whole credits";
            "period", TIME, "4.096us", "with `ib`: interval of credit updates; with `cbfc`: interval of repeated updates after losses";
            "phase", "", "aligned", "with `ib`: all ports update at the same instants (`aligned`), or spread over the period (`per-port`)";
            "delay", TIME, "0s", "with `cbfc`: delay from free buffer to the update";
            "update", SIZE, "8B", "size of a flow-control packet";
            "first-header", SIZE, "16B (cbfc: 0B)", "extra header of the first packet of a message: InfiniBand's RETH of an RDMA WRITE";
            "forwarding", "", "cut-through (cbfc: store-and-forward)", "`cut-through` or `store-and-forward`";
            "header", SIZE, "20B", "with `cut-through`: bytes that a switch must receive before it forwards";
            "release", "", "start (store-and-forward: end)", "when a packet's buffer is free: at the `start` or the `end` of its transmission";
            "high", "", "[]", "high-priority arbitration table: a list of [lane, weight], in units of 64 bytes";
            "low", "", "[[0, 64], ...]", "low-priority arbitration table";
            "limit", "", "255", "bytes, in units of 4096, that the high table may send while the low one waits; 255 is unlimited";
        }
        "parity.ib-omnet": "InfiniBand, with `fidelity = \"ib-omnet\"` only: hosts, and switches with input buffers. A credit is a packet of the MTU. Links have no delay (`delay = \"0s\"`)." {
            "lanes", "", "2", "number of virtual lanes; packets use the first";
            "weights", "", "[1, 20]", "packets per turn of each lane, a list";
            "buffer", "", "32", "input buffer per lane, in packets";
            "period", TIME, "4.096us", "interval of credit updates, at the same instants in all ports";
            "update", SIZE, "8B", "size of a flow-control packet";
            "output-queue", "", "5", "output queue in packets; one slot stays free";
            "host-queue", "", "10", "data packets queued in a host";
            "input-delay", TIME, "50ns", "delay from an input to an arbiter";
            "output-delay", TIME, "50ns", "delay from the arbiter to the wire";
            "switch-arbitration", TIME, "71.111ns", "interval of arbitrations at a switch output";
            "host-arbitration", TIME, "128ns", "interval of arbitrations at a host";
            "host-packet", TIME, "512ns", "time of a host to create a packet, to pass it to its arbiter, and to consume one";
            "stall-every", TIME, "10ms", "interval at which hosts stop consuming packets, or `off`";
            "stall", TIME, "1ns", "duration of such a stop";
            "marking-rate", "", "auto", "mark one of this many packets that had to wait, per port: written as a text; `auto`: 3 with ibcc, else 1";
            "control", "", "none", "reaction of hosts to marks: `none`, `ibcc` (InfiniBand congestion control with a quadratic table) or `rrcc` (receivers set rates)";
            "controlled", "", "all", "hosts with congestion control, as senders and receivers: a set of hosts";
            "notified", "", "all", "senders that receivers notify: a set of hosts";
            "log", "", "false", "record every step at every port, for `paceline reproduce`";
            "ibcc", "", "", "parameters of IBCC";
            "rrcc", "", "", "parameters of RRCC";
        }
        "parity.ib-omnet.ibcc": "IBCC. Each notification raises an index into a table, and a timer lowers it. The gap between packets grows with the square of the index." {
            "limit", "", "127", "maximum index";
            "timer", TIME, "30us", "interval at which the index is lowered";
            "delay", TIME, "3300ns", "extra gap between packets at the index `at`";
            "at", "", "83", "see `delay`";
        }
        "parity.ib-omnet.rrcc": "RRCC. A receiver observes the packets of each sender in windows. If nearly all were marked, it sends the sender their arrival rate." {
            "window", TIME, "8.192us", "observation window of a receiver";
            "threshold", "", "0.9", "share of marked packets that means congestion";
            "undershoot", "", "1.07", "factor by which a sender goes below the received rate";
            "increase", "", "0.39", "increase of the target, in Gbit/s";
            "after", "", "3", "consecutive notices without congestion before the target increases";
        }
        "network.endpoint": "Time between the arrival of a data packet at the receiving NIC and the acknowledgement: Swift's endpoint delay." {
            "delay", TIME, "0s", "delay of every packet";
            "per-packet", TIME, "0s", "service time per packet, one after another";
            "rate", RATE, "off", "additional service time: packet size at this rate";
            "jitter", TIME, "0s", "random extra delay, up to this; packets do not overtake each other";
        }
        "network.flowlet": "Flowlets, with `load-balancing = \"flowlet\"`, or `\"adaptive\"` per flowlet." {
            "gap", TIME, "100us", "idle time after which a flow may change its path";
            "entries", "", "4096", "size of a switch's flow table, a power of two; flows with the same hash share an entry";
        }
        "network.adaptive": "Adaptive routing, with `load-balancing = \"adaptive\"`." {
            "per", "", "packet", "select a port for each `packet` or each `flowlet`";
        }
        "network.failure": "A failing link." {
            "link", "", "", "link number, from 0";
            "nodes", "", "", "the two nodes of the link, instead of `link`";
            "at", TIME, "", "time of failure";
            "until", TIME, "never", "time of repair";
        }
        "network.pause-storm": "A host whose NIC pauses its switch continuously." {
            "node", "", "", "the host";
            "priority", "", "3", "the paused class";
            "at", TIME, "", "start";
            "until", TIME, "never", "end";
        }
        "network.route": "A next hop that replaces that of the shortest path." {
            "node", "", "", "the switch";
            "to", "", "", "destinations: a set of hosts";
            "via", "", "", "the next hop";
        }
        "cc": "Congestion control. The parameters of each scheme are in a table of its name, such as [cc.dcqcn]. An alias may have its own table, such as [cc.dcqcn-paper], which inherits from the scheme's." {
            "scheme", "", "", "the scheme, or an alias";
            "window", "", "the scheme's", "limit of bytes in flight: `off`, `fixed` (bandwidth-delay product) or `variable` (that times rate over line rate)";
            "windows", "", "", "the window per scheme, if several share the network";
            "defaults", "", "", "in files written by runs: the values that came with the scheme, see `[cc.defaults]`";
        }
        "cc.defaults": "In files written by runs: the values that came with the scheme. Another scheme replaces them by its own. Without this table, all values of the file apply." {
            "of", "", "", "the scheme";
            "keys", "", "", "paths of keys that the scenario did not set: \"cc.window\", \"network.detection\", \"network.ecn\"";
        }
        "record": "Data to record. Disabled records cost nothing." {
            "queue", TIME, "off", "sampling period of switch queues";
            "queue-from", TIME, "0s", "first sample";
            "queue-to", TIME, "the duration", "last sample";
            "queue-dump", TIME, "off", "interval of queue histograms, as in ns-3";
            "ports", TIME, "auto", "utilisation, maximum queue, paused share and marks per port, and maximum occupancy per switch, in bins of this initial width; the width doubles whenever 512 bins are full: `auto` (1us) or `off` (ns3-hpcc)";
            "credits", TIME, "auto", "with `flow-control = \"credits\"`: sampling period of credits per lane and port: `auto` (1us up to 64 ports, otherwise off) or `off`";
            "states", TIME, "auto", "sampling period of the detector state of each port: `auto` (1us, with `[network.detection]`) or `off`";
            "flows", TIME, "off", "sampling period of rate, window and last RTT of the first flows; only changes are recorded";
            "flows-max", "", "64", "number of these flows";
            "pfc", "", "true", "list all PFC frames: pfc.txt, whose size grows with their number";
            "rates", TIME, "off", "goodput per flow, in bins of this width";
            "rtt-samples", "", "false", "keep all RTT samples";
            "latency", "", "false", "one-way latency of data packets, from the start of transmission to complete reception: `latency_us` and `goodput_share` in summary.json (not with bolt-ns3, tcd-ns3, ib-omnet)";
            "measures", "", "[]", "sets of measures to compute when the run ends: `measures` in summary.json (`paceline list measures`)";
            "accounts", "", "auto", "flows with a breakdown of their completion time: `off`, `all`, a list of flow ids, or `auto`: all of up to 1000 flows; otherwise a sample of 1000 and the slowest 20, for which `run` and `compare` repeat short runs (ns3-hpcc: `off`)";
            "trace", "", "[]", "nodes to trace, including switches, as a set of hosts; `all` for all: trace.parquet (ns3-hpcc: trace.tr)";
            "trace-ports", "", "[]", "ports to trace, in both directions: [[node, neighbour], ..]";
            "trace-from", TIME, "0s", "start of traces";
            "trace-to", TIME, "the duration", "end of traces";
            "pcap", "", "false", "also write traced packets to trace.pcapng; without `trace`, those of all nodes";
        }
        "sweep": "The grid of `paceline sweep`: all combinations of the values, each with the same seeds. Keys are paths, as in --set: \"cc.scheme\" = [\"hpcc\", \"dcqcn\"]." {
            "path.to.key", "", "", "its values: a list, or { from, to, steps } for numbers, both ends included";
            "repeats", "", "1", "number of consecutive seeds per point, from the scenario's on";
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::builtin::{self, Entry};
    use crate::{Overrides, load_text};

    /// The keys that the schema knows in a table, by its complaint of one that it does not.
    fn known(table: &str) -> BTreeSet<String> {
        let error = load_text(
            "test.toml",
            &format!("{table}zzzzzzzzzzzzzzzz = 1\n"),
            &Overrides::default(),
        );
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains("unknown key `zzzzzzzzzzzzzzzz`"),
            "{table}: {message}"
        );
        message
            .split('`')
            .skip(3)
            .step_by(2)
            .map(str::to_string)
            .collect()
    }

    fn documented(entry: &Entry) -> BTreeSet<String> {
        entry
            .parameters
            .iter()
            .map(|parameter| parameter.name.to_string())
            .collect()
    }

    #[test]
    fn every_key_is_documented_and_every_documented_key_is_known() {
        // The keys of a sweep are paths, those of hosts names.
        for section in builtin::sections()
            .iter()
            .filter(|section| !["sweep", "hosts"].contains(&section.name))
        {
            let table = match section.name {
                "" => String::new(),
                "job.step" => "[[job]]\n[[job.step]]\n".to_string(),
                "network.tier" => "[network.tier.leaf]\n".to_string(),
                "workload" | "job" | "network.failure" | "network.pause-storm" | "network.route" => {
                    format!("[[{}]]\n", section.name)
                }
                name => format!("[{name}]\n"),
            };
            let mut known = known(&table);
            if ["workload", "job.step"].contains(&section.name) {
                known.retain(|key| !builtin::workloads().iter().any(|workload| workload.name == key));
            }
            // OpenSM's spellings.
            known.retain(|key| !key.starts_with("cc_") && !key.starts_with("ccti"));
            if section.name == "cc" {
                known.retain(|key| {
                    !paceline_congestion::registry::SCHEMES
                        .iter()
                        .any(|s| s.name == key)
                });
            }
            assert_eq!(documented(section), known, "{}", section.name);
        }
        for topology in builtin::topologies().iter().filter(|t| t.name != "file") {
            assert_eq!(
                documented(topology),
                known(&format!("[topology.{}]\n", topology.name)),
                "{}",
                topology.name
            );
        }
        for workload in builtin::workloads()
            .iter()
            .filter(|w| !["file", "flows"].contains(&w.name))
        {
            let table = format!("[[workload]]\n[workload.{}]\n", workload.name);
            assert_eq!(documented(workload), known(&table), "{}", workload.name);
        }
    }
}
