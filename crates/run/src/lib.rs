//! A run as plain data: its description ([`spec`]) and its results ([`outcome`]). Code that describes runs or
//! reads results needs no engine.

pub mod made;
pub mod outcome;
pub mod spec;
pub mod stream;
pub mod table;

pub use outcome::Outcome;
pub use spec::RunSpec;
