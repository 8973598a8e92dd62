//! The sections of a scenario file and their keys.

use super::{Entry, Parameter, RATE, SIZE, TIME, entries};

/// The sections, by their tables' names; the first is the top level. Schemes' blocks, topologies
/// and workloads have tables of their own.
pub fn sections() -> &'static [Entry] {
    entries! {
        "": "What stands before the first table." {
            "name", "", "the file's name", "name, part of the results' folder";
            "description", "", "", "what it is, in a line";
            "seed", "", "1", "seed of every random stream";
            "duration", TIME, "1s", "the run ends here at the latest";
            "fidelity", "", "exact", "whose behaviour: `exact`, `ns3-hpcc` for HPCC's ns-3 simulator, `bolt-ns3` for that of the authors of Bolt, `tcd-ns3` for that of the authors of TCD, `ib-omnet` for an InfiniBand simulator on OMNeT++";
            "input-format", "", "", "the program whose `config.txt` this was made of: `ns3-hpcc`, `tcd-ns3`, `ns3-rdma`, `conweave`, `ns3-datacenter`, `simai`, `ns3-alibabacloud`; a run writes it, it changes nothing";
            "ties", "", "structural (lossy classes: drawn)", "order of simultaneous events: `structural` (by who scheduled them), `drawn` (the same, but arrivals in an order drawn from the seed, another one at each instant, so that none of equal senders always loses) or `insertion` (as ns-3)";
            "shuffle-ties", "", "", "seed of a random order of simultaneous events";
            "decisions", "", "", "in the folder of a run with flows under `external`: the file of what was decided for them, which is then decided again";
            "check", "", "false", "check every invariant while running";
            "threads", "", "1", "threads of a run, which is cut into as many parts, where that can be done; results do not depend on it, and a run's folder does not tell it";
            "topology", "", "", "the network: one block";
            "hosts", "", "", "names of sets of hosts";
            "workload", "", "", "the flows: one or more tables, each with one block";
            "job", "", "", "training jobs: one or more tables";
            "network", "", "", "packets, hosts, switches, failures";
            "cc", "", "", "congestion control";
            "record", "", "", "what to record";
            "quirks", "", "", "what the reference simulator does and nature does not, one switch each";
            "sweep", "", "", "the grid of a sweep";
        }
        "hosts": "Names of sets of hosts. Where hosts are named, in this table or elsewhere, there may stand: a host's number; a text with several parts between commas, each of them a number, a range (\"0..127\" or \"0-127\", both ends included; \"0..127 step 8\"), \"all\", a part of the network (\"leaf 0-3\", \"leaf 0..7 step 2\", \"pod 2\", \"rail 1\", \"server 5\", counted from 0), or a name of this table; behind `except` those that are not meant (\"all except leaf 0, storage\"); or a list of numbers and texts. Their order is that in which they are named. A leaf is a switch with hosts, a pod what stays together without the uppermost of three tiers of switches; there are rails and servers in `topology.rail`." {
            "a-name", "", "", "the hosts that it means; names of this table do not mean each other";
        }
        "workload": "What every workload may say beside its block." {
            "label", "", "the block's name", "name of these flows in results";
            "scheme", "", "that of [cc]", "congestion control of these flows";
            "priority", "", "3", "priority class, 1 to 7";
            "start-jitter", TIME, "0s", "the start of each flow that waits for no other is delayed by a random time below this";
        }
        "job": "A training job: ranks, each of which is a host, that carry out the same steps in every iteration. The steps follow one another at each host, and iterations too; there is no barrier between hosts. Its flows are called `label/step`." {
            "label", "", "job-0, job-1, ..", "its name in results";
            "hosts", "", "", "its hosts by rank: a set of hosts";
            "ranks", "", "", "instead of hosts: how many it has; they are chosen among those that no other job has";
            "placement", "", "packed", "with ranks: `packed`: leaf by leaf; `spread`: one of each leaf in turn; `random`: drawn by the seed; `rail`: along one rail after another. In `topology.rail` the first three place whole servers: `packed` pod by pod, `spread` one of each pod in turn";
            "among", "", "all", "with ranks: a set of hosts to choose from";
            "share-hosts", "", "false", "whether it may have hosts that other jobs have";
            "start", TIME, "0s", "when its hosts begin with the first iteration";
            "iterations", "", "1", "how often it carries out its steps";
            "connections", "", "persistent", "`persistent`: in each step a host has a queue pair to each other that it sends to, which stays. `per-message`: each message has one of its own; the default where hosts know no other (fidelities but `exact`)";
            "scheme", "", "that of [cc]", "congestion control of its flows";
            "priority", "", "3", "priority class, 1 to 7";
            "step", "", "", "what an iteration consists of: a list of tables";
        }
        "job.step": "A step of a job: a host computes, then takes part in one collective: all-to-all, all-reduce, reduce-scatter or all-gather, with the keys of the workload of this name but `hosts`, `iterations`, `compute` and `start`." {
            "label", "", "the collective's name", "its name in results";
            "compute", TIME, "0s", "what a host computes before it";
            "within", "", "all ranks", "each so many ranks next to each other carry it out by themselves (tensor parallelism)";
            "across", "", "all ranks", "ranks that are at the same place in groups of so many carry it out by themselves (data parallelism across these groups)";
        }
        "network": "Packets, hosts, switches." {
            "mtu", SIZE, "1000B", "largest payload of a data packet";
            "data-header", SIZE, "48B", "headers of a data packet, without what a scheme adds";
            "ack-header", SIZE, "46B", "headers of an ACK, without what a scheme adds";
            "ack-min", SIZE, "60B", "smallest ACK";
            "pfc-frame", SIZE, "64B", "a PFC frame (ns3-hpcc: 43B)";
            "cnp", SIZE, "64B", "a congestion notification packet";
            "int-header", SIZE, "42B", "HPCC's telemetry";
            "pint-header", SIZE, "2B", "HPCC-PINT's digest";
            "timestamp-header", SIZE, "8B", "a time stamp";
            "scheme-headers", "", "true", "whether what a scheme adds to headers is counted (bolt-ns3: false)";
            "framing", SIZE, "0B", "what a link adds to every packet: takes time on the link, and is counted nowhere else (bolt-ns3: 2B)";
            "int-multi", "", "1", "factor of the telemetry's units, where these are narrow (ns3-hpcc)";
            "buffer", SIZE, "32MiB", "shared buffer of a switch";
            "port-reserve", SIZE, "4096B", "buffer guaranteed to each ingress port and class";
            "flow-control", "", "pfc", "hop by hop: `pfc`, `credits` or `none`; ib-omnet: `credits`. With `credits` packets have InfiniBand's sizes, unless [network] gives them or network.credit.binding is `cbfc`";
            "lossless", "", "[1, 2, 3, 4, 5, 6, 7]", "with pfc: the priority classes under flow control; the others are lossy";
            "ack", "", "every-packets = 1", "when the receiver acknowledges: { every-packets = n } or { every-bytes = \"size\" }";
            "ack-chunk", SIZE, "4000B", "ns3-hpcc: an ACK also whenever the expected byte is a multiple of it";
            "ack-class", "", "0", "priority class of ACKs, or `flow` for the flow's own (ns3-hpcc)";
            "nack-interval", TIME, "500us", "a NACK for the same gap is repeated no sooner";
            "back-to-chunk", SIZE, "off", "go-back-N goes back to the start of a chunk of this size";
            "rto", TIME, "4ms", "go-back-N's retransmission timeout, or `off` (ns3-hpcc)";
            "recovery", "", "go-back-n", "how losses are repaired: `go-back-n`, or `irn` for selective repeat";
            "receiver-order", "", "in-order (irn: out-of-order)", "whether receiving NICs accept packets out of order: `in-order` or `out-of-order`";
            "pacing", "", "true", "pace packets at the scheme's rate";
            "global-rtt", "", "true", "base round-trip time: the largest of all pairs of hosts, or each flow's own";
            "idle-reset", TIME, "off", "a persistent connection over which nothing was under way for so long begins anew, with its scheme as it is at its start; `off`: it goes on where it was";
            "qp-scheduling", "", "round-robin", "which of a NIC's queue pairs goes next, of those that pauses, windows and pacing let go: `round-robin` (in turn, a packet each), `quantum` (in turn, each until it has sent `qp-quantum`: deficit round robin), `max-min` (the one that has had the least of the port: start-time fair queueing)";
            "qp-quantum", SIZE, "16KB", "with quantum: bytes on the wire that a queue pair sends in its turn; a packet that begins in a turn goes whole, and is counted in the next as far as it was too much";
            "assist", "", "auto", "what schemes ask of switches beside marks and telemetry (Bolt's tokens and reports): `auto`, what the run's schemes ask for, or `none`";
            "assist-ports", "", "switches", "which ports do: `switches` (all of theirs), or `between-switches`, those that lead to other switches";
            "error-rate", "", "0", "probability that a link loses a packet, where the link has none of its own";
            "headroom", "", "per-link = { factor = 3, extra = two packets }", "room for what arrives after a pause: { per-link = { factor, extra } } (times rate times delay) or { fixed = \"size\" }";
            "irn", "", "", "selective repeat";
            "drop", "", "", "what happens to packets of lossy classes";
            "pfc", "", "", "priority flow control";
            "ecn", "", "", "marking";
            "detection", "", "", "how ports tell congestion from what pauses leave behind; without it by `ecn` alone, if the first scheme is not ACC, which has `tcd`";
            "bolt-ns3", "", "", "what the simulator of Bolt's authors is told beside its quirks; other fidelities ignore it";
            "tcd-ns3", "", "", "what the simulator of TCD's authors is told beside all else; other fidelities ignore it";
            "ib-omnet", "", "", "the InfiniBand simulator's credits, virtual lanes, congestion control; other fidelities ignore it";
            "credit", "", "", "with `flow-control = \"credits\"`: virtual lanes, their buffers and credits";
            "endpoint", "", "", "what receivers' hosts take before they answer; without it nothing";
            "load-balancing", "", "ecmp", "how switches choose among equal next hops: `ecmp` (a hash of the flow), `flowlet` (at random after a gap), `spray` (at random, each packet), `adaptive` (the port that is soonest empty)";
            "ecmp-hash", "", "per-switch", "what a flow is hashed with: `per-switch` (a seed of each switch), `d-mod-k` (nothing: the destination's number chooses, another digit of it at each level of switches) or `shared` (the same at all, so that flows which a switch got by their hash go on by the same, and most of its next hops stay unused: polarisation)";
            "flowlet", "", "", "how flowlets are told apart";
            "adaptive", "", "", "how often the least loaded port is chosen";
            "failure", "", "", "list of links that fail";
            "pause-storm", "", "", "list of hosts whose NICs pause for ever";
            "route", "", "", "list of next hops, instead of those of shortest paths";
            "tier", "", "", "what switches of a tier have in their own way: a table for each, by its name";
        }
        "network.tier": "What the switches of a tier have in their own way: a table for each, such as `[network.tier.spine]`. A tier is the switches that are equally far from hosts. Its name goes by how many there are: one is `leaf`; of two the upper is `spine`; three are `edge`, `aggregation` and `core`; of more they are called `tier-1` to `tier-n`, upwards from the hosts. The switches inside servers are `server`, in `topology.rail`. What is not said here is as in [network]." {
            "buffer", SIZE, "network.buffer", "shared buffer of one of these switches";
            "headroom", "", "network.headroom", "room for what arrives after a pause, as there";
            "pfc", "", "network.pfc", "{ dynamic = { shift, reference-rate } }: when to pause, where [network.pfc] is dynamic too";
            "ecn", "", "network.ecn", "{ kmin, kmax, pmax, reference-rate }, each by itself, or { curves }: when to mark";
        }
        "network.irn": "Selective repeat as IRN has it (Mittal et al., SIGCOMM 2018)." {
            "rto-low", TIME, "100us", "retransmission timeout while few packets are in flight";
            "rto-high", TIME, "320us", "retransmission timeout otherwise: propagation and the longest queue";
            "low-packets", "", "3", "so many packets in flight are no longer few";
            "bdp-cap", "", "true", "send new packets only up to one bandwidth-delay product beyond the first unacknowledged byte (BDP-FC)";
            "reordering", "", "0", "a packet is lost once one has arrived that is more than so many beyond it: more than none for networks that reorder";
        }
        "network.drop": "What happens to packets of lossy classes for which there is no room." {
            "policy", "", "shared (beside lossless classes: dynamic)", "when they are dropped: `shared` when the buffer is full, `tail` also when the egress queue has reached a limit, `dynamic` also when it has reached alpha times what is free of the buffer";
            "limit", SIZE, "", "with tail: bytes of an egress queue and class";
            "packets", "", "", "with tail: the same in full packets, instead of limit";
            "alpha", "", "1", "with dynamic: the factor";
            "trim", "", "false", "cut off the payload of a data packet that would be dropped and send the headers on to the receiver, in class 0";
            "headers", SIZE, "100KB", "with trim: bytes of class 0 in an egress port beyond which headers are dropped";
        }
        "network.pfc": "Priority flow control." {
            "mode", "", "on-off", "how long a pause lasts: `on-off` or `quanta`";
            "pause", TIME, "5us", "with quanta: the time that a pause frame carries";
            "reaction-time", TIME, "0s", "delay between a pause frame's arrival and the port stopping; a headroom per link grows by it";
            "reaction-jitter", TIME, "0s", "random extra delay of each frame, up to this; frames do not overtake each other";
            "resume-offset", SIZE, "3072B", "a dynamic threshold's resume lies this far below";
            "dynamic", "", "shift = 3", "pause at 2^-shift of what is free: { shift, reference-rate }";
            "static", "", "", "pause above xoff, resume below xon: { xoff, xon }; instead of dynamic";
        }
        "network.ecn": "Marking by the length of the queue, scaled with the port's rate. The default is the first scheme's: a step of 30KB at 10Gbps for DCTCP and PCN, of 50KB at 40Gbps for ACC, 5KB, 200KB and 1% at 40Gbps for DCQCN as its paper has it (dcqcn-paper), for all others what is here." {
            "kmin", SIZE, "100KB", "no marks below; on a link of `reference-rate`, on others in proportion: 200KB are 3.2MB at 400Gbps unless that is said to be the reference-rate";
            "kmax", SIZE, "400KB", "every packet is marked above; in proportion, too";
            "pmax", "", "0.2", "probability at kmax";
            "reference-rate", RATE, "25Gbps", "the rate that kmin and kmax are for";
            "curves", "", "", "list of { rate, kmin, kmax, pmax }, one for each rate, instead; [] for no marks";
        }
        "network.detection": "How ports tell congestion from what pauses leave behind: what overrules the curves of `[network.ecn]`." {
            "kind", "", "", "`red`: nothing does; `np-ecn`: packets that a pause held back are not marked; `tcd`: a port that pauses stop and start is undetermined, and marks its packets so";
            "variant", "", "thesis", "with tcd: as in the `thesis`, `as-coded` in its authors' simulator, or `adaptive`, by the times that a port was seen to send in one go";
            "epsilon", "", "0.05", "with tcd: how much more congested flows bring to a port than leaves it, as a share of its rate; smaller is surer and slower";
            "max-ton", TIME, "auto", "with tcd: the longest time that an undetermined port sends in one go; `auto`: each port's own, by epsilon, its link, and the thresholds of pauses";
            "exit", "", "periods (cbfc: formula)", "with tcd under credits, by what `max-ton = \"auto\"` goes: `periods` of flow-control packets, or `formula`: by epsilon, the period, and packets (cbfc: as with pauses, a packet's room being what they let in)";
            "periods", "", "5", "with exit periods: so many";
            "times", "", "2", "with variant adaptive: so many times the longest of late";
            "class", "", "", "list of single classes that have another detector than the other lossless ones, each with its `priority` and the keys above";
            "priority", "", "", "in `class` only: which class";
        }
        "network.bolt-ns3": "What the simulator of Bolt's authors is told beside its quirks; read with `fidelity = \"bolt-ns3\"` only." {
            "ports", "", "all", "ports with Bolt's queues: `all`, those of hosts too, or `between-switches`; the others have one FIFO each";
            "threshold", SIZE, "auto", "where no scheme sets one (Swift): a port with so much queued marks packets; `auto`: a full packet";
            "buffer-packets", "", "1000", "packets that a port's queues hold; only congested ports look";
            "src-factor", "", "1", "one SRC for so many; counted are those sent, so anything above 1 means a single one per port and run";
            "share-flows", "", "false", "whether messages of the same hosts share flows (the authors' aggregation)";
            "strikes", "", "5", "expiries of the retransmission timer in a row after which a flow is given up";
        }
        "network.tcd-ns3": "What the simulator of TCD's authors is told beside all else; read with `fidelity = \"tcd-ns3\"` only." {
            "dynamic-pfc", "", "false", "whether switches pause by what is free of their buffer, not by `network.pfc.static`";
            "flow-ecmp", "", "true", "whether a hash spreads flows over equal paths; otherwise all take the first";
            "clamp-after-timer", "", "false", "where DCQCN's target is not clamped: whether a notification sets it after an increase by time, too";
            "ack-interval", "", "256", "packets between two acknowledgements; every packet with 0";
            "ack-chunk", "", "4000", "and one whenever a multiple of so many packets has come";
            "unmanaged", "", "[]", "hosts without DCQCN: they neither send notifications nor heed any";
            "fixed-rate", "", "[]", "hosts whose applications push at a fixed rate: list of { host, factor }; factor 1 is a packet per 0.4 us (19.6 Gbit/s of data), 4 a quarter of that";
            "listen-until", TIME, "duration", "when receivers stop to listen";
            "flow-slots", "", "12182", "accounts of flows that a receiver has; each further flow takes the next acknowledgements from an earlier one";
            "log", "", "false", "whether every change of a port's state, pause and of a sender's rate is written down";
        }
        "network.credit": "Flow control by credits, with `flow-control = \"credits\"`: each lane of a port has an input buffer at the other end of its link, and sends what that has told to have room for. Packets wait at the input where they came in." {
            "binding", "", "ib", "when credits are told: `ib` (InfiniBand: once in a period) or `cbfc` (Ethernet: when room has become free)";
            "lanes", "", "1", "virtual lanes, 1 to 7";
            "sl-to-vl", "", "in turn", "the lane of each priority from 1 to 7, a list";
            "buffer", SIZE, "auto", "the input buffer of each lane; `auto`: what the link that needs most needs for its whole rate, as far as credits can be counted";
            "unit", SIZE, "64B", "what a credit stands for; a packet takes whole ones";
            "period", TIME, "4.096us", "with ib: each port tells its credits so often; with cbfc: what links lose is told again after so long";
            "phase", "", "aligned", "with ib: all ports at the same instants (`aligned`), or spread over the period (`per-port`)";
            "delay", TIME, "0s", "with cbfc: from room that has become free to the message that tells it";
            "update", SIZE, "8B", "a flow-control packet";
            "first-header", SIZE, "16B (cbfc: 0B)", "what the first packet of each message has beside `data-header`: InfiniBand's RETH, with which an RDMA WRITE begins";
            "forwarding", "", "cut-through (cbfc: store-and-forward)", "whether switches send packets on before all of them has come: `cut-through` or `store-and-forward`";
            "header", SIZE, "20B", "with cut-through: what a switch reads of a packet first";
            "release", "", "start (store-and-forward: end)", "when a packet's room in a switch is free: at the `start` of its transmission, or at the `end`";
            "high", "", "[]", "arbitration between lanes, the table that goes first: a list of [lane, weight], weights in 64 bytes";
            "low", "", "[[0, 64], ...]", "the other table";
            "limit", "", "255", "times 4096 bytes that the high table may send while the low one waits; 255 without end";
        }
        "network.ib-omnet": "InfiniBand, with `fidelity = \"ib-omnet\"` only: switches that buffer packets where they come in, and hosts. A credit is a packet of the MTU. Links take no time (`delay = \"0s\"`)." {
            "lanes", "", "2", "virtual lanes; packets go on the first";
            "weights", "", "[1, 20]", "packets of each lane in its turn, a list";
            "buffer", "", "32", "packets that an input buffer holds of each lane";
            "period", TIME, "4.096us", "each port tells its credits so often, all at the same instants";
            "update", SIZE, "8B", "a flow-control packet";
            "output-queue", "", "5", "packets that an output has room for in front of its wire; one place stays free";
            "host-queue", "", "10", "data packets that wait in a host";
            "input-delay", TIME, "50ns", "from an input to an arbiter";
            "output-delay", TIME, "50ns", "from the arbiter to the wire";
            "switch-arbitration", TIME, "71.111ns", "from one arbitration of a switch's output to the next";
            "host-arbitration", TIME, "128ns", "the same of a host's";
            "host-packet", TIME, "512ns", "what a host takes to make a packet, to bring it to its arbiter, and to take one that has come";
            "stall-every", TIME, "10ms", "hosts stop taking packets so often, or `off`";
            "stall", TIME, "1ns", "for so long";
            "marking-rate", "", "auto", "one packet of so many that leave by a port is marked, if it found others waiting: written as a text; `auto`: 3 with ibcc, else 1";
            "control", "", "none", "what hosts do about marks: `none`, `ibcc` (InfiniBand's congestion control with a quadratic table) or `rrcc` (rates that receivers tell)";
            "controlled", "", "all", "hosts that do so, as senders and receivers: a set of hosts";
            "notified", "", "all", "senders that receivers notify: a set of hosts";
            "log", "", "false", "whether every step at every port is written down, for `paceline reproduce`";
            "ibcc", "", "", "its parameters";
            "rrcc", "", "", "its parameters";
        }
        "network.ib-omnet.ibcc": "IBCC: an index into a table, one more with every notification, one less whenever a timer expires; packets are further apart by its square." {
            "limit", "", "127", "the largest index";
            "timer", TIME, "30us", "the index is lowered so often";
            "delay", TIME, "3300ns", "at the index `at` packets are so much further apart than at line rate";
            "at", "", "83", "see delay";
        }
        "network.ib-omnet.rrcc": "RRCC: a receiver looks at each sender's packets in windows, and tells it the rate at which they came if nearly all were marked." {
            "window", TIME, "8.192us", "how long a receiver looks";
            "threshold", "", "0.9", "the share of marked packets above which they met congestion";
            "undershoot", "", "1.07", "a sender goes below the rate that it is told by this factor";
            "increase", "", "0.39", "what its target grows by, in Gbit/s";
            "after", "", "3", "notices in a row that there is no congestion, from which on it grows";
        }
        "network.endpoint": "What a receiver's host takes between a data packet's arrival at its NIC and its answer: the endpoint delay of Swift." {
            "delay", TIME, "0s", "the way from the NIC to who answers, for every packet";
            "per-packet", TIME, "0s", "the host takes packets one after another, each for so long";
            "rate", RATE, "off", "and for as long as its bytes take at this rate";
            "jitter", TIME, "0s", "the way takes up to so much longer, at random; no packet overtakes another";
        }
        "network.flowlet": "Flowlets, with `load-balancing = \"flowlet\"`, or `\"adaptive\"` per flowlet." {
            "gap", TIME, "100us", "a flow that sent nothing for longer may take another path";
            "entries", "", "4096", "entries of a switch's table of flows, a power of two; flows whose hashes meet in one are taken for one";
        }
        "network.adaptive": "The least loaded port, with `load-balancing = \"adaptive\"`." {
            "per", "", "packet", "chosen for each `packet`, or for each `flowlet`";
        }
        "network.failure": "A link that fails." {
            "link", "", "", "its number, from 0";
            "nodes", "", "", "the nodes at its ends, instead of link";
            "at", TIME, "", "when it fails";
            "until", TIME, "never", "when it comes back";
        }
        "network.pause-storm": "A host whose NIC pauses its switch for ever." {
            "node", "", "", "the host";
            "priority", "", "3", "the class that it pauses";
            "at", TIME, "", "when it begins";
            "until", TIME, "never", "when it ends";
        }
        "network.route": "A switch's next hop, instead of that of shortest paths." {
            "node", "", "", "the switch";
            "to", "", "", "the hosts that packets are for: a set of hosts";
            "via", "", "", "the neighbour that they go to";
        }
        "cc": "Congestion control. Each scheme's parameters are in a block of its name, [cc.dcqcn]. An alias may have a block as well, [cc.dcqcn-paper]; what that leaves out is as in the scheme's." {
            "scheme", "", "", "the scheme, or an alias of one";
            "window", "", "the scheme's", "bound of bytes in flight: `off`, `fixed` (bandwidth-delay product) or `variable` (times rate over line rate)";
            "windows", "", "", "the same by name of scheme, where several share the network";
            "defaults", "", "", "in a file that a run wrote: what of it came with the scheme, see `[cc.defaults]`";
        }
        "cc.defaults": "In a file that a run wrote: what of it came with its scheme. Under another scheme it is that one's own; without this block what the file says holds." {
            "of", "", "", "the scheme";
            "keys", "", "", "paths of keys, of \"cc.window\", \"network.detection\" and \"network.ecn\" those that the scenario left to it";
        }
        "record": "What to record; what is off costs nothing." {
            "queue", TIME, "off", "sample every switch port's queue at this period";
            "queue-from", TIME, "0s", "first sample";
            "queue-to", TIME, "the duration", "last sample";
            "queue-dump", TIME, "off", "copy the queues' histograms at this period, as ns-3 does";
            "ports", TIME, "auto", "utilisation, largest queue, paused share, marks of every port and largest occupancy of every switch, at first in bins of this width, which double as often as 512 are full: `auto` (1us) or `off` (ns3-hpcc)";
            "credits", TIME, "auto", "with `flow-control = \"credits\"`, credits of each lane of each port, sampled at this period: `auto` (1us up to 64 ports, otherwise not) or `off`";
            "states", TIME, "auto", "what the detectors of `[network.detection]` find each port to be, sampled at this period: `auto` (1us, where there are any) or `off`";
            "flows", TIME, "off", "the scheme's rate and window and the last round-trip time of the first flows, whenever they have changed, at this period";
            "flows-max", "", "64", "how many flows that is";
            "pfc", "", "true", "keep a list of all PFC frames, which grows with their number: pfc.txt";
            "rates", TIME, "off", "goodput of each flow in bins of this width";
            "rtt-samples", "", "false", "keep every round-trip time sample";
            "latency", "", "false", "one-way latency of data packets, from the start of their transmission at the sender until the receiver has all of them: `latency_us` in summary.json, and `goodput_share` beside it (not with bolt-ns3, tcd-ns3, ib-omnet)";
            "accounts", "", "auto", "flows whose time to account for, part by part: `off`, `all`, a list of flow ids, or `auto`: all of up to 1000; of more an even sample of 1000, and the slowest 20, for which `run` and `compare` run once more where that is short (with ns3-hpcc: `off`)";
            "trace", "", "[]", "nodes whose packets to trace, switches too, written as a set of hosts; `all` for all: trace.parquet (ns3-hpcc: trace.tr)";
            "trace-ports", "", "[]", "single ports to trace, both directions: [[node, neighbour], ..]";
            "trace-from", TIME, "0s", "nothing is traced before";
            "trace-to", TIME, "the duration", "nothing is traced after";
            "pcap", "", "false", "also write traced packets as a capture file, trace.pcapng; alone: of all nodes";
        }
        "sweep": "The grid of `paceline sweep`: every combination of the values, each with the same seeds. Keys are paths, as with --set: \"cc.scheme\" = [\"hpcc\", \"dcqcn\"]." {
            "path.to.key", "", "", "its values: a list, or { from, to, steps } for numbers, both ends included";
            "repeats", "", "1", "seeds of each point: the scenario's, and those that follow it";
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
