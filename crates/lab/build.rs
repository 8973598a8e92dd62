//! Compiles the hash of the code that decides results into the crate.

fn main() {
    paceline_identity::emit();
}
