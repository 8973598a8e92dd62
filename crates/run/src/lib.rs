//! A run as plain data: what it is told ([`spec`]), and what it leaves behind ([`outcome`]). Whoever describes runs or reads
//! results needs no engine.

pub mod outcome;
pub mod spec;
pub mod stream;
pub mod table;

pub use outcome::Outcome;
pub use spec::RunSpec;
