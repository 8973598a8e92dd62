//! Check for links that exceed their rate because transmission times are truncated to nanoseconds.

use paceline_fabric::spec::{Rounding, RunSpec};
use paceline_kernel::{BitRate, Bytes};

use crate::warning::WarningKind;

use super::Cx;

/// Largest relative difference without a warning.
const TOLD: f64 = 0.05;

/// Warns of the links whose full packets gain most from the truncation.
pub(super) fn warn(cx: &mut Cx<'_>, run: &RunSpec) {
    if run.quirks.rounding() == Rounding::Exact {
        return;
    }
    let bytes = Bytes::new(run.packet.mtu.get() + run.packet.data_header.get());
    let gain = |rate: BitRate| {
        let exact = bytes.get() as f64 * 8e9 / rate.as_bps() as f64;
        (exact, exact / exact.floor().max(1.0) - 1.0)
    };
    let links = run.links.iter().map(|link| link.rate);
    let Some(rate) = links.max_by(|a, b| gain(*a).1.total_cmp(&gain(*b).1)) else {
        return;
    };
    let (exact, gain) = gain(rate);
    if gain <= TOLD {
        return;
    }
    let payload = run.packet.mtu.get() as f64 / exact.floor().max(1.0);
    let text = format!(
        "links of {rate} carry a full packet ({} B) in {} ns instead of {exact:.2}, since times of transmission are cut to whole ns as in \
         the original simulator: {:.1} % faster than their rate, {payload:.1} GB/s of payload",
        bytes.get(),
        exact.floor().max(1.0),
        100.0 * gain
    );
    cx.warn(WarningKind::Reading, None, text);
}
