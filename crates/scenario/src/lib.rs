//! Paceline.
