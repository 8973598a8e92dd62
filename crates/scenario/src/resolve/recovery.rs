//! Conversion of `recovery`, `receiver-order`, `[network.irn]` and `[network.rud]` to the hosts' loss recovery.

use paceline_fabric::spec::{Irn, Recovery, Rud, SwitchSpec};
use paceline_kernel::Span;
use paceline_kernel::sorted::SortedSet;

use crate::diagnostics::Problem;
use crate::schema::{self, ArrivalOrder, OrOff, RecoveryKind};
use crate::warning::WarningKind;

use super::Cx;
use super::fill::{fill_at, filled};

/// Returns the loss recovery, after checking that the NICs support it.
pub(super) fn recovery(cx: &Cx<'_>, n: &mut schema::Network) -> Result<Recovery, Problem> {
    let kind = filled!(n.recovery: Network);
    let able = match kind.get_ref() {
        RecoveryKind::GoBackN => ArrivalOrder::InOrder,
        RecoveryKind::Irn | RecoveryKind::Rud => ArrivalOrder::OutOfOrder,
    };
    let name = match kind.get_ref() {
        RecoveryKind::Rud => "RUD",
        _ => "IRN",
    };
    let nic = fill_at(&mut n.receiver_order, able);
    // Go-back-N works with both orders of arrival.
    if *kind.get_ref() == RecoveryKind::GoBackN {
        return Ok(Recovery::GoBackN);
    }
    if *nic.get_ref() == ArrivalOrder::InOrder {
        let message =
            format!("{name} needs NICs that take packets out of order, and these take them in order only");
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(&nic))
            .label("in order only")
            .see(&cx.texts.of_value(&kind), format!("{name} is here"))
            .help("set `network.receiver-order = \"out-of-order\"`, or `network.recovery = \"go-back-n\"`"));
    }
    if let Some(chunk) = &n.back_to_chunk
        && *chunk.get_ref() != OrOff(None)
    {
        let message =
            format!("`back-to-chunk` is for go-back-N: {name} repeats the packets that are missing");
        return Err(Problem::new(message)
            .at(&cx.texts.of_value(chunk))
            .see(&cx.texts.of_value(&kind), format!("{name} is here"))
            .help("leave out `network.back-to-chunk`, or set `network.recovery = \"go-back-n\"`"));
    }
    match kind.get_ref() {
        RecoveryKind::Rud => Ok(Recovery::Rud(rud(cx, n)?)),
        _ => Ok(Recovery::SelectiveRepeat(irn(cx, n)?)),
    }
}

/// Warns that RUD learns only of trimmed packets: a dropped one waits for a timeout.
pub(super) fn warn_of_silence(
    cx: &mut Cx<'_>,
    n: &schema::Network,
    switch: &SwitchSpec,
    classes: &SortedSet<u8>,
) {
    let Some(kind) = &n.recovery else { return };
    if *kind.get_ref() != RecoveryKind::Rud || switch.loss.trim.is_some() || !super::loses(switch, classes) {
        return;
    }
    let location = cx.texts.of_value(kind);
    let text = "RUD learns of a loss from trimmed packets or by a timeout, and these switches drop packets without trimming: \
                each loss waits for `network.rud.rto`; set `network.drop.trim = true`, or `network.recovery = \"irn\"`";
    cx.warn(WarningKind::SchemeAndNetwork, &location, text);
}

fn rud(cx: &Cx<'_>, n: &mut schema::Network) -> Result<Rud, Problem> {
    let rud = n.rud.get_or_insert_default();
    let rto = filled!(rud.rto: Rud);
    if *rto.get_ref() == Span::ZERO {
        return Err(Problem::new("the retransmission timeout is zero")
            .at(&cx.texts.of_value(&rto))
            .label("expected more than zero"));
    }
    Ok(Rud {
        rto: rto.into_inner(),
    })
}

/// Returns IRN's parameters, by default those of its evaluation (section 4.1 of the paper).
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
