//! Interaction with the topology view: keys, clicks, search and magnifier.

use crate::devtools::Browser;

use crate::page::Theme;
use crate::{Page, Test, pages};

pub(crate) const TESTS: &[Test] = &[
    (
        "the_view_starts_at_the_longest_queue",
        starts_at_the_longest_queue,
    ),
    ("keys_step_and_play", keys),
    ("a_click_on_a_link_shows_its_series", link_series),
    ("a_click_on_a_flow_shows_where_its_time_went", flow_time),
    ("the_search_knows_sources_and_destinations", flows_found),
    ("the_view_zooms_and_pans", zooms),
];

/// Entity name of the port to the receiver of the run's incast.
const PORT: &str = "port 0.9->9";

fn open(browser: &Browser) -> Page {
    let page = Page::open_in(browser, &pages::run().join("report.html"), Theme::Light);
    page.wait_for("window.paceline && paceline.frames() > 100");
    page
}

/// Returns the picture after the next frame.
fn drawn(page: &Page) -> String {
    page.eval("window.painted = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = true; }))");
    page.wait_for("painted");
    page.text("document.getElementById('topology-canvas').toDataURL()")
}

/// Returns the position of a port in the window.
fn place(page: &Page, port: &str) -> (f64, f64) {
    let canvas = page.place("document.getElementById('topology-canvas')");
    let part = |axis: &str| page.number(&format!("paceline.portAt('{port}').{axis}"));
    (canvas.left + part("x"), canvas.top + part("y"))
}

fn key(page: &Page, key: &str) {
    page.eval(&format!(
        "document.getElementById('topology-canvas').dispatchEvent(\
         new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true, cancelable: true }}))"
    ));
}

fn starts_at_the_longest_queue(browser: &Browser) {
    let page = open(browser);
    let most = pages::data(&pages::run()).summary.queue_bytes.max as f64;
    let shown = page.number(&format!("paceline.valueOf('{PORT}', 'queue', paceline.frame())"));
    assert!((shown - most).abs() <= most / 65_000.0, "{shown} of {most}");
    assert_eq!(page.text("paceline.metric()"), "queue");
    page.close();
}

fn keys(browser: &Browser) {
    let page = open(browser);
    key(&page, "Home");
    assert_eq!(page.number("paceline.frame()"), 0.0);
    key(&page, "ArrowRight");
    key(&page, "ArrowRight");
    key(&page, "ArrowLeft");
    assert_eq!(page.number("paceline.frame()"), 1.0);
    key(&page, " ");
    page.wait_for("paceline.frame() > 3");
    key(&page, " ");
    let stopped = page.number("paceline.frame()");
    drawn(&page);
    assert_eq!(page.number("paceline.frame()"), stopped);
    page.click("document.getElementById('topology-play')");
    page.wait_for(&format!("paceline.frame() > {stopped}"));
    key(&page, "End");
    page.wait_for("document.getElementById('topology-play').getAttribute('aria-pressed') === 'false'");
    page.close();
}

fn link_series(browser: &Browser) {
    let page = open(browser);
    key(&page, "Escape");
    let charts = "document.querySelectorAll('#topology-detail .u-wrap').length";
    page.wait_for(&format!("{charts} === 0"));
    let (x, y) = place(&page, PORT);
    page.drag(x, x, y);
    page.wait_for(&format!("{charts} >= 2"));
    let title = page.text("document.querySelector('#topology-detail h3').textContent");
    assert!(title.starts_with("leaf 0 ⇄ host 9"), "{title}");
    // A click in a chart moves to that time.
    let before = page.number("paceline.frame()");
    page.click("document.querySelector('#topology-detail .u-over')");
    page.wait_for(&format!("paceline.frame() !== {before}"));
    page.close();
}

fn flow_time(browser: &Browser) {
    let page = open(browser);
    let before = drawn(&page);
    page.click("document.querySelector('#flow-rows tr button')");
    page.wait_for("document.querySelectorAll('#topology-detail .stack i').length >= 3");
    assert!(drawn(&page) != before, "the flow's way is drawn");
    // The parts add up to the whole time.
    let sum = page.number(
        "[...document.querySelectorAll('.parts tr')].reduce((s, r) => s + parseFloat(r.lastChild.textContent), 0)",
    );
    assert!((sum - 100.0).abs() < 1.0, "{sum} %");
    let data = pages::data(&pages::run());
    let slowest = data
        .flows
        .rows()
        .max_by(|a, b| a.slowdown.unwrap_or(0.0).total_cmp(&b.slowdown.unwrap_or(0.0)));
    let id = slowest.expect("a flow").flow_id;
    let title = page.text("document.querySelector('#topology-detail h3').textContent");
    assert!(title.starts_with(&format!("Flow {id}: ")), "{title}");
    page.picture("topology-account", true);
    page.close();
}

fn flows_found(browser: &Browser) {
    let page = open(browser);
    let rows = "document.querySelectorAll('#flow-rows tr').length";
    assert_eq!(page.number(rows), 8.0);
    for (text, found) in [
        ("3>9", 1.0),
        ("3>", 1.0),
        (">9", 8.0),
        ("onerror", 8.0),
        ("nobody", 0.0),
    ] {
        page.set("document.getElementById('flow-find')", text);
        assert_eq!(page.number(rows), found, "{text}");
    }
    page.close();
}

fn zooms(browser: &Browser) {
    let page = open(browser);
    let whole = drawn(&page);
    page.click("document.getElementById('topology-in')");
    let near = drawn(&page);
    assert!(near != whole);
    let canvas = page.place("document.getElementById('topology-canvas')");
    let middle = (canvas.left + canvas.width / 2.0, canvas.top + canvas.height / 2.0);
    page.drag(middle.0, middle.0 + 80.0, middle.1);
    assert!(drawn(&page) != near);
    page.click("document.getElementById('topology-fit')");
    page.move_to(2.0, 2.0);
    assert!(drawn(&page) == whole);
    page.close();
}
