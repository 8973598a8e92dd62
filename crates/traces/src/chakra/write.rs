//! Writer of programs as Chakra traces.

use std::io::{self, Write};

use super::brief::COLLECTIVES;
use super::node::NODE_TYPES;
use crate::program::{CollectiveKind, Program, Rank, Work};
use crate::trouble::Trouble;
use crate::wire::Message;

/// Version of the schema.
const VERSION: &str = "1.0.0";
/// Checks that Chakra can describe a program.
///
/// # Errors
/// If members of an all-to-all have different shares.
pub fn check_writable(program: &dyn Program) -> Result<(), Trouble> {
    let mut collectives = 0..program.collectives().len() as u32;
    if collectives.any(|index| program.uneven(index).is_some()) {
        return Err(Trouble::at(
            "chakra",
            "members of an all-to-all have different shares, and Chakra has one size for all",
        )
        .help("GOAL lists each message: write a file that ends in .goal"));
    }
    Ok(())
}

/// Writes the trace of a rank.
///
/// Chakra gives a rank one lane for messages and collectives. They wait for each other here in the order of the program,
/// which is the same at all members of a group: in opposite orders, two ranks would wait for each other forever.
/// Durations are whole microseconds, whose sum is that of the program.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_rank(program: &dyn Program, rank: Rank, mut out: impl Write) -> io::Result<()> {
    Message::new().text(1, VERSION).write_delimited(&mut out)?;
    let count = program.operations(rank);
    let (mut edges, mut after) = (Vec::new(), Vec::new());
    let mut last = None;
    for number in 0..count {
        after.clear();
        program.after_end(rank, number, &mut after);
        edges.extend(after.iter().map(|&later| (later, number)));
        if matches!(
            program.operation(rank, number).work,
            Work::Send { .. } | Work::Collective(_)
        ) {
            edges.extend(last.map(|last| (number, last)));
            last = Some(number);
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let mut parents = &edges[..];
    let mut rest_ns = 0;
    for number in 0..count {
        let own = parents.iter().take_while(|(child, _)| *child == number).count();
        let (before, others) = parents.split_at(own);
        parents = others;
        let node = Message::new()
            .number(1, id(number))
            .text(2, &program.name(rank, number));
        let node = before
            .iter()
            .fold(node, |node, &(_, parent)| node.number(5, id(parent)));
        let node = attribute(node, "is_cpu_op", |value| value.number(27, 0));
        let (kind, node) = match program.operation(rank, number).work {
            Work::Nothing => ("COMP", node),
            Work::Compute { ns } => {
                let all = rest_ns + ns;
                rest_ns = all % 1000;
                ("COMP", node.number(7, all / 1000))
            }
            Work::Send { to, bytes, tag } => ("COMM_SEND", message(node, [rank, to], tag, bytes)),
            Work::Receive { from, bytes, tag } => {
                let ends = [from.unwrap_or(rank), rank];
                ("COMM_RECV", message(node, ends, tag.unwrap_or(0), bytes))
            }
            Work::Collective(index) => {
                let one = &program.collectives()[index as usize];
                let members = program.groups()[one.group as usize].len() as u64;
                let bytes = match one.kind {
                    // The size is that of a member's part.
                    CollectiveKind::AllGather => one.bytes.div_ceil(members.max(1)),
                    _ => one.bytes,
                };
                let kind = COLLECTIVES
                    .iter()
                    .position(|(_, kind)| *kind == one.kind)
                    .unwrap_or(0);
                let node = attribute(node, "comm_type", |value| value.number(9, kind as u64));
                let node = attribute(node, "comm_size", |value| value.number(9, bytes));
                (
                    "COMM_COLL",
                    attribute(node, "pg_name", |value| value.text(29, &group(one.group))),
                )
            }
        };
        let kind = NODE_TYPES.iter().position(|&known| known == kind).unwrap_or(0);
        let node = node.number(3, kind as u64);
        node.write_delimited(&mut out)?;
    }
    out.flush()
}

/// Writes the groups of all collectives in the form of ASTRA-sim: names and their ranks.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_groups(program: &dyn Program, mut out: impl Write) -> io::Result<()> {
    write!(out, "{{")?;
    for (number, members) in (0..).zip(program.groups()) {
        let comma = if number == 0 { "" } else { "," };
        write!(out, "{comma}\n  \"{}\": {members:?}", group(number))?;
    }
    writeln!(out, "\n}}")?;
    out.flush()
}

/// Returns the id of an operation's node.
const fn id(number: u32) -> u64 {
    number as u64 + 1
}

/// Returns the name of a group. ASTRA-sim reads a number, and 0 stands for all ranks.
fn group(number: u32) -> String {
    (u64::from(number) + 1).to_string()
}

fn attribute(node: Message, name: &str, value: impl FnOnce(Message) -> Message) -> Message {
    node.message(10, &value(Message::new().text(1, name)))
}

/// Adds the attributes of a message between two ranks.
fn message(node: Message, [from, to]: [Rank; 2], tag: u32, bytes: u64) -> Message {
    let node = attribute(node, "comm_src", |value| value.number(7, u64::from(from)));
    let node = attribute(node, "comm_dst", |value| value.number(7, u64::from(to)));
    let node = attribute(node, "comm_tag", |value| value.number(7, u64::from(tag)));
    attribute(node, "comm_size", |value| value.number(9, bytes))
}
