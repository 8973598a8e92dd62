//! Checks that numbers are within their ranges.

use std::ops::RangeInclusive;

use paceline_fabric::spec::{Headroom, PfcThreshold};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::resolve::context::Cx;
use crate::resolve::fill::fill_at;
use crate::schema;

/// Returns a number from 0 to 1.
///
/// # Errors
/// If it is outside of that range.
pub fn probability(cx: &Cx<'_>, value: &Spanned<f64>, what: &str) -> Result<f64, Problem> {
    let p = *value.get_ref();
    if (0.0..=1.0).contains(&p) {
        return Ok(p);
    }
    Err(
        Problem::new(format!("{what} is {p}: expected a number from 0 to 1"))
            .at(&cx.texts.of_value(value))
            .label("expected 0 to 1"),
    )
}

/// Returns a quantity that is not zero.
///
/// # Errors
/// If it is zero.
pub fn above_zero<T: Copy + PartialEq + Default>(
    cx: &Cx<'_>,
    value: &Spanned<T>,
    what: &str,
) -> Result<T, Problem> {
    if *value.get_ref() != T::default() {
        return Ok(*value.get_ref());
    }
    Err(Problem::new(format!("{what} is zero"))
        .at(&cx.texts.of_value(value))
        .label("expected more than zero"))
}

/// Returns a number within bounds, by default `default`.
///
/// # Errors
/// If it is out of bounds.
pub fn within<T: Copy + PartialOrd + std::fmt::Display>(
    cx: &Cx<'_>,
    slot: &mut Option<Spanned<T>>,
    default: T,
    what: &str,
    range: RangeInclusive<T>,
) -> Result<T, Problem> {
    let value = fill_at(slot, default);
    check_within(cx, &value, what, &range)?;
    Ok(value.into_inner())
}

/// Checks that a number is within bounds.
///
/// # Errors
/// If it is not.
pub fn check_within<T: Copy + PartialOrd + std::fmt::Display>(
    cx: &Cx<'_>,
    value: &Spanned<T>,
    what: &str,
    range: &RangeInclusive<T>,
) -> Result<(), Problem> {
    if range.contains(value.get_ref()) {
        return Ok(());
    }
    let expected = format!("expected {} to {}", range.start(), range.end());
    Err(Problem::new(format!("{what} is {}: {expected}", value.get_ref()))
        .at(&cx.texts.of_value(value))
        .label(expected))
}

/// Largest factor of a headroom: no buffer has room for more.
const FACTOR_MAX: f64 = 1e6;

pub(super) fn headroom(cx: &Cx<'_>, written: &Spanned<schema::Headroom>) -> Result<Headroom, Problem> {
    match *written.get_ref() {
        schema::Headroom::Fixed(bytes) => Ok(Headroom::Fixed(bytes)),
        schema::Headroom::PerLink(link) => {
            if !(link.factor >= 0.0 && link.factor <= FACTOR_MAX) {
                let message = format!(
                    "the headroom's factor is {}: expected zero or more, and at most {FACTOR_MAX}",
                    link.factor
                );
                return Err(Problem::new(message).at(&cx.texts.of_value(written)));
            }
            Ok(Headroom::PerLink {
                factor: link.factor,
                extra: link.extra,
            })
        }
    }
}

/// Default of a shift.
pub(super) const SHIFT: i32 = 3;

pub(super) fn shift(cx: &Cx<'_>, slot: &mut Option<Spanned<i32>>, default: i32) -> Result<i32, Problem> {
    let shift = fill_at(slot, default);
    let (min, max) = (PfcThreshold::SHIFT_MIN, PfcThreshold::SHIFT_MAX);
    if (min..=max).contains(shift.get_ref()) {
        return Ok(*shift.get_ref());
    }
    let message = format!(
        "the threshold's shift is {}: expected {min} to {max}",
        shift.get_ref()
    );
    Err(Problem::new(message).at(&cx.texts.of_value(&shift)))
}
