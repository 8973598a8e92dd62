//! Runs of the model of RRCC's author that the project has, step by step and message by message.

mod equal;
mod reference;
mod steps;

pub(super) use equal::EQUAL;
pub(super) use steps::STEPS;
