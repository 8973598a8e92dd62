//! Services by hand: closed forms of queues, room, transfers and steps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;

/// Network in which every message takes the same time, and calls of a program in the order of their times.
#[derive(Default)]
struct Plain {
    now: Time,
    delay: Span,
    count: u64,
    /// Time, kind (wake, received, acknowledged), running number, and what is called.
    events: BinaryHeap<Reverse<(Time, u64, u64, u64)>>,
    flows: Vec<FlowSpec>,
}

impl Asks for Plain {
    fn now(&self) -> Time {
        self.now
    }

    fn wake(&mut self, at: Time, token: u64) {
        self.count += 1;
        self.events.push(Reverse((at, 0, self.count, token)));
    }

    fn send(&mut self, message: u32, flow: FlowSpec) {
        self.flows.push(flow);
        for kind in [1, 2] {
            self.count += 1;
            let at = self.now.saturating_add(Span::from_ps(self.delay.as_ps() * kind));
            self.events.push(Reverse((at, kind, self.count, message.into())));
        }
    }
}

const FLOWS: ServingFlows = ServingFlows {
    class: 3,
    scheme: 0,
    dport: 0,
    kv: 0,
    pull: 1,
};

/// One GPU for prompts at 1 token per us, one for answers with steps of 10 us, caches of 1000 bytes per token.
fn service(requests: &[(u64, u32, u32)]) -> Service {
    let request = |&(us, prompt, output): &(u64, u32, u32)| Request {
        arrival: Time::from_ns(us * 1000),
        prompt,
        output,
    };
    Service {
        requests: requests.iter().map(request).collect(),
        token_bytes: 1000,
        prefill: Prefill {
            instances: vec![vec![NodeId(0)]],
            rate: 1_000_000,
            overhead: Span::ZERO,
            room: u64::MAX,
        },
        decode: Decode {
            instances: vec![vec![NodeId(1)]],
            step: Span::from_us(10),
            per_sequence: Span::ZERO,
            per_token: Span::ZERO,
            running: 256,
            room: u64::MAX,
            block: 1,
        },
        transfer: Transfer {
            push: false,
            layers: 1,
            message: u64::MAX,
            outstanding: u32::MAX,
        },
        routing: Routing::Least,
        prefill_answers: false,
    }
}

/// Runs a service to its end. Every message takes `delay` us.
fn run(service: Service, delay: u64) -> (Vec<RequestRecord>, Vec<FlowSpec>) {
    run_over(Serving::new(service, FLOWS, None), delay)
}

fn run_over(mut serving: Serving, delay: u64) -> (Vec<RequestRecord>, Vec<FlowSpec>) {
    let mut plain = Plain {
        delay: Span::from_us(delay),
        ..Plain::default()
    };
    serving.begin(&mut plain);
    while let Some(Reverse((at, kind, _, what))) = plain.events.pop() {
        plain.now = at;
        match kind {
            0 => serving.woken(what, &mut plain),
            1 => serving.heard(what as u32, Awaited::Received, &mut plain),
            _ => serving.heard(what as u32, Awaited::Acknowledged, &mut plain),
        }
    }
    assert!(serving.is_done());
    assert!(
        serving.messages.iter().all(Option::is_none),
        "a message is under way"
    );
    assert!(serving.prefill.iter().all(|one| one.held == 0 && one.demand == 0));
    assert!(serving.decode.iter().all(|one| one.demand == 0));
    (serving.records, plain.flows)
}

fn us(at: Option<Time>) -> u64 {
    at.unwrap().as_ns() / 1000
}

/// A prompt of 100 tokens takes 100 us, the message that asks and the cache 3 us each, an answer of 4 tokens 4 steps.
#[test]
fn one_request() {
    let (records, flows) = run(service(&[(5, 100, 4)]), 3);
    let record = records[0];
    assert_eq!((us(record.prefill_start), us(record.prefill_end)), (5, 105));
    assert_eq!((us(record.kv_start), us(record.kv_end)), (105, 111));
    assert_eq!((us(record.first_token), us(record.end)), (121, 151));
    let sizes: Vec<u64> = flows.iter().map(|flow| flow.size.get()).collect();
    assert_eq!(sizes, [transfer::PULL_BYTES, 100_000]);
    assert_eq!((flows[0].src, flows[1].src), (NodeId(1), NodeId(0)));
}

