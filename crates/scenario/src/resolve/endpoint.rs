//! Processing time of receiving hosts, from `[network.endpoint]`.

use paceline_fabric::spec::Endpoint;
use paceline_kernel::{BitRate, Span};

use crate::diagnostics::Problem;
use crate::schema::{self};

use super::Cx;
use super::fill::{fill, filled};

/// Returns the model if it has any effect; the scenario then holds all of its values.
pub(super) fn resolve(cx: &Cx<'_>, n: &mut schema::Network) -> Result<Option<Endpoint>, Problem> {
    let Some(written) = &mut n.endpoint else {
        return Ok(None);
    };
    let span = |slot: &mut Option<_>| fill(slot, Span::ZERO);
    let (delay, per_packet, jitter) = (
        span(&mut written.delay),
        span(&mut written.per_packet),
        span(&mut written.jitter),
    );
    let rate = filled!(written.rate: Endpoint);
    let rate: Option<BitRate> = match rate.get_ref().0 {
        Some(zero) if zero.as_bps() == 0 => {
            return Err(Problem::new("the rate at which hosts take packets is zero")
                .at(&cx.texts.of_value(&rate))
                .label("expected more than zero, or \"off\"")
                .help("without a rate (`off`) only `per-packet` bounds what a host takes"));
        }
        rate => rate,
    };
    let model = Endpoint {
        delay,
        per_packet,
        rate,
        jitter,
    };
    let nothing = Endpoint {
        delay: Span::ZERO,
        per_packet: Span::ZERO,
        rate: None,
        jitter: Span::ZERO,
    };
    Ok((model != nothing).then_some(model))
}
