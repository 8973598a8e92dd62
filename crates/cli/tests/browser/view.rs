//! The page of `paceline view`.

use paceline_lab::files::read_series;
use serde_json::Value;

use crate::common::served::Served;
use crate::devtools::Browser;
use crate::page::{Theme, quoted};
use crate::{Page, Test, common, pages};

pub(crate) const TESTS: &[Test] = &[
    ("tables_of_a_run_are_sorted_and_filtered", tables),
    ("the_time_line_finds_a_flow", timeline),
    ("a_sweep_opens_with_its_results", sweep),
];

/// Text of a cell of the table that is shown, from 0.
fn cell(row: usize, column: usize) -> String {
    format!(
        "document.querySelector('.cells tbody').rows[{row}].cells[{column}].title || document.querySelector('.cells tbody').rows[{row}].cells[{column}].textContent"
    )
}

/// Waits until the table shows so many rows or groups.
fn wait_for_rows(page: &Page, text: &str) {
    page.wait_for(&format!(
        "document.getElementById('rows')?.textContent === {} && !document.querySelector('.cells.waits')",
        quoted(text)
    ));
}

fn thousands(count: usize) -> String {
    match count {
        0..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    }
}

fn button(text: &str) -> String {
    format!(
        "[...document.querySelectorAll('#tables .list button, .hits button')].find((b) => b.textContent.includes({}))",
        quoted(text)
    )
}

fn tables(browser: &Browser) {
    let folder = pages::run();
    let server = Served::start(&folder, &["."]);
    let page = Page::visit(browser, &format!("{}#tables", server.address), Theme::Light);
    page.screen(1400, 900);
    assert_eq!(page.text("location.search"), "", "the token is not shown");
    page.wait_for(&button("series.parquet"));
    page.click(&button("series.parquet"));
    let series = read_series(&folder.join("series.parquet")).expect("series");
    let count: usize = series.iter().map(|one| one.points.len()).sum();
    wait_for_rows(&page, &format!("{} rows", thousands(count)));
    let (time, value) = series[0].points[0];
    let first: Vec<String> = (0..4).map(|column| page.text(&cell(0, column))).collect();
    let shown: Vec<f64> = first[2..]
        .iter()
        .map(|text| text.parse().expect("a number"))
        .collect();
    assert_eq!(
        (&first[0], &first[1], shown),
        (&series[0].entity, &series[0].metric, vec![time as f64, value])
    );
    page.picture("view-table-light", false);

    // The largest value of all comes first after two clicks.
    let head = "document.querySelector('th[data-name=value] button')";
    page.click(head);
    page.wait_for("document.querySelector('th[data-name=value]').ariaSort === 'ascending' && !document.querySelector('.cells.waits')");
    page.click(head);
    page.wait_for("document.querySelector('th[data-name=value]').ariaSort === 'descending' && !document.querySelector('.cells.waits')");
    let largest = series
        .iter()
        .flat_map(|one| &one.points)
        .map(|point| point.1)
        .fold(f64::MIN, f64::max);
    assert_eq!(page.text(&cell(0, 3)).parse::<f64>().expect("a number"), largest);

    let queues = || series.iter().filter(|one| one.metric.contains("queue"));
    let in_queues: usize = queues().map(|one| one.points.len()).sum();
    page.set("document.querySelector('[data-filter=metric]')", "QUEUE");
    wait_for_rows(&page, &format!("{} rows", thousands(in_queues)));
    let long = queues()
        .flat_map(|one| &one.points)
        .filter(|point| point.1 > 1000.0)
        .count();
    page.set("document.querySelector('[data-filter=value]')", ">1000");
    wait_for_rows(&page, &format!("{} rows", thousands(long)));
    page.set("document.querySelector('[data-filter=value]')", "many");
    page.wait_for("document.querySelector('.failed[role=alert]')?.textContent.includes('expected a number')");
    page.set("document.querySelector('[data-filter=value]')", "");
    page.set(
        "document.querySelector('select[aria-label=\"Group by\"]')",
        "metric",
    );
    let mut metrics: Vec<&str> = queues().map(|one| one.metric.as_str()).collect();
    metrics.sort_unstable();
    metrics.dedup();
    wait_for_rows(&page, &format!("{} groups", metrics.len()));
    assert!(metrics.contains(&page.text(&cell(0, 0)).as_str()));
    page.close();
    assert_eq!(server.interrupted(), Some(0));
}

