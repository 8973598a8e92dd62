//! The metrics are those of the reference: from its own lists they make its own numbers.
