//! Output of `paceline bench`.

use crate::common::stdout;

#[test]
fn speed_is_measured_in_processes_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "bench",
        "--quick",
        "--only",
        "incast-20",
        "--runs",
        "2",
        "--json",
        "-q",
    ];
    let rows: serde_json::Value = serde_json::from_str(&stdout(folder.path(), &args)).unwrap();
    assert_eq!(rows[0]["workload"], "incast-20");
    assert_eq!(rows[0]["runs"], 2);
    assert!(rows[0]["packet_hops"].as_u64() > Some(100_000));
    assert!(rows[0]["events"].as_u64() > rows[0]["packet_hops"].as_u64());
}

#[test]
fn cost_is_measured_by_flows_and_by_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["bench", "--scale", "--quick", "--json", "-q"];
    let rows: serde_json::Value = serde_json::from_str(&stdout(folder.path(), &args)).unwrap();
    let of = |row: usize, key: &str| rows[row][key].as_u64().unwrap();
    // Ten times as many flows keep about as many in memory.
    assert!(of(1, "flows") > 9_000 && of(2, "flows") > 90_000);
    assert!(of(2, "packet_hops") > 9 * of(1, "packet_hops"));
    assert!(of(2, "flows_held") < 2 * of(1, "flows_held"));
    // The same flows as `paceline run` executes them, with default records.
    assert_eq!(rows[3]["name"], "run-100000");
    assert_eq!(of(3, "packet_hops"), of(2, "packet_hops"));
    assert_eq!((of(4, "hosts"), of(5, "hosts")), (128, 1024));
    assert!(of(5, "packet_hops") > of(5, "flows") * 64 * 2);
    // Flows of one host: one packet and one acknowledgement each, over two links.
    assert_eq!([6, 7, 8].map(|row| of(row, "flows")), [10_000, 20_000, 40_000]);
    assert_eq!(
        [6, 7, 8].map(|row| of(row, "packet_hops")),
        [40_000, 80_000, 160_000]
    );
}
