//! Accepted and rejected workloads.

use paceline_traces::program::Program;
use paceline_traces::simai::{Servers, Workload, nvls_line, program, read};
use paceline_traces::trouble::Trouble;
use proptest::prelude::*;

use super::{made, servers, text, workload};

#[test]
fn samples_are_read() {
    for (name, layers, tp, ep) in [
        ("microAllReduce.txt", 2, 8, 1),
        ("tp16.txt", 2, 16, 1),
        ("dense32.txt", 12, 8, 1),
        ("reduced-dense-w32-tp8-pp2.txt", 21, 8, 1),
        ("reduced-moe-w32-tp2-ep8.txt", 27, 2, 8),
        ("b4-gpt13b-w128-tp8-pp2-gbs8.txt", 93, 8, 1),
    ] {
        let read = workload(name);
        let header = &read.header;
        assert_eq!(
            (read.layers.len(), header.tp, header.ep),
            (layers, tp, ep),
            "{name}"
        );
    }
    let (b4, cautions) = read("b4", &text("b4-gpt13b-w128-tp8-pp2-gbs8.txt")).unwrap();
    assert_eq!(b4.header.pp_comm, 5_242_880.0);
    let said: Vec<&str> = cautions.iter().map(|caution| caution.text.as_str()).collect();
    assert!(
        said[0].starts_with("b4:1: pp is 2 and pp_comm 5242880 B: as in SimAI's packet simulation")
            && said[0].ends_with("nothing is sent between stages"),
        "{said:?}"
    );
    assert!(said[2].contains("all computing times are 0 or 1 ns"), "{said:?}");
    assert_eq!(said.len(), 3);
    assert!(
        said[1].contains("collectives of 0 bytes are left out") && said[1].ends_with("lines 4, 5"),
        "{said:?}"
    );
    // Forward sizes of less than a page count as one page.
    let moe = made("reduced-moe-w32-tp2-ep8.txt", 32);
    assert!(
        moe.collectives()
            .iter()
            .all(|collective| collective.bytes >= 4096)
    );
}

/// Reads a workload of one layer, with one of its words replaced.
fn with(word: usize, by: &str) -> Result<Workload, Trouble> {
    let line = "layer -1 10 ALLREDUCE 4096 10 NONE 0 10 NONE 0 100";
    let words: Vec<&str> = line.split(' ').collect();
    let words: Vec<&str> = words
        .iter()
        .enumerate()
        .map(|(i, &old)| if i == word { by } else { old })
        .collect();
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8";
    read("x.txt", &format!("{header}\n1\n{}\n", words.join(" "))).map(|(workload, _)| workload)
}

#[test]
fn mistakes_are_named_with_their_lines() {
    let error = |text: &str| {
        let trouble = read("x.txt", text).unwrap_err();
        format!("{trouble} {}", trouble.help.clone().unwrap_or_default())
    };
    let eleven = read("x.txt", &text("eleven_columns.txt")).unwrap_err();
    assert_eq!(eleven.to_string(), "x.txt:3: 11 fields, expected 12");
    let (_, cautions) = read("x.txt", &text("zero_bytes_forward.txt")).unwrap();
    assert!(cautions[0].text.ends_with("lines 3"), "{cautions:?}");
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8";
    for (text, says) in [
        ("", "x.txt:1: the file is empty"),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWARD\n",
            "did you mean `HYBRID_TRANSFORMER_FWD_IN_BCKWD`?",
        ),
        ("HYBRID_DLRM a: 1\n", "policy `HYBRID_DLRM` is not carried out"),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 1\n2\n",
            "there is no `model_parallel_NPU_group:`",
        ),
        (
            &format!("{header} eo: 1\n"),
            "unknown key `eo:` did you mean `ep`?",
        ),
        (&format!("{header} ep: 1 ep: 2\n"), "ep is given twice"),
        (&format!("{header} ep:\n"), "ep has no value"),
        (&format!("{header} ep: 0\n"), "ep is 0: expected at least 1"),
        (
            &format!("{header} ga: 1.5\n"),
            "ga is `1.5`: expected a whole number",
        ),
        (&format!("{header} pp_comm -1\n"), "pp_comm is `-1`"),
        (
            &format!("{header} checkpoints: 2 1 ep: 1\n"),
            "checkpoints announces 2 layers, and there are 1",
        ),
        (header, "the file ends after its first line"),
        (
            &format!("{header}\n2 layers\n"),
            "x.txt:2: `2 layers`: expected the number of layers alone",
        ),
        (
            &format!("{header}\n2\nl -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"),
            "x.txt:2: 2 layers are announced, and 1 follow",
        ),
        (&format!("{header}\n0\n"), "expected at least one"),
    ] {
        let said = error(text);
        assert!(said.contains(says), "{says}: {said}");
    }
    for (word, by, says) in [
        (1, "next", "x.txt:3: the dependency is `next`"),
        (
            2,
            "-10",
            "the time of the forward pass, in ns is `-10`: expected a whole number, not negative",
        ),
        (
            4,
            "4096.0",
            "the size of the collective of the forward pass, in bytes is `4096.0`",
        ),
        (
            11,
            "99999999999999999999",
            "the process time, in ns is `99999999999999999999`: expected at most",
        ),
        (3, "ALLREDUCE_PP", "unknown collective `ALLREDUCE_PP`"),
        (
            3,
            "ALLREDUCEALLTOALL",
            "SimAI takes it for an all-reduce without a group",
        ),
    ] {
        let said = with(word, by).unwrap_err().to_string();
        assert!(said.contains(says), "{says}: {said}");
    }
    assert_eq!(
        with(3, "ALLGATER").unwrap_err().help.unwrap(),
        "did you mean `ALLGATHER`?"
    );
}

