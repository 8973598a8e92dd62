//! State of a queue pair by which two states of a network differ.

use super::Qp;
use crate::core::print::StateHash;

impl Qp {
    /// Notes all that may differ between flows of the same hosts, size, class and scheme.
    pub(in crate::host) fn note(&self, print: &mut StateHash) {
        let Self {
            flow,
            port,
            // The NIC's list has it, and is noted.
            index: _,
            account: _,
            size,
            end_seq,
            snd_nxt,
            snd_una,
            sacked,
            absent,
            limit,
            next_avail,
            gap,
            window,
            // A function of the others.
            bound: _,
            rate,
            asked_window,
            last_wire,
            data_header,
            class,
            window_mode: _,
            reachable,
            done: _,
            repairs,
            bounds_repairs: _,
            route,
            data_epoch,
            max_sent,
            sent_unscheduled,
            sample_after,
            last_progress,
            retransmitted,
            needs: _,
            stamps: _,
            hears_sent: _,
            echo_notifies: _,
            scheme,
            timers,
            // States are compared only while no sender has drawn from it.
            rng: _,
            path: _,
            last_port: _,
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
            u64::from(*data_epoch) << 16
                | u64::from(*class) << 2
                | u64::from(*reachable) << 1
                | u64::from(*repairs),
        );
        print.note_whole(scheme);
        print.note_whole(timers);
    }
}
