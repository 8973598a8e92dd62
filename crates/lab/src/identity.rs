//! Which code a result comes from.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::OnceLock;

use paceline_congestion::registry::has_additions;

/// The version of this program with the identity of its code: `0.1.0+3f9a2c1b`.
///
/// The digits are a hash of the sources that decide results, so the same code has the same identity on every host and in
/// every profile. A program with schemes of its own adds a hash of its executable: `0.1.0+3f9a2c1b.90c4d1e7`.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let version = concat!(env!("CARGO_PKG_VERSION"), "+", env!("PACELINE_CODE"));
        match has_additions().then(executable) {
            None => version.to_string(),
            Some(Ok(hash)) => format!("{version}.{hash:08x}"),
            // Results of this process then fit those of no other.
            Some(Err(_)) => format!("{version}.process-{}", std::process::id()),
        }
    })
}

/// The release alone: `0.1.0` of `0.1.0+3f9a2c1b`.
pub fn release(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}

/// A hash of the program's own file.
fn executable() -> io::Result<u32> {
    // By this name it is there even when it has been replaced meanwhile.
    let file = File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?));
    let mut file = file?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
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
            return Ok((hash >> 32) as u32 ^ hash as u32);
        }
    }
}

/// One step of a hash over words: every bit of a word moves many of the result.
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
