//! Disjoint ranges of seeds, and the networks in which the policies of Aurora and SPINE are trained and
//! selected.

use paceline_env::Source;
use paceline_kernel::rng::Rng;
use paceline_scenario::Overrides;

/// Seeds of training scenarios; [`SELECTION`] has those that select policies, and seeds from [`EVALUATION`]
/// on judge selected policies.
pub const TRAINING: std::ops::Range<u64> = 0..1 << 32;
/// Seeds of the scenarios by which policies are selected.
pub const SELECTION: std::ops::Range<u64> = 1 << 32..2 << 32;
/// First seed of the scenarios that judge selected policies.
pub const EVALUATION: u64 = 2 << 32;
const _: () = assert!(
    TRAINING.end <= SELECTION.start && SELECTION.end <= EVALUATION,
    "what chooses was not trained with, what judges neither"
);

/// Random network and its flows, for one episode.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawn {
    set: Vec<String>,
    /// Round trip of the empty network, in us.
    pub(crate) base_us: f64,
    /// Initial rate of a flow, in packets per empty round trip.
    pub(crate) first_packets: f64,
}

/// Scenario on which the random networks are based.
pub(crate) const MANY_TO_ONE: &str = "rl-cc";

/// Smallest and largest number of flows.
const FLOWS: (f64, f64) = (1.0, 16.0);
/// Upper limit of sending hosts.
const SENDERS: u32 = 32;
/// Length of an episode, in round trips.
const ROUND_TRIPS: f64 = 200.0;

/// Draws a number uniformly on a logarithmic scale.
fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * libm::exp2(rng.next_f64() * libm::log2(high / low))
}

/// Draws the network of an episode: a rate of 25 to 400 Gbit/s, a round trip of 4 to 40 us, a buffer of 1/4
/// to 4 bandwidth-delay products, initial rates of 1/64 to 1/2 of the line's.
pub(crate) fn draw(rng: &mut Rng) -> Drawn {
    let gbps = [25.0, 40.0, 100.0, 200.0, 400.0][rng.below(5) as usize];
    let delay_us = between(rng, 1.0, 10.0);
    let flows = between(rng, FLOWS.0, FLOWS.1 + 0.99) as u32;
    let buffer = between(rng, 0.25, 4.0);
    let first = gbps / between(rng, 2.0, 64.0);
    let mtu = if gbps > 100.0 || rng.below(2) == 0 {
        4000
    } else {
        1000
    };
    network(&Plan {
        gbps,
        delay_us,
        flows,
        buffer,
        first,
        mtu,
    })
}

/// Random properties of a network.
struct Plan {
    gbps: f64,
    delay_us: f64,
    flows: u32,
    buffer: f64,
    first: f64,
    mtu: u32,
}

fn network(plan: &Plan) -> Drawn {
    // Four link delays per round trip; a packet and its acknowledgement cross two links each.
    let wire_us = f64::from(plan.mtu + 48) * 8.0 / (plan.gbps * 1000.0);
    let base_us = 4.0 * plan.delay_us + 2.0 * wire_us;
    let product = plan.gbps * 1000.0 / 8.0 * base_us;
    let buffer = (plan.buffer * product).max(20.0 * f64::from(plan.mtu));
    // More flows than hosts are spread evenly over the hosts.
    let rounds = plan.flows.div_ceil(SENDERS);
    let senders = plan.flows.div_ceil(rounds);
    let set = vec![
        format!("duration={}us", (ROUND_TRIPS * base_us) as u64),
        format!("topology.star.rate={}Gbps", plan.gbps),
        format!("topology.star.delay={}ns", (1000.0 * plan.delay_us) as u64),
        format!("network.mtu={}B", plan.mtu),
        format!("network.buffer={}B", buffer as u64),
        "cc.scheme=external".to_string(),
        format!("cc.external.initial-rate={}Mbps", (1000.0 * plan.first) as u64),
        "cc.external.ecn=false".to_string(),
        "record.accounts=off".to_string(),
        format!("topology.star.hosts={}", senders + 1),
        format!("workload.many-to-one.incast.fan-in={senders}"),
        format!("workload.many-to-one.incast.receiver={}", senders + 1),
        format!("workload.many-to-one.incast.rounds={rounds}"),
    ];
    Drawn {
        set,
        base_us,
        first_packets: plan.first * 1000.0 / 8.0 * base_us / f64::from(plan.mtu + 48),
    }
}

/// Returns the networks that select policies, the same each time.
pub(crate) fn trials() -> Vec<Drawn> {
    let (least, most) = FLOWS;
    let one = |(index, gbps, delay_us): (i32, f64, f64)| {
        // Equal distances on a logarithmic scale.
        let flows = least * libm::exp2(libm::log2(most / least) * f64::from(index) / 5.0);
        network(&Plan {
            gbps,
            delay_us,
            flows: flows.round() as u32,
            buffer: 1.0,
            first: gbps / 64.0,
            mtu: if gbps > 100.0 { 4000 } else { 1000 },
        })
    };
    [
        (0, 100.0, 2.0),
        (1, 400.0, 2.0),
        (2, 25.0, 5.0),
        (3, 100.0, 1.0),
        (4, 200.0, 4.0),
        (5, 100.0, 2.0),
    ]
    .map(one)
    .to_vec()
}

impl Drawn {
    pub(crate) fn source(&self) -> Source {
        Source {
            name: MANY_TO_ONE.to_string(),
            overrides: Overrides {
                set: self.set.clone(),
                ..Overrides::default()
            },
        }
    }
}
