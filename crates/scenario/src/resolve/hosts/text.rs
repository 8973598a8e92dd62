//! Text notation of host sets: `"0..127 step 8"`, `"leaf 0-3, leaf 6"`, `"all except storage"`.

use std::ops::Range;

use paceline_fabric::spec::NodeId;

use crate::diagnostics::nearest;
use crate::groups::{KINDS, Sets};

/// Hosts, names and groups that a text may refer to.
pub(super) struct Network<'a> {
    pub(super) all: &'a dyn Fn() -> Vec<NodeId>,
    /// Returns an error if there is no node of this number, or the set may not hold it.
    pub(super) known: &'a dyn Fn(u32) -> Result<(), String>,
    pub(super) groups: &'a dyn Fn(&str) -> Option<Sets>,
    /// Returns the sets of switches that a word means, in a set that may hold switches.
    pub(super) switches: &'a dyn Fn(&str) -> Option<Sets>,
    /// Returns the node of a name, in a set that may hold switches.
    pub(super) switch: &'a dyn Fn(&str) -> Option<NodeId>,
    /// Returns the name of a node that is most like a text, in a set that may hold switches.
    pub(super) nearest: &'a dyn Fn(&str) -> Option<String>,
    pub(super) names: &'a [(String, Vec<NodeId>)],
}

/// Error in a part of a text.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) at: Range<usize>,
    pub(super) help: Option<String>,
}

const FORMS: &str = "hosts are written as a number, a range (\"0..127\", both ends included; \"0..127 step 8\"), \
                     \"all\", parts of the network (\"leaf 0-3\", \"pod 2\", \"rail 1\", \"server 5\"), a name from \
                     [hosts]; several with commas between them, and after `except` those that are not meant";

const ALL: &str = "all";
const EXCEPT: &str = "except";
const STEP: &str = "step";

/// Words that may precede numbers of hosts, as in names of hosts.
const HOSTS: [&str; 2] = ["host", "hosts"];

/// Returns true if a name would be mistaken for a keyword or a group.
pub(super) fn is_word(name: &str) -> bool {
    [ALL, EXCEPT, STEP].contains(&name) || kind(name).is_some()
}

/// Returns the words that names cannot be.
pub(super) fn words() -> String {
    let kinds = KINDS.iter().flat_map(|&(one, several)| [one, several]);
    [ALL, EXCEPT, STEP]
        .into_iter()
        .chain(kinds)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the kind of group that a word means, in singular and plural.
fn kind(word: &str) -> Option<(&'static str, &'static str)> {
    KINDS
        .iter()
        .copied()
        .find(|&(one, several)| [one, several].contains(&word))
}

/// Word and its position.
#[derive(Clone)]
struct Word<'t> {
    text: &'t str,
    at: Range<usize>,
}

impl Word<'_> {
    fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong {
            message: message.into(),
            at: self.at.clone(),
            help: Some(FORMS.to_string()),
        }
    }
}

/// Returns the nodes that a text means, in the order in which it names them.
pub(super) fn read(text: &str, network: &Network<'_>) -> Result<Vec<NodeId>, Wrong> {
    let words = split(text);
    let mut halves = words.split(|word| word.text == EXCEPT);
    let meant = terms(text, halves.next().unwrap_or_default(), network)?;
    let Some(excepted) = halves.next() else {
        return Ok(meant);
    };
    let except = words.iter().rfind(|word| word.text == EXCEPT);
    if let (Some(_), Some(word)) = (halves.next(), except) {
        return Err(word.wrong("a second `except`"));
    }
    let mut excepted = terms(text, excepted, network)?;
    excepted.sort_unstable();
    let stays = |node: &NodeId| excepted.binary_search(node).is_err();
    Ok(meant.into_iter().filter(stays).collect())
}

/// Splits a text into words and commas.
fn split(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = 0;
    // A blank behind the text closes its last word.
    for (end, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if !c.is_whitespace() && c != ',' {
            continue;
        }
        if start < end {
            words.push(Word {
                text: &text[start..end],
                at: start..end,
            });
        }
        start = end + c.len_utf8();
        if c == ',' {
            words.push(Word {
                text: &text[end..start],
                at: end..start,
            });
        }
    }
    words
}

