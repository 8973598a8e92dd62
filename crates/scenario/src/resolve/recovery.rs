//! From `recovery`, `receiver-order` and `[network.irn]` to how hosts repair losses.

use paceline_fabric::spec::{Irn, Recovery};
use paceline_kernel::Span;

use crate::diagnostics::Problem;
use crate::schema::{self, ArrivalOrder, OrOff, RecoveryKind};

use super::Cx;
use super::fill::{fill_at, filled};

/// How losses are repaired, by NICs that can do that.
pub(super) fn recovery(cx: &Cx<'_>, n: &mut schema::Network) -> Result<Recovery, Problem> {
    let kind = filled!(n.recovery: Network);
    let able = match kind.get_ref() {
        RecoveryKind::GoBackN => ArrivalOrder::InOrder,
        RecoveryKind::Irn => ArrivalOrder::OutOfOrder,
    };
    let nic = fill_at(&mut n.receiver_order, able);
    if *kind.get_ref() == RecoveryKind::GoBackN {
        return Ok(Recovery::GoBackN);
    }
    if *nic.get_ref() == ArrivalOrder::InOrder {
        let message = "IRN needs NICs that take packets out of order, and these take them in order only";
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(&nic))
            .label("in order only")
            .see(&cx.texts.of_value(&kind), "IRN is here")
            .help("set `network.receiver-order = \"out-of-order\"`, or `network.recovery = \"go-back-n\"`"));
    }
    if let Some(chunk) = &n.back_to_chunk
        && *chunk.get_ref() != OrOff(None)
    {
        let message = "`back-to-chunk` is for go-back-N: IRN repeats the packets that are missing";
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(chunk))
            .see(&cx.texts.of_value(&kind), "IRN is here")
            .help("leave out `network.back-to-chunk`, or set `network.recovery = \"go-back-n\"`"));
    }
    Ok(Recovery::SelectiveRepeat(irn(cx, n)?))
}

/// The defaults are those of IRN's evaluation (section 4.1 of the paper).
fn irn(cx: &Cx<'_>, n: &mut schema::Network) -> Result<Irn, Problem> {
    let irn = n.irn.get_or_insert_default();
    let low = filled!(irn.rto_low: Irn);
    let high = fill_at(&mut irn.rto_high, Span::from_us(320).max(*low.get_ref()));
    if *low.get_ref() == Span::ZERO {
        return Err(Problem::new("IRN's lower timeout is zero")
            .at(&cx.texts.of_value(&low))
            .label("expected more than zero"));
    }
    if high.get_ref() < low.get_ref() {
        let message = format!(
            "IRN's higher timeout ({}) is below the lower one ({})",
            high.get_ref(),
            low.get_ref()
        );
        let problem = Problem::new(message).at(&cx.texts.of_value(&high));
        return Err(if low.span().is_empty() {
            problem.help("set `network.irn.rto-low` too")
        } else {
            problem.see(&cx.texts.of_value(&low), "the lower one is here")
        });
    }
    Ok(Irn {
        rto_low: low.into_inner(),
        rto_high: high.into_inner(),
        low_packets: filled!(irn.low_packets: Irn),
        bdp_cap: filled!(irn.bdp_cap: Irn),
        reordering: filled!(irn.reordering: Irn).into_inner(),
    })
}
