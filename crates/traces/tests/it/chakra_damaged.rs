//! Chakra traces that are damaged, or that might hang.

use std::io::Read as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use paceline_traces::chakra::{Options, Repair, read, read_bytes, rules, shared};
use paceline_traces::check::check;
use paceline_traces::chunks::{Chunks, Links};
use paceline_traces::executor::Executor;

use crate::chakra::data;

fn trouble(trace: &str, options: &Options) -> String {
    let trouble = read(&data("damaged/chakra").join(trace).join("trace"), options).unwrap_err();
    trouble.to_string()
}

fn ends(prefix: &Path, options: &Options) -> (Vec<u64>, Vec<String>) {
    let (graph, cautions) = read(prefix, options).unwrap();
    let mut executor = Executor::new(shared(graph), rules());
    let links = Links::read(&data("chakra/networks/Ring_4npus.yml")).unwrap();
    Chunks::new(links, true).run(&mut executor).unwrap();
    let ends = executor.results().ranks.iter().map(|r| r.end.as_ns()).collect();
    (ends, cautions.into_iter().map(|c| c.text).collect())
}

#[test]
fn a_dependency_on_a_node_that_is_not_there() {
    let text = trouble("dangling_dependency", &Options::default());
    assert!(
        text.contains("trace.0.et: node 1 (comp): waits for node 99"),
        "{text}"
    );
    let options = Options {
        repair: Repair {
            drop_missing: true,
            ..Repair::default()
        },
        ..Options::default()
    };
    let prefix = data("damaged/chakra/dangling_dependency/trace");
    let (ends, cautions) = ends(&prefix, &options);
    assert!(ends.iter().all(|&e| e > 5000));
    assert!(cautions[0].contains("1 data dependencies"), "{cautions:?}");
}

#[test]
fn a_collective_of_nothing() {
    let prefix = data("damaged/chakra/zero_size_collective/trace");
    let (ends, cautions) = ends(&prefix, &Options::default());
    assert_eq!(ends, [5000; 4]);
    assert_eq!(cautions.len(), 1);
    for rank in 0..4 {
        assert!(
            cautions[0].contains(&format!("trace.{rank}.et: node 1")),
            "{cautions:?}"
        );
    }
}

#[test]
fn a_collective_that_a_member_takes_no_part_in() {
    let prefix = data("damaged/chakra/missing_partner/trace");
    let (graph, _) = read(&prefix, &Options::default()).unwrap();
    let errors = check(&graph, u64::MAX).errors;
    assert!(
        errors[0].contains("collective 2 of group 0")
            && errors[0].contains("rank 0 has all-reduce of 1048576 bytes")
            && errors[0].contains("rank 1 takes no part"),
        "{errors:?}"
    );
}

#[test]
fn every_prefix_of_a_trace_is_an_error_or_a_value() {
    for path in [
        "chakra/microbenchmarks/all_reduce/8npus_1MB/all_reduce.0.et",
        "chakra/dags/random_1/trace.1.et",
        "chakra/dags/pipeline/trace.1.et",
    ] {
        let bytes = std::fs::read(data(path)).unwrap();
        for end in 0..=bytes.len() {
            let _ = read_bytes(
                vec![("x.0.et".into(), bytes[..end].to_vec())],
                &Options::default(),
            );
        }
        // Flips each bit in turn.
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[index] ^= 1 << bit;
                let _ = read_bytes(vec![("x.0.et".into(), damaged)], &Options::default());
            }
        }
    }
}

#[test]
fn gzip_that_is_cut_off_or_a_bomb() {
    let bytes = std::fs::read(data("chakra/chakra.0.et.gz")).unwrap();
    let cut = vec![("x.0.et".to_string(), bytes[..bytes.len() / 2].to_vec())];
    let text = read_bytes(cut, &Options::default()).unwrap_err().to_string();
    assert!(text.contains("cut off"), "{text}");
    let options = Options {
        gzip_limit: 1_000_000,
        ..Options::default()
    };
    let whole = vec![("x.0.et".to_string(), bytes)];
    let text = read_bytes(whole, &options).unwrap_err().to_string();
    assert!(text.contains("unpack to more than 1000000,"), "{text}");
    // Zeros compress to a thousandth, which no real trace does.
    let zeros = |len: u64| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        std::io::copy(&mut std::io::repeat(b' ').take(len), &mut packed).unwrap();
        vec![("x.0.json".to_string(), packed.finish().unwrap())]
    };
    let text = read_bytes(zeros(32 << 20), &Options::default())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("unpack to more than 16777216, the most for a file of this size"),
        "{text}"
    );
    let text = read_bytes(zeros(8 << 20), &Options::default());
    assert!(!text.is_err_and(|error| error.to_string().contains("unpack")));
}