/// Room for two sequences: the third transfer starts when one *sequence* ends, not when a transfer does.
#[test]
fn room_is_that_of_sequences() {
    let mut service = service(&[(0, 10, 6), (0, 10, 6), (0, 10, 6)]);
    service.decode.room = 2 * 16;
    let (records, _) = run(service, 3);
    assert_eq!(us(records[1].admitted), 20);
    assert_eq!(us(records[2].prefill_end), 30);
    assert_eq!(records[2].admitted, records[0].end);
    assert_eq!(us(records[0].end), 10 + 6 + 60);
}

/// A sequence that arrives during a step joins the next one; all sequences of a batch get a token per step.
#[test]
fn sequences_join_at_steps() {
    let (records, _) = run(service(&[(0, 10, 4), (0, 15, 2)]), 1);
    assert_eq!((us(records[0].first_token), us(records[0].end)), (22, 52));
    assert_eq!(
        (
            us(records[1].kv_end),
            us(records[1].first_token),
            us(records[1].end)
        ),
        (27, 42, 52)
    );
}

/// Steps take longer with sequences and with tokens in their caches.
#[test]
fn steps_depend_on_the_batch() {
    let mut service = service(&[(0, 10, 3)]);
    service.decode.per_sequence = Span::from_us(2);
    service.decode.per_token = Span::from_us(1);
    let (records, _) = run(service, 0);
    // 10 + 2 and 10, 11, 12 tokens.
    assert_eq!(us(records[0].first_token), 10 + 22);
    assert_eq!(us(records[0].end), 10 + 22 + 23 + 24);
}

/// Two layers of a prompt that is pushed: the first part leaves halfway, without a message that asks.
#[test]
fn layers_are_pushed() {
    let mut service = service(&[(0, 100, 1)]);
    service.transfer.push = true;
    service.transfer.layers = 2;
    let (records, flows) = run(service, 3);
    assert_eq!((us(records[0].kv_start), us(records[0].kv_end)), (50, 103));
    let sent: Vec<(u64, u64)> = (flows.iter())
        .map(|flow| (flow.start.as_ns() / 1000, flow.size.get()))
        .collect();
    assert_eq!(sent, [(50, 50_000), (100, 50_000)]);
}

/// Messages of at most 30,000 bytes, two under way: the third leaves when the first has arrived.
#[test]
fn messages_are_limited() {
    let mut service = service(&[(0, 100, 1)]);
    service.transfer.message = 30_000;
    service.transfer.outstanding = 2;
    let (_, flows) = run(service, 3);
    let sent: Vec<(u64, u64)> = (flows.iter().skip(1))
        .map(|flow| (flow.start.as_ns() / 1000, flow.size.get()))
        .collect();
    assert_eq!(sent, [(103, 30_000), (103, 30_000), (106, 30_000), (106, 10_000)]);
}

/// Two GPUs to three: three streams, which share out every byte.
#[test]
fn instances_of_different_sizes() {
    let mut service = service(&[(0, 10, 1)]);
    service.prefill.instances = vec![vec![NodeId(0), NodeId(1)]];
    service.decode.instances = vec![vec![NodeId(2), NodeId(3), NodeId(4)]];
    let (_, flows) = run(service, 1);
    let streams: Vec<_> = (flows.iter().skip(3))
        .map(|flow| (flow.src.0, flow.dst.0, flow.size.get()))
        .collect();
    assert_eq!(streams, [(0, 2, 3333), (0, 3, 3333), (1, 4, 3334)]);
}

/// An answer of one token that prefill gives needs no transfer when it is pulled, and frees its room when it is pushed.
#[test]
fn prefill_answers() {
    for push in [false, true] {
        let mut service = service(&[(0, 10, 1), (0, 10, 2)]);
        service.prefill_answers = true;
        service.transfer.push = push;
        service.decode.room = 12;
        let (records, flows) = run(service, 3);
        assert_eq!((us(records[0].first_token), us(records[0].end)), (10, 10));
        assert_eq!(records[0].kv_end.is_some(), push);
        assert_eq!(flows.len(), 2, "{push}");
        assert_eq!(us(records[1].end) - us(records[1].kv_end), 10);
    }
}

