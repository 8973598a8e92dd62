//! The page of a sweep.

use std::fs;

use crate::devtools::Browser;
use paceline_kernel::sorted::SortedMap;
use paceline_lab::InputWarnings;
use paceline_lab::stats::{self, CONFIDENCE, interval};
use paceline_lab::sweep::{Keep, Plan, Point, Row, Status, SweepData};
use paceline_report::render_sweep;
use paceline_scenario::sweep::{Axis, AxisValue};
use serde_json::Value;

use crate::page::{Theme, quoted};
use crate::{Page, Test, pages};

pub(crate) const TESTS: &[Test] = &[
    ("a_sweep_of_schemes_and_loads", schemes_and_loads),
    ("a_sweep_of_three_axes", three_axes),
    ("a_sweep_of_one_axis_and_of_seeds_only", one_axis_and_seeds),
    ("a_sweep_prints_and_fits_a_telephone", prints_and_narrow),
    ("a_sweep_of_thousands_of_points_opens", thousands),
    ("a_heat_map_is_saved_with_its_values", heat_map_is_saved),
];

const SCHEMES: [&str; 4] = ["hpcc", "dcqcn", "timely", "dctcp"];

fn schemes() -> Axis {
    Axis::of_key(
        "cc.scheme",
        SCHEMES.map(|name| AxisValue::Text(name.into())).to_vec(),
    )
}

fn numbers(key: &str, values: &[f64]) -> Axis {
    Axis::of_key(key, values.iter().map(|&value| AxisValue::Real(value)).collect())
}

/// Returns a sweep whose numbers follow a plausible formula: they grow with load and fan-in, differ by scheme, and
/// scatter with the seed.
fn sweep(axes: Vec<Axis>, seeds: u64) -> SweepData {
    let base = pages::data(&pages::run()).summary;
    let mut grid: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in &axes {
        let longer = |values: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..axis.values.len())
                .map(|value| [values.as_slice(), &[value]].concat())
                .collect()
        };
        grid = grid.iter().flat_map(longer).collect();
    }
    let mut rows = SortedMap::new();
    let mut points = Vec::new();
    for (number, values) in grid.into_iter().enumerate() {
        let mut runs = Vec::new();
        for seed in 1..=seeds {
            let id = format!("{number:05x}{seed:03x}");
            let mut summary = base.clone();
            let step = |i: usize| values.get(i).map_or(0.0, |&value| value as f64);
            let scatter = ((number as u64 * 7919 + seed * 104_729) % 1000) as f64 / 1000.0 - 0.5;
            let p99 =
                (2.0 + step(0) * 1.7) * (1.0 + step(1) * 0.6) * (1.0 + step(2) * 0.4) * (1.0 + 0.2 * scatter);
            summary.digest = id.clone();
            summary.fct_slowdown.p99 = Some(p99);
            summary.fct_slowdown.mean = Some(1.0 + p99 / 5.0);
            summary.fct_us.mean = Some(40.0 * p99);
            summary.queue_bytes.max = (90_000.0 * p99 * p99) as u64;
            summary.goodput_gbps.aggregate = Some(95.0 - p99 / 3.0);
            summary.pfc.pauses = if p99 > 9.0 { (p99 * 3.0) as u64 } else { 0 };
            let row = Row {
                id: id.clone(),
                version: "0.1.0".into(),
                seed,
                status: Status::Completed,
                message: None,
                keep: Keep::All,
                summary: Some(summary),
                draws_nothing: false,
            };
            rows.insert(id.clone(), row);
            runs.push(id);
        }
        points.push(Point {
            values,
            scheme: "hpcc".into(),
            runs,
        });
    }
    let plan = Plan {
        version: "0.1.0".into(),
        scenario: "fat320-hadoop30".into(),
        description: "320 hosts in a fat tree, 30 % of Facebook's Hadoop traffic.".into(),
        arguments: vec![
            "fat320-hadoop30".into(),
            "--over".into(),
            "cc.scheme=hpcc,dcqcn".into(),
        ],
        axes,
        seeds: (1..=seeds).collect(),
        points,
        input_warnings: InputWarnings::default(),
        seconds: Vec::new(),
        memory: 0,
        stored: paceline_lab::sweep::Stored::default(),
    };
    SweepData { plan, rows }
}

