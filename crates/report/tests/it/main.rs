//! Folders and pages of real runs.

mod common;
mod runs;
mod scripts;
mod streams;
