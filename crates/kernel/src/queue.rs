//! The pending event set.