fn open(browser: &Browser, data: &SweepData, name: &str, theme: Theme) -> Page {
    let file = pages::folder().join(format!("{name}.html"));
    fs::write(&file, render_sweep(data).expect("a page")).expect("the page is written");
    Page::open_in(browser, &file, theme)
}

/// Returns an expression for a cell of the first grid.
fn cell(row: &str, column: &str) -> String {
    format!(
        "(() => {{ const t = document.querySelector('.heat'); \
         const i = [...t.rows[1].cells].findIndex((c) => c.textContent === {}); \
         return [...t.tBodies[0].rows].find((r) => r.cells[0].textContent === {}).cells[i]; }})()",
        quoted(column),
        quoted(row)
    )
}

/// Formats a number with three significant digits, including trailing zeros.
fn three(value: f64) -> String {
    let places = (2.0 - value.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.places$}")
}

fn mean(values: &[(u64, f64)]) -> f64 {
    values.iter().map(|value| value.1).sum::<f64>() / values.len() as f64
}

fn schemes_and_loads(browser: &Browser) {
    let mut data = sweep(
        vec![schemes(), numbers("workload.web.poisson.load", &[0.3, 0.5, 0.7])],
        5,
    );
    let broken = data.plan.points[11].runs[2].clone();
    let row = data.rows.get_mut(&broken).expect("a row");
    (row.status, row.summary) = (Status::Failed, None);
    row.message = Some("the run panicked: <script>window.owned = 1</script>".into());
    let page = open(browser, &data, "sweep", Theme::Light);
    page.picture("sweep-light", true);
    assert_eq!(page.eval("window.owned === undefined"), Value::Bool(true));
    assert!(
        page.text("document.getElementById('sweep-failed').textContent")
            .contains("dctcp, workload.web.poisson.load = 0.7")
    );
    // Rows are schemes and columns are loads. Each cell has the mean over seeds, and the minimum of a column is bold.
    for (i, scheme) in SCHEMES.iter().enumerate() {
        let expected = three(mean(&data.values(3 * i, |s| s.fct_slowdown.p99)));
        let shown = page.text(&format!("{}.firstChild.textContent", cell(scheme, "0.3")));
        assert_eq!(shown, expected, "{scheme}");
        let best = page.eval(&format!("{}.classList.contains('best')", cell(scheme, "0.3")));
        assert_eq!(best, Value::Bool(i == 0), "{scheme}");
    }
    page.hover(&cell("timely", "0.5"));
    page.wait_for("!document.getElementById('sweep-tip').hidden");
    let tip = page.text("document.getElementById('sweep-tip').textContent");
    assert!(
        tip.contains("schemetimely") && tip.contains("load0.5") && tip.contains("5 of 5 runs"),
        "{tip}"
    );
    page.picture("sweep-hover", false);
    // For another measure, higher is better, so the maximum is bold.
    let goodput =
        page.text("String(paceline.sweep.measures.findIndex((m) => m.name === 'Goodput of all flows'))");
    page.set("document.querySelector('[data-what=measure]')", &goodput);
    page.wait_for("document.getElementById('sweep-legend').textContent.includes('higher is better')");
    let expected = three(mean(&data.values(0, |s| s.goodput_gbps.aggregate)));
    assert_eq!(
        page.text(&format!("{}.firstChild.textContent", cell("hpcc", "0.3"))),
        expected
    );
    assert_eq!(
        page.text("document.querySelector('.heat td.best').closest('tr').cells[0].textContent"),
        "hpcc"
    );
    // Its lines come first. A click on a scheme's name removes its line.
    assert_eq!(
        page.text("document.querySelector('#sweep-lines figcaption b').textContent"),
        "Goodput of all flows"
    );
    let drawn = || page.text("document.querySelector('#sweep-lines canvas').toDataURL()");
    let before = drawn();
    page.click("document.querySelector('#sweep-names button')");
    page.wait_for("document.querySelector('#sweep-names button').getAttribute('aria-pressed') === 'false'");
    assert_ne!(drawn(), before);
    // Hovering shows the values of all lines.
    page.hover("document.querySelector('#sweep-lines .u-over')");
    page.wait_for("document.querySelectorAll('#sweep-lines .tip-row').length === 3");
    sorts(&page);
    page.close();
    let page = open(browser, &data, "sweep", Theme::Dark);
    page.picture("sweep-dark", true);
    page.close();
}