fn timeline(browser: &Browser) {
    let folder = pages::run();
    let server = Served::start(&folder, &["."]);
    let page = Page::visit(browser, &format!("{}#timeline", server.address), Theme::Dark);
    page.screen(1400, 900);
    page.wait_for("document.querySelector('#timeline [role=status]').textContent === '8 of 8 flows'");
    assert_eq!(page.eval("window.owned === undefined"), Value::Bool(true));
    page.set("document.querySelector('#timeline input[type=search]')", "5");
    page.wait_for(&button("flow 5:"));
    page.click(&button("flow 5:"));
    page.wait_for("document.querySelector('.item h2')?.textContent === 'Flow 5'");
    let item = page.text("document.querySelector('.item').textContent");
    assert!(
        item.contains("paceline why . 5") && item.contains("7 other flows"),
        "{item}"
    );
    page.picture("view-timeline-dark", false);
    // A click on the first bar chooses its flow.
    let stage = page.place("document.querySelector('.stage')");
    page.click_at(stage.left + 170.0, stage.top + 26.0 + 20.0 + 6.0);
    page.wait_for("document.querySelector('.item h2').textContent === 'Flow 0'");
    // A drag over a part of it zooms in.
    page.drag(stage.left + 200.0, stage.left + 300.0, stage.top + 60.0);
    page.emulate(Theme::Light, "screen");
    page.wait_for("!document.documentElement.classList.contains('dark')");
    page.picture("view-timeline-light", false);
    page.eval("void (location.hash = 'report')");
    page.wait_for("document.getElementById('frame').src.endsWith('/report.html')");
    page.close();
}

fn sweep(browser: &Browser) {
    let folder = common::folder_with("my.toml", common::SMALL);
    let path = folder.path();
    let words = [
        "sweep",
        "my.toml",
        "--over",
        "cc.scheme=hpcc,dctcp,dcqcn",
        "--out",
        "sweep",
        "--quiet",
    ];
    common::stdout(path, &words);
    let odd = "a,b,c\r\n\"x, \"\"y\"\"\nz\",,1\r\n,'=1,2.50\r\n";
    std::fs::write(path.join("sweep/odd.csv"), odd).expect("it is written");
    let server = Served::start(path, &["sweep"]);
    let page = Page::visit(browser, &format!("{}#tables", server.address), Theme::Dark);
    page.screen(1400, 900);
    wait_for_rows(&page, "3 rows");
    assert_eq!(page.text(&cell(1, 0)), "dctcp");
    assert_eq!(
        page.eval("document.getElementById('tab-timeline').hidden"),
        Value::Bool(true)
    );
    assert_eq!(
        page.text("document.getElementById('state').textContent"),
        "3 runs"
    );
    page.picture("view-sweep-dark", false);
    // Quotes, line ends and empty cells of CSV, and the mark that keeps a spreadsheet from computing a text.
    page.click(&button("odd.csv"));
    wait_for_rows(&page, "2 rows");
    let cells: Vec<String> = (0..6).map(|n| page.text(&cell(n / 3, n % 3))).collect();
    assert_eq!(cells, ["x, \"y\"\nz", "–", "1", "–", "=1", "2.5"]);
    page.click(&button("results.csv"));
    wait_for_rows(&page, "3 rows");
    // A run less is noticed without a click.
    let row = std::fs::read_dir(path.join("sweep/rows"))
        .expect("rows")
        .next()
        .expect("a row")
        .expect("a row")
        .path();
    std::fs::remove_file(row).expect("it is removed");
    page.wait_for("document.getElementById('state').textContent.includes('2 of 3 runs are finished')");
    page.wait_for(&button("so far"));
    page.close();
}
