//! Scenario files and inputs of other simulators: readers, errors, defaults.

mod acts;
mod bursts;
mod collectives;
mod defaults;
mod errors;
mod extents;
mod generators;
mod hosts;
mod htsim;
mod idle;
mod inference;
mod infragraph;
mod inherited;
mod inputs;
mod jobs;
mod lanes;
mod library_collectives;
mod links;
mod model_jobs;
mod models;
mod names;
mod ns3;
mod offered;
mod planes;
mod policies;
mod rails;
mod ranges;
mod relatives;
mod round_trip;
mod simai;
mod spec;
mod streams;
mod sweeps;
mod thresholds;
mod time_constants;
mod vendor_values;
mod vendors;

/// Adds the simulators that a program has, before anything is looked up.
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
