//! Folders and pages of real runs.

mod common;
mod recorders;
mod runs;
mod scripts;
mod streams;
