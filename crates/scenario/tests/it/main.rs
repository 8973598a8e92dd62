//! Scenario files and inputs of other simulators: readers, errors, defaults.

mod acts;
mod collectives;
mod credits;
mod defaults;
mod errors;
mod generators;
mod hosts;
mod htsim;
mod idle;
mod inherited;
mod inputs;
mod jobs;
mod lanes;
mod models;
mod ns3;
mod rails;
mod ranges;
mod relatives;
mod renamed;
mod round_trip;
mod simai;
mod spec;
mod streams;
mod sweeps;
mod tcd_ns3;
mod thresholds;