/// A click on a table heading sorts, and a second one reverses the order.
fn sorts(page: &Page) {
    let button = "[...document.querySelectorAll('#sweep-table thead button')].find((b) => b.textContent.startsWith('FCT slowdown, p99'))";
    let column = "[...document.querySelectorAll('#sweep-table tbody tr')].map((r) => parseFloat(r.cells[3].textContent))";
    let values = || -> Vec<f64> {
        let list = page.eval(column);
        list.as_array()
            .expect("a list")
            .iter()
            .filter_map(Value::as_f64)
            .collect()
    };
    assert_eq!(values().len(), 12);
    page.click(button);
    assert!(values().is_sorted(), "{:?}", values());
    page.click(button);
    assert!(values().iter().rev().is_sorted(), "{:?}", values());
}

fn three_axes(browser: &Browser) {
    let axes = vec![
        schemes(),
        numbers("workload.web.poisson.load", &[0.3, 0.5, 0.7]),
        numbers("workload.incast.fan-in", &[8.0, 60.0]),
    ];
    let data = sweep(axes, 3);
    let page = open(browser, &data, "sweep-three", Theme::Light);
    assert_eq!(page.number("document.querySelectorAll('.heat').length"), 2.0);
    assert_eq!(
        page.number("document.querySelectorAll('#sweep-lines figure').length"),
        2.0
    );
    page.picture("sweep-three-axes", true);
    // With one value of the third axis, there is one grid, and lines for every measure.
    page.set(
        "document.querySelector('[data-what=\"workload.incast.fan-in\"]')",
        "1",
    );
    page.wait_for("document.querySelectorAll('.heat').length === 1");
    let expected = three(mean(&data.values(1, |s| s.fct_slowdown.p99)));
    assert_eq!(
        page.text(&format!("{}.firstChild.textContent", cell("hpcc", "0.3"))),
        expected
    );
    page.wait_for("document.querySelectorAll('#sweep-lines figure').length > 4");
    // The third axis becomes the horizontal one.
    page.set("document.querySelector('[data-what=x]')", "2");
    page.wait_for("document.querySelector('.heat').rows[1].cells.length === 3");
    page.close();
}

fn one_axis_and_seeds(browser: &Browser) {
    let sizes = ["4KB", "64KB", "1MB"].map(|size| AxisValue::Text(size.into()));
    let axis = Axis::of_key("workload.burst.incast.size", sizes.to_vec());
    let data = sweep(vec![axis], 3);
    let page = open(browser, &data, "sweep-one", Theme::Light);
    assert_eq!(page.number("document.querySelectorAll('.heat td').length"), 3.0);
    page.picture("sweep-one-axis", true);
    page.close();
    let page = open(browser, &sweep(Vec::new(), 6), "sweep-seeds", Theme::Light);
    assert_eq!(page.number("document.querySelectorAll('.heat td').length"), 6.0);
    page.picture("sweep-seeds", true);
    page.close();
    let page = open(browser, &sweep(Vec::new(), 1), "sweep-lone", Theme::Light);
    assert_eq!(
        page.number("document.querySelectorAll('#sweep-table tbody tr').length"),
        1.0
    );
    page.close();
}

