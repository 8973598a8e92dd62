//! `[cc.defaults]`: which values of a file that a run wrote came with its scheme. Under another scheme they are that one's
//! own again.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Takes out what came with a scheme that is not the one that is to run, but for what settings say: these stand beyond
/// `end`, where the file ends. Says what it took out.
pub(super) fn renew(table: &mut DeTable<'_>, end: usize) -> Option<String> {
    let cc = table.get("cc")?.get_ref();
    let runs = cc.get("scheme")?.get_ref().as_str()?.to_string();
    let defaults = cc.get("defaults")?.get_ref();
    let of = defaults.get("of")?.get_ref().as_str()?.to_string();
    if of == runs {
        return None;
    }
    let keys = defaults.get("keys")?.get_ref().as_array()?;
    let keys: Vec<String> = keys
        .iter()
        .filter_map(|key| Some(key.get_ref().as_str()?.to_string()))
        .collect();
    for key in &keys {
        let path: Vec<&str> = key.split('.').collect();
        take(table, &path, end);
    }
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    Some(format!(
        "{} came with {of} (cc.defaults): {runs} has its own; without cc.defaults the file's would hold",
        keys.join(" and ")
    ))
}

fn take(table: &mut DeTable<'_>, path: &[&str], end: usize) {
    let [name, rest @ ..] = path else { return };
    let Some(mut value) = table.remove(*name) else {
        return;
    };
    let key = Spanned::new(value.span(), (*name).to_string().into());
    let stays = match (value.get_mut(), rest) {
        (DeValue::Table(inner), []) => {
            let names: Vec<String> = inner.keys().map(|key| key.get_ref().to_string()).collect();
            for name in &names {
                take(inner, &[name], end);
            }
            !inner.is_empty()
        }
        (DeValue::Table(inner), rest) => {
            take(inner, rest, end);
            true
        }
        _ => value.span().start >= end,
    };
    if stays {
        table.insert(key, value);
    }
}
