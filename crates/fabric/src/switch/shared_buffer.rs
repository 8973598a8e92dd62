//! The shared buffer of a switch: admission, ingress accounting, and the thresholds of pause and resume.
//!
//! Bytes are counted by the (port, class) through which they came in: first against its reserve, then against the
//! shared pool up to a threshold, then against the port's headroom. Lossy classes have no threshold and no headroom.
//! Their packets are dropped when the pool is empty, or earlier, when their egress queue reaches a bound.

use crate::core::port::{ClassQueue, debit};
use crate::world::classes::{Classes, STRICT};
use paceline_run::spec::{DropPolicy, FlowControl, PfcThreshold, SwitchSpec};

/// Buffer settings, common to all switches of a run.
#[derive(Clone, Debug)]
pub(super) struct BufferRules {
    reserve: u32,
    kind: Accounting,
    /// Bits of the dense classes under flow control.
    lossless: u16,
    /// True if all classes are treated alike and none is bounded.
    pub(super) alike: bool,
    /// Bits of the dense classes whose egress queues are bounded by `limit`.
    pub(super) bounded: u16,
    limit: Limit,
    /// Bytes of class 0 up to which headers of trimmed packets are admitted to an egress port; `None` without trimming.
    pub(super) trim: Option<u32>,
    /// True under the quirk [`paceline_run::spec::Quirks::wrapping_threshold`].
    wrapping: bool,
}

#[derive(Clone, Copy, Debug)]
enum Accounting {
    /// Drops packets when the buffer is full, without flow control.
    Lossy,
    Dynamic {
        resume_offset: u32,
    },
    Static {
        xoff: u32,
        xon: u32,
    },
}

/// Bound of the egress queues of lossy classes.
#[derive(Clone, Copy, Debug)]
enum Limit {
    None,
    Bytes(u32),
    /// Multiple of the free bytes of the pool.
    Share(f64),
}

/// Pool of one switch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SwitchBuffer {
    /// Bytes of the shared pool in use.
    pub(super) shared_used: u32,
    /// Size of the pool: the buffer less headroom and reserve of all ports. Negative if the buffer is too small for
    /// them.
    pub(super) pool: i64,
    /// True if the switch never sends pauses.
    pub(super) is_silent: bool,
}

impl BufferRules {
    pub(super) fn new(spec: &SwitchSpec, classes: &Classes, wrapping: bool) -> Self {
        let kind = match spec.flow_control {
            FlowControl::None | FlowControl::Credits => Accounting::Lossy,
            FlowControl::Pfc(pfc) => match pfc.threshold {
                PfcThreshold::Dynamic { .. } => Accounting::Dynamic {
                    resume_offset: u32::try_from(pfc.resume_offset.get()).unwrap_or(u32::MAX),
                },
                PfcThreshold::Static { xoff, xon } => Accounting::Static {
                    xoff: xoff.get() as u32,
                    xon: xon.get() as u32,
                },
            },
        };
        let accounted = (usize::from(STRICT) + 1..classes.count()).map(|class| class as u8);
        // In dense numbers, as packets carry them.
        let lossless: u16 = match spec.flow_control {
            FlowControl::None | FlowControl::Credits => 0,
            FlowControl::Pfc(_) => accounted
                .clone()
                .filter(|&class| spec.loss.lossless >> classes.priority(class) & 1 == 1)
                .map(|class| 1 << class)
                .sum(),
        };
        let lossy = accounted.map(|class| 1 << class).sum::<u16>() & !lossless;
        let limit = match spec.loss.drop {
            DropPolicy::Shared => Limit::None,
            DropPolicy::Tail(limit) => Limit::Bytes(u32::try_from(limit.get()).unwrap_or(u32::MAX)),
            DropPolicy::Dynamic { alpha } => Limit::Share(alpha),
        };
        let bounded = if matches!(limit, Limit::None) { 0 } else { lossy };
        Self {
            reserve: spec.reserve.get() as u32,
            kind,
            lossless,
            // Where classes do not differ, packets are admitted without a look at their class's rules.
            alike: bounded == 0 && (lossless == 0 || lossy == 0),
            bounded,
            limit,
            trim: spec
                .loss
                .trim
                .map(|trim| u32::try_from(trim.queue.get()).unwrap_or(u32::MAX)),
            wrapping,
        }
    }

