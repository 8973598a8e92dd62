//! Identity of the code that computed a result.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::OnceLock;

use paceline_scenario::guest::{self, AddedCode};

/// Returns the version of this program with the identity of its code: `0.1.0+3f9a2c1b`.
///
/// The digits are a hash of the sources that decide results, including those that an embedding program adds, so the
/// same code has the same identity on every host and in every profile. If an added part, such as a user's scheme, has
/// no hash, a hash of the executable follows: `0.1.0+3f9a2c1b.90c4d1e7`.
pub fn version() -> &'static str {
    const RELEASE: &str = env!("CARGO_PKG_VERSION");
    const CODE: &str = env!("PACELINE_CODE");
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| match guest::code() {
        AddedCode::None => format!("{RELEASE}+{CODE}"),
        AddedCode::Known(added) => format!("{RELEASE}+{}", with_added(CODE, added)),
        AddedCode::Unknown => match executable() {
            Ok(hash) => format!("{RELEASE}+{CODE}.{hash:08x}"),
            // Results of this process then fit those of no other.
            Err(_) => format!("{RELEASE}+{CODE}.process-{}", std::process::id()),
        },
    })
}

/// Returns the release alone: `0.1.0` of `0.1.0+3f9a2c1b`.
pub fn release(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}

/// Hashes the program's own file.
fn executable() -> io::Result<u32> {
    // This path leads to the running program even if its file has been replaced.
    let file = File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?));
    let mut file = file?;
    let mut hash = BEGIN;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        let (words, rest) = buffer[..filled].as_chunks::<8>();
        for word in words {
            hash = mixed(hash, u64::from_le_bytes(*word));
        }
        for &byte in rest {
            hash = mixed(hash, u64::from(byte));
        }
        if filled < buffer.len() {
            return Ok(folded(hash));
        }
    }
}

const BEGIN: u64 = 0xcbf2_9ce4_8422_2325;

/// Combines the identity of code with that of an addition.
#[doc(hidden)]
pub fn with_added(code: &str, added: &str) -> String {
    let bytes = code.bytes().chain(added.bytes());
    let hash = bytes.fold(BEGIN, |hash, byte| mixed(hash, byte.into()));
    format!("{:08x}", folded(hash))
}

const fn folded(hash: u64) -> u32 {
    (hash >> 32) as u32 ^ hash as u32
}

/// Mixes a word into a hash; every bit of the word changes many of the result.
fn mixed(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_names_its_code() {
        let (number, code) = version().split_once('+').unwrap();
        assert_eq!((number, release(version())), (env!("CARGO_PKG_VERSION"), number));
        assert!(
            code.len() == 8 && code.bytes().all(|c| c.is_ascii_hexdigit()),
            "{code}"
        );
        assert_eq!(executable().unwrap(), executable().unwrap());
    }
}
