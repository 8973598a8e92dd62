//! Parts of a file that a request asks for (RFC 9110, section 14).

/// Part of a file of a known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The whole file: no part was asked for, or several, or something else than bytes.
    All,
    /// Bytes from the first number up to, but without, the second.
    Bytes(u64, u64),
    /// A part that begins after the end of the file.
    Outside,
}

/// Returns the part of a file of `size` bytes that the header `Range` asks for.
pub(crate) fn part(header: Option<&str>, size: u64) -> Part {
    let Some((first, last)) = header
        .and_then(|text| text.strip_prefix("bytes="))
        .and_then(|one| one.split_once('-'))
    else {
        return Part::All;
    };
    let number = |text: &str| -> Option<u64> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // More digits than fit are a number beyond every file.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (number(first.trim()), number(last.trim())) {
        (Some(first), Some(last)) if first > last => Part::All,
        (Some(first), _) if first >= size && (last.trim().is_empty() || number(last.trim()).is_some()) => {
            Part::Outside
        }
        (Some(first), Some(last)) => Part::Bytes(first, last.saturating_add(1).min(size)),
        (Some(first), None) if last.trim().is_empty() => Part::Bytes(first, size),
        (None, Some(count)) if first.trim().is_empty() => match count.min(size) {
            0 => Part::Outside,
            count => Part::Bytes(size - count, size),
        },
        _ => Part::All,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns what a part means for a file, byte by byte.
    fn bytes(file: &[u8], part: Part) -> Option<Vec<u8>> {
        match part {
            Part::All => Some(file.to_vec()),
            Part::Bytes(from, to) => Some(file[from as usize..to as usize].to_vec()),
            Part::Outside => None,
        }
    }

    proptest! {
        #[test]
        fn a_range_is_a_slice(file in prop::collection::vec(any::<u8>(), 0..40), a in 0usize..50, b in 0usize..50) {
            let size = file.len() as u64;
            let of = |text: String| bytes(&file, part(Some(&text), size));
            let slice = |from: usize, to: usize| file.get(from..to.min(file.len())).filter(|part| !part.is_empty());
            let expected = match a > b {
                true => Some(file.clone()),
                false => slice(a, b + 1).map(<[u8]>::to_vec),
            };
            prop_assert_eq!(of(format!("bytes={a}-{b}")), expected);
            prop_assert_eq!(of(format!("bytes={a}-")), slice(a, file.len()).map(<[u8]>::to_vec));
            let last = slice(file.len().saturating_sub(a), file.len());
            prop_assert_eq!(of(format!("bytes=-{a}")), last.map(<[u8]>::to_vec));
        }

        #[test]
        fn no_text_breaks_it(text in ".{0,20}|bytes=[-0-9, ]{0,30}", size in 0..100u64) {
            if let Part::Bytes(from, to) = part(Some(&text), size) {
                prop_assert!(from < to && to <= size);
            }
        }
    }

    #[test]
    fn others_get_the_whole_file() {
        for text in [
            "bytes=0-1,3-4",
            "items=0-1",
            "bytes=a-1",
            "bytes=1",
            "bytes=-",
            "",
        ] {
            assert_eq!(part(Some(text), 9), Part::All, "{text}");
        }
        assert_eq!(part(None, 9), Part::All);
        assert_eq!(part(Some("bytes=99999999999999999999-"), 9), Part::Outside);
    }
}
