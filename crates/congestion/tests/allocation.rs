//! Tests that a learned sender allocates nothing once it is built.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use paceline_congestion::learned::ModelRef;
use paceline_congestion::lstm_pid::{LstmPid, Params, Predictor};
use paceline_congestion::params::Auto;
use paceline_congestion::testkit::{ack, models::random_model, star_path};
use paceline_congestion::{AckInfo, CongestionControl, Ctx, TimerBank};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Span, Time};

/// System allocator that counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded unchanged to the system allocator.
#[expect(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: forwarded unchanged to the system allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: forwarded unchanged to the system allocator.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn an_acknowledgement_allocates_nothing() {
    let predictors = [
        Predictor::Lstm,
        Predictor::Gru,
        Predictor::Rnn,
        Predictor::Ar3,
        Predictor::Persistence,
        Predictor::Oracle,
    ];
    for predictor in predictors {
        for decision_latency in [Span::ZERO, Span::from_us(1)] {
            let mut params = Params {
                predictor,
                decision_latency,
                rtt_change: true,
                ..Params::default()
            };
            if let Some(kind) = predictor.kind() {
                params.model = Auto::Is(ModelRef::read_from("test", random_model(kind, 1)));
            }
            let path = star_path();
            let mut sender = LstmPid::new(&params, &path);
            let mut timers = TimerBank::default();
            let mut rng = Rng::stream(1, Purpose::Congestion, 0);
            let before = ALLOCATIONS.get();
            for i in 1..1000 {
                let mut cx = Ctx {
                    now: Time::from_ns(i),
                    path: &path,
                    timers: &mut timers,
                    rng: &mut rng,
                };
                let rtt = Span::from_ns(4000 + i * 7919 % 4000);
                sender.on_foresight(rtt);
                sender.on_ack(&mut cx, &AckInfo { rtt, ..ack(i, i) });
                if cx.timers.take_asked().decision() {
                    sender.on_decision(&mut cx);
                }
            }
            assert_eq!(ALLOCATIONS.get() - before, 0, "{predictor:?}");
            assert_eq!(sender.decisions(), 999);
        }
    }
    // Check that the counter works.
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}
