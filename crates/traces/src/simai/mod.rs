//! SimAI's workloads (aliyun/SimAI@f5efb5a, as AICB writes them): layers of a transformer, and what ranks do with them.
//!
//! All ranks do the same, in groups of their own, so that a program holds the layers once, whatever the number of ranks.

mod groups;
mod header;
mod program;
mod workload;

pub use groups::{GroupKind, Groups};
pub use header::{Header, POLICY};
pub use program::{Servers, SimaiProgram, nvls_line, program};
pub use workload::{Layer, Phase, Workload, read};
