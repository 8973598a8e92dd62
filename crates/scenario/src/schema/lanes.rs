//! `[network.credit]`: flow control by credits, as standards have it.

use paceline_fabric::spec::{Phase, Release};
use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{OrAuto, tables};

/// When credits are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BindingKind {
    Ib,
    Cbfc,
}

/// How switches forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ForwardingKind {
    CutThrough,
    StoreAndForward,
}

tables! {
    /// `[network.credit]`.
    struct Lanes {
        binding: Spanned<BindingKind>,
        lanes: Spanned<u8>,
        sl_to_vl: Spanned<Vec<u8>>,
        buffer: Spanned<OrAuto<Bytes>>,
        unit: Spanned<Bytes>,
        period: Spanned<Span>,
        phase: Spanned<Phase>,
        delay: Spanned<Span>,
        update: Spanned<Bytes>,
        first_header: Spanned<Bytes>,
        forwarding: Spanned<ForwardingKind>,
        header: Spanned<Bytes>,
        release: Spanned<Release>,
        high: Spanned<Vec<(u8, u8)>>,
        low: Spanned<Vec<(u8, u8)>>,
        limit: Spanned<u8>,
    }
}
