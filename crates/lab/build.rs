//! Compiles the hash of the code that decides results into the crate.

#![expect(
    clippy::disallowed_macros,
    reason = "a build script speaks to cargo by printing"
)]

#[path = "build/identity.rs"]
mod identity;

fn main() {
    identity::emit();
}