fn terms(text: &str, words: &[Word<'_>], network: &Network<'_>) -> Result<Vec<NodeId>, Wrong> {
    let mut nodes = Vec::new();
    for term in words.split(|word| word.text == ",") {
        if term.is_empty() {
            return Err(Wrong {
                message: "hosts are missing here".to_string(),
                at: words.first().map_or(0..text.len(), |word| word.at.clone()),
                help: Some(FORMS.to_string()),
            });
        }
        nodes.extend(of_term(term, network)?);
    }
    Ok(nodes)
}

fn of_term(term: &[Word<'_>], network: &Network<'_>) -> Result<Vec<NodeId>, Wrong> {
    let (first, rest) = term.split_first().expect("a term has a word");
    // A whole name comes first: `pod 1 rail 2` is a switch, though `pod 1` is a set of hosts.
    if let [_, _, ..] = term {
        let words: Vec<&str> = term.iter().map(|word| word.text).collect();
        if let Some(node) = (network.switch)(&words.join(" ")) {
            return Ok(vec![node]);
        }
        if let Some(sets) = (network.switches)(first.text) {
            return of_sets(&sets, first.text, rest);
        }
    }
    if let Some((kind, several)) = kind(first.text) {
        return of_groups(first, kind, several, rest, network);
    }
    if first.text.starts_with(|c: char| c.is_ascii_digit()) {
        let mut nodes = Vec::new();
        for number in numbers(term)? {
            (network.known)(number).map_err(|message| Wrong {
                message,
                at: first.at.clone(),
                help: None,
            })?;
            nodes.push(NodeId(number));
        }
        return Ok(nodes);
    }
    // Names of the scenario come first, so that a scenario may name a set `all`.
    let found = match network.names.iter().find(|(name, _)| name == first.text) {
        Some((_, nodes)) => nodes.clone(),
        None if first.text == ALL => (network.all)(),
        None if HOSTS.contains(&first.text) && !rest.is_empty() => return of_term(rest, network),
        None => return Err(unknown(first, term, network)),
    };
    match rest.first() {
        Some(more) => Err(more.wrong(format!("`{}` after `{}`", more.text, first.text))),
        None => Ok(found),
    }
}

fn unknown(word: &Word<'_>, term: &[Word<'_>], network: &Network<'_>) -> Wrong {
    let words: Vec<&str> = term.iter().map(|word| word.text).collect();
    let of_node = (network.nearest)(&words.join(" "));
    let names = network.names.iter().map(|(name, _)| name.as_str());
    let near = names
        .chain([ALL, EXCEPT])
        .chain(KINDS.iter().map(|(one, _)| *one));
    let near = of_node.or_else(|| nearest(word.text, near).map(str::to_string));
    Wrong {
        message: format!("there are no hosts called `{}`", word.text),
        at: word.at.clone(),
        help: Some(near.map_or_else(|| FORMS.to_string(), |near| format!("did you mean `{near}`?"))),
    }
}

/// Resolves a term such as `leaf 0-3 step 2`.
fn of_groups(
    word: &Word<'_>,
    kind: &'static str,
    several: &str,
    rest: &[Word<'_>],
    network: &Network<'_>,
) -> Result<Vec<NodeId>, Wrong> {
    let Some(sets) = (network.groups)(kind) else {
        let has = KINDS.iter().filter(|(one, _)| (network.groups)(one).is_some());
        let has: Vec<_> = has.map(|(_, several)| *several).collect();
        return Err(Wrong {
            message: format!("this network has no {several}"),
            at: word.at.clone(),
            help: Some(format!("it has {}", has.join(" and "))),
        });
    };
    let Some(first) = rest.first() else {
        return Err(word.wrong(format!("which {kind}? expected a number, such as `{kind} 0`")));
    };
    let mut nodes = Vec::new();
    for number in numbers(rest)? {
        nodes.extend_from_slice(one_of(&sets, number, kind, several, first)?);
    }
    Ok(nodes)
}

/// Resolves a term such as `spine 0-3` in a set that may hold switches.
fn of_sets(sets: &Sets, word: &str, rest: &[Word<'_>]) -> Result<Vec<NodeId>, Wrong> {
    let (one, several) = kind(word).map_or_else(
        || (word, format!("those of tier {word}")),
        |(one, several)| (one, several.to_string()),
    );
    let mut nodes = Vec::new();
    for number in numbers(rest)? {
        nodes.extend_from_slice(one_of(sets, number, one, &several, &rest[0])?);
    }
    Ok(nodes)
}

/// Returns the set with a number, or an error at `word`.
fn one_of<'s>(
    sets: &'s Sets,
    number: u32,
    kind: &str,
    several: &str,
    word: &Word<'_>,
) -> Result<&'s [NodeId], Wrong> {
    sets.get(number as usize).map(Vec::as_slice).ok_or_else(|| Wrong {
        message: format!(
            "there is no {kind} {number}: {several} are 0 to {}",
            sets.len().max(1) - 1
        ),
        at: word.at.clone(),
        help: None,
    })
}

/// Parses `3`, `0..7`, `0-7` or `0..7 step 2`, both ends included.
fn numbers(words: &[Word<'_>]) -> Result<impl Iterator<Item = u32> + use<>, Wrong> {
    let range = &words[0];
    let ends = range.text.split_once("..").or_else(|| range.text.split_once('-'));
    let (from, to) = ends.unwrap_or((range.text, range.text));
    let read = |text: &str| text.parse::<u32>().ok();
    let (Some(from), Some(to)) = (read(from), read(to)) else {
        return Err(range.wrong(format!("`{}` is no range of numbers", range.text)));
    };
    if from > to {
        return Err(range.wrong(format!(
            "the range {} goes backwards: expected the smaller number first",
            range.text
        )));
    }
    let step = match &words[1..] {
        [] => 1,
        [word, rest @ ..] if word.text == STEP => match rest {
            [by] => by
                .text
                .parse()
                .ok()
                .filter(|&step: &usize| step > 0)
                .ok_or_else(|| by.wrong(format!("a step of `{}`: expected a number above zero", by.text)))?,
            [] => return Err(word.wrong("`step` without a number")),
            [_, more, ..] => return Err(more.wrong(format!("`{}` after a step", more.text))),
        },
        [more, ..] => return Err(more.wrong(format!("`{}` after `{}`", more.text, range.text))),
    };
    Ok((from..=to).step_by(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves `text` in a network of eight hosts at four leaves, nodes 10 to 17, of which 12 and 13 are called
    /// `pair`.
    fn of(text: &str) -> Result<Vec<u32>, Wrong> {
        let hosts = |range: Range<u32>| range.map(NodeId).collect::<Vec<_>>();
        let names = [("pair".to_string(), hosts(12..14))];
        let network = Network {
            all: &|| hosts(10..18),
            known: &|node| {
                let is = (10..18).contains(&node);
                is.then_some(()).ok_or(format!("no host {node}"))
            },
            groups: &|kind| {
                let leaf = |leaf: u32| hosts(10 + 2 * leaf..12 + 2 * leaf);
                (kind == "leaf").then(|| (0..4).map(leaf).collect())
            },
            switches: &|word| (word == "spine").then(|| vec![hosts(20..21), hosts(21..22)]),
            switch: &|name| (name == "pod 1 rail 2").then_some(NodeId(30)),
            nearest: &|_| None,
            names: &names,
        };
        let found = read(text, &network)?;
        Ok(found.into_iter().map(|node| node.0).collect())
    }

    #[test]
    fn what_texts_mean() {
        let all: Vec<u32> = (10..18).collect();
        for (text, expected) in [
            ("13", vec![13]),
            ("10..17", all.clone()),
            ("10-17", all.clone()),
            ("all", all),
            ("10..17 step 3", vec![10, 13, 16]),
            ("17, 10..11", vec![17, 10, 11]),
            ("leaf 1", vec![12, 13]),
            ("leaf 0-2 step 2", vec![10, 11, 14, 15]),
            ("leaves 0..1, pair", vec![10, 11, 12, 13, 12, 13]),
            ("all except leaf 0-1, 17", vec![14, 15, 16]),
            ("host 13, hosts 15..16", vec![13, 15, 16]),
            ("spine 0..1, pod 1 rail 2, leaf 0", vec![20, 21, 30, 10, 11]),
        ] {
            assert_eq!(of(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_texts() {
        for (text, message, at) in [
            ("", "hosts are missing here", 0..0),
            ("10,,11", "hosts are missing here", 0..2),
            ("all except", "hosts are missing here", 0..10),
            ("9", "no host 9", 0..1),
            ("leaf 0, 12..20", "no host 18", 8..14),
            (
                "12..10",
                "the range 12..10 goes backwards: expected the smaller number first",
                0..6,
            ),
            ("leaf 4", "there is no leaf 4: leaves are 0 to 3", 5..6),
            (
                "spine 2",
                "there is no spine 2: those of tier spine are 0 to 1",
                6..7,
            ),
            ("leaf", "which leaf? expected a number, such as `leaf 0`", 0..4),
            ("pod 1", "this network has no pods", 0..3),
            ("paar", "there are no hosts called `paar`", 0..4),
            ("10..12 stp 2", "`stp` after `10..12`", 7..10),
            (
                "10..12 step 0",
                "a step of `0`: expected a number above zero",
                12..13,
            ),
            ("all except 10 except 11", "a second `except`", 14..20),
        ] {
            let wrong = of(text).unwrap_err();
            assert_eq!((wrong.message.as_str(), wrong.at), (message, at), "{text}");
        }
        assert_eq!(
            of("paar").unwrap_err().help.as_deref(),
            Some("did you mean `pair`?")
        );
    }
}
