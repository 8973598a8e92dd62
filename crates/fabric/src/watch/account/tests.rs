use super::hop_log::{INSIDE, PAUSED};
use super::*;
use crate::common::{add_flow, scheme, star};
use crate::ids::{AccountId, FlowId, PacketId, PortId};
use paceline_kernel::Span;
use paceline_kernel::ids::Id;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_run::outcome::account::HopTotals;
use paceline_run::spec::NodeId;

const FLOWS: u32 = 3;

/// Returns the accounts of `flows` flows in a network with `ports` ports.
fn of_flows(flows: u32, ports: u32) -> Accounts {
    let mut spec = star(2, scheme("hpcc"));
    (0..flows).for_each(|_| add_flow(&mut spec, 0, 1, 1_000, 0));
    spec.record.accounts = Accounted::All;
    Accounts::new(&spec, (ports as usize, 1), 0)
}

fn accounts() -> Accounts {
    of_flows(FLOWS, 8)
}

fn begin(accounts: &mut Accounts, flow: FlowId) {
    accounts.senders[AccountId(flow.0)] = Sender::new(flow, 0);
}

fn name(port: PortId) -> PortRef {
    PortRef {
        node: NodeId(port.0 / 4),
        interface: port.0 % 4 + 1,
        peer: NodeId(0),
    }
}

fn step(key: u32, left: u64, arrives: u64) -> Step {
    let flight = arrives.saturating_sub(left) as u32;
    Step { key, flight, left }
}

/// Returns the steps of a packet at some of the ports, with waits, a pause and a host in between.
fn way(rng: &mut Rng, start: u64) -> Vec<Step> {
    let mut now = start;
    let mut steps = Vec::new();
    for (position, is_data) in [(0, true), (1, true), (2, true), (3, false), (4, false)] {
        let paused = rng.next_u64() % 3 * 500;
        if paused > 0 && position > 0 {
            now += paused;
            steps.push(step(PAUSED, paused, 0));
        }
        if position > 0 {
            now += rng.next_u64() % 1000;
        }
        steps.push(step(
            key_of(PortId(position + rng.next_u64() as u32 % 2 * 4), is_data),
            now,
            now + 100,
        ));
        now += 100;
        if position == 2 {
            steps.push(step(INSIDE, 70, 0));
            now += 70;
        }
    }
    steps
}

/// Accounts of two parts add up to those of the whole, with senders in either part, and packets that end in another
/// part than they started in.
#[test]
fn accounts_of_parts_merge() {
    let mut rng = Rng::stream(1, Purpose::Mark, 0);
    let (mut whole, mut parts) = (accounts(), [accounts(), accounts()]);
    for flow in (0..FLOWS).map(FlowId) {
        begin(&mut whole, flow);
        begin(&mut parts[flow.index() % 2], flow);
    }
    for number in 0..200u32 {
        let (flow, packet) = (FlowId(number % FLOWS), PacketId(rng.next_u64() as u32 % 7));
        let steps = way(&mut rng, u64::from(number) * 100);
        let crossing = rng.next_u64() as usize % steps.len();
        whole.put(packet, &head(flow), &steps);
        let [here, there] = &mut parts;
        here.put(packet, &head(flow), &steps[..crossing]);
        let mut carried = Vec::new();
        let carried_head = here.take(packet, &mut carried).unwrap();
        assert_eq!(carried.len(), carried_head.count());
        assert!(here.take(packet, &mut carried).is_none());
        there.put(packet.plus(3), &carried_head, &carried);
        for &step in &steps[crossing..] {
            there.hop_logs.push(packet.plus(3), step);
        }
        parts.swap(0, 1);
    }
    let [mut here, there] = parts;
    here.merge(there);
    let whole = whole.close(0, &name);
    assert_eq!(whole, here.close(0, &name));
    let packets: u64 = whole
        .iter()
        .flat_map(|account| &account.hops)
        .map(|hop| hop.packets)
        .sum();
    assert_eq!((whole.len(), packets), (3, 5 * 200));
    assert_eq!(whole[0].host.packets, 67);
}

fn head(flow: FlowId) -> Head {
    Head {
        position: AccountId(flow.0),
        ..Head::NOTHING
    }
}

/// The time between arrival and departure is queueing and pause; ports are in the order in which they were passed.
#[test]
fn a_journal_is_read() {
    let mut accounts = accounts();
    begin(&mut accounts, FlowId(1));
    let steps = [
        step(key_of(PortId(6), true), 1_000, 1_100),
        step(PAUSED, 40, 0),
        step(key_of(PortId(2), true), 1_200, 1_300),
        step(INSIDE, 30, 0),
        step(key_of(PortId(7), false), 1_331, 1_400),
    ];
    accounts.put(PacketId(9), &head(FlowId(1)), &steps);
    let found = accounts.close(0, &name);
    let got = |hop: &HopTotals| {
        let spans = [hop.queueing, hop.queueing_max, hop.paused, hop.paused_max];
        (hop.port, hop.back, hop.packets, spans.map(Span::as_ps))
    };
    assert_eq!(
        found[0].hops.iter().map(got).collect::<Vec<_>>(),
        [
            (name(PortId(6)), false, 1, [0, 0, 0, 0]),
            (name(PortId(2)), false, 1, [60, 60, 40, 40]),
            (name(PortId(7)), true, 1, [1, 1, 0, 0]),
        ]
    );
    assert_eq!((found[0].host.packets, found[0].host.max.as_ps()), (1, 30));
}

/// Logs with more steps than there is room for, and links that take longer than a step has room for.
#[test]
fn long_ways_are_written_down() {
    const HOPS: u32 = 30;
    let mut accounts = of_flows(1, HOPS);
    begin(&mut accounts, FlowId(0));
    for packet in [PacketId(0), PacketId(1), PacketId(0)] {
        accounts.put(packet, &head(FlowId(0)), &[]);
        let mut now = 5_000;
        for hop in 0..HOPS {
            now += u64::from(hop);
            let arrives = now + if hop % 7 == 3 { 1 << 33 } else { 100 };
            accounts.step(packet, PortId(hop), PacketKind::Data, now, arrives);
            now = arrives;
        }
    }
    let found = accounts.close(0, &name);
    assert_eq!(found[0].hops.len(), HOPS as usize);
    for (hop, totals) in (0..).zip(&found[0].hops) {
        assert_eq!((totals.port, totals.packets), (name(PortId(hop)), 3));
        let (sum, longest) = (totals.queueing.as_ps(), totals.queueing_max.as_ps());
        assert_eq!((sum, longest), (3 * u64::from(hop), u64::from(hop)));
    }
}
