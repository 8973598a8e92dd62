//! Gives the crate the identity of the code that decides what these simulators do.

#![expect(
    clippy::disallowed_macros,
    reason = "a build script speaks to cargo by printing"
)]

#[path = "../lab/build/identity.rs"]
mod identity;

fn main() {
    identity::emit();
}
