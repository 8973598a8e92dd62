//! State of a queue pair by which two states of a network differ.

use super::{DataPath, Limits, Pacing, Progress, Qp};
use crate::core::print::StateHash;

impl Qp {
    /// Notes all that may differ between flows of the same hosts, size, class and scheme.
    pub(in crate::host) fn note(&self, print: &mut StateHash) {
        // Every field is named, so that a new one cannot be forgotten here.
        let Self {
            flow,
            // The NIC's list has it, and is noted.
            index: _,
            account: _,
            progress:
                Progress {
                    size,
                    end_seq,
                    snd_nxt,
                    snd_una,
                    sacked,
                    absent,
                    max_sent,
                    sent_unscheduled,
                    sample_after,
                    last_progress,
                    retransmitted,
                },
            limits:
                Limits {
                    limit,
                    window,
                    // A function of the others.
                    bound: _,
                    asked_window,
                    window_mode: _,
                    repairs,
                    bounds_repairs: _,
                },
            pacing:
                Pacing {
                    rate,
                    next_avail,
                    gap,
                    last_wire,
                },
            data:
                DataPath {
                    port,
                    last: _,
                    route,
                    epoch,
                    reachable,
                },
            data_header,
            class,
            done: _,
            needs: _,
            stamps: _,
            hears_sent: _,
            echo_notifies: _,
            scheme,
            timers,
            // States are compared only while no sender has drawn from it.
            rng: _,
            path: _,
            ways: _,
            connection: _,
        } = self;
        print.note_flow(*flow);
        print.note_time(*next_avail);
        print.note_time(*last_progress);
        let words = [
            *size,
            *end_seq,
            *snd_nxt,
            *snd_una,
            *sacked,
            *absent,
            *limit,
            *gap,
            *window,
            rate.as_bps(),
            asked_window.get(),
            *route,
            *max_sent,
            *sent_unscheduled,
            *sample_after,
            *retransmitted,
        ];
        words.into_iter().for_each(|word| print.note(word));
        print.note(u64::from(port.0) << 32 | u64::from(*last_wire) << 16 | u64::from(*data_header));
        print.note(
            u64::from(*epoch) << 16
                | u64::from(*class) << 2
                | u64::from(*reachable) << 1
                | u64::from(*repairs),
        );
        print.note_whole(scheme);
        print.note_whole(timers);
    }
}
