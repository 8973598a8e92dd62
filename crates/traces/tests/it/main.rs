//! Traces against the answers of the programs that define them.

mod chakra;
mod chakra_damaged;
mod goal;
mod loggops;
