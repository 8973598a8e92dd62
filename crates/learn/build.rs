//! Gives the crate an identity of the code that affects training results.

#![expect(
    clippy::disallowed_macros,
    reason = "a build script speaks to cargo by printing"
)]

#[path = "../lab/build/identity.rs"]
mod identity;

fn main() {
    identity::emit();
}
