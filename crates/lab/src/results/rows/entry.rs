//! Record of a flow in [`super::FlowRows`], of fixed size.

use std::num::NonZeroU32;

use paceline_fabric::outcome::{EndedFlow, FlowStatus};

use crate::results::{FlowRow, FlowState, IdealFct};

/// Parameters and outcome of a flow; labels and schemes are numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) flow: u32,
    pub(crate) label: u32,
    pub(crate) scheme: u32,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// Persistent connection, from 1; 0 for none.
    pub(crate) connection: u32,
    pub(crate) sport: u16,
    pub(crate) dport: u16,
    pub(crate) class: u8,
    pub(crate) status: FlowState,
    pub(crate) size: u64,
    pub(crate) start_ps: u64,
    /// Completion time in ps; `None` unless completed.
    pub(crate) fct_ps: Option<u64>,
    pub(crate) ideal_ps: u64,
    pub(crate) slowdown: Option<f64>,
    pub(crate) retransmitted: u64,
    pub(crate) delivered: u64,
    pub(crate) sent: u64,
    pub(crate) sent_unscheduled: u64,
    /// Packets that arrived marked as congested, and as undetermined.
    pub(crate) ce: u32,
    pub(crate) ue: u32,
}

/// Size of an encoded entry in bytes.
pub(super) const SIZE: usize = 8 * 4 + 2 * 2 + 2 + 9 * 8;

impl Entry {
    /// Makes the entry of a flow that has ended.
    pub(super) fn of(ended: &EndedFlow, alone: IdealFct) -> Self {
        let (spec, record) = (&ended.spec, &ended.record);
        let (fct, ideal) = (record.fct.as_ps(), record.ideal.as_ps());
        let done = record.status == FlowStatus::Completed;
        Self {
            flow: ended.flow,
            label: spec.label.into(),
            scheme: spec.scheme.into(),
            src: spec.src.0,
            dst: spec.dst.0,
            connection: spec.connection.map_or(0, NonZeroU32::get),
            sport: spec.sport,
            dport: spec.dport,
            class: spec.class,
            status: record.status.into(),
            size: spec.size.get(),
            start_ps: record.start.as_ps(),
            fct_ps: done.then_some(fct),
            ideal_ps: ideal,
            slowdown: done.then(|| alone.slowdown(fct, ideal)),
            retransmitted: record.retransmitted.get(),
            delivered: record.delivered.get(),
            sent: record.sent.get(),
            sent_unscheduled: record.sent_unscheduled.get(),
            ce: record.congested,
            ue: record.undetermined,
        }
    }

    /// Makes the entry of a row with the given numbers of label and scheme.
    pub(super) fn of_row(row: &FlowRow<'_>, label: u32, scheme: u32) -> Self {
        Self {
            flow: row.flow_id,
            label,
            scheme,
            src: row.src,
            dst: row.dst,
            connection: row.connection.unwrap_or(0),
            sport: 0,
            dport: 0,
            class: row.priority,
            status: row.status,
            size: row.size_bytes,
            start_ps: row.start_ps,
            fct_ps: row.fct_ps,
            ideal_ps: row.ideal_fct_ps,
            slowdown: row.slowdown,
            retransmitted: row.retransmitted_bytes,
            delivered: 0,
            sent: row.sent_bytes,
            sent_unscheduled: row.unscheduled_bytes,
            ce: row.ce_packets,
            ue: row.ue_packets,
        }
    }

    /// Converts to a row with the names of label and scheme.
    pub(super) fn row<'a>(&self, label: &'a str, scheme: &'a str) -> FlowRow<'a> {
        FlowRow {
            flow_id: self.flow,
            label: label.into(),
            scheme: scheme.into(),
            src: self.src,
            dst: self.dst,
            priority: self.class,
            size_bytes: self.size,
            start_ps: self.start_ps,
            fct_ps: self.fct_ps,
            ideal_fct_ps: self.ideal_ps,
            slowdown: self.slowdown,
            retransmitted_bytes: self.retransmitted,
            sent_bytes: self.sent,
            unscheduled_bytes: self.sent_unscheduled,
            ce_packets: self.ce,
            ue_packets: self.ue,
            status: self.status,
            connection: Some(self.connection).filter(|&connection| connection > 0),
        }
    }

