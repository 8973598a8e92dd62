//! Random GOAL programs: messages have both ends and operations depend on earlier ones, with rare exceptions.

use std::fmt::Write as _;

use paceline_traces::goal;

use crate::mutate::Mutator;

/// Operations and dependencies of a rank as lines of a GOAL file.
#[derive(Clone, Default)]
struct Rank {
    operations: Vec<String>,
    edges: Vec<String>,
}

impl Rank {
    fn add(&mut self, chance: &mut Mutator, what: &str, has_nic: bool) {
        let at = self.operations.len();
        // Rarely a duplicate label.
        let label = if at > 0 && chance.once_in(300) { at - 1 } else { at };
        let mut line = format!("l{label}: {what}");
        // Hosts of these networks have one NIC, so others are refused on packets.
        for (word, may) in [("cpu", chance.once_in(4)), ("nic", has_nic && chance.once_in(40))] {
            if may {
                let _ = write!(line, " {word} {}", chance.one(&[0, 1, 2, 255]));
            }
        }
        self.operations.push(line);
        for _ in 0..chance.below(3) {
            let word = *chance.one(&["requires", "requires", "requires", "irequires"]);
            let other = match chance.below(250) {
                // Rarely a later or missing operation, or the operation itself.
                0 => at + chance.below(3),
                _ if at > 0 => chance.below(at),
                _ => continue,
            };
            self.edges.push(format!("l{at} {word} l{other}"));
        }
    }
}

/// Returns the text of a program of `ranks` ranks.
pub(super) fn text(chance: &mut Mutator, ranks: usize) -> String {
    let mut all = vec![Rank::default(); ranks];
    for _ in 0..chance.below(16) {
        let (from, to) = (chance.below(ranks), chance.below(ranks));
        if ranks == 1 || chance.once_in(3) {
            let ns = chance.extent();
            all[from].add(chance, &format!("calc {ns}"), false);
            continue;
        }
        // A message to the rank itself is kept only occasionally.
        let to = if to == from && !chance.once_in(10) {
            (from + 1) % ranks
        } else {
            to
        };
        let bytes = chance.extent();
        let tag = *chance.one(&["", "", " tag 0", " tag 1", " tag 4294967294"]);
        let expects = if chance.once_in(60) {
            chance.extent()
        } else {
            bytes
        };
        let any = |chance: &mut Mutator, known: String, any: &str| match chance.once_in(12) {
            true => any.to_string(),
            false => known,
        };
        let source = any(chance, from.to_string(), "-1");
        let taken = any(chance, tag.to_string(), " tag -1");
        // In rare cases one end is missing.
        let missing = chance.below(120);
        if missing != 0 {
            all[from].add(chance, &format!("send {bytes}b to {to}{tag}"), true);
        }
        if missing != 1 {
            all[to].add(chance, &format!("recv {expects}b from {source}{taken}"), true);
        }
    }
    let announced = match chance.below(200) {
        0 => 0,
        1 => ranks + 1,
        2 => 100_000_000,
        _ => ranks,
    };
    let mut text = format!("num_ranks {announced}\n");
    for (number, rank) in all.iter().enumerate() {
        let _ = writeln!(text, "rank {number} {{");
        for line in rank.operations.iter().chain(&rank.edges) {
            let _ = writeln!(text, "{line}");
        }
        text.push_str("}\n");
    }
    text
}

/// Returns the binary form of such a program, occasionally with a changed number; empty if the text is rejected.
pub(super) fn binary(chance: &mut Mutator, ranks: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok((program, _)) = goal::read_bytes("mine.goal", text(chance, ranks).as_bytes()) {
        goal::write_binary(&program, &mut bytes).expect("memory takes everything");
    }
    if !bytes.is_empty() && chance.once_in(4) {
        let at = chance.below(bytes.len());
        let value = chance.extent().to_le_bytes();
        let width = *chance.one(&[1, 4, 8]);
        for (byte, value) in bytes.iter_mut().skip(at).zip(&value[..width]) {
            *byte = *value;
        }
    }
    bytes
}
