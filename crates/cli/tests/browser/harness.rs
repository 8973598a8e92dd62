//! Tests of the harness: errors of a page are noticed.

use std::fs;

use crate::devtools::Browser;

use crate::{Page, Test};

pub(crate) const TESTS: &[Test] = &[
    ("misbehaviour_is_noticed", misbehaviour_is_noticed),
    ("the_hand_is_felt", the_hand_is_felt),
];

fn misbehaviour_is_noticed(browser: &Browser) {
    let folder = tempfile::tempdir().expect("a folder");
    let complaints = |body: &str| {
        let file = folder.path().join("page.html");
        fs::write(&file, format!("<!DOCTYPE html><meta charset=utf-8>{body}")).expect("a page");
        let mut page = Page::open(browser, &file);
        page.wait_for("document.readyState === 'complete'");
        page.complaints()
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(complaints("<script>console.log('all is well')</script>"), none);
    let cases = [
        ("<script>console.error('one', 2)</script>", "console: one 2"),
        ("<script>throw new Error('thrown')</script>", "Error: thrown"),
        (
            "<script>Promise.reject(new Error('left alone'))</script>",
            "Error: left alone",
        ),
        (
            "<img src='http://127.0.0.1:9/pixel.png'>",
            "asked for http://127.0.0.1:9/pixel.png",
        ),
        (
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><script>1</script>",
            "Content Security Policy",
        ),
    ];
    for (body, expected) in cases {
        let found = complaints(body);
        assert!(
            found.iter().any(|text| text.contains(expected)),
            "{body}: {found:?}"
        );
    }
}

fn the_hand_is_felt(browser: &Browser) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    let body = "<!DOCTYPE html><meta charset=utf-8><p style='height:3000px'></p>\
        <input id=i type=range min=0 max=9 value=0><b id=b>here</b><script>const felt = [];\
        i.oninput = () => felt.push('input ' + i.value); b.onmouseover = () => felt.push('over');\
        b.onclick = () => felt.push('click');</script>";
    fs::write(&file, body).expect("a page");
    let page = Page::open(browser, &file);
    page.set("i", "7");
    page.hover("b");
    page.wait_for("felt.includes('over')");
    page.click("b");
    page.wait_for("felt.includes('click')");
    assert_eq!(page.text("felt.join()"), "input 7,over,click");
    page.close();
}
