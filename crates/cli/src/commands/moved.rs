//! Commands and options that have other names than in an earlier version: the old ones are refused, and the new ones named.

use clap::error::{ContextKind, ContextValue};

/// The command that an option belongs to (none for a command), its former name, its present one.
const MOVED: [(Option<&str>, &str, &str); 8] = [
    (None, "collect", "merge"),
    (None, "import", "forest import"),
    (None, "prove", "forest prove"),
    (None, "export", "forest export"),
    (None, "distill", "forest distill"),
    (Some("train"), "--by", "--algorithm"),
    (Some("compare"), "--beside", "--published"),
    (Some("forest"), "--output", "--out"),
];

/// What to say of an error that is about a former name; `command` is the first word of the command line.
pub(super) fn hint(error: &clap::Error, command: Option<&str>) -> Option<String> {
    let word = |kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.as_str()),
        _ => None,
    };
    let (owner, old) = match word(ContextKind::InvalidSubcommand) {
        Some(old) => (None, old),
        None => (command, word(ContextKind::InvalidArg)?),
    };
    let (.., new) = MOVED.iter().find(|(of, name, _)| (*of, *name) == (owner, old))?;
    Some(match owner {
        None => format!("error: `paceline {old}` is now `paceline {new}`\n"),
        Some(owner) => format!("error: `{old}` of `paceline {owner}` is now `{new}`\n"),
    })
}
