//! The pages of a run and of a comparison.

use crate::devtools::Browser;
use serde_json::Value;

use crate::page::{Theme, quoted};
use crate::{Page, Test, pages};

pub(crate) const TESTS: &[Test] = &[
    ("a_page_opens_in_the_light_and_in_the_dark", opens),
    ("a_narrow_page_does_not_overflow", narrow),
    ("the_hover_shows_the_recorded_value", hover_shows_the_value),
    ("a_click_on_a_name_hides_its_line", legend_hides),
    ("dragging_zooms_and_a_double_click_zooms_out", drag_zooms),
    ("a_page_prints", prints),
    ("what_users_wrote_does_not_run", scripts_do_not_run),
    ("the_figures_are_those_of_the_summary", figures_of_the_summary),
];

/// Returns an expression for the figure with this title.
pub(crate) fn figure(title: &str) -> String {
    format!(
        "[...document.querySelectorAll('#charts figure')]\
         .find((f) => f.querySelector('figcaption b').textContent === {})",
        quoted(title)
    )
}

/// Returns the data from which the page draws a chart.
fn chart(page: &Page, title: &str) -> Value {
    page.eval(&format!(
        "JSON.parse(document.getElementById('chart-data').textContent).find((c) => c.title === {})",
        quoted(title)
    ))
}

/// Returns an expression for the script's view of a chart over time.
pub(crate) fn view(title: &str) -> String {
    format!("Paceline.views.find((v) => v.chart.title === {})", quoted(title))
}

/// Zooms into a part of a chart, as a drag does.
pub(crate) fn zoom(page: &Page, title: &str, from: f64, to: f64) {
    let view = view(title);
    page.eval(&format!("{view}.u.setScale('x', {{ min: {from}, max: {to} }})"));
    page.wait_for(&format!("{view}.u.scales.x.max === {to}"));
}

/// Moves the mouse to `x` of a chart.
fn hover_at(page: &Page, title: &str, x: f64) {
    let share = page.number(&format!(
        "{{ const {{ u }} = {}; u.valToPos({x}, 'x') / u.over.clientWidth }}",
        view(title)
    ));
    let place = page.place(&format!("{}.querySelector('.u-over')", figure(title)));
    let across = place.left + share * place.width;
    page.move_to(across, place.top + place.height / 2.0);
    page.wait_for(&format!("!{}.querySelector('.tip').hidden", figure(title)));
}

/// Returns names and values in the hover box.
fn tip(page: &Page, title: &str) -> Vec<(String, String)> {
    let rows = page.eval(&format!(
        "[...{}.querySelectorAll('.tip-row')].map((r) => \
         [r.childNodes[1].textContent, r.querySelector('b').textContent])",
        figure(title)
    ));
    let text = |value: &Value| value.as_str().expect("text").to_string();
    rows.as_array()
        .expect("rows")
        .iter()
        .map(|row| (text(&row[0]), text(&row[1])))
        .collect()
}

/// Formats a number with four significant digits, as the page does.
fn digits(value: f64) -> String {
    format!("{value:.3e}")
        .parse::<f64>()
        .expect("a number")
        .to_string()
}

/// Returns the picture in a figure.
fn drawn(page: &Page, title: &str) -> String {
    page.text(&format!("{}.querySelector('canvas').toDataURL()", figure(title)))
}

fn opens(browser: &Browser) {
    for (name, folder) in [("run", pages::run()), ("compare", pages::compare())] {
        let mut backgrounds = Vec::new();
        for theme in [Theme::Light, Theme::Dark] {
            let page = Page::open_in(browser, &folder.join("report.html"), theme);
            let wanted = page.number("JSON.parse(document.getElementById('chart-data').textContent).length");
            assert!(wanted >= 3.0, "{name}: {wanted} charts");
            assert_eq!(
                page.number("document.querySelectorAll('#charts figure canvas').length"),
                wanted
            );
            backgrounds.push(page.text("getComputedStyle(document.body).backgroundColor"));
            page.picture(&format!("{name}-{theme:?}").to_lowercase(), true);
            page.close();
        }
        assert_ne!(backgrounds[0], backgrounds[1], "{name}");
    }
}

fn narrow(browser: &Browser) {
    for folder in [pages::run(), pages::compare()] {
        let page = Page::open(browser, &folder.join("report.html"));
        page.fits_telephone();
        page.close();
    }
}