    /// Returns true if packets of a class may be dropped.
    #[inline]
    pub(super) fn is_lossy(&self, class: u8) -> bool {
        self.lossless >> class & 1 == 0
    }

    /// Returns true if the egress queue of a lossy class has room for `size` more bytes.
    pub(super) fn has_room(&self, buffer: &SwitchBuffer, queue: &ClassQueue, size: u32) -> bool {
        let length = queue.bytes.saturating_add(size);
        match self.limit {
            Limit::None => true,
            Limit::Bytes(limit) => length <= limit,
            Limit::Share(alpha) => {
                let free = buffer.pool - i64::from(buffer.shared_used);
                f64::from(length) <= alpha * free as f64
            }
        }
    }

    /// Returns the rules for packets of a class; `ALIKE` classes share one answer.
    #[inline(always)]
    fn kind_of<const ALIKE: bool>(&self, class: u8) -> Accounting {
        if !ALIKE && self.is_lossy(class) {
            Accounting::Lossy
        } else {
            self.kind
        }
    }

    /// Returns the shared bytes that one (port, class) may use now: alpha times `pool - shared_used`. `shift` is
    /// [`crate::world::links::LinkProfile::shift`], which serves alphas above and below 1.
    #[inline]
    fn threshold(&self, buffer: &SwitchBuffer, shift: u32) -> u32 {
        match self.kind {
            Accounting::Static { xoff, .. } => xoff.saturating_sub(self.reserve),
            _ => {
                let free = buffer.pool - i64::from(buffer.shared_used);
                // The reference's difference is unsigned: with a pool that is overdrawn it wraps to a huge threshold.
                if self.wrapping {
                    let shift = shift.saturating_sub(ALPHA_BITS);
                    (free as u32).checked_shr(shift).unwrap_or(0)
                } else {
                    (free.max(0) << ALPHA_BITS >> shift).min(i64::from(u32::MAX)) as u32
                }
            }
        }
    }

    #[inline]
    fn shared(&self, queue: &ClassQueue) -> u32 {
        queue.ingress.saturating_sub(self.reserve)
    }

    /// Admits a packet of `size` bytes. Returns false if there is no room and it must be dropped.
    #[inline]
    pub(super) fn admit<const ALIKE: bool>(
        &self,
        buffer: &mut SwitchBuffer,
        queue: &mut ClassQueue,
        class: u8,
        shift: u32,
        headroom: u32,
        size: u32,
    ) -> bool {
        let threshold = self.threshold(buffer, shift);
        let new_bytes = queue.ingress + size;
        let above_reserve = new_bytes.saturating_sub(self.reserve);
        let from_pool = size.min(above_reserve);
        // The reserve is not part of the pool, so a packet within it fits no matter how much others use.
        let in_pool = from_pool == 0 || i64::from(buffer.shared_used) + i64::from(from_pool) <= buffer.pool;
        let no_headroom = size + queue.headroom > headroom;
        let (fits, dropped) = match self.kind_of::<ALIKE>(class) {
            Accounting::Lossy => (in_pool, !in_pool),
            // As in the reference, a packet without headroom is compared whole with the threshold, reserve or not. A
            // threshold above the free bytes (alpha above 1) leaves the pool as the bound.
            Accounting::Dynamic { .. } => {
                let in_pool = in_pool || self.wrapping;
                (
                    above_reserve <= threshold && in_pool,
                    no_headroom && (size.saturating_add(self.shared(queue)) > threshold || !in_pool),
                )
            }
            Accounting::Static { .. } => {
                let fits = above_reserve <= threshold && in_pool;
                (fits, no_headroom && !fits)
            }
        };
        if dropped {
            return false;
        }
        // Headroom holds what arrives between the pause and its effect. It is not shared, or another port could use up
        // what this one needs to lose nothing.
        if fits {
            queue.ingress = new_bytes;
            buffer.shared_used += from_pool;
        } else {
            queue.headroom += size;
        }
        true
    }

    /// Returns true if a packet that is admitted and released at once changes no account and causes no pause: it fits
    /// into the reserve, and is below the threshold as a whole.
    #[inline]
    pub(super) fn fits_reserve(
        &self,
        buffer: &SwitchBuffer,
        queue: &ClassQueue,
        shift: u32,
        size: u32,
    ) -> bool {
        queue.headroom == 0 && queue.ingress + size <= self.reserve && self.threshold(buffer, shift) >= size
    }

