use super::{first, length};

#[test]
fn a_header_is_the_comment_at_the_top() {
    const FILE: &str = "//! One.\n//!\n//! Two: µs.\n\n//! Not this.\nfn f() {}\n";
    assert_eq!(length(FILE), "//! One.\n//!\n//! Two: µs.\n".len());
    assert_eq!(&first::<9>(FILE), b"//! One.\n");
    for (file, bytes) in [("", 0), ("fn f() {}", 0), ("//", 0), ("//!\n", 4), ("//! x", 6)] {
        assert_eq!(length(file), bytes, "{file:?}");
    }
    assert_eq!(&first::<6>("//! x"), b"//! x\n");
}
