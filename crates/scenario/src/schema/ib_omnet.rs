//! `[parity.ib-omnet]`: InfiniBand. Some keys have OpenSM's names, too.

use paceline_kernel::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{Nodes, OrAuto, OrOff, tables};

/// What hosts do about marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ControlKind {
    None,
    Ibcc,
    Rrcc,
}

tables! {
    /// `[parity.ib-omnet]`.
    struct IbOmnet {
        lanes: Spanned<u8>,
        weights: Spanned<Vec<u16>>,
        buffer: Spanned<u32>,
        period: Spanned<Span>,
        update: Spanned<Bytes>,
        output_queue: Spanned<u32>,
        host_queue: Spanned<u32>,
        input_delay: Spanned<Span>,
        output_delay: Spanned<Span>,
        switch_arbitration: Spanned<Span>,
        host_arbitration: Spanned<Span>,
        host_packet: Spanned<Span>,
        stall_every: Spanned<OrOff<Span>>,
        stall: Spanned<Span>,
        #[serde(alias = "cc_sw_cong_setting_marking_rate")]
        marking_rate: Spanned<OrAuto<u32>>,
        control: Spanned<ControlKind>,
        controlled: Spanned<Nodes>,
        notified: Spanned<Nodes>,
        log: Spanned<bool>,
        ibcc: Ibcc,
        rrcc: Rrcc,
    }
    /// `[parity.ib-omnet.ibcc]`.
    struct Ibcc {
        #[serde(alias = "ccti_limit", alias = "ccti-limit")]
        limit: Spanned<u16>,
        #[serde(alias = "ccti_timer", alias = "ccti-timer", alias = "cc_ca_cong_setting_ccti_timer")]
        timer: Spanned<Span>,
        delay: Spanned<Span>,
        at: Spanned<u16>,
    }
    /// `[parity.ib-omnet.rrcc]`.
    struct Rrcc {
        window: Spanned<Span>,
        threshold: Spanned<f64>,
        undershoot: Spanned<f64>,
        increase: Spanned<f64>,
        after: Spanned<u32>,
    }
    /// `messages` of `[[workload]]`.
    struct Messages {
        senders: Spanned<Nodes>,
        receivers: Spanned<Nodes>,
        messages: Spanned<u32>,
        size: Spanned<Bytes>,
        gap: Spanned<Span>,
        start: Spanned<Time>,
        until: Spanned<OrOff<Time>>,
        file: Spanned<String>,
    }
}
