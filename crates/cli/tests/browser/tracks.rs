//! Charts over time: at every zoom level, the drawing agrees with the recorded values.

use crate::devtools::Browser;
use paceline_lab::files::{RunData, Series};
use serde_json::Value;

use crate::page::Theme;
use crate::report::{figure, view, zoom};
use crate::{Page, Test, pages};

pub(crate) const TESTS: &[Test] = &[
    ("zooming_shows_what_was_recorded", zoom_refines),
    ("every_chart_draws_what_was_recorded", every_chart_is_true),
    ("a_logarithmic_axis_shows_the_same", logarithmic),
];

const QUEUES: &str = "Queues of the busiest ports";

/// Samples of a series, at intervals of `period_ps`.
struct Samples {
    first_ps: u64,
    period_ps: u64,
    values: Vec<f64>,
}

impl Samples {
    fn of(series: &Series) -> Self {
        assert_eq!(series.bin_ps, series.period_ps, "not thinned");
        let points = &series.points;
        let mut values = Vec::new();
        let nexts = points.iter().skip(1).map(|point| point.0);
        let end = points[points.len() - 1].0 + series.period_ps;
        for (&(at, value), next) in points.iter().zip(nexts.chain([end])) {
            // The first sample may be closer to the next one.
            let count = (next - at).div_ceil(series.period_ps);
            values.extend(std::iter::repeat_n(value, count as usize));
        }
        Self {
            first_ps: end - values.len() as u64 * series.period_ps,
            period_ps: series.period_ps,
            values,
        }
    }

    /// Returns minimum, maximum and mean of the samples between two times, ps.
    fn between(&self, from: f64, to: f64) -> [f64; 3] {
        let number = |ps: f64| ((ps - self.first_ps as f64) / self.period_ps as f64).round() as usize;
        let part = &self.values[number(from)..number(to).min(self.values.len())];
        let least = part.iter().copied().fold(f64::INFINITY, f64::min);
        let most = part.iter().copied().fold(0.0, f64::max);
        [least, most, part.iter().sum::<f64>() / part.len() as f64]
    }
}

fn start_ps(data: &RunData) -> f64 {
    data.flows.rows().map(|flow| flow.start_ps).min().expect("flows") as f64
}

fn busiest(data: &RunData) -> &Series {
    let queues = data.series.iter().filter(|one| one.metric == "queue_bytes");
    queues
        .max_by(|a, b| a.largest().total_cmp(&b.largest()))
        .expect("a queue")
}

/// Returns the points of a line that are drawn now: from, to, minimum, maximum and mean, in the axes' units.
fn drawn(page: &Page, title: &str, line: usize) -> Vec<[f64; 5]> {
    let all = page.eval(&format!(
        "{}.shown[{line}].points.map((p) => [p.from, p.to, p.min, p.max, p.mean])",
        view(title)
    ));
    let row = |row: &Value| [0, 1, 2, 3, 4].map(|i| row[i].as_f64().expect("a number"));
    all.as_array().expect("points").iter().map(row).collect()
}

/// Asserts that each point agrees with the samples in its time.
fn agree(points: &[[f64; 5]], samples: &Samples, (clock, start): (f64, f64), scale: f64, what: &str) {
    let largest = samples.values.iter().copied().fold(0.0, f64::max) / scale;
    for &[from, to, min, max, mean] in points {
        let expected = samples.between(from * clock + start, to * clock + start);
        for (found, expected) in [min, max, mean].iter().zip(expected) {
            let off = (found - expected / scale).abs();
            assert!(
                off <= 2e-6 * largest,
                "{what}, {from} to {to}: {found} for {}",
                expected / scale
            );
        }
    }
}

/// Returns the value at which a column of the picture has the line's colour, and the value of one pixel.
fn painted(page: &Page, title: &str, x: f64) -> (f64, f64) {
    let found = page.eval(&format!(
        "{{ const {{ u }} = {}; const column = Math.round(u.valToPos({x}, 'x', true)); \
         const ink = getComputedStyle(document.documentElement).getPropertyValue('--c' + {}.chart.lines[0].color).trim(); \
         const want = [1, 3, 5].map((i) => parseInt(ink.slice(i, i + 2), 16)); \
         const copy = document.createElement('canvas'); copy.height = u.bbox.height; \
         const pen = copy.getContext('2d', {{ willReadFrequently: true }}); \
         pen.drawImage(u.ctx.canvas, column, u.bbox.top, 1, u.bbox.height, 0, 0, 1, u.bbox.height); \
         const {{ data }} = pen.getImageData(0, 0, 1, u.bbox.height); const rows = []; \
         for (let y = 0; y < u.bbox.height; y++) \
           if (data[4 * y + 3] > 128 && want.every((v, i) => Math.abs(data[4 * y + i] - v) < 60)) rows.push(y); \
         const at = (y) => u.posToVal(y + u.bbox.top, 'y', true); \
         const middle = (rows[0] + rows[rows.length - 1]) / 2 + 0.5; \
         rows.length ? [at(middle), Math.abs(at(middle + 1) - at(middle))] : null }}",
        view(title),
        view(title)
    ));
    let number = |i: usize| {
        found[i]
            .as_f64()
            .unwrap_or_else(|| panic!("nothing is painted at {x}"))
    };
    (number(0), number(1))
}

