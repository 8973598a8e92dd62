//! SimAI's workloads (aliyun/SimAI@f5efb5a, as AICB writes them): layers of a transformer, and the operations of
//! ranks for them.
//!
//! All ranks execute the same operations in their groups, so a program holds the layers once, regardless of the
//! number of ranks.

mod groups;
mod header;
mod program;
mod workload;

pub use groups::{GroupKind, Groups};
pub use header::{Header, POLICY};
pub use program::{Servers, SimaiProgram, nvls_line, program};
pub use workload::{Layer, Phase, Workload, read};