fn hover_shows_the_value(browser: &Browser) {
    const TITLE: &str = "Queues of the busiest ports";
    let data = pages::data(&pages::run());
    let queues = data.series.iter().filter(|series| series.metric == "queue_bytes");
    let highest = |points: &[(u64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
    let busiest = queues
        .max_by(|a, b| highest(&a.points).total_cmp(&highest(&b.points)))
        .expect("a queue");
    let most = highest(&busiest.points);
    let page = Page::open(browser, &pages::run().join("report.html"));
    // The middle of the largest sample, zoomed so far that it is a separate point.
    let drawn = chart(&page, TITLE);
    let scale = if drawn["y"]["unit"] == "KB" { 1e3 } else { 1e6 };
    let top = busiest
        .points
        .iter()
        .find(|point| point.1 == most)
        .expect("points");
    let start = data.flows.rows().map(|flow| flow.start_ps).min().expect("flows");
    let us = (top.0 - start) as f64 / 1e6 + 0.5;
    assert_eq!(drawn["x"]["unit"], "µs");
    zoom(&page, TITLE, us - 20.0, us + 20.0);
    hover_at(&page, TITLE, us);
    let unit = drawn["y"]["unit"].as_str().expect("a unit");
    assert_eq!(tip(&page, TITLE)[0].1, format!("{} {unit}", digits(most / scale)));
    page.picture("hover", false);
    page.move_to(2.0, 2.0);
    page.wait_for(&format!("{}.querySelector('.tip').hidden", figure(TITLE)));
    page.close();
}

fn legend_hides(browser: &Browser) {
    const TITLE: &str = "Queue of the busiest port";
    let page = Page::open(browser, &pages::compare().join("report.html"));
    // A time at which every line has a value.
    let lines = page.number(&format!("{}.tracks.length", view(TITLE))) as usize;
    let ends = format!("{}.tracks.map((t) => t.origin + t.end * t.width)", view(TITLE));
    let middle = page.number(&format!("Math.min(...{ends}) / 2"));
    hover_at(&page, TITLE, middle);
    let before = (tip(&page, TITLE), drawn(&page, TITLE));
    let button = format!("{}.querySelector('.legend button')", figure(TITLE));
    let name = page.text(&format!("{button}.textContent"));
    assert_eq!(before.0.len(), lines);
    assert!(before.0.iter().any(|row| row.0 == name), "{name}: {:?}", before.0);
    page.click(&button);
    page.wait_for(&format!("{button}.getAttribute('aria-pressed') === 'false'"));
    page.move_to(2.0, 2.0);
    hover_at(&page, TITLE, middle);
    let after = (tip(&page, TITLE), drawn(&page, TITLE));
    assert!(after.0.iter().all(|row| row.0 != name), "{name}: {:?}", after.0);
    assert_ne!(before.1, after.1, "the line is still drawn");
    page.close();
}

fn drag_zooms(browser: &Browser) {
    const TITLE: &str = "Queues of the busiest ports";
    let page = Page::open(browser, &pages::run().join("report.html"));
    let all = drawn(&page, TITLE);
    let place = page.place(&format!("{}.querySelector('.u-over')", figure(TITLE)));
    let middle = place.top + place.height / 2.0;
    page.drag(
        place.left + place.width * 0.2,
        place.left + place.width * 0.5,
        middle,
    );
    page.move_to(2.0, 2.0);
    let wait = |text: &str, same: &str| {
        page.wait_for(&format!(
            "({}.querySelector('canvas').toDataURL() === {}) === {same}",
            figure(TITLE),
            quoted(text)
        ));
    };
    wait(&all, "false");
    page.picture("zoomed", false);
    page.double_click(place.left + place.width / 2.0, middle);
    page.move_to(2.0, 2.0);
    wait(&all, "true");
    page.close();
}

fn prints(browser: &Browser) {
    for (name, folder) in [("run", pages::run()), ("compare", pages::compare())] {
        let page = Page::open_in(browser, &folder.join("report.html"), Theme::Dark);
        let pdf = page.print(name);
        assert!(pdf.starts_with(b"%PDF"), "{name}");
        let text = String::from_utf8_lossy(&pdf);
        let sheets = text.matches("/Type /Page").count() - text.matches("/Type /Pages").count();
        assert!((1..=20).contains(&sheets), "{name}: {sheets} pages");
        page.fits_paper(name);
        page.close();
    }
}

fn scripts_do_not_run(browser: &Browser) {
    for folder in [pages::run(), pages::compare()] {
        let page = Page::open(browser, &folder.join("report.html"));
        assert_eq!(page.eval("window.owned === undefined"), Value::Bool(true));
        assert!(
            page.text("document.querySelector('header').textContent")
                .contains("<script>")
        );
        assert_eq!(
            page.number("document.querySelectorAll('img, header script').length"),
            0.0
        );
        page.close();
    }
}

fn figures_of_the_summary(browser: &Browser) {
    let folder = pages::compare();
    let page = Page::open(browser, &folder.join("report.html"));
    let cell = |scheme: &str, i: usize| {
        page.text(&format!(
            "[...document.querySelectorAll('tbody tr')].find((r) => r.cells[0].textContent === {}).cells[{i}].textContent",
            quoted(scheme)
        ))
    };
    for scheme in ["hpcc", "dcqcn", "timely", "dctcp"] {
        let summary = pages::data(&folder.join(scheme)).summary;
        let mean = summary.fct_slowdown.mean.expect("flows completed");
        assert_eq!(cell(scheme, 1), format!("all {}", summary.flows.total));
        assert_eq!(cell(scheme, 2), format!("{mean:.2}"), "{scheme}");
    }
    page.close();
}