    /// Releases a packet that came in through `queue`: from headroom first, then from the pool.
    #[inline]
    pub(super) fn release(&self, buffer: &mut SwitchBuffer, queue: &mut ClassQueue, size: u32) {
        // Headroom is freed first, since the pause can end only when all of it is available again.
        let from_headroom = queue.headroom.min(size);
        let rest = size - from_headroom;
        let from_shared = rest.min(self.shared(queue));
        queue.headroom -= from_headroom;
        debit(&mut queue.ingress, rest);
        debit(&mut buffer.shared_used, from_shared);
    }

    /// Returns true if the ingress (port, class) must send a pause.
    #[inline]
    pub(super) fn must_pause<const ALIKE: bool>(
        &self,
        buffer: &SwitchBuffer,
        queue: &ClassQueue,
        class: u8,
        shift: u32,
    ) -> bool {
        match self.kind_of::<ALIKE>(class) {
            Accounting::Lossy => false,
            Accounting::Dynamic { .. } => {
                queue.headroom > 0 || self.shared(queue) >= self.threshold(buffer, shift)
            }
            // When the pool is full, headroom is in use below the threshold.
            Accounting::Static { xoff, .. } => queue.headroom > 0 || queue.ingress > xoff,
        }
    }

    /// Returns true if an ingress (port, class) that has sent a pause may send the resume.
    #[inline]
    pub(super) fn may_resume(&self, buffer: &SwitchBuffer, queue: &ClassQueue, shift: u32) -> bool {
        match self.kind {
            Accounting::Lossy => true,
            Accounting::Dynamic { resume_offset } => {
                // The offset keeps a queue near the threshold from sending a pause and a resume with every packet.
                let shared = self.shared(queue);
                queue.headroom == 0
                    && (shared == 0 || shared.saturating_add(resume_offset) <= self.threshold(buffer, shift))
            }
            Accounting::Static { xon, .. } => queue.headroom == 0 && queue.ingress < xon,
        }
    }

    /// Returns the bytes of `queue` that count against the pool, for the invariant check.
    pub(super) fn shared_of(&self, queue: &ClassQueue) -> u32 {
        self.shared(queue)
    }
}

/// Returns how often `bps` has to be halved, in whole bit/s, to be no more than `reference`.
pub(crate) fn doublings_begun(mut bps: u64, reference: u64) -> u32 {
    let mut count = 0;
    while bps > reference {
        bps /= 2;
        count += 1;
    }
    count
}

/// Doublings of the largest alpha, from which `LinkProfile::shift` counts.
const ALPHA_BITS: u32 = PfcThreshold::SHIFT_MIN.unsigned_abs();

#[cfg(test)]
mod tests {
    use super::*;

    /// Shift of one eighth of the free bytes, in the form of link profiles.
    const EIGHTH: u32 = 3 + ALPHA_BITS;

    /// 100 Gbit/s over 40: halved twice.
    #[test]
    fn doublings_that_have_begun() {
        const G: u64 = 1_000_000_000;
        let count = |bps, reference| doublings_begun(bps * G, reference * G);
        assert_eq!(
            [count(25, 100), count(100, 100), count(100, 25), count(400, 25)],
            [0, 0, 2, 4]
        );
        assert_eq!([count(100, 40), count(25, 10)], [2, 2]);
    }
    use paceline_kernel::{BitRate, Bytes};
    use paceline_run::spec::{Detection, Headroom, LossSpec, Pfc, PfcMode, PfcResponse};

    /// Dense class of priority 3, the only one.
    const CLASS: u8 = STRICT + 1;

    fn rules(threshold: PfcThreshold) -> BufferRules {
        let pfc = Pfc {
            threshold,
            resume_offset: Bytes::new(3072),
            mode: PfcMode::OnOff,
            response: PfcResponse::NONE,
        };
        let spec = SwitchSpec {
            buffer: Bytes::new(1 << 20),
            headroom_on_top: false,
            reserve: Bytes::new(4096),
            headroom: Headroom::Fixed(Bytes::new(10_000)),
            flow_control: FlowControl::Pfc(pfc),
            ecn: Vec::new(),
            detection: Detection::Red,
            class_detection: Vec::new(),
            tiers: Vec::new(),
            watchdog: None,
            fast_cnp: None,
            isolation: None,
            loss: LossSpec::NONE,
            assist: None,
        };
        BufferRules::new(&spec, &Classes::new([3]), false)
    }

