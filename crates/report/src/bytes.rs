//! Encoding of numbers as bytes, and of bytes as text, for the scripts of pages.

/// Appends a number with seven bits per byte, the low ones first; all bytes but the last have the high bit set.
pub(super) fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Encodes bytes as base64 (RFC 4648, with padding).
pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let byte = |i: usize| u32::from(part.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            // N bytes fill N + 1 letters; padding stands for the rest.
            text.push(if i <= part.len() {
                char::from(LETTERS[(word >> (18 - 6 * i) & 63) as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Decodes a text encoded by [`base64`].
    pub(crate) fn unbase64(text: &str) -> Vec<u8> {
        let value = |letter: u8| match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let mut bytes = Vec::new();
        for part in text.as_bytes().chunks(4) {
            let letters = part.iter().filter(|&&letter| letter != b'=').count();
            let bits = |word, &letter| word << 6 | u32::from(value(letter));
            // Moves an incomplete group to where a whole one would be: the lower 24 bits carry the data.
            let word = part[..letters].iter().fold(0u32, bits) << (6 * (4 - letters));
            bytes.extend_from_slice(&word.to_be_bytes()[1..letters]);
        }
        bytes
    }

    #[test]
    fn base64_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(
            texts,
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]
        );
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
        assert_eq!(unbase64("+/8="), [0xfb, 0xff]);
        assert_eq!(unbase64("Zm9vYmE="), b"fooba");
    }

    #[test]
    fn numbers_of_several_bytes() {
        let mut bytes = Vec::new();
        [0, 127, 128, 300, u64::MAX]
            .iter()
            .for_each(|&number| varint(&mut bytes, number));
        assert_eq!(bytes[..6], [0, 127, 128, 1, 172, 2]);
        assert_eq!((bytes.len(), bytes[15]), (16, 1));
    }
}
