//! Environments: what agents see, do and get, and that policies in them are the schemes.

mod adpg;
mod aurora;
mod common;
mod connections;
mod environment;
mod feedback;
mod folders;
mod policies;
