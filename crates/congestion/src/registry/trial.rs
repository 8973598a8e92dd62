//! What an added scheme says of itself against what its halves do, before anything runs.

use paceline_kernel::rng::{Purpose, Rng};

use super::added::AddError;
use super::{Definition, Requirements};
use crate::api::Outgoing;
use crate::switch::{Action, Hooks, SwitchSupport};
use crate::testkit::{Pair, egress_port, passing, star_path, with_egress};

/// Tries the halves of a scheme with its default parameters.
///
/// # Errors
/// If a half would never be called, or writes what `needs` does not ask for: the engine leaves that out without a word.
pub(super) fn check<P: Definition>() -> Result<(), AddError> {
    let (mut params, name) = (P::default(), P::SCHEME.name);
    let needs = params.needs();
    if let Some(part) = params.switch_part() {
        check_switch(&params, name, &needs, &part)?;
    }
    if !params.models().is_empty() {
        // Without its model a sender cannot be built.
        return Ok(());
    }
    let mut pair = Pair::new(star_path(), |path| params.build(path));
    let packet = Outgoing {
        seq: 0,
        payload: 1000,
        snd_una: 0,
        end: 1_000_000,
    };
    let (tag, words) = pair.stamps(&packet);
    if !needs.tags && tag != 0 {
        return Err(AddError::Undeclared(name, "the sender", "tags", "tags"));
    }
    if !needs.words && words != 0 {
        return Err(AddError::Undeclared(name, "the sender", "words", "words"));
    }
    Ok(())
}

fn check_switch<P: Definition>(
    params: &P,
    name: &'static str,
    needs: &Requirements,
    part: &SwitchSupport,
) -> Result<(), AddError> {
    if part.hooks == Hooks::default() {
        return Err(AddError::NoHooks(name));
    }
    let mut rngs = [Rng::stream(1, Purpose::Switch, 0)];
    let Some(mut halves) = params.switch_halves(&[Some(egress_port())], &mut rngs) else {
        return Err(AddError::NoHalves(name));
    };
    if !part.hooks.arrivals {
        return Ok(());
    }
    for queue in [0, 20_000, 200_000, 1_000_000] {
        let packet = passing(queue);
        let verdict = with_egress(|at| {
            at.queued = queue;
            halves.on_arrival(0, at, &packet)
        });
        if !needs.tags && verdict.tag != packet.tag {
            return Err(AddError::Undeclared(name, "the switch's half", "tags", "tags"));
        }
        if !part.trims && verdict.action == Action::Trim {
            return Err(AddError::Undeclared(
                name,
                "the switch's half",
                "trimmed packets",
                "trims",
            ));
        }
    }
    Ok(())
}
