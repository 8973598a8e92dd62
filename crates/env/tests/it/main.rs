//! Environments: observations, actions and rewards of agents, and agreement of their policies with the
//! schemes.

mod adpg;
mod aurora;
mod common;
mod connections;
mod environment;
mod feedback;
mod folders;
mod policies;
