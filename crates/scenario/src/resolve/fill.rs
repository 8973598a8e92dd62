//! Taking values out of a scenario and leaving their defaults there.

use toml::Spanned;

use crate::diagnostics::Problem;

/// The value; where there is none, `default`, which the scenario then holds.
pub(super) fn fill<T: Clone>(slot: &mut Option<T>, default: T) -> T {
    slot.get_or_insert(default).clone()
}

/// The value; where there is none, the one with which the key is declared, which the scenario then holds.
///
/// # Panics
/// If it is declared without: a mistake in this crate.
pub fn fill_declared<T: Clone>(slot: &mut Option<T>, declared: &Option<T>) -> T {
    let default = || declared.clone().expect("the key has a declared default");
    slot.get_or_insert_with(default).clone()
}

/// `filled!(irn.rto_low: Irn)`: the value of the key, or that with which `Irn` declares it.
macro_rules! filled {
    ($table:ident . $key:ident : $declared:ident) => {
        $crate::resolve::fill::fill_declared(&mut $table.$key, &$crate::schema::$declared::declared().$key)
    };
}

pub(super) use filled;

/// The same with a place.
pub fn fill_at<T: Clone>(slot: &mut Option<Spanned<T>>, default: T) -> Spanned<T> {
    slot.get_or_insert_with(|| Spanned::new(0..0, default)).clone()
}

/// The same, where the place does not matter.
pub fn fill_value<T: Clone>(slot: &mut Option<Spanned<T>>, default: T) -> T {
    fill_at(slot, default).into_inner()
}

/// The one block that is there, of several of which there must be exactly one; otherwise what is
/// wrong with `what`.
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
