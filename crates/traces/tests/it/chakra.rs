//! Chakra traces on the chunks network, compared with ASTRA-sim's results, and decodings compared with another
//! decoder's.

use std::path::{Path, PathBuf};

use paceline_traces::chakra::{
    self, ControlDeps, Metadata, Node, Options, Repair, Scalar, decode, load, read, read_system, rules,
    shared,
};
use paceline_traces::chunks::{Chunks, Links};
use paceline_traces::executor::{Executor, PointRules, Rules, check};
use paceline_traces::program::Program;
use paceline_traces::trouble::Trouble;
use serde_json::{Value, json};

pub(crate) fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(path)
}

/// Returns the prefix of a folder of traces.
fn prefix(trace: &str) -> PathBuf {
    let folder = data("chakra").join(trace);
    let first = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .find(|name| name.ends_with(".0.et"))
        .unwrap();
    folder.join(first.trim_end_matches(".0.et"))
}

fn run(prefix: &Path, options: &Options, rules: Rules, mut network: Chunks) -> Executor {
    let (graph, _) = read(prefix, options).unwrap();
    let program = shared(graph);
    check(&rules, &program).unwrap();
    let mut executor = Executor::new(program, rules);
    network.run(&mut executor).unwrap();
    executor
}

fn ends(executor: &Executor) -> Vec<u64> {
    executor.results().ranks.iter().map(|r| r.end.as_ns()).collect()
}

fn with_system(system: &str) -> Rules {
    let (system, _) = read_system(&data(&format!("chakra/systems/{system}.json"))).unwrap();
    Rules {
        collectives: system.collectives,
        point: PointRules::ASTRA_SIM,
        ..rules()
    }
}

#[test]
fn all_answers_of_astra_sim_are_met_to_the_ns() {
    let mut rows = csv::Reader::from_path(data("chakra/answers.csv")).unwrap();
    let mut count = 0;
    let mut wrong = Vec::new();
    for row in rows.records() {
        let row = row.unwrap();
        let (trace, system, network) = (&row[0], &row[1], &row[2]);
        let links = Links::read(&data(&format!("chakra/networks/{network}"))).unwrap();
        let prefix = prefix(trace);
        let groups = prefix.with_file_name("groups.json");
        let options = Options {
            groups: groups.exists().then_some(groups),
            as_astra_sim: true,
            ..Options::default()
        };
        let network = Chunks::new(links, &row[3] == "aware");
        let executor = run(&prefix, &options, with_system(system), network);
        let expected: Vec<u64> = row[5].split(' ').map(|n| n.parse().unwrap()).collect();
        let got = ends(&executor);
        if got != expected {
            wrong.push(format!(
                "{trace} {system} {}: {got:?}, expected {expected:?}",
                &row[3]
            ));
        }
        assert_eq!(executor.stuck(), []);
        count += 1;
    }
    assert_eq!(count, 48);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_custom_collective_takes_what_astra_sim_says() {
    let links = Links::read(&data("chakra/networks/Ring_8npus.yml")).unwrap();
    let executor = run(
        &prefix("microbenchmarks/all_reduce/8npus_1MB"),
        &Options::default(),
        with_system("custom_collective"),
        Chunks::new(links, true),
    );
    assert_eq!(ends(&executor), [90174; 8]);
    assert_eq!(executor.results().collectives[0].last_end.as_ns(), 90174);
}

fn attributes(list: &[chakra::Attribute<'_>]) -> Value {
    let scalar = |value: &Scalar<'_>| match value {
        Scalar::Real(n) => json!(n),
        Scalar::Int(n) => json!(i64::try_from(*n).unwrap()),
        Scalar::Bool(b) => json!(b),
        Scalar::Text(text) => json!(text),
        Scalar::Bytes(bytes) => json!(bytes),
    };
    list.iter()
        .map(|a| {
            assert!(!matches!(a.values, chakra::Values::List(_)));
            json!({"name": a.name, "type": a.kind, "value": a.values().first().map(scalar)})
        })
        .collect()
}

fn as_json(metadata: &Metadata<'_>, nodes: &[Node<'_>]) -> Value {
    const TYPES: [&str; 8] = [
        "INVALID_NODE",
        "METADATA_NODE",
        "MEM_LOAD_NODE",
        "MEM_STORE_NODE",
        "COMP_NODE",
        "COMM_SEND_NODE",
        "COMM_RECV_NODE",
        "COMM_COLL_NODE",
    ];
    let nodes: Vec<Value> = nodes
        .iter()
        .map(|n| {
            json!({
                "id": n.id,
                "name": n.name,
                "type": TYPES[n.kind as usize],
                "ctrl_deps": n.control,
                "data_deps": n.data,
                "start_time_micros": n.start_us,
                "duration_micros": n.duration_us,
                "attr": attributes(&n.attributes),
            })
        })
        .collect();
    json!({
        "metadata": {"version": metadata.version, "attr": attributes(&metadata.attributes)},
        "nodes": nodes,
    })
}

