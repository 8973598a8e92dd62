//! Export of charts as files, and pages of runs in narrow windows.

use crate::devtools::Browser;
use serde_json::Value;

use crate::report::view;
use crate::{Page, Test, pages};

pub(crate) const TESTS: &[Test] = &[
    ("a_chart_is_saved_with_its_data", a_chart_is_saved),
    ("key_figures_leave_no_holes", no_holes),
    ("names_of_hosts_do_not_overprint", names_of_hosts),
    ("a_deadlock_is_outlined", a_deadlock),
];

const TITLE: &str = "Queues of the busiest ports";
/// JavaScript function that labels an axis, sufficient for the tests.
const LABEL: &str = "(axis) => axis.label";

fn a_chart_is_saved(browser: &Browser) {
    let page = Page::open(browser, &pages::run().join("report.html"));
    let charts = page.number("document.querySelectorAll('#charts figure').length");
    assert_eq!(
        page.number("document.querySelectorAll('#charts button.save').length"),
        2.0 * charts
    );
    // The table has the recorded values: its maximum equals the maximum of the series.
    let csv = page.text(&format!("Paceline.files.csv({}, {LABEL})", view(TITLE)));
    let values = csv
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').nth(2).unwrap().parse::<f64>().unwrap());
    let data = pages::data(&pages::run());
    let queues = data.series.iter().filter(|series| series.metric == "queue_bytes");
    let largest = queues
        .flat_map(|series| &series.points)
        .map(|point| point.1)
        .fold(0.0, f64::max);
    let got = values.fold(0.0, f64::max);
    let size = if largest < 1e6 { 1e3 } else { 1e6 };
    assert!(
        (got * size - largest).abs() < largest * 1e-4,
        "{got} and {largest} B"
    );
    // The picture is well-formed and has one path per line.
    let svg = format!("Paceline.files.svg({}, {LABEL}, [[], [], [], []])", view(TITLE));
    let parsed = format!("new DOMParser().parseFromString({svg}, 'image/svg+xml')");
    assert_eq!(
        page.number(&format!("{parsed}.getElementsByTagName('parsererror').length")),
        0.0
    );
    let lines = page.number(&format!("{}.chart.lines.length", view(TITLE)));
    let paths = format!("{parsed}.querySelectorAll('path[stroke-width=\"1.75\"]').length");
    assert_eq!(page.number(&paths), lines);
    page.close();
}

fn no_holes(browser: &Browser) {
    let page = Page::open(browser, &pages::run().join("report.html"));
    for width in [1280, 800, 500] {
        page.screen(width, 900);
        // Each row of tiles ends at the right edge of the strip.
        let ends = "{ const strip = document.querySelector('.tiles').getBoundingClientRect(); \
            const rows = new Map(); \
            for (const tile of document.querySelectorAll('.tile')) { \
              const r = tile.getBoundingClientRect(); \
              rows.set(Math.round(r.top), Math.max(rows.get(Math.round(r.top)) ?? 0, r.right)); } \
            Math.max(...[...rows.values()].map((right) => strip.right - right)) }";
        let gap = page.number(ends);
        assert!(gap < 3.0, "{width}: {gap} points are empty");
        page.picture(&format!("tiles-{width}"), false);
    }
    page.close();
}

fn names_of_hosts(browser: &Browser) {
    let page = Page::open(browser, &pages::run().join("report.html"));
    for width in [1280, 500] {
        page.screen(width, 900);
        let overlaps = "{ const drawn = []; const pen = Paceline.picture.canvas.getContext('2d'); \
            const was = pen.fillText; \
            pen.fillText = function (text, x, y) { drawn.push([x, y, pen.measureText(text).width]); \
              return was.call(this, text, x, y); }; \
            Paceline.picture.paint({ frame: 0, metric: 'queue', hover: null, path: [], port: null, flow: null }); \
            delete pen.fillText; \
            drawn.filter(([x, y, w], i) => drawn.some(([p, q, v], k) => k > i && Math.abs(q - y) < 9 && \
              Math.abs(p - x) < (w + v) / 2)).length }";
        assert_eq!(page.eval(overlaps), Value::from(0), "{width}");
    }
    page.close();
}

fn a_deadlock(browser: &Browser) {
    let page = Page::open(browser, &pages::deadlock().join("report.html"));
    let got = page.text("document.getElementById('topology-deadlock').textContent");
    assert!(got.starts_with("Deadlock: each port that is outlined"), "{got}");
    let closing =
        page.text("{ const { deadlocks: [one], ports } = Paceline.topology; ports[one.closing].name }");
    let data = pages::data(&pages::deadlock());
    let found = data.summary.deadlock.expect("it stands still");
    let nodes = &found.cycles[0].nodes;
    let inside = found
        .pauses
        .iter()
        .filter(|pause| nodes.contains(&pause.node) && nodes.contains(&pause.by));
    let last = inside
        .max_by(|a, b| a.since_s.total_cmp(&b.since_s))
        .expect("pauses");
    assert_eq!(closing, last.port);
    // The whole link is on the canvas.
    let height = page.number("Paceline.picture.middle(Paceline.topology.deadlocks[0].closing).y");
    assert!(height > 4.0, "{height}");
    page.picture("deadlock", true);
    page.close();
}