    /// Returns the completion instant in ps; `None` unless completed.
    pub(crate) fn end_ps(&self) -> Option<u64> {
        self.fct_ps.map(|fct| self.start_ps + fct)
    }

    /// Returns the completion time in microseconds; `None` unless completed.
    pub(crate) fn fct_us(&self) -> Option<f64> {
        Some(self.fct_ps? as f64 / 1e6)
    }

    /// Returns payload over completion time in Gbit/s; `None` unless completed.
    pub(crate) fn goodput_gbps(&self) -> Option<f64> {
        let fct = self.fct_ps.filter(|&ps| ps > 0)?;
        Some(self.size as f64 * 8e3 / fct as f64)
    }

    pub(super) fn encode(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let mut at = 0;
        let mut put = |value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        };
        for value in [
            self.flow,
            self.label,
            self.scheme,
            self.src,
            self.dst,
            self.ce,
            self.ue,
            self.connection,
        ] {
            put(&value.to_le_bytes());
        }
        for value in [self.sport, self.dport] {
            put(&value.to_le_bytes());
        }
        let known = u8::from(self.fct_ps.is_some()) | u8::from(self.slowdown.is_some()) << 1;
        put(&[self.class, self.status as u8 | known << 4]);
        for value in [
            self.size,
            self.start_ps,
            self.fct_ps.unwrap_or(0),
            self.ideal_ps,
            self.slowdown.unwrap_or(0.0).to_bits(),
            self.retransmitted,
            self.delivered,
            self.sent,
            self.sent_unscheduled,
        ] {
            put(&value.to_le_bytes());
        }
        bytes
    }

    /// Decodes bytes written by [`Self::encode`].
    pub(super) fn decode(bytes: &[u8]) -> Self {
        let mut left = bytes;
        let mut word = || u32::from_le_bytes(take(&mut left));
        let (flow, label, scheme, src, dst) = (word(), word(), word(), word(), word());
        let (ce, ue, connection) = (word(), word(), word());
        let mut port = || u16::from_le_bytes(take(&mut left));
        let (sport, dport) = (port(), port());
        let [class, flags] = take(&mut left);
        let mut long = || u64::from_le_bytes(take(&mut left));
        let (size, start_ps, fct, ideal_ps, slowdown) = (long(), long(), long(), long(), long());
        let (retransmitted, delivered, sent, sent_unscheduled) = (long(), long(), long(), long());
        Self {
            flow,
            label,
            scheme,
            src,
            dst,
            connection,
            sport,
            dport,
            class,
            status: FlowState::ALL[usize::from(flags & 7).min(FlowState::ALL.len() - 1)],
            size,
            start_ps,
            fct_ps: (flags & 1 << 4 != 0).then_some(fct),
            ideal_ps,
            slowdown: (flags & 1 << 5 != 0).then_some(f64::from_bits(slowdown)),
            retransmitted,
            delivered,
            sent,
            sent_unscheduled,
            ce,
            ue,
        }
    }
}

/// Takes the next bytes of an entry.
#[inline]
fn take<const N: usize>(left: &mut &[u8]) -> [u8; N] {
    let (value, rest) = left.split_first_chunk().expect("an entry is whole");
    *left = rest;
    *value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back() {
        let whole = Entry {
            flow: 1,
            label: u32::MAX,
            scheme: 2,
            src: 3,
            dst: 70_000,
            connection: 12,
            sport: 65_535,
            dport: 100,
            class: 7,
            status: FlowState::Completed,
            size: u64::MAX,
            start_ps: 1 << 60,
            fct_ps: Some(77),
            ideal_ps: 5,
            slowdown: Some(15.4),
            retransmitted: 8,
            delivered: 9,
            sent: 10,
            sent_unscheduled: 11,
            ce: 12,
            ue: u32::MAX,
        };
        assert_eq!(Entry::decode(&whole.encode()), whole);
        for status in FlowState::ALL {
            let cut = Entry {
                status,
                fct_ps: None,
                slowdown: None,
                ..whole
            };
            assert_eq!(Entry::decode(&cut.encode()), cut);
        }
    }
}
