//! Measures of equality with the stored runs of the OMNeT++ model, step by step or message by message.

mod equal;
mod reference;
mod steps;

pub(crate) use equal::EQUAL;
pub(crate) use steps::STEPS;
