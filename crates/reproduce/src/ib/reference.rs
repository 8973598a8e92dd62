//! Runs of the model that the project carries with it (`validation/ib-omnet`).

use std::io::Read as _;

use flate2::read::GzDecoder;

macro_rules! packed {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!("../../../../validation/ib-omnet/trace_", $name, ".csv.gz")))),*]
    };
}

const FAT_TREE: &[u8] = include_bytes!("../../../../validation/ib-omnet/fat-tree-128-messages-cbfc.csv.gz");

/// Every step of two windows, by run.
const TRACES: &[(&str, &[u8])] = packed!(
    "N200_cbfc_g10" "N200_cbfc_g20" "N200_ibcc_g10" "N200_ibcc_g20" "N200_rrcc_g10" "N200_rrcc_g20"
    "PUB_cbfc_g20" "PUB_ibcc_g20" "PUB_rrcc_g20"
);

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
