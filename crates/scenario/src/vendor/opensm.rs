//! Congestion control table of OpenSM, whose length and last entry have counterparts.

use super::item::{Fate, Item};
use super::whole;

/// Smallest difference from Paceline's entry that is reported, in packet times.
const OFF: f64 = 0.5;

/// Translates a table; returns a description of the entries that differ from Paceline's.
pub(crate) fn settle(items: &mut [Item]) -> Option<String> {
    let item = items.iter_mut().find(|item| item.is("", "cc_cct"))?;
    let entries: Option<Vec<f64>> = item.value.split(',').map(entry).collect();
    let wrong = "expected shift:multiplier, shift:multiplier, .. with at least two entries, not all alike";
    let Some((entries, &last)) = entries.as_ref().and_then(|all| Some((all, all.last()?))) else {
        item.fate = Fate::Wrong(wrong.to_string());
        return None;
    };
    let limit = entries.len() - 1;
    if limit == 0 || last <= 0.0 || entries.iter().all(|entry| *entry == last) {
        item.fate = Fate::Wrong(format!(
            "{wrong}; OpenSM writes its first entry in place of all others, so take the table from the file that it read"
        ));
        return None;
    }
    item.fate = Fate::Becomes(vec![
        ("cc.ibcc.ccti-limit", limit.to_string()),
        ("cc.ibcc.delay", format!("{last:?}")),
    ]);
    let here = |i: usize| last * (i as f64 / limit as f64).powi(2);
    let off = |&(i, there): &(usize, f64)| (there - here(i)).abs();
    let worst = entries.iter().copied().enumerate();
    let (i, there) = worst.max_by(|a, b| off(a).total_cmp(&off(b)))?;
    (off(&(i, there)) > OFF).then(|| {
        format!(
            "cc_cct: between its ends the table grows with the square of the index here: entry {i} is {there} packet times \
             there and {:.1} here",
            here(i)
        )
    })
}

/// Returns the delay of an entry in packet times: the multiplier over 2^shift.
fn entry(text: &str) -> Option<f64> {
    let (shift, multiplier) = text.split_once(':')?;
    let (shift, multiplier) = (whole(shift)?, whole(multiplier)?);
    let fits = (0..4).contains(&shift) && (0..1 << 14).contains(&multiplier);
    fits.then(|| multiplier as f64 / f64::from(1u32 << shift))
}
