//! How much of a run is the same in a run of the model that the project has, step by step or message by message.

mod equal;
mod reference;
mod steps;

pub(crate) use equal::EQUAL;
pub(crate) use steps::STEPS;