#[test]
fn ranks_that_do_not_fit_are_named_with_their_numbers() {
    let header = |rest: &str| {
        let line = format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {rest}");
        read(
            "x.txt",
            &format!("{line}\n1\nl -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n"),
        )
        .unwrap()
        .0
    };
    let says = |rest: &str, servers: Servers| program(&header(rest), &servers).unwrap_err().to_string();
    assert_eq!(
        says("8 all_gpus: 16", servers(32)),
        "x.txt:1: all_gpus is 16, and the job has 32 ranks (model_parallel_NPU_group 8): expected as many"
    );
    assert_eq!(
        says("6", servers(32)),
        "x.txt:1: 32 ranks are not a multiple of model_parallel_NPU_group 6, with ep 1: DP would be 5.33"
    );
    assert_eq!(
        says("8 ep: 3", servers(32)),
        "x.txt:1: DP 4 (32 ranks by model_parallel_NPU_group 8) is not a multiple of ep 3: DP_EP would be 1.33"
    );
    assert!(says("8", servers(12)).contains("12 ranks are not whole servers of 8"));
    // Data per rank is bounded before it is allocated.
    let all = u32::MAX - 7;
    let message = says(&format!("8 all_gpus: {all}"), servers(all));
    assert!(
        message.ends_with(&format!("{all} ranks: expected at most 1048576")),
        "{message}"
    );
    let layer = |i: u32| format!("l{i} -1 1 ALLREDUCE {} 1 NONE 0 1 NONE 0 1\n", 100_000 * (i + 1));
    let layers: String = (0..40).map(layer).collect();
    let many = format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2\n40\n{layers}");
    let many = read("x.txt", &many).unwrap().0;
    let message = program(&many, &servers(1 << 20)).unwrap_err().to_string();
    assert!(
        message.contains("one for each group: expected at most 16777216"),
        "{message}"
    );
    assert_eq!(nvls_line(&header("8"), "H100"), Some(3));
    assert_eq!(nvls_line(&header("8"), "A100"), None);
    assert_eq!(nvls_line(&header("4"), "H100"), None);
}

#[test]
fn messages_that_simai_never_ends_are_named() {
    // A message of 9000 B fills its packet: SimAI does not recognise it as the last.
    let text = format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8\n2\nl -1 1 ALLGATHER {} 1 NONE 0 1 NONE 0 1\nm -1 1 \
         ALLGATHER {} 1 NONE 0 1 NONE 0 1\n",
        64 * 9000,
        64 * 9100
    );
    let (workload, _) = read("x.txt", &text).unwrap();
    let (_, cautions) = program(&workload, &servers(32)).unwrap();
    assert_eq!(cautions.len(), 1);
    assert!(
        cautions[0].text.ends_with("here they end: lines 3"),
        "{cautions:?}"
    );
}

/// A truncated or changed workload leads to a program or an error.
#[test]
fn every_prefix_is_a_program_or_an_error() {
    let whole = text("tp16.txt");
    for (end, _) in whole.char_indices() {
        if let Ok((workload, _)) = read("x.txt", &whole[..end]) {
            let _ = program(&workload, &servers(16));
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_a_workload_or_an_error(index in 0_usize..300, by in "[ -~\n]{0,3}") {
        let mut whole = text("tp16.txt");
        let index = index.min(whole.len());
        whole.replace_range(index..(index + 1).min(whole.len()), &by);
        if let Ok((workload, _)) = read("x.txt", &whole) {
            let _ = program(&workload, &servers(16));
        }
    }
}