/// Truncates long texts as in one of the decodings.
fn cut(value: &mut Value, like: &Value) {
    match (value, like) {
        (Value::Object(value), Value::Object(like)) => {
            for (key, value) in value.iter_mut() {
                cut(value, &like[key]);
            }
        }
        (Value::Array(value), Value::Array(like)) => {
            value.iter_mut().zip(like).for_each(|(v, l)| cut(v, l));
        }
        (Value::String(value), Value::String(like)) => {
            if let Some(begin) = like.strip_suffix("...")
                && value.starts_with(begin)
            {
                value.clone_from(like);
            }
        }
        _ => {}
    }
}

#[test]
fn decodings_are_those_of_another_decoder() {
    for (decoding, trace) in [
        (
            "all_reduce_8npus.0",
            "microbenchmarks/all_reduce/8npus_1MB/all_reduce.0.et",
        ),
        (
            "custom_allreduce.3",
            "custom_ring_allreduce_8npus_1MB/custom_allreduce.3.et.gz",
        ),
        ("dag_control_dependency.1", "dags/control_dependency/trace.1.et"),
        ("dag_pipeline.1", "dags/pipeline/trace.1.et"),
        ("dag_random_1.1", "dags/random_1/trace.1.et"),
        ("dag_two_groups.1", "dags/two_groups/trace.1.et"),
    ] {
        let text = std::fs::read_to_string(data(&format!("chakra/json/{decoding}.json"))).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let bytes = load(&data("chakra").join(trace), 1 << 20).unwrap();
        let mut nodes = Vec::new();
        let metadata = decode::<Trouble>(trace, &bytes, |node| {
            nodes.push(node);
            Ok(())
        })
        .unwrap();
        let mut got = as_json(&metadata, &nodes);
        cut(&mut got, &expected);
        assert_eq!(got, expected, "{decoding}");
    }
}

#[test]
fn a_trace_of_pytorch_runs_by_data_alone_and_says_so() {
    let prefix = data("chakra/chakra");
    let (graph, cautions) = read(&prefix, &Options::default()).unwrap();
    assert_eq!(graph.operations(0), 3664);
    let text: Vec<&str> = cautions.iter().map(|c| c.text.as_str()).collect();
    let all = text.join("\n");
    assert!(
        all.contains("All 3664 control dependencies are dropped: 1277 of them"),
        "{all}"
    );
    assert!(all.contains("node 216 on node 3"), "{all}");
    assert!(all.contains("2283 of 3664 nodes"), "{all}");
    assert!(all.contains("1209 kernels have no successor"), "{all}");
    let mut roots = Vec::new();
    graph.roots(0, &mut roots);
    let roots: Vec<String> = roots.iter().map(|&op| graph.name(0, op)).collect();
    for (name, id) in roots.iter().zip([216, 432, 541, 619, 1634]) {
        assert!(name.contains(&format!("node {id} (")), "{name}");
    }
    assert_eq!(roots.len(), 5);

    let links = Links::read(&data("chakra/networks/Ring_4npus.yml")).unwrap();
    let executor = run(&prefix, &Options::default(), rules(), Chunks::new(links, true));
    let results = executor.results();
    let rank = &results.ranks[0];
    assert!(executor.is_done());
    let sum = rank.compute.as_ps() + rank.exposed.as_ps() + rank.waiting.as_ps();
    assert_eq!(sum, rank.end.as_ps());
    // No lane computes longer than the sum of all durations.
    assert!(rank.end.as_ns() <= 381_795_000);

    let chained = Options {
        repair: Repair {
            chain_streams: true,
            ..Repair::default()
        },
        ..Options::default()
    };
    assert!(read(&prefix, &chained).is_ok());
    let kept = Options {
        control_deps: ControlDeps::Keep,
        ..Options::default()
    };
    let trouble = read(&prefix, &kept).unwrap_err().to_string();
    assert!(
        trouble.contains("node 216") && trouble.contains("control parent 3"),
        "{trouble}"
    );
}

#[test]
fn a_run_that_is_forked_ends_as_the_original() {
    let links = Links::read(&data("chakra/networks/Ring_8npus.yml")).unwrap();
    let (graph, _) = read(&prefix("dags/random_1"), &Options::default()).unwrap();
    let mut executor = Executor::new(shared(graph), with_system("rt_template"));
    let mut network = Chunks::new(links, true);
    executor.start(&mut network);
    let mut forks = Vec::new();
    let mut steps = 0;
    while network.step(&mut executor) {
        steps += 1;
        if steps % 1000 == 0 {
            forks.push((executor.clone(), network.clone()));
        }
    }
    assert!(forks.len() > 3);
    for (mut fork, mut network) in forks {
        while network.step(&mut fork) {}
        assert_eq!(ends(&fork), ends(&executor));
        assert_eq!(fork.results().collectives, executor.results().collectives);
    }
}