/// The table has the exact means, and the picture has one cell for each of them.
fn heat_map_is_saved(browser: &Browser) {
    let mut data = sweep(vec![schemes(), numbers("a.load", &[0.3, 0.5, 0.7])], 5);
    // Runs that differ have intervals.
    for (id, row) in &mut data.rows {
        if let Some(summary) = &mut row.summary {
            summary.digest.clone_from(id);
        }
    }
    let broken = data.plan.points[11].runs[2].clone();
    let row = data.rows.get_mut(&broken).expect("a row");
    (row.status, row.summary) = (Status::Failed, None);
    let page = open(browser, &data, "sweep-saved", Theme::Light);
    assert_eq!(
        page.number("document.querySelectorAll('.panel button.save').length"),
        2.0
    );
    let csv = page.text("paceline.sweep.files.csv(paceline.sweep.panels()[0])");
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some("cc.scheme,a.load,\"FCT slowdown, p99 (×)\",low,high,runs,failed")
    );
    for (number, point) in data.plan.points.iter().enumerate() {
        let line: Vec<&str> = lines.next().expect("a row per point").split(',').collect();
        assert_eq!(line[0], SCHEMES[point.values[0]]);
        assert_eq!(line[1], ["0.3", "0.5", "0.7"][point.values[1]]);
        let values = data.values(number, |s| s.fct_slowdown.p99);
        let values: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
        let got = line[2..5].iter().map(|cell| cell.parse().expect("a number"));
        let found = interval(&values, CONFIDENCE).expect("several seeds");
        assert_eq!(got.collect::<Vec<f64>>(), {
            let (lo, hi) = found.ends().unwrap();
            [stats::mean(&values).unwrap(), lo, hi]
        });
        let failed = u32::from(number == 11);
        assert_eq!(line[5..], ["5".to_string(), failed.to_string()]);
    }
    assert_eq!(lines.next(), None);
    let svg = "paceline.sweep.files.svg(paceline.sweep.panels()[0])";
    let parsed = format!("new DOMParser().parseFromString({svg}, 'image/svg+xml')");
    let count = |what: &str| page.number(&format!("{parsed}.querySelectorAll('{what}').length"));
    assert_eq!((count("parsererror"), count("rect[rx]")), (0.0, 12.0));
    page.close();
}

fn prints_and_narrow(browser: &Browser) {
    let data = sweep(vec![schemes(), numbers("a.load", &[0.1, 0.3, 0.5, 0.7, 0.9])], 5);
    let page = open(browser, &data, "sweep-print", Theme::Dark);
    let pdf = page.print("sweep");
    assert!(pdf.starts_with(b"%PDF"));
    page.fits_paper("sweep");
    page.close();
    let page = open(browser, &data, "sweep-print", Theme::Dark);
    page.fits_telephone();
    page.picture("sweep-narrow", true);
    page.close();
}

fn thousands(browser: &Browser) {
    let wide: Vec<f64> = (1..=40).map(f64::from).collect();
    let data = sweep(
        vec![
            schemes(),
            numbers("a.load", &wide),
            numbers("b.size", &wide[..20]),
        ],
        1,
    );
    let page = open(browser, &data, "sweep-large", Theme::Light);
    // Too many values for several grids: the third axis is fixed at its first value.
    assert_eq!(page.number("document.querySelectorAll('.heat').length"), 1.0);
    assert_eq!(
        page.number("document.querySelectorAll('#sweep-table tbody tr').length"),
        200.0
    );
    page.click("document.querySelector('#sweep-more button')");
    page.wait_for("document.querySelectorAll('#sweep-table tbody tr').length === 3200");
    page.set("document.querySelector('[data-what=y]')", "2");
    page.wait_for("document.querySelectorAll('.heat td').length === 800 * 4");
    page.close();
}
