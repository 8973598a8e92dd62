//! Secrets from the operating system's random numbers.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};

/// Bytes of a secret: 256 bits.
const BYTES: usize = 32;

/// Returns a new secret as hexadecimal digits.
///
/// # Errors
/// The operating system has no random numbers.
pub(crate) fn secret() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    if cfg!(unix) {
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    } else {
        // The keys of a new state are random numbers of the system.
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        }
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares a secret with a guess in a time that does not depend on where they differ.
pub(crate) fn same(secret: &str, guess: &str) -> bool {
    let differ = secret
        .bytes()
        .zip(guess.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    secret.len() == guess.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ() {
        let (a, b) = (secret().unwrap(), secret().unwrap());
        assert_eq!(a.len(), 2 * BYTES);
        assert!(a != b && same(&a, &a) && !same(&a, &b));
        assert!(!same(&a, "") && !same(&a, &a[1..]) && !same(&a, &format!("{a}0")));
    }
}
