//! Writer of any program as GOAL text, with collectives as the messages that they consist of.

use std::io::{self, Write};

use paceline_kernel::sorted::SortedMap;

use crate::collective::{CollectiveRules, Plan};
use crate::program::{Collective, CollectiveKind, OperationId, Program, Rank, Work};
use crate::shares::Shares;

/// First tag of collectives, above those of other messages.
const TAGS: u32 = 1 << 30;

/// Messages that a member's stage waits for: sender and size.
type Sources = Vec<Vec<Vec<(u32, u64)>>>;

/// Schedule of a collective with the senders of its messages.
struct Expanded {
    plan: Plan,
    sources: Sources,
}

impl Expanded {
    fn new(rules: &CollectiveRules, collective: &Collective, members: u32, shares: Option<Shares>) -> Self {
        let plan = Plan::new(rules, collective, members, 1, 0).with_shares(shares);
        let stages = |member| plan.stages(member, 0) as usize;
        let mut sources: Sources = (0..members)
            .map(|member| vec![Vec::new(); stages(member)])
            .collect();
        for member in 0..members {
            for stage in 0..stages(member) as u32 {
                for k in 0..plan.stage(member, 0, stage).sends {
                    let step = plan.step(member, 0, stage, k);
                    sources[step.to as usize][step.stage as usize].push((member, step.bytes));
                }
            }
        }
        Self { plan, sources }
    }
}

/// Writes a program as GOAL text: collectives along one ring, or directly, without chunks. An operation `n` of the
/// program has the label `ln`; the messages of a collective have its label with a letter and numbers.
pub fn write_program(program: &dyn Program, rules: &CollectiveRules, mut out: impl Write) -> io::Result<()> {
    let mut known: SortedMap<(CollectiveKind, u64, usize, Option<u32>), Expanded> = SortedMap::new();
    let (mut after, mut lines) = (Vec::new(), Vec::new());
    writeln!(out, "num_ranks {}", program.ranks())?;
    for rank in 0..program.ranks() {
        writeln!(out, "\nrank {rank} {{")?;
        lines.clear();
        for number in 0..program.operations(rank) {
            match program.operation(rank, number).work {
                Work::Nothing => writeln!(out, "l{number}: calc 0")?,
                Work::Compute { ns } => writeln!(out, "l{number}: calc {ns}")?,
                Work::Send { to, bytes, tag } => writeln!(out, "l{number}: send {bytes}b to {to} tag {tag}")?,
                Work::Receive { from, bytes, tag } => {
                    let any = |value: Option<u32>| value.map_or("-1".to_string(), |value| value.to_string());
                    writeln!(
                        out,
                        "l{number}: recv {bytes}b from {} tag {}",
                        any(from),
                        any(tag)
                    )?;
                }
                Work::Collective(index) => {
                    let one = &program.collectives()[index as usize];
                    let members = &program.groups()[one.group as usize];
                    let shares = program.uneven(index);
                    let uneven = shares.is_some().then_some(index);
                    let key = (one.kind, one.bytes, members.len(), uneven);
                    let expanded = known
                        .entry(key)
                        .or_insert_with(|| Expanded::new(rules, one, members.len() as u32, shares));
                    collective(
                        &mut out,
                        expanded,
                        (one.group, members),
                        (rank, number),
                        &mut lines,
                    )?;
                }
            }
        }
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        for number in 0..program.operations(rank) {
            for (word, is_end) in [("requires", true), ("irequires", false)] {
                after.clear();
                match is_end {
                    true => program.after_end(rank, number, &mut after),
                    false => program.after_start(rank, number, &mut after),
                }
                for &later in &after {
                    let is_collective = matches!(program.operation(rank, later).work, Work::Collective(_));
                    let begin = if is_collective { "b" } else { "" };
                    writeln!(out, "l{later}{begin} {word} l{number}")?;
                }
            }
        }
        writeln!(out, "}}")?;
    }
    if let Some(trouble) = program.trouble() {
        return Err(io::Error::other(trouble));
    }
    out.flush()
}

/// Writes a member's messages of a collective; adds their dependencies to `lines`.
fn collective(
    out: &mut impl Write,
    expanded: &Expanded,
    (group, members): (u32, &[Rank]),
    (rank, number): (Rank, OperationId),
    lines: &mut Vec<String>,
) -> io::Result<()> {
    let member = members.iter().position(|&one| one == rank).unwrap_or(0) as u32;
    let tag = |stage: u32| TAGS + ((group & 0x7fff) << 14 | stage & 0x3fff);
    writeln!(out, "l{number}b: calc 0")?;
    let mut last = "b".to_string();
    let mut ends = Vec::new();
    for (stage, sources) in (0..).zip(&expanded.sources[member as usize]) {
        writeln!(out, "l{number}g{stage}: calc 0")?;
        lines.push(format!("l{number}g{stage} requires l{number}{last}"));
        for (k, (from, bytes)) in sources.iter().enumerate() {
            let from = members[*from as usize];
            writeln!(
                out,
                "l{number}r{stage}_{k}: recv {bytes}b from {from} tag {}",
                tag(stage)
            )?;
            lines.push(format!("l{number}r{stage}_{k} requires l{number}b"));
            lines.push(format!("l{number}g{stage} requires l{number}r{stage}_{k}"));
        }
        last = format!("g{stage}");
        for k in 0..expanded.plan.stage(member, 0, stage).sends {
            let step = expanded.plan.step(member, 0, stage, k);
            let (to, bytes) = (members[step.to as usize], step.bytes);
            writeln!(
                out,
                "l{number}s{stage}_{k}: send {bytes}b to {to} tag {}",
                tag(step.stage)
            )?;
            lines.push(format!("l{number}s{stage}_{k} requires l{number}g{stage}"));
            ends.push(format!("s{stage}_{k}"));
        }
    }
    writeln!(out, "l{number}: calc 0")?;
    ends.push(last);
    lines.extend(
        ends.iter()
            .map(|end| format!("l{number} requires l{number}{end}")),
    );
    Ok(())
}
