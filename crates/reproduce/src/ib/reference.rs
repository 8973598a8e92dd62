//! Runs of the model that the project carries with it (`validation/ib-omnet`).

use std::io::Read as _;

use flate2::read::GzDecoder;

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../../validation/ib-omnet/", $name))
    };
}

macro_rules! packed {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!("../../../../validation/ib-omnet/trace_", $name, ".csv.gz")))),*]
    };
}

const SUMMARIES: [&str; 2] = [file!("summary_N200.csv"), file!("summary_PUB.csv")];
const ON_OFF: &str = file!("uplink-on-off.csv");
const SINGLE: &str = file!("single-flow.csv");
const FAT_TREE: &[u8] = include_bytes!("../../../../validation/ib-omnet/fat-tree-128-messages-cbfc.csv.gz");

/// Every step of two windows, by run.
const TRACES: &[(&str, &[u8])] = packed!(
    "N200_cbfc_g10" "N200_cbfc_g20" "N200_ibcc_g10" "N200_ibcc_g20" "N200_rrcc_g10" "N200_rrcc_g20"
    "PUB_cbfc_g20" "PUB_ibcc_g20" "PUB_rrcc_g20"
);

/// A number of a table whose first column names the run.
fn value(table: &str, run: &str, metric: &str) -> Option<f64> {
    let mut lines = table.lines();
    let place = lines.next()?.split(',').position(|name| name == metric)?;
    let row = lines.find(|line| line.split(',').next() == Some(run))?;
    row.split(',').nth(place)?.parse().ok()
}

/// A number of a run of the demo.
pub(super) fn demo(run: &str, metric: &str) -> Option<f64> {
    SUMMARIES.iter().find_map(|table| value(table, run, metric))
}

/// A number of how the uplink of a run sends and waits.
pub(super) fn on_off(run: &str, metric: &str) -> Option<f64> {
    value(ON_OFF, run, metric)
}

/// One flow's throughput, in Gbit/s, by the period in us and the packets that buffers hold.
pub(super) fn single(period: f64, buffer: u32) -> Option<f64> {
    let rows = SINGLE.lines().map(|line| line.split(',').map(str::parse::<f64>));
    let mut rows = rows.filter_map(|row| row.collect::<Result<Vec<f64>, _>>().ok());
    rows.find(|row| row[0] == period && row[1] == f64::from(buffer))
        .map(|row| row[3])
}

/// The steps of a run, as lines.
pub(super) fn trace(run: &str) -> Option<String> {
    let (_, packed) = TRACES.iter().find(|(name, _)| *name == run)?;
    unpacked(packed)
}

/// The messages of the fat tree of 128 hosts under credits alone, as lines.
pub(super) fn fat_tree() -> Option<String> {
    unpacked(FAT_TREE)
}

fn unpacked(packed: &[u8]) -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).ok()?;
    Some(text)
}
