//! What the tables of the thesis share.

use super::need::Input;
use super::reference::INCAST_20;

/// The publication.
pub(super) const SOURCE: &str = "a thesis on congestion control by neural networks";

/// Its incast: the flows, and the network, of the reference run.
pub(super) const INCAST: Input = Input::Reference(&INCAST_20);

/// The schemes of its incast that are built.
pub(super) const INCAST_SCHEMES: [&str; 3] = ["hpcc", "timely", "dctcp"];

/// Seeds of its network of 320 hosts. The thesis drew 34 incasts where 26.67 were expected, and the
/// tail of the slowdowns hangs on their number: these are the first three seeds, counting from 1,
/// that draw 34.
pub(super) const DRAWS: [u64; 3] = [4, 8, 37];

/// Its network of 320 hosts with the flows of a seed.
pub(super) const fn fat(seed: u64) -> Input {
    Input::Shipped("fat320-hadoop30-10ms", seed)
}

/// Why columns of the thesis's own scheme have no values of ours.
pub(super) const NOT_BUILT: &str = "\
The scheme of the thesis (an LSTM that predicts round-trip times, with a PID controller) is not built \
yet: its columns show what was printed and nothing of ours. The columns of HPCC, TIMELY and DCTCP, which \
the thesis does not have in this table, are what there is to measure it against.";
