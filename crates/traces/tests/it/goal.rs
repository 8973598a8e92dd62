//! GOAL in text and binary form, and errors in both.

use std::path::PathBuf;

use paceline_traces::goal;
use paceline_traces::program::Program as _;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/goal")
        .join(name)
}

fn samples() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(data(""))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter_map(|n| n.strip_suffix(".goal").map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn binary(program: &goal::Program) -> Vec<u8> {
    let mut out = Vec::new();
    goal::write_binary(program, &mut out).unwrap();
    out
}

#[test]
fn text_becomes_the_binary_of_its_converter() {
    assert!(samples().len() >= 21);
    for name in samples() {
        let (text, _) = goal::read(data(&format!("{name}.goal"))).unwrap();
        let theirs = std::fs::read(data(&format!("{name}.bin"))).unwrap();
        assert!(binary(&text) == theirs, "{name}");

        let (read, _) = goal::read(data(&format!("{name}.bin"))).unwrap();
        assert!(binary(&read) == theirs, "{name}");
        let mut written = Vec::new();
        goal::write_text(&read, &mut written).unwrap();
        let (again, _) = goal::read_bytes("again.goal", &written).unwrap();
        assert!(binary(&again) == theirs, "{name}");
    }
}

#[test]
fn blanks_comments_and_line_ends_do_not_matter() {
    let loose = b"\xef\xbb\xbf/* two\nlines */ num_ranks 2 // ranks\r\n\r\nrank 1\r\n{\r\n\tr : recv 8 b from 0\ttag 3 cpu 1 // here\r\n}\r\n\
        rank 0 { send: send 8b to 1 tag 3 /* now */ cpu 0 nic 2\n   c: calc 7 cpu 255\n c requires send // last\n }\n// end";
    let strict = b"num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3 nic 2\nb: calc 7 cpu 255\nb requires a\n}\nrank 1 {\na: recv 8b from 0 tag 3 cpu 1\n}\n";
    let (loose, _) = goal::read_bytes("loose.goal", loose).unwrap();
    let (strict, _) = goal::read_bytes("strict.goal", strict).unwrap();
    assert_eq!(binary(&loose), binary(&strict));
    assert_eq!(loose.name(0, 0), "loose.goal:8 (send of rank 0)");
    assert_eq!(loose.name(0, 1), "loose.goal:9 (c of rank 0)");
    assert_eq!(loose.name(1, 0), "loose.goal:6 (r of rank 1)");
    let (bin, _) = goal::read_bytes("strict.bin", &binary(&strict)).unwrap();
    assert_eq!(
        bin.name(1, 0),
        "strict.bin: rank 1, operation 0 (recv 8 B from 0)"
    );
    assert!(loose.trouble().is_none() && loose.operation(0, 1).lane == 2);
}

#[test]
fn names_of_a_long_rank_are_found() {
    let mut text = String::from("num_ranks 1\nrank 0 {\n");
    for n in 0..1000 {
        text += &format!("l{n}: calc {n}\n");
        if n > 0 {
            text += &format!("l{n} requires l{}\n", n - 1);
        }
    }
    let (program, _) = goal::read_bytes("x.goal", (text + "}\n").as_bytes()).unwrap();
    for n in [0, 1, 255, 256, 257, 999] {
        assert_eq!(
            program.name(0, n),
            format!("x.goal:{} (l{n} of rank 0)", 3 + n * 2 - n.min(1))
        );
    }
}

/// Errors in texts have the line and the offending value.
#[test]
fn mistakes_of_a_text_are_told_with_line_and_value() {
    let rank = |lines: &str| format!("num_ranks 2\nrank 1 {{\n}}\nrank 0 {{\n{lines}\n}}\n");
    let cases = [
        (
            String::new(),
            ":1: expected `num_ranks`, found the end of the file",
        ),
        ("num_rank 2".into(), ":1: expected `num_ranks`, found `num_rank`"),
        (
            "num_ranks 0".into(),
            ":1: num_ranks 0: expected at least one rank",
        ),
        (
            "num_ranks 2\nrank 0 {\n}\n".into(),
            ":4: num_ranks 2, but 1 of them are not here: 1",
        ),
        (
            "num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n".into(),
            ":4: rank 0 twice: it is in line 2 already",
        ),
        (
            "num_ranks 1\nrank 1 {\n}\n".into(),
            ":2: rank 1 with num_ranks 1: ranks go from 0 to 0",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 5\n".into(),
            ":4: expected an operation, `LABEL requires LABEL` or `}`, found the end of the file; rank 0 of line 2 is not closed",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 5\nb: ca".into(),
            ":4: unknown operation `ca`, expected one of send, recv, calc; rank 0 of line 2 is not closed",
        ),
        (
            rank("a: calc 10\na: calc 20"),
            ":6: label a twice in rank 0: it is in line 5 already",
        ),
        (
            rank("a: calc 10\na requires b"),
            ":6: label b is not defined in rank 0 before this line: expected the label of an operation above",
        ),
        (
            rank("a: calc 10\na requires b\nb: calc 1"),
            ":6: label b is not defined in rank 0",
        ),
        (
            rank("a: calc 10\nb irequires a"),
            ":6: label b is not defined in rank 0",
        ),
        (
            rank("calc 18446744073709551616"),
            ":5: a time in ns 18446744073709551616 is too large: at most 18446744073709551615",
        ),
        (
            rank("calc -5"),
            ":5: expected a time in ns: a whole number from 0 to 18446744073709551615, found `-5`",
        ),
        (
            rank("calc 1.5"),
            ":5: expected a time in ns: a whole number from 0 to 18446744073709551615, found `1.5`",
        ),
        (rank("calc 1 cpu 300"), ":5: cpu 300 is too large: at most 255"),
        (
            rank("calc 1 nic 3"),
            ":5: expected `cpu` or the end of the line, found `nic`",
        ),
        (
            rank("send 8b to -1"),
            ":5: expected the receiver: a whole number from 0 to 4294967295, found `-1`",
        ),
        (
            rank("send 8b to 2"),
            ":5: the receiver 2 is not there: ranks go from 0 to 1",
        ),
        (
            rank("send 8b to 1 tag -1"),
            ":5: a send with tag -1: its message would match any receive",
        ),
        (
            rank("recv 8b from 4294967295"),
            ":5: the sender 4294967295 is not there: ranks go from 0 to 1",
        ),
        (
            rank("recv 8b from 1 tag 4294967295"),
            ":5: tag 4294967295 is too large: at most 4294967294, or -1 for any",
        ),
        (rank("send 8 to 1"), ":5: expected `b`, found `to`"),
        (
            rank("send 8bytes to 1"),
            ":5: expected a size in bytes: a whole number from 0 to 18446744073709551615, found `8bytes`",
        ),
        (
            rank("send to 1"),
            ":5: expected a number after `send`, found `to`",
        ),
        (rank("a: sned 8b to 1"), ":5: unknown operation `sned`"),
        (
            rank("send 8b to 1 cpu 1 tag 2"),
            ":5: expected `nic` or the end of the line, found `tag` (each once, in the order tag, cpu, nic)",
        ),
        (
            rank("calc 1 calc 2"),
            ":5: expected `cpu` or the end of the line, found `calc`",
        ),
        (
            rank("1a: calc 1"),
            ":5: `1a` is no label: expected a letter, then letters, digits and `_`",
        ),
        (
            rank("a: calc 1\n/* \n"),
            ":9: the comment of line 6 is not closed: expected `*/`; rank 0 of line 4 is not closed",
        ),
        (rank("") + "calc 5", ":7: expected `rank`, found `calc`"),
    ];
    for (text, expected) in cases {
        let trouble = goal::read_bytes("x.goal", text.as_bytes()).expect_err(&text);
        let said = trouble.to_string();
        assert!(
            said.starts_with(&format!("x.goal{expected}")),
            "{text}\nsaid     {said}\nexpected {expected}"
        );
    }
    let help = goal::read_bytes("x.goal", rank("l10: calc 1\nl10 requires l01").as_bytes())
        .unwrap_err()
        .help;
    assert_eq!(help.as_deref(), Some("Did you mean `l10`?"));
}

#[test]
fn every_beginning_of_a_binary_is_an_error_and_never_a_panic() {
    let whole = std::fs::read(data("dissemination_16.bin")).unwrap();
    for length in 0..whole.len() {
        assert!(goal::read_bytes("x.bin", &whole[..length]).is_err(), "{length}");
    }
    let trouble = goal::read(data("damaged/truncated.bin")).unwrap_err();
    assert!(trouble.message.contains("rank 7"), "{trouble}");
}

/// Each byte of a binary is changed in several ways: the result is an error, or a program that can be traversed.
#[test]
fn damaged_binaries_are_errors_or_programs() {
    let mut errors = 0;
    for name in ["irequires", "wildcards", "nics"] {
        let whole = std::fs::read(data(&format!("{name}.bin"))).unwrap();
        for at in 0..whole.len() {
            for change in [1u8, 2, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                let Ok((program, _)) = goal::read_bytes("x.bin", &bytes) else {
                    errors += 1;
                    continue;
                };
                assert!(bytes == binary(&program) || !(8..12).contains(&at), "{name} {at}");
                let mut list = Vec::new();
                for rank in 0..program.ranks() {
                    program.roots(rank, &mut list);
                    for number in 0..program.operations(rank) {
                        program.operation(rank, number);
                        program.after_end(rank, number, &mut list);
                        program.after_start(rank, number, &mut list);
                    }
                }
                assert!(program.trouble().is_none());
            }
        }
    }
    assert!(errors > 1500, "{errors}");
}

#[test]
fn what_a_binary_says_of_its_dependencies_is_tried() {
    let whole = std::fs::read(data("irequires.bin")).unwrap();
    // Rank 0 is at byte 46: four operations, one root (0); the first operation at 58; its appendix (1, 3, 2) at 214.
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        goal::read_bytes("x.bin", &bytes)
            .expect_err("damaged")
            .to_string()
    };
    assert_eq!(
        changed(58, 1),
        "x.bin: byte 58: rank 0, operation 0: it says that it waits for 1, the lists have 0"
    );
    assert_eq!(
        changed(54, 1),
        "x.bin: byte 54: rank 0: operation 1 is named as a root, expected 0 (those that wait for nothing, ascending)"
    );
    assert_eq!(
        changed(62, 4),
        "x.bin: byte 58: rank 0, operation 0: type 4: expected 1 (send), 2 (recv) or 3 (calc)"
    );
    assert_eq!(
        changed(214, 4),
        "x.bin: byte 214: rank 0: operation 4 is said to wait for operation 0, but there are 4 operations"
    );
    assert_eq!(
        changed(81, 9),
        "x.bin: byte 58: rank 0, operation 0: 9 entries from 0 on, but its rank has 3 in all"
    );
    assert_eq!(
        changed(102, 5),
        "x.bin: byte 97: rank 0, operation 1: a send to rank 5: ranks go from 0 to 1"
    );
    assert!(changed(0, 0x26).contains("expected `num_ranks`"));
    let mut spoilt = whole.clone();
    spoilt[..8].copy_from_slice(&2342u64.to_le_bytes());
    assert!(
        goal::read_bytes("x.bin", &spoilt)
            .unwrap_err()
            .message
            .contains("--save-mem")
    );
}
