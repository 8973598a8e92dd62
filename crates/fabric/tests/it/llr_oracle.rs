//! Link-level retry once more, plainly: one direction of one link, with all state in a few variables. It shares no code
//! with the engine.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A link, and what happens on it; times in ps.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Rate of the link, in Gbit/s.
    pub gbps: u64,
    /// Bytes of a frame, without the 20 of preamble and gap.
    pub frame: u64,
    /// Delay of the cable, one way.
    pub delay: u64,
    /// Distances of control ordered sets, in bytes.
    pub spacing: u64,
    pub min_spacing: u64,
    pub frames_max: u64,
    pub bytes_max: u64,
    pub timer: u64,
    /// Replays without progress; 255 for no limit.
    pub count: u64,
    pub nack_again: bool,
    pub frames: u64,
    /// Transmissions that arrive bad, and that do not arrive, by number.
    pub bad: BTreeSet<u64>,
    pub gone: BTreeSet<u64>,
    /// Times between which nothing arrives.
    pub dark: Option<(u64, u64)>,
    /// True if no acknowledgement arrives.
    pub mute: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Result {
    /// Time of each frame's delivery.
    pub delivered: Vec<u64>,
    pub sent: u64,
    pub replays: u64,
    pub nacks: u64,
    pub duplicates: u64,
    /// Time at which the sender gave up.
    pub flushed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// End of a transmission.
    Free,
    Frame {
        number: u64,
        transmission: u64,
    },
    SendAck,
    SendNack,
    Heard {
        nack: bool,
        after: u64,
    },
    Timer {
        set: u64,
    },
}

pub(crate) fn run(link: &Link) -> Result {
    let bytes = |n: u64| n * 8000 / link.gbps;
    let slot = bytes(link.frame + 20);
    let mut result = Result::default();
    let mut events = BinaryHeap::new();
    let mut order = 0;
    // The sender: next new frame, oldest outstanding one, next to send again.
    let (mut next, mut base, mut again) = (0, 0, None::<u64>);
    let (mut busy, mut tries, mut timer_set, mut timer_at) = (0, 0, 0, None::<u64>);
    // The receiver.
    let (mut expected, mut nacked, mut nack_due) = (0, false, false);
    let (mut ack_due, mut told, mut repeat, mut last_control) = (false, 0, false, None::<u64>);
    let mut push = |events: &mut BinaryHeap<_>, at: u64, what: What| {
        order += 1;
        // Of one instant: ends of transmissions, frames, answers, what is heard, timers.
        let rank = match what {
            What::Free => 0,
            What::Frame { .. } => 1,
            What::SendAck => 2,
            What::SendNack => 3,
            What::Heard { .. } => 4,
            What::Timer { .. } => 5,
        };
        events.push(Reverse((at, rank, order, what)));
    };
    push(&mut events, 0, What::Free);
    while let Some(Reverse((now, _, _, what))) = events.pop() {
        let mut look = false;
        match what {
            What::Free => look = true,
            What::Frame { number, transmission } => {
                let ends = now - link.delay;
                let is_dark = link
                    .dark
                    .is_some_and(|(from, to)| ends > from && ends - slot < to);
                if is_dark || link.gone.contains(&transmission) {
                    continue;
                }
                let bad = link.bad.contains(&transmission);
                if number == expected && !bad {
                    expected += 1;
                    (nacked, nack_due) = (false, false);
                    result.delivered.push(now);
                } else if number < expected {
                    if bad {
                        continue;
                    }
                    result.duplicates += 1;
                    repeat = true;
                } else {
                    let answers = match (nack_due, nacked) {
                        (true, _) => false,
                        (_, true) => link.nack_again && bad && number == expected,
                        _ => true,
                    };
                    if answers {
                        (nack_due, nacked) = (true, false);
                        let at = last_control.map_or(now, |last| now.max(last + bytes(link.min_spacing)));
                        push(&mut events, at, What::SendNack);
                    }
                    continue;
                }
                if !ack_due {
                    ack_due = true;
                    let at = last_control.map_or(now, |last| now.max(last + bytes(link.spacing)));
                    push(&mut events, at, What::SendAck);
                }
            }
            What::SendAck => {
                ack_due = false;
                if nack_due || nacked || !(expected > told || repeat) {
                    continue;
                }
                (told, repeat, last_control) = (expected, false, Some(now));
                if !link.mute {
                    let at = now + bytes(8) + link.delay;
                    push(
                        &mut events,
                        at,
                        What::Heard {
                            nack: false,
                            after: expected,
                        },
                    );
                }
            }
            What::SendNack => {
                if !nack_due {
                    continue;
                }
                (nack_due, nacked, last_control) = (false, true, Some(now));
                result.nacks += 1;
                let at = now + bytes(8) + link.delay;
                push(
                    &mut events,
                    at,
                    What::Heard {
                        nack: true,
                        after: expected,
                    },
                );
            }
            What::Heard { nack, after } => {
                if after > base {
                    (base, tries) = (after, 0);
                    match &mut again {
                        Some(at) => *at = base.max(*at),
                        None => {
                            timer_set += 1;
                            timer_at = (base < next).then(|| now + link.timer);
                        }
                    }
                    look = true;
                }
                if nack && base < next {
                    again = Some(base);
                    result.replays += 1;
                    timer_set += 1;
                    timer_at = None;
                    look = true;
                }
            }
            What::Timer { set } => {
                if set != timer_set || timer_at != Some(now) {
                    continue;
                }
                if link.count != 255 && tries >= link.count {
                    result.flushed = Some(now);
                    return result;
                }
                tries += 1;
                again = Some(base);
                result.replays += 1;
                timer_set += 1;
                timer_at = None;
                look = true;
            }
        }
        if look && now >= busy {
            if again == Some(next) {
                again = None;
                timer_set += 1;
                timer_at = (base < next).then(|| now + link.timer);
            }
            let outstanding = next - base;
            let number = match again {
                Some(number) => {
                    again = Some(number + 1);
                    Some(number)
                }
                None => {
                    let fits =
                        outstanding < link.frames_max && (outstanding + 1) * link.frame <= link.bytes_max;
                    let may = next < link.frames && fits;
                    if may && outstanding == 0 {
                        timer_set += 1;
                        timer_at = Some(now + link.timer);
                    }
                    may.then(|| {
                        next += 1;
                        next - 1
                    })
                }
            };
            if let Some(number) = number {
                busy = now + slot;
                push(&mut events, busy, What::Free);
                let transmission = result.sent;
                push(
                    &mut events,
                    busy + link.delay,
                    What::Frame { number, transmission },
                );
                result.sent += 1;
            }
        }
        if let Some(at) = timer_at {
            push(&mut events, at, What::Timer { set: timer_set });
        }
        if expected == link.frames && base == link.frames {
            return result;
        }
    }
    result
}

/// Returns the largest gap between deliveries.
pub(crate) fn gap(delivered: &[u64]) -> u64 {
    delivered
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .max()
        .unwrap_or(0)
}
