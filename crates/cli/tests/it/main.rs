//! The command as a user runs it: help, runs, sweeps, trainings, errors, and what the README and the book say of it.

mod bench;
mod book;
mod common;
mod continual;
mod errors;
mod forests;
mod help;
mod interruptions;
mod killed;
mod plot;
mod printing;
mod readme;
mod recomputed;
mod relatives;
mod reproduce;
mod runs;
mod statistics;
mod structure;
mod sweeps;
mod threads;
mod timeline;
mod training;
mod training_rounds;
mod warnings;
mod why;
mod workloads;
