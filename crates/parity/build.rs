//! Gives the crate the identity of the code that decides what these simulators do.

fn main() {
    paceline_identity::emit();
}
