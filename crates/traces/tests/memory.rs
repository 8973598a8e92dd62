//! Memory of readers: at most a multiple of the input's size, plus a constant.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use flate2::Compression;
use flate2::write::GzEncoder;
use paceline_traces::{chakra, goal, simai};

/// System allocator that counts allocated bytes and their peak.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system's allocator unchanged.
#[expect(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let taken = TAKEN.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(taken, Relaxed);
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Relaxed);
        // SAFETY: see above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Constant part of a reader's memory, for any input.
const SMALL: usize = 4 << 20;
/// Constant part for the tree of one JSON node, and for the data that gzip may always decompress to.
const SOME: usize = 128 << 20;

/// Returns `count` nodes separated by commas.
fn joined(count: usize, node: impl Fn(usize) -> String) -> String {
    let nodes: Vec<String> = (0..count).map(node).collect();
    nodes.join(",")
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 127 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Returns empty metadata and nodes with only an id: the largest number of nodes for a file's size.
fn smallest_nodes(count: u64) -> Vec<u8> {
    let mut bytes = vec![0];
    for id in 0..count {
        let mut node = vec![8];
        varint(id, &mut node);
        varint(node.len() as u64, &mut bytes);
        bytes.extend(node);
    }
    bytes
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn read_chakra(bytes: Vec<u8>) {
    let rules = chakra::Options::default();
    let _ = chakra::read_bytes(vec![("x.0.et".into(), bytes)], &rules);
}

/// A single test, since others in parallel would be counted too.
#[test]
fn readers_take_memory_by_what_they_are_given() {
    let mut wrong = String::new();
    let mut check = |what: &str, (factor, small): (usize, usize), bytes: Vec<u8>, read: fn(Vec<u8>)| {
        let size = bytes.len();
        let before = TAKEN.load(Relaxed) - size;
        MOST.store(before, Relaxed);
        read(bytes);
        let took = MOST.load(Relaxed) - before;
        if took > factor * size + small {
            writeln!(wrong, "{what}: {took} bytes for {size}, more than {factor} times").unwrap();
        }
    };
    let long = |k: usize| {
        format!(
            r#"{{"id": "{k}", "name": "op{k}", "type": "COMP_NODE", "durationMicros": "10", "dataDeps": ["{}"],
                "attr": [{{"name": "is_cpu_op", "boolVal": false}}, {{"name": "num_ops", "int64Val": "1000"}}]}}"#,
            k.saturating_sub(1)
        )
    };
    let short = |k: usize| format!(r#"{{"id":{k}}}"#);
    check(
        "JSON, a list",
        (8, SMALL),
        format!("[{}]", joined(30_000, long)).into(),
        read_chakra,
    );
    check(
        "JSON, the shortest nodes",
        (16, SMALL),
        format!("[{}]", joined(300_000, short)).into(),
        read_chakra,
    );
    let nodes = format!(r#"{{"nodes":[{}]}}"#, joined(30_000, long));
    check("JSON, an object", (8, SMALL), nodes.into(), read_chakra);
    let ids = "0,".repeat(1_000_000);
    let one = format!(r#"[{{"id":1,"data_deps":[{}0]}}]"#, ids);
    check("JSON, one node", (8, SOME), one.into(), read_chakra);
    check(
        "protobuf, the shortest nodes",
        (32, SMALL),
        smallest_nodes(300_000),
        read_chakra,
    );
    check("gzip", (100, SOME), zipped(&vec![b' '; 64 << 20]), |bytes| {
        let _ = chakra::unpack("x", bytes, chakra::GZIP_LIMIT);
    });
    let goal: String = (0..100_000).map(|k| format!("l{k}: calc 1\n")).collect();
    let goal = format!("num_ranks 1\nrank 0 {{\n{goal}}}\n");
    check("GOAL, text", (24, SMALL), goal.into(), |bytes| {
        goal::read_bytes("x", &bytes).unwrap();
    });
    let layer = "a\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tNONE\t0\t1\n";
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 8 checkpoints: 0 \
                  checkpoint_initiates: 0\n";
    let layers = format!("{header}{}\n{}", 100_000, layer.repeat(100_000));
    check("SimAI", (16, SMALL), layers.into(), |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        simai::read("x", &text).unwrap();
    });
    assert!(wrong.is_empty(), "\n{wrong}");
}
