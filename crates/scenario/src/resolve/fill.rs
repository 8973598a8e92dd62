//! Access to values of a scenario that stores their defaults in it.

use toml::Spanned;

use crate::diagnostics::Problem;

/// Returns the value; if absent, stores and returns `default`.
pub(super) fn fill<T: Clone>(slot: &mut Option<T>, default: T) -> T {
    slot.get_or_insert(default).clone()
}

/// Returns the value; if absent, stores and returns the declared default of its key.
///
/// # Panics
/// If the key is declared without a default: a mistake in this crate.
pub fn fill_declared<T: Clone>(slot: &mut Option<T>, declared: &Option<T>) -> T {
    let default = || declared.clone().expect("the key has a declared default");
    slot.get_or_insert_with(default).clone()
}

/// Expands `filled!(irn.rto_low: Irn)` to the value of the key, or the default that `Irn` declares for it.
macro_rules! filled {
    ($table:ident . $key:ident : $declared:ident) => {
        $crate::resolve::fill::fill_declared(&mut $table.$key, &$crate::schema::$declared::declared().$key)
    };
}

pub(super) use filled;

/// Returns the value with its position; if absent, stores `default` at an empty position.
pub fn fill_at<T: Clone>(slot: &mut Option<Spanned<T>>, default: T) -> Spanned<T> {
    slot.get_or_insert_with(|| Spanned::new(0..0, default)).clone()
}

/// Returns the value without its position; if absent, stores `default`.
pub fn fill_value<T: Clone>(slot: &mut Option<Spanned<T>>, default: T) -> T {
    fill_at(slot, default).into_inner()
}

/// Returns the name of the only block present, or a problem with `what` if there is none or several.
pub(super) fn only_block(present: &[(&'static str, bool)], what: &str) -> Result<&'static str, Problem> {
    let named: Vec<_> = present
        .iter()
        .filter(|(_, is)| *is)
        .map(|(name, _)| *name)
        .collect();
    match named[..] {
        [name] => Ok(name),
        [] => Err(Problem::new(format!("{what} is exactly one block, found none"))),
        _ => {
            let found = named.join(" and ");
            Err(Problem::new(format!(
                "{what} is exactly one block, found {found}"
            )))
        }
    }
}
