//! Traces against the answers of the programs that define them.

mod chakra;
mod chakra_damaged;
mod executor;
mod goal;
mod loggops;
