//! Gives the crate an identity of the code that affects training results.

fn main() {
    paceline_identity::emit();
}
