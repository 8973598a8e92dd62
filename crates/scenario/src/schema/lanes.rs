//! Credit-based flow control as in the standards: `[network.credit]`.

use paceline_congestion::params::{is, is_not};
use paceline_fabric::spec::{Phase, Release, Scope};
use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::facts::CREDITS;
use super::{OrAuto, tables};

/// Standard that determines when credits are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BindingKind {
    Ib,
    Cbfc,
}

/// Forwarding mode of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ForwardingKind {
    CutThrough,
    StoreAndForward,
}

tables! {
    /// Credit-based flow control, with `flow-control = "credits"`. Each lane of a port has an input buffer at the
    /// other end of the link. The port sends only packets that it has credits for. Packets are queued at the input
    /// port.
    struct Lanes only(&[&[CREDITS, is("fidelity", &["exact"])]]) {
        /// when credits are sent: `ib` (InfiniBand: once per period) or `cbfc` (Ethernet's CBFC: when buffer becomes free)
        binding: Spanned<BindingKind> = "ib";
        /// number of virtual lanes, 1 to 7
        lanes: Spanned<u8> = "1";
        /// lane of each priority from 1 to 7, a list
        sl_to_vl: Spanned<Vec<u8>> => "in turn";
        /// input buffer per lane, or of the port with `scope = "port"`; `auto` is enough for the full rate of the most demanding link, as far as credits can
        /// be counted
        buffer: Spanned<OrAuto<Bytes>> = "auto";
        /// bytes per credit; packets use whole credits
        unit: Spanned<Bytes> = "64B";
        /// interval of credit updates
        period: Spanned<Span> = "4.096us", only(&[&[is(".binding", &["ib"])]]);
        /// all ports update at the same instants (`aligned`), or spread over the interval (`per-port`)
        phase: Spanned<Phase> = "aligned";
        /// size of a flow-control packet
        update: Spanned<Bytes> = "8B", only(&[&[is(".binding", &["ib"])]]);
        /// bytes that a packet counts for in addition to its size (PktOvhd), -16 to 127
        packet_overhead: Spanned<i16> = "0", only(&[&[is(".binding", &["cbfc"])]]);
        /// least distance between two CF_Updates of a port, which announce what became free
        cf_min: Spanned<Bytes> = "800B", only(&[&[is(".binding", &["cbfc"])]]);
        /// distance after which a CF_Update is repeated, on links that can lose it
        cf_max: Spanned<Bytes> = "65536B", only(&[&[is(".binding", &["cbfc"])]]);
        /// interval of CC_Updates, which count what was sent, so that credits of lost packets come back
        cc_timer: Spanned<Span> = "10us", only(&[&[is(".binding", &["cbfc"])]]);
        /// each lane has its `buffer` (`lane`), or all lanes of a port share one (`port`)
        scope: Spanned<Scope> = "lane", only(&[&[is(".binding", &["cbfc"])]]);
        /// extra header of the first packet of a message: InfiniBand's RETH of an RDMA WRITE
        first_header: Spanned<Bytes> => "16B (cbfc: 0B)";
        /// `cut-through` or `store-and-forward`
        forwarding: Spanned<ForwardingKind> => "cut-through (cbfc: store-and-forward)";
        /// bytes that a switch must receive before it forwards
        header: Spanned<Bytes> = "20B", only(&[&[is(".forwarding", &["cut-through"])]]);
        /// when a packet's buffer is free: at the `start` or the `end` of its transmission
        release: Spanned<Release> => "start (store-and-forward: end)";
        /// high-priority arbitration table: a list of [lane, weight], in units of 64 bytes
        high: Spanned<Vec<(u8, u8)>> = "[]";
        /// low-priority arbitration table
        low: Spanned<Vec<(u8, u8)>> => "[[0, 64], ...]";
        /// bytes, in units of 4096, that the high table may send while the low one waits; 255 is unlimited
        limit: Spanned<u8> = "255", only(&[&[is_not(".high", &["[]"])]]);
    }
}
