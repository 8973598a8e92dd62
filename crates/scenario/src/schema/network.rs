//! `[network]` and its tables.

use paceline_congestion::params::{if_so, is, is_not};
use paceline_fabric::spec::EcmpHash;
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use toml::Spanned;

use super::facts::{
    CREDITS, DERIVED, FLOWLETS, LOSSY, NO_CREDITS, NOT_BOLT, NOT_IB, NOT_TCD, OWN, PFC, QUEUE_PAIRS,
};
use super::{
    Ack, AckClass, AdaptivePer, ArrivalOrder, AssistKind, AssistPortsKind, Balancing, Buffer, DetectionKind,
    DropKind, ExitKind, Failure, FastCnp, FlowControlKind, Headroom, Isolation, Lanes, LinkChange, LinkError,
    Llr, NodeItem, Nodes, OrAuto, OrEvery, OrOff, PfcModeKind, ReceiveBuffer, RecoveryKind, SchedulingKind,
    SlowHost, TcdKind, Watchdog, tables,
};

tables! {
    /// Packets, NICs and switches.
    struct Network {
        /// maximum payload of a data packet
        mtu: Spanned<Bytes> = "1000B";
        /// header size of a data packet, without headers of the scheme
        data_header: Spanned<Bytes> = "48B", only(&[&[NOT_IB]]);
        /// header size of an ACK, without headers of the scheme
        ack_header: Spanned<Bytes> = "46B", only(&[&[NOT_IB]]);
        /// minimum size of an ACK
        ack_min: Spanned<Bytes> = "60B", only(&[&[QUEUE_PAIRS]]);
        /// size of a PFC frame (ns3-hpcc: 43B)
        pfc_frame: Spanned<Bytes> = "64B", only(&[&[PFC]]);
        /// size of a congestion notification packet, of a receiver's grant, or of a probe of a path
        cnp: Spanned<Bytes> = "64B", only(&[&[if_so("a scheme that sends CNPs or grants")], &[is(".load-balancing", &["mrc"])]]);
        /// size of HPCC's telemetry header
        int_header: Spanned<Bytes> = "42B", only(&[
            &[if_so("a scheme that uses INT"), is(".scheme-headers", &["true"]), OWN],
            &[PFC, is("fidelity", &["exact"])],
        ]);
        /// size of HPCC-PINT's digest
        pint_header: Spanned<Bytes> = "2B", only(&[&[if_so("a scheme that uses PINT"), is(".scheme-headers", &["true"]), OWN]]);
        /// size of a timestamp
        timestamp_header: Spanned<Bytes> = "8B", only(&[&[if_so("a scheme that uses timestamps"), is(".scheme-headers", &["true"]), OWN]]);
        /// count the headers that schemes add (bolt-ns3: false)
        scheme_headers: bool = "true", only(&[&[if_so("a scheme that adds headers"), NOT_TCD]]);
        /// overhead per packet on the wire, such as preamble and gap; costs transmission time only (bolt-ns3: 2B)
        framing: Spanned<Bytes> = "0B", only(&[&[NOT_IB]]);
        /// factor of telemetry units, whose fields are narrow (ns3-hpcc)
        int_multi: Spanned<u32> = "1", only(&[&[is("quirks.int-wire-precision", &["true"]), if_so("a scheme that uses INT")]]);
        /// buffer of a switch, headroom and reserve included; { shared = "size" }: the pool that its ports share, on top of
        /// which come headroom and reserve
        buffer: Spanned<Buffer> = "32MiB", only(&[&[NO_CREDITS, NOT_BOLT]]);
        /// buffer guaranteed to each ingress port and class
        port_reserve: Spanned<Bytes> = "4096B", only(&[&[NO_CREDITS, OWN]]);
        /// `pfc`, `credits` or `none`; ib-omnet: `credits`. With `credits`, packets have InfiniBand's sizes unless
        /// [network] sets them or network.credit.binding is `cbfc`
        flow_control: FlowControlKind = "pfc";
        /// the priority classes under flow control; other classes are lossy
        lossless: Spanned<Vec<u8>> = "[1, 2, 3, 4, 5, 6, 7]", only(&[&[PFC]]);
        /// also acknowledge at each multiple of this size
        ack_chunk: Spanned<Bytes> = "4000B", only(&[&[is("quirks.ack-threshold", &["true"]), is_not(".ack", &["{ every-bytes = 1B }"])]]);
        /// priority class of ACKs, or `flow` for that of the flow (ns3-hpcc)
        ack_class: Spanned<AckClass> = "0", only(&[&[OWN]]);
        /// minimum time between two NACKs for the same gap; by default at least two base RTTs in fidelity `exact`
        nack_interval: Span = "500us", only(&[&[OWN, is(".recovery", &["go-back-n"])]]);
        /// go-back-N returns to the start of a chunk of this size
        back_to_chunk: Spanned<OrOff<Bytes>> = "off", only(&[&[OWN, is(".recovery", &["go-back-n"])]]);
        /// retransmission timeout of go-back-N, or `off` (ns3-hpcc); by default at least three base RTTs in fidelity
        /// `exact`
        rto: Spanned<OrOff<Span>> = "4ms", only(&[&[QUEUE_PAIRS, is(".recovery", &["go-back-n"])]]);
        /// loss recovery: `go-back-n`, `irn` (selective repeat) or `rud` (reliable unordered delivery, as in Ultra Ethernet)
        recovery: Spanned<RecoveryKind> = "go-back-n";
        /// whether receiving NICs accept packets out of order: `in-order` or `out-of-order`
        receiver_order: Spanned<ArrivalOrder> => "in-order (irn, rud: out-of-order)", only(&[&[is(".recovery", &["irn", "rud"])]]);
        /// pace packets at the scheme's rate
        pacing: Spanned<bool> = "true", only(&[
            &[OWN, if_so("a scheme that sets rates")],
            &[is("fidelity", &["bolt-ns3"]), if_so("Bolt")],
        ]);
        /// use the largest base RTT of all pairs of hosts, instead of each flow's own
        global_rtt: bool = "true", only(&[&[QUEUE_PAIRS, if_so("a window, or a scheme that uses the base RTT")]]);
        /// reset the scheme of a persistent connection that was idle for this long; `off` keeps its state
        idle_reset: OrOff<Span> = "off", only(&[&[OWN, if_so("persistent connections")]]);
        /// how a NIC selects the next queue pair that may send: `round-robin` (one packet each), `quantum`
        /// (`qp-quantum` bytes each: deficit round robin) or `max-min` (the one with the smallest share: start-time
        /// fair queueing)
        qp_scheduling: Spanned<SchedulingKind> = "round-robin";
        /// bytes on the wire per turn; the last packet is sent whole, and the excess is deducted from
        /// the next turn
        qp_quantum: Spanned<Bytes> = "16KB", only(&[&[is(".qp-scheduling", &["quantum"])]]);
        /// support of schemes by switches, other than marks and telemetry (such as Bolt's tokens and reports): `auto`
        /// (what the schemes need) or `none`
        assist: Spanned<AssistKind> = "auto", only(&[&[if_so("a scheme that needs it")]]);
        /// ports that provide it: `switches` (all) or `between-switches`
        assist_ports: Spanned<AssistPortsKind> = "switches", only(&[&[OWN, if_so("a scheme that needs it")]]);
        /// factors of the rates of links, by tier of links or by the two nodes of a link, such as
        /// { host = 2, leaf-spine = 0.5 } or { "3-17" = 2 }; links of hosts are `host`, links inside servers `server`
        rate_factor: SortedMap<String, Spanned<f64>> => "none";
        /// packet loss probability of links without one of their own
        error_rate: Spanned<f64> = "0";
        /// when receivers acknowledge: { every-packets = n } or { every-bytes = "size" }
        ack: Spanned<Ack> => "every-packets = 1", only(&[&[OWN]]);
        /// delay of receiving hosts before they answer; default: none
        endpoint: Endpoint;
        /// memory of NICs for packets that their hosts have yet to take; default: unlimited
        receive_buffer: ReceiveBuffer;
        /// buffer for packets that arrive after a pause: { per-link = { factor, extra } } (factor times rate times
        /// delay, plus extra) or { fixed = "size" }
        headroom: Spanned<Headroom> => "per-link = { factor = 3, extra = two packets }", only(&[&[PFC, OWN]]);
        /// selective repeat
        irn: Irn;
        /// reliable unordered delivery
        rud: Rud;
        /// packet drops in lossy classes
        drop: Drop;
        /// priority flow control
        pfc: Pfc;
        /// ECN marking
        ecn: Spanned<Ecn>;
        /// how ports distinguish congestion from the effects of pauses; default: `ecn` alone (ACC: `tcd`)
        detection: Spanned<Detection>;
        /// notifications that switches make
        fast_cnp: FastCnp;
        /// flows that congest a port wait in a queue of their own
        isolation: Isolation;
        /// with `flow-control = "credits"`: virtual lanes, their buffers and credits
        credit: Spanned<Lanes>;
        /// number of planes, a power of two: networks side by side, with a link of each host into each of them. A generated
        /// topology is built so often; in a given one, each host has so many links, in the order of the planes. A flow
        /// whose sender selects a path for each packet uses all of them, others keep to one
        planes: Spanned<u32> = "1", only(&[&[is("fidelity", &["exact"]), NO_CREDITS]]);
        /// how switches select among equal-cost next hops: `ecmp` (by flow hash), `flowlet` (at random after a gap),
        /// `spray` (at random per packet) or `adaptive` (the least loaded port); or how senders select among paths by
        /// entropy values: `oblivious` (all in turn), `bitmap` (skip values that were marked, trimmed or lost), `reps` (reuse
        /// values that were not), `mixed` (`reps`, else `bitmap`) or `mrc` (a state for each value, spare values, probes)
        load_balancing: Spanned<Balancing> = "ecmp";
        /// ECMP hash: `per-switch` (a seed per switch), `d-mod-k` (by destination, a different digit per tier) or
        /// `shared` (the same at all switches, which leaves most paths unused: polarisation)
        ecmp_hash: Spanned<EcmpHash> = "per-switch", only(&[
            &[NOT_IB, is(".load-balancing", &["ecmp", "flowlet", "oblivious", "bitmap", "reps", "mixed", "mrc"])],
            &[is(".load-balancing", &["adaptive"]), is("network.adaptive.per", &["flowlet"])],
        ]);
        /// flowlet detection
        flowlet: Flowlet;
        /// entropy values
        entropy: EntropyValues;
        /// states of entropy values, and probes
        mrc: MrcValues;
        /// granularity of adaptive routing
        adaptive: Adaptive;
        /// list of failing links
        failure: Vec<Spanned<Failure>>;
        /// time from the failure or repair of a link until routes follow; until then what goes to a failed link is lost
        reconvergence: Span = "0s", only(&[&[OWN, NO_CREDITS, if_so("a link that fails")]]);
        /// list of links whose rate, delay or loss changes
        link_change: Vec<Spanned<LinkChange>>;
        /// list of errors of links
        link_error: Vec<Spanned<LinkError>>;
        /// retry of frames on links
        llr: Spanned<Llr>;
        /// list of hosts that are slow
        slow_host: Vec<Spanned<SlowHost>>;
        /// list of hosts whose NICs pause forever
        pause_storm: Vec<Spanned<PauseStorm>>;
        /// list of next hops that replace those of shortest paths
        route: Vec<Spanned<Route>>;
        /// settings per tier of switches: one table per tier name
        tier: SortedMap<String, Spanned<Tier>>;
    }
    /// Packets of lossy classes that do not fit in the buffer.
    struct Drop only(LOSSY) {
        /// when to drop: `shared` (buffer full), `tail` (also when the egress queue reaches a limit) or `dynamic`
        /// (also when it reaches alpha times the free buffer)
        policy: Spanned<DropKind> => "shared (with lossless classes: dynamic)";
        /// limit per egress queue and class
        limit: Spanned<Bytes>, only(&[&[is(".policy", &["tail"])]]);
        /// the limit in full packets, instead of `limit`
        packets: Spanned<u32>, only(&[&[is(".policy", &["tail"])]]);
        /// the factor
        alpha: Spanned<f64> = "1", only(&[&[is(".policy", &["dynamic"])]]);
        /// instead of dropping a data packet, cut its payload and forward its headers to the receiver in class 0
        trim: Spanned<bool> = "false";
        /// limit of class 0 per egress port, beyond which headers are dropped
        headers: Spanned<Bytes> = "100KB", only(&[&[is(".trim", &["true"])]]);
    }
    /// Time between the arrival of a data packet at the receiving NIC and the acknowledgement: Swift's endpoint delay.
    struct Endpoint {
        /// delay of every packet
        delay: Span = "0s";
        /// service time per packet, one after another
        per_packet: Span = "0s";
        /// additional service time: packet size at this rate
        rate: Spanned<OrOff<BitRate>> = "off";
        /// random extra delay, up to this; packets do not overtake each other
        jitter: Span = "0s";
    }
    /// IRN's selective repeat (Mittal et al., SIGCOMM 2018).
    struct Irn only(&[&[is("network.recovery", &["irn"])]]) {
        /// retransmission timeout while few packets are in flight; by default at least three base RTTs
        rto_low: Spanned<Span> = "100us";
        /// retransmission timeout otherwise: propagation plus the longest queue; by default at least ten base RTTs
        rto_high: Spanned<Span> = "320us";
        /// from this many packets in flight on, `rto-high` applies
        low_packets: u32 = "3";
        /// limit new packets to one bandwidth-delay product beyond the first unacknowledged byte (BDP-FC)
        bdp_cap: bool = "true";
        /// a packet is lost when one more than this many packets beyond it has arrived; above 0 for networks that
        /// reorder
        reordering: Spanned<u32> = "0";
    }
    /// Reliable unordered delivery: only a trimmed packet or a timeout tells of a loss.
    struct Rud only(&[&[is("network.recovery", &["rud"])]]) {
        /// a packet without any answer is retransmitted after this time; by default at least three base RTTs
        rto: Spanned<Span> = "100us";
    }
    /// Entropy values, which senders write into packets and switches hash.
    struct EntropyValues only(&[&[is("network.load-balancing", &["oblivious", "bitmap", "reps", "mixed", "mrc"])]]) {
        /// number of values per flow, a power of two; each plane has its share
        values: Spanned<u32> = "64";
    }
    /// Values of a sender with `load-balancing = "mrc"`, as in Multipath Reliable Connection: one that was marked or trimmed
    /// is skipped once. One whose packet times out is assumed to be bad: a spare value replaces it, and it is probed until
    /// an answer comes.
    struct MrcValues only(&[&[is("network.load-balancing", &["mrc"])]]) {
        /// values in use in each plane; the others are spare
        in_use: Spanned<u32> => "half of those of a plane";
        /// time between two probes of a bad value, and before the first
        probe_interval: Spanned<Span> = "100us";
    }
    /// Flowlets, with `load-balancing = "flowlet"`, or `"adaptive"` per flowlet.
    struct Flowlet only(FLOWLETS) {
        /// idle time after which a flow may change its path
        gap: Spanned<Span> = "100us";
        /// size of a switch's flow table, a power of two; flows with the same hash share an entry
        entries: Spanned<u32> = "4096";
    }
    /// Adaptive routing, with `load-balancing = "adaptive"`.
    struct Adaptive only(&[&[is("network.load-balancing", &["adaptive"])]]) {
        /// select a port for each `packet` or each `flowlet`
        per: Spanned<AdaptivePer> = "packet";
    }
    /// A host whose NIC pauses its switch continuously.
    struct PauseStorm {
        /// the host
        node: Spanned<Nodes>;
        /// pause only the host's links to this node, by its number or name
        peer: Spanned<NodeItem> => "all of the host's links but those inside its server";
        /// the paused class
        priority: Spanned<u8> = "3";
        /// start
        at: Spanned<Time>;
        /// end
        until: Spanned<Time> => "never";
    }
    /// A next hop that replaces that of the shortest path.
    struct Route {
        /// the switch, by its number or name
        node: Spanned<NodeItem>;
        /// destinations: a set of hosts
        to: Spanned<Nodes>;
        /// the next hop, by its number or name
        via: Spanned<NodeItem>;
    }
    /// Priority flow control.
    struct Pfc only(&[&[PFC]]) {
        /// distance of the resume threshold below a dynamic pause threshold
        resume_offset: Bytes = "3072B", only(&[&[is(".static", &[""])]]);
        /// duration of a pause: `on-off` or `quanta`
        mode: PfcModeKind = "on-off", only(&[&[NOT_TCD]]);
        /// time that a pause frame carries
        pause: Spanned<Span> = "5us", only(&[&[is(".mode", &["quanta"])], &[is("fidelity", &["tcd-ns3"])]]);
        /// delay between a pause frame's arrival and the port stopping; a headroom per link grows by it
        reaction_time: Spanned<Span> = "0s";
        /// random extra delay of each frame, up to this; frames do not overtake each other
        reaction_jitter: Spanned<Span> = "0s";
        /// pause at 2^-shift of the free buffer: { shift, reference-rate }
        dynamic: DynamicThreshold => "shift = 3";
        /// what ends pauses that last too long; default: nothing
        watchdog: Watchdog;
        /// pause above xoff, resume below xon: { xoff, xon }; replaces dynamic
        #[serde(rename = "static")]
        fixed: Spanned<StaticThreshold>;
    }
    /// Pause at a share of the free buffer.
    struct DynamicThreshold {
        /// pause at 2^-shift of the free buffer: 3 is an eighth, -1 twice as much as is free
        shift: Spanned<i32> = "3";
        /// link rate to which the shift refers: one less for each doubling of a port's rate above it; `every`: the same
        /// shift at all rates
        reference_rate: OrEvery<BitRate> => "rate of the first host";
    }
    /// Pause at a fixed number of bytes.
    struct StaticThreshold {
        /// pause above this
        xoff: Spanned<Bytes>;
        /// resume below this
        xon: Spanned<Bytes>;
    }
    /// Settings of the switches of one tier, such as `[network.tier.spine]`. A tier contains the switches at the same
    /// distance from hosts. One tier is called `leaf`; two are `leaf` and `spine`; three are `edge`, `aggregation` and
    /// `core`; more are `tier-1` to `tier-n`, upwards from the hosts. In `topology.rail`, the switches inside servers
    /// are `server`; in fidelity `simai` they neither mark nor pause unless this table says so. Keys that are not set here are those of [network].
    struct Tier {
        /// buffer of each of these switches
        buffer: Spanned<Buffer> => "network.buffer", only(&[&[NO_CREDITS]]);
        /// buffer for packets that arrive after a pause
        headroom: Spanned<Headroom> => "network.headroom", only(&[&[PFC]]);
        /// { dynamic = { shift, reference-rate } }, if [network.pfc] is dynamic
        pfc: Spanned<TierPfc> => "network.pfc", only(&[&[PFC]]);
        /// whether these switches send pauses; those that do not drop packets that find no room
        pauses: bool => "true (simai, in servers: false)", only(&[&[PFC]]);
        /// { kmin, kmax, pmax, reference-rate }, each optional, or { curves }
        ecn: Spanned<Ecn> => "network.ecn";
    }
    /// Pause thresholds of a tier.
    struct TierPfc {
        /// { shift, reference-rate }
        dynamic: DynamicThreshold => "network.pfc.dynamic";
    }
    /// How ports distinguish congestion from the effects of pauses. Overrides the curves of `[network.ecn]` where it
    /// applies.
    struct Detection only(&[&[NOT_BOLT, NOT_IB]]) {
        /// in `class` only: the class
        priority: Spanned<u8>;
        /// `red` (no distinction), `np-ecn` (no marks on packets delayed by a pause) or `tcd` (a port that alternates
        /// between paused and sending is undetermined, and marks packets accordingly)
        kind: Spanned<DetectionKind>;
        /// as in the `thesis`, `as-coded` in its authors' simulator, or `adaptive`, by observed sending
        /// times
        variant: Spanned<TcdKind> = "thesis", only(&[&[is(".kind", &["tcd"])]]);
        /// excess of arrivals over departures of a congested port, as a share of its rate; smaller is more
        /// certain and slower
        epsilon: Spanned<f64> = "0.05", only(&[&[DERIVED[0], DERIVED[1], PFC, NOT_TCD], &[DERIVED[0], DERIVED[1], CREDITS, is(".exit", &["formula"])]]);
        /// maximum sending time of an undetermined port; `auto` derives it per port from epsilon, the link
        /// and the pause thresholds
        max_ton: Spanned<OrAuto<Span>> = "auto", only(&[&[is(".kind", &["tcd"])]]);
        /// basis of `max-ton = "auto"`: a number of flow-control `periods`, or the `formula`
        /// of epsilon, period and packet size (cbfc: as with pauses)
        exit: Spanned<ExitKind> => "periods (cbfc: formula)", only(&[&[DERIVED[0], DERIVED[1], CREDITS]]);
        /// number of periods
        periods: Spanned<f64> = "5", only(&[&[DERIVED[0], DERIVED[1], CREDITS, is(".exit", &["periods"])]]);
        /// multiple of the recent maximum
        times: Spanned<f64> = "2", only(&[&[is(".variant", &["adaptive"])]]);
        /// list of classes with a different detector, each with `priority` and the keys above
        class: Vec<Spanned<Detection>>;
    }
    /// ECN marking by queue length, scaled with the port's rate. Defaults depend on the first scheme: a step at 30KB
    /// for 10Gbps with DCTCP and PCN; a step at 50KB for 40Gbps with ACC; 5KB, 200KB and 1% for 40Gbps with the
    /// published DCQCN (dcqcn-paper); for all others, the values below.
    struct Ecn only(&[&[NOT_BOLT, NOT_IB, if_so("marks by curves")]]) {
        /// no marks below this queue length, at `reference-rate`; scaled with the rate of each link, so 200KB are
        /// 3.2MB at 400Gbps unless that is the reference-rate
        kmin: Spanned<Bytes> = "100KB";
        /// all packets are marked above this queue length; scaled too
        kmax: Spanned<Bytes> = "400KB";
        /// marking probability at kmax
        pmax: Spanned<f64> = "0.2";
        /// link rate of kmin and kmax; `every`: the same bytes at all rates
        reference_rate: Spanned<OrEvery<BitRate>> = "25Gbps";
        /// list of { rate, kmin, kmax, pmax }, one per rate, instead of the above; [] disables marking
        curves: Vec<Spanned<Curve>>;
    }
    /// The marking curve of one link rate.
    struct Curve {
        /// link rate
        rate: Spanned<BitRate>;
        /// no marks below this queue length
        kmin: Spanned<Bytes>;
        /// all packets are marked above this queue length
        kmax: Spanned<Bytes>;
        /// marking probability at kmax
        pmax: Spanned<f64>;
    }
}
