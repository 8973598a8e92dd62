//! Tokens of a Rust source without comments, lifetimes and characters: enough to find the names it uses.

/// Returns the words, strings (with their quotes) and signs of a source; `::` is one sign.
pub(crate) fn tokens(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let length = match first {
            '/' if source[at..].starts_with("//") => line(&source[at..]),
            '/' if source[at..].starts_with("/*") => block(&source[at..]),
            '\'' => quote(&source[at..]),
            '"' => {
                let length = string(&source[at..]);
                tokens.push(&source[at..at + length]);
                length
            }
            ':' if source[at..].starts_with("::") => {
                tokens.push("::");
                2
            }
            _ if is_word(first) => {
                let word = source[at..].split(|c| !is_word(c)).next().unwrap_or_default();
                match raw(word, &source[at + word.len()..]) {
                    Some(length) => word.len() + length,
                    None => {
                        tokens.push(word);
                        word.len()
                    }
                }
            }
            _ => {
                let length = first.len_utf8();
                if !first.is_whitespace() {
                    tokens.push(&source[at..at + length]);
                }
                length
            }
        };
        at += length;
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

/// Returns the length of a block comment, which may contain others.
fn block(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let sign = rest.get(at..at + 2).unwrap_or_default();
        match sign {
            "/*" => depth += 1,
            "*/" => depth -= 1,
            _ => {
                at += rest[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Returns the length of a character literal, or of a lifetime.
fn quote(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let from = at + escaped.len_utf8();
            rest[from..].find('\'').map_or(rest.len(), |end| from + end + 1)
        }
        (_, Some((at, '\''))) => at + 1,
        _ => 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1),
    }
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a string's remainder after a prefix such as `r` or `b`.
fn raw(prefix: &str, rest: &str) -> Option<usize> {
    if ["b", "c"].contains(&prefix) && rest.starts_with('"') {
        return Some(string(rest));
    }
    if prefix == "b" && rest.starts_with('\'') {
        return Some(quote(rest));
    }
    let marks = rest.find(|c| c != '#')?;
    if !["r", "br", "cr"].contains(&prefix) || !rest[marks..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(marks));
    let from = marks + 1;
    Some(
        rest[from..]
            .find(&end)
            .map_or(rest.len(), |at| from + at + end.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn only_words_strings_and_signs_remain() {
        let source = "use a::b; // c::d\n/* e /* f */ g */ fn h<'i>(j: &'i str) -> k { 'l' '\\'' \"m::n\\\"\" r#\"o \"p\"# b'q' }";
        let expected = "use a :: b ; fn h < > ( j : & str ) - > k { \"m::n\\\"\" }";
        assert_eq!(tokens(source).join(" "), expected);
    }
}