/// Zooms from the whole run to a tenth of a millisecond: the queue that drains after the incast.
fn zoom_refines(browser: &Browser) {
    let data = pages::data(&pages::demo());
    let samples = Samples::of(busiest(&data));
    let clock = (1e9, start_ps(&data));
    for theme in [Theme::Light, Theme::Dark] {
        let page = Page::open_in(browser, &pages::demo().join("report.html"), theme);
        let got = || {
            page.text(&format!(
                "{}.querySelector('.resolution').textContent",
                figure(QUEUES)
            ))
        };
        let name = |what: &str| format!("queue-{what}-{theme:?}").to_lowercase();
        let whole = drawn(&page, QUEUES, 0);
        agree(&whole, &samples, clock, 1e6, "whole");
        // The band reaches the maximum in the table.
        let highest = whole.iter().map(|point| point[3]).fold(0.0, f64::max);
        assert_eq!(format!("{highest:.2}"), "1.08");
        assert!(
            got().starts_with("Each point is 128 µs; recorded every 1 µs"),
            "{}",
            got()
        );
        page.place(&figure(QUEUES));
        page.picture(&name("whole"), false);
        for (from, to) in [(0.0, 9.0), (0.2, 1.4), (0.011, 0.134)] {
            zoom(&page, QUEUES, from, to);
            agree(
                &drawn(&page, QUEUES, 0),
                &samples,
                clock,
                1e6,
                &format!("{from} to {to}"),
            );
        }
        assert_eq!(got(), "Each point is 1 µs; recorded every 1 µs.");
        // The queue falls linearly, and is drawn so.
        let at = |us: f64| samples.between(us * 1e6 + clock.1, (us + 1.0) * 1e6 + clock.1)[2] / 1e6;
        for us in [15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0] {
            let (value, pixel) = painted(&page, QUEUES, (us + 0.5) / 1e3);
            assert!(
                (value - at(us)).abs() <= 2.0 * pixel,
                "at {us} us: {value} for {}",
                at(us)
            );
            let straight = at(15.0) + (at(75.0) - at(15.0)) * (us - 15.0) / 60.0;
            assert!(
                (value - straight).abs() < 0.02 * at(15.0),
                "at {us} us: {value} on {straight}"
            );
        }
        page.picture(&name("drains"), false);
        page.close();
    }
}

/// Checks every line of the charts of flows and queues, at several zoom levels.
fn every_chart_is_true(browser: &Browser) {
    let data = pages::data(&pages::demo());
    let page = Page::open(browser, &pages::demo().join("report.html"));
    let clock = (1e9, start_ps(&data));
    let rates: Vec<&Series> = data
        .series
        .iter()
        .filter(|one| one.metric == "goodput_bps")
        .collect();
    assert_eq!(
        page.number(&format!("{}.tracks.length", view("Rates of flows"))),
        rates.len() as f64
    );
    for (from, to) in [(0.0, 58.0), (1.0, 12.0), (8.0, 9.5)] {
        zoom(&page, "Rates of flows", from, to);
        for (i, series) in rates.iter().enumerate() {
            let points = drawn(&page, "Rates of flows", i);
            agree(&points, &Samples::of(series), clock, 1e9, &series.entity);
        }
    }
    page.close();
}

/// The logarithmic switch changes the axis, but neither the zoom nor the values.
fn logarithmic(browser: &Browser) {
    let data = pages::data(&pages::demo());
    let samples = Samples::of(busiest(&data));
    let page = Page::open(browser, &pages::demo().join("report.html"));
    zoom(&page, QUEUES, 0.011, 0.134);
    let before = drawn(&page, QUEUES, 0);
    let button = format!("{}.querySelector('figcaption button.log')", figure(QUEUES));
    page.click(&button);
    page.wait_for(&format!("{}.u.scales.y.distr === 3", view(QUEUES)));
    assert_eq!(
        page.text(&format!("{button}.getAttribute('aria-pressed')")),
        "true"
    );
    assert_eq!(page.number(&format!("{}.u.scales.x.max", view(QUEUES))), 0.134);
    assert_eq!(drawn(&page, QUEUES, 0), before);
    let start = start_ps(&data);
    for us in [15.0, 45.0, 75.0] {
        let (value, pixel) = painted(&page, QUEUES, (us + 0.5) / 1e3);
        let expected = samples.between(us * 1e6 + start, (us + 1.0) * 1e6 + start)[2] / 1e6;
        assert!(
            (value - expected).abs() <= 2.0 * pixel,
            "at {us} us: {value} for {expected}"
        );
    }
    page.picture("queue-logarithmic", false);
    page.click(&button);
    page.wait_for(&format!("{}.u.scales.y.distr === 1", view(QUEUES)));
    page.close();
}