    /// The reference's rules by hand: pool 80 000 B, shift 3, reserve 4096 B, packets of 1000 B.
    #[test]
    fn reserve_then_pool_then_headroom() {
        let rules = rules(PfcThreshold::Dynamic {
            shift: 3,
            reference_rate: BitRate::from_gbps(100),
        });
        let mut buffer = SwitchBuffer {
            shared_used: 0,
            pool: 80_000,
            ..SwitchBuffer::default()
        };
        let mut queue = ClassQueue::EMPTY;
        for _ in 0..4 {
            assert!(rules.admit::<false>(&mut buffer, &mut queue, CLASS, EIGHTH, 10_000, 1000));
        }
        assert_eq!((queue.ingress, buffer.shared_used), (4000, 0));
        // The fifth is 904 bytes above the reserve.
        assert!(rules.admit::<false>(&mut buffer, &mut queue, CLASS, EIGHTH, 10_000, 1000));
        assert_eq!((queue.ingress, buffer.shared_used), (5000, 904));
        // (80000 - used) / 8 allows shared bytes up to 8904 at used = 8904 - 1000: until then pool.
        for _ in 0..8 {
            assert!(!rules.must_pause::<false>(&buffer, &queue, CLASS, EIGHTH));
            assert!(rules.admit::<false>(&mut buffer, &mut queue, CLASS, EIGHTH, 10_000, 1000));
        }
        // shared 8904 against (80000 - 8904) / 8 = 8887: pause, and the next goes to headroom.
        assert_eq!(
            (queue.ingress, buffer.shared_used, queue.headroom),
            (13_000, 8904, 0)
        );
        assert!(rules.must_pause::<false>(&buffer, &queue, CLASS, EIGHTH));
        for n in 1..=10 {
            assert!(rules.admit::<false>(&mut buffer, &mut queue, CLASS, EIGHTH, 10_000, 1000));
            assert_eq!(queue.headroom, n * 1000);
        }
        assert!(
            !rules.admit::<false>(&mut buffer, &mut queue, CLASS, EIGHTH, 10_000, 1000),
            "headroom is full"
        );
        // Draining frees the headroom first. A resume needs it empty, and 3072 B of distance.
        for _ in 0..10 {
            assert!(!rules.may_resume(&buffer, &queue, EIGHTH));
            rules.release(&mut buffer, &mut queue, 1000);
        }
        assert_eq!(
            (queue.ingress, queue.headroom, buffer.shared_used),
            (13_000, 0, 8904)
        );
        // A queue with s shared bytes resumes when s + 3072 <= (80000 - s) / 8, so at s <= 6158: after three packets.
        for expected in [false, false, true] {
            rules.release(&mut buffer, &mut queue, 1000);
            assert_eq!(rules.may_resume(&buffer, &queue, EIGHTH), expected);
        }
        while queue.ingress > 0 {
            rules.release(&mut buffer, &mut queue, 1000);
        }
        assert_eq!(buffer.shared_used, 0);
    }

    /// A pool of 1 MB, alpha 2: one queue may have twice what it leaves free, 666 666 B, and two never more than the
    /// pool.
    #[test]
    fn an_alpha_above_one_is_bounded_by_the_pool() {
        let rules = rules(PfcThreshold::Dynamic {
            shift: -1,
            reference_rate: BitRate::LARGEST,
        });
        let twice = ALPHA_BITS - 1;
        let mut buffer = SwitchBuffer {
            shared_used: 0,
            pool: 1_000_000,
            ..SwitchBuffer::default()
        };
        let mut queues = [ClassQueue::EMPTY; 2];
        let queue = &mut queues[0];
        let until_pause = (0..1000).take_while(|_| {
            let goes_on = !rules.must_pause::<false>(&buffer, queue, CLASS, twice);
            goes_on && rules.admit::<false>(&mut buffer, queue, CLASS, twice, 0, 1000)
        });
        assert_eq!(
            until_pause.count(),
            671,
            "667 shared packets after four in the reserve"
        );
        for queue in &mut queues {
            while rules.admit::<false>(&mut buffer, queue, CLASS, twice, 0, 1000) {}
        }
        assert!(
            i64::from(buffer.shared_used) <= buffer.pool,
            "{}",
            buffer.shared_used
        );
        let shared: u32 = queues.iter().map(|queue| rules.shared_of(queue)).sum();
        assert_eq!(shared, buffer.shared_used);
    }

