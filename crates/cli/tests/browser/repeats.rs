//! The page of a comparison with several seeds, and the pages of single seeds.

use crate::devtools::Browser;

use crate::page::Theme;
use crate::{Page, Test, pages};

pub(crate) const TESTS: &[Test] = &[
    ("a_page_of_seeds_opens_in_the_light_and_in_the_dark", opens),
    (
        "a_page_of_seeds_shows_what_comparison_json_says",
        shows_the_numbers,
    ),
    ("each_seed_has_its_page", seeds_have_pages),
    ("a_page_of_seeds_fits_a_telephone", narrow),
];

fn opens(browser: &Browser) {
    for theme in [Theme::Light, Theme::Dark] {
        let page = Page::open_in(browser, &pages::repeats().join("report.html"), theme);
        let charts = "document.querySelectorAll('#charts figure canvas').length";
        page.wait_for(&format!("{charts} >= 4"));
        assert!(page.number("document.querySelectorAll('#charts-over-time figure canvas').length") >= 2.0);
        page.picture(&format!("repeats-{theme:?}").to_lowercase(), true);
        page.close();
    }
}

fn shows_the_numbers(browser: &Browser) {
    let text = std::fs::read_to_string(pages::repeats().join("comparison.json")).expect("it");
    let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let page = Page::open(browser, &pages::repeats().join("report.html"));
    let rows = page.eval(
        "[...document.querySelectorAll('#means tbody tr')].map((r) => [...r.children].map((c) => c.textContent))",
    );
    let rows = rows.as_array().expect("rows");
    let mean = |cell: &serde_json::Value| {
        let text = cell.as_str().expect("text");
        text.split(' ')
            .next()
            .and_then(|number| number.parse::<f64>().ok())
            .expect("a number")
    };
    let slowdown = rows.iter().find(|row| row[0] == "FCT slowdown").expect("the row");
    for (i, one) in all["intervals"].as_array().expect("schemes").iter().enumerate() {
        let expected = one["metrics"]["fct_slowdown.mean"]["mean"]
            .as_f64()
            .expect("a mean");
        let shown = mean(&slowdown[2 + i]);
        assert!((shown - expected).abs() < 0.006, "{shown} for {expected}");
        assert!(slowdown[2 + i].as_str().expect("text").contains('±'));
    }
    // Exactly the clear differences are bold.
    let clear = page.number("document.querySelectorAll('#differences tr.clear').length");
    let in_json = all["paired"].as_array().expect("pairs").iter().flat_map(|pair| {
        pair["metrics"]
            .as_object()
            .expect("metrics")
            .values()
            .filter(|paired| paired["clear"] == true)
    });
    assert_eq!(clear as usize, in_json.count());
    page.close();
}

fn seeds_have_pages(browser: &Browser) {
    let page = Page::open(browser, &pages::repeats().join("report.html"));
    let links =
        page.eval("[...document.querySelectorAll('nav.seeds')[0].children].map((c) => c.textContent)");
    assert_eq!(
        links,
        serde_json::json!(["all seeds", "seed 1", "seed 2", "seed 3", "seed 4"])
    );
    let to = page.text(
        "[...document.querySelectorAll('nav.seeds a')].find((a) => a.textContent === 'seed 3').getAttribute('href')",
    );
    assert_eq!(to, "./seed-3.html");
    page.close();
    let page = Page::open(browser, &pages::repeats().join("seed-3.html"));
    page.wait_for("document.querySelectorAll('#charts figure canvas').length > 3");
    assert!(
        page.text("document.querySelector('header').textContent")
            .contains("the runs of seed 3")
    );
    assert_eq!(
        page.text("document.querySelector('nav.seeds b').textContent"),
        "seed 3"
    );
    page.close();
}

fn narrow(browser: &Browser) {
    let page = Page::open(browser, &pages::repeats().join("report.html"));
    page.fits_telephone();
    page.close();
}
