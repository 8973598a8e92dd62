//! Traces on the samples of their programs.

mod goal;
mod loggops;