/// Prefill has no room for a second cache until the first has been transferred.
#[test]
fn staging_holds_prefill_up() {
    let mut service = service(&[(0, 10, 1), (0, 10, 1)]);
    service.prefill.room = 15;
    let (records, _) = run(service, 3);
    assert_eq!(records[1].prefill_start, records[0].kv_end);
}

/// In the simple model, n caches of S bytes into one GPU with rate C take n S / C each.
#[test]
fn the_simple_model_divides() {
    let mut service = service(&[(0, 100, 1), (0, 100, 1), (0, 100, 1)]);
    service.prefill.instances = vec![vec![NodeId(2)], vec![NodeId(3)], vec![NodeId(4)]];
    service.transfer.push = true;
    let rates = (0..5)
        .map(|host| (NodeId(host), BitRate::from_gbps(100)))
        .collect();
    let (records, flows) = run_over(Serving::new(service, FLOWS, Some(rates)), 0);
    assert!(flows.is_empty());
    for record in records {
        // 3 * 100,000 bytes at 12.5 bytes per ns.
        assert_eq!(us(record.kv_end), 100 + 24);
    }
}

/// Random services come to their end, keep the order of each request's times, and transfer every byte once.
#[test]
fn random_services() {
    let mut seed = 1u64;
    let mut draw = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for round in 0..300 {
        let requests: Vec<_> = (0..1 + draw(40))
            .map(|_| (draw(200), 1 + draw(50) as u32, 1 + draw(6) as u32))
            .collect();
        let mut service = service(&requests);
        service.requests.sort_by_key(|request| request.arrival);
        let pool = |first: u32, count: u64, each: u64| -> Vec<Vec<NodeId>> {
            let gpu = |i: u64, j: u64| NodeId(first + (i * each + j) as u32);
            (0..count)
                .map(|i| (0..each).map(|j| gpu(i, j)).collect())
                .collect()
        };
        service.prefill.instances = pool(0, 1 + draw(3), 1 + draw(3));
        service.decode.instances = pool(20, 1 + draw(3), 1 + draw(3));
        service.decode.running = 1 + draw(5) as u32;
        service.decode.block = 1 + draw(16) as u32;
        service.prefill.room = if draw(2) == 0 { u64::MAX } else { 50 + draw(60) };
        service.decode.room = if draw(2) == 0 { u64::MAX } else { 80 + draw(100) };
        service.transfer = Transfer {
            push: draw(2) == 0,
            layers: 1,
            message: if draw(2) == 0 { u64::MAX } else { 500 + draw(9000) },
            outstanding: if draw(2) == 0 {
                u32::MAX
            } else {
                1 + draw(3) as u32
            },
        };
        if service.transfer.push {
            service.transfer.layers = 1 + draw(4) as u32;
        }
        service.routing = if draw(2) == 0 {
            Routing::Least
        } else {
            Routing::Turns
        };
        service.prefill_answers = draw(2) == 0;
        let all = service.clone();
        let rates = (0..40)
            .map(|host| (NodeId(host), BitRate::from_gbps(1 + draw(40))))
            .collect();
        let is_divided = draw(3) == 0;
        let serving = Serving::new(service, FLOWS, is_divided.then_some(rates));
        let (records, flows) = run_over(serving, draw(20));
        let mut bytes = 0;
        for (request, record) in all.requests.iter().zip(&records) {
            let times = [
                Some(request.arrival),
                record.prefill_start,
                record.prefill_end,
                record.end,
            ];
            assert!(times.is_sorted(), "{round}: {record:?}");
            if record.kv_start.is_some() {
                bytes += u64::from(request.prompt) * all.token_bytes;
                assert!(
                    [record.admitted, record.kv_start, record.kv_end].is_sorted(),
                    "{round}: {record:?}"
                );
            }
        }
        let sent = flows.iter().filter(|flow| flow.label == FLOWS.kv);
        let sent: u64 = sent.map(|flow| flow.size.get()).sum();
        assert_eq!(sent, if is_divided { 0 } else { bytes }, "{round}");
        assert!(flows.len() as u64 <= all.extent().0, "{round}");
    }
}