    /// Classes 3 (lossless) and 5 (lossy) share a pool of 80 000 B with a reserve of 4096 B each.
    #[test]
    fn lossy_beside_lossless() {
        let lossy = CLASS + 1;
        let with = |drop: DropPolicy| {
            let pfc = Pfc {
                threshold: PfcThreshold::Static {
                    xoff: Bytes::new(6000),
                    xon: Bytes::new(4000),
                },
                resume_offset: Bytes::ZERO,
                mode: PfcMode::OnOff,
                response: PfcResponse::NONE,
            };
            let spec = SwitchSpec {
                buffer: Bytes::new(1 << 20),
                headroom_on_top: false,
                reserve: Bytes::new(4096),
                headroom: Headroom::Fixed(Bytes::new(10_000)),
                flow_control: FlowControl::Pfc(pfc),
                ecn: Vec::new(),
                detection: Detection::Red,
                class_detection: Vec::new(),
                tiers: Vec::new(),
                assist: None,
                watchdog: None,
                fast_cnp: None,
                isolation: None,
                loss: LossSpec {
                    lossless: 1 << 3,
                    drop,
                    trim: None,
                },
            };
            BufferRules::new(&spec, &Classes::new([3, 5]), false)
        };
        let pool = || SwitchBuffer {
            shared_used: 0,
            pool: 80_000,
            ..SwitchBuffer::default()
        };
        let rules = with(DropPolicy::Shared);
        assert!(rules.is_lossy(lossy) && !rules.is_lossy(CLASS) && rules.bounded == 0);
        let (mut buffer, mut queue) = (pool(), ClassQueue::EMPTY);
        // The reserve and the whole pool, without headroom or pauses.
        let taken = (0..100)
            .take_while(|_| rules.admit::<false>(&mut buffer, &mut queue, lossy, 0, 10_000, 1000))
            .count();
        assert_eq!((taken, queue.headroom), (84, 0));
        assert!(!rules.must_pause::<false>(&buffer, &queue, lossy, 0));
        // Then the lossless class has its reserve, pauses, and uses its headroom.
        let mut lossless = ClassQueue::EMPTY;
        for n in 1..=14 {
            assert!(
                rules.admit::<false>(&mut buffer, &mut lossless, CLASS, 0, 10_000, 1000),
                "{n}"
            );
            assert_eq!(rules.must_pause::<false>(&buffer, &lossless, CLASS, 0), n > 4);
        }

        let rules = with(DropPolicy::Tail(Bytes::new(8_000)));
        assert_eq!(rules.bounded, 1 << lossy);
        queue.bytes = 7_000;
        assert!(rules.has_room(&pool(), &queue, 1000) && !rules.has_room(&pool(), &queue, 1001));

        // A quarter of the 64 000 B that are free.
        let rules = with(DropPolicy::Dynamic { alpha: 0.25 });
        let buffer = SwitchBuffer {
            shared_used: 16_000,
            pool: 80_000,
            ..SwitchBuffer::default()
        };
        queue.bytes = 15_000;
        assert!(rules.has_room(&buffer, &queue, 1000) && !rules.has_room(&buffer, &queue, 1001));
    }

    #[test]
    fn static_thresholds() {
        let rules = rules(PfcThreshold::Static {
            xoff: Bytes::new(6000),
            xon: Bytes::new(4000),
        });
        let mut buffer = SwitchBuffer {
            shared_used: 0,
            pool: 80_000,
            ..SwitchBuffer::default()
        };
        let mut queue = ClassQueue::EMPTY;
        let mut pauses_at = None;
        for n in 1..=8 {
            assert!(rules.admit::<false>(&mut buffer, &mut queue, CLASS, 0, 10_000, 1000));
            if pauses_at.is_none() && rules.must_pause::<false>(&buffer, &queue, CLASS, 0) {
                pauses_at = Some(n * 1000);
            }
        }
        assert_eq!(pauses_at, Some(7000));
        let mut left = 8000;
        while !rules.may_resume(&buffer, &queue, 0) {
            rules.release(&mut buffer, &mut queue, 1000);
            left -= 1000;
        }
        assert_eq!(left, 3000);
    }
}
