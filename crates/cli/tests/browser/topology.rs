//! The topology view: the network over time.

use crate::devtools::Browser;
use paceline_lab::files::RunData;
use serde_json::Value;

use crate::page::quoted;
use crate::{Page, Test, pages};

pub(crate) const TESTS: &[Test] = &[
    ("the_slider_and_play_move_the_network", time_moves_the_picture),
    ("another_quantity_colours_the_network", metric_colours),
    ("the_network_shows_the_recorded_values", hover_shows_the_value),
    ("the_list_of_flows_finds_and_shows", flows_are_found),
    ("hundreds_of_hosts_are_drawn", hundreds_of_hosts),
    ("tens_of_thousands_of_hosts_are_drawn", tens_of_thousands_of_hosts),
];

const SLIDER: &str = "document.getElementById('topology-time')";
const CANVAS: &str = "document.getElementById('topology-canvas')";

/// Returns the picture after pending changes have been drawn.
fn drawn(page: &Page) -> String {
    page.text(&format!(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done({CANVAS}.toDataURL()))))"
    ))
}

/// Moves the slider to a frame.
fn seek(page: &Page, frame: usize) {
    page.set(SLIDER, &frame.to_string());
    assert_eq!(page.number("paceline.frame()"), frame as f64);
}

/// Returns the port with the largest queue, and that queue in bytes.
fn busiest(data: &RunData) -> (String, f64) {
    let queues = data
        .series
        .iter()
        .filter(|series| series.metric == "queue_max_bytes");
    // Host 9 is the receiver. Queues in the senders are not in the network.
    let highest = |points: &[(u64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
    queues
        .filter(|series| series.entity.ends_with("->9"))
        .map(|series| (series.entity.clone(), highest(&series.points)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("a queue")
}

/// Returns the frame in which the page shows the largest queue of a port.
fn frame_of_the_most(page: &Page, port: &str) -> usize {
    page.number(&format!(
        "[...Array(paceline.frames()).keys()].reduce((best, f) => \
         paceline.valueOf({0}, 'queue', f) > paceline.valueOf({0}, 'queue', best) ? f : best, 0)",
        quoted(port)
    )) as usize
}

fn time_moves_the_picture(browser: &Browser) {
    let page = Page::open(browser, &pages::run().join("report.html"));
    let (port, _) = busiest(&pages::data(&pages::run()));
    let most = frame_of_the_most(&page, &port);
    let last = page.number("paceline.frames()") as usize - 1;
    assert!(most > 0 && most < last);
    page.place(CANVAS);
    seek(&page, most);
    let crowded = drawn(&page);
    page.picture("topology-most", false);
    seek(&page, last);
    assert_ne!(drawn(&page), crowded, "the queue is gone, its colour is not");
    seek(&page, most);
    assert_eq!(drawn(&page), crowded);
    // Playing continues from this frame and stops at the end.
    page.click("document.getElementById('topology-play')");
    page.wait_for(&format!("paceline.frame() > {most}"));
    if page.eval("document.getElementById('topology-play').getAttribute('aria-pressed')") == "true" {
        page.click("document.getElementById('topology-play')");
    }
    page.wait_for("document.getElementById('topology-play').getAttribute('aria-pressed') === 'false'");
    page.close();
}

fn metric_colours(browser: &Browser) {
    let page = Page::open(browser, &pages::run().join("report.html"));
    let (port, _) = busiest(&pages::data(&pages::run()));
    page.place(CANVAS);
    seek(&page, frame_of_the_most(&page, &port));
    assert_eq!(page.text("paceline.metric()"), "queue");
    let queues = drawn(&page);
    page.set("document.getElementById('topology-metric')", "utilisation");
    assert_eq!(page.text("paceline.metric()"), "utilisation");
    assert_ne!(drawn(&page), queues);
    let used = page.number(&format!(
        "paceline.valueOf({}, 'utilisation', paceline.frame())",
        quoted(&port)
    ));
    assert!(
        (0.9..=1.0).contains(&used),
        "the link to the receiver is full: {used}"
    );
    page.close();
}

/// Converts a number with its unit to bytes.
fn bytes(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').expect("a number and a unit");
    let size = match unit {
        "B" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        _ => panic!("{text}"),
    };
    number.parse::<f64>().expect("a number") * size
}

fn hover_shows_the_value(browser: &Browser) {
    let data = pages::data(&pages::run());
    let (port, most) = busiest(&data);
    // Series, summary and page agree on the queue.
    assert_eq!(most, data.summary.queue_bytes.max as f64);
    let page = Page::open(browser, &pages::run().join("report.html"));
    let frame = frame_of_the_most(&page, &port);
    let step = most / 255.0;
    let held = page.number(&format!("paceline.valueOf({}, 'queue', {frame})", quoted(&port)));
    assert!((held - most).abs() <= step, "{held} is not {most}");
    seek(&page, frame);
    let place = page.place(CANVAS);
    let at = page.eval(&format!("paceline.portAt({})", quoted(&port)));
    let x = place.left + at["x"].as_f64().expect("x");
    let y = place.top + at["y"].as_f64().expect("y");
    page.move_to(x, y);
    page.wait_for("!document.getElementById('topology-tip').hidden");
    let first = "document.querySelector('#topology-tip .tip-row')";
    assert!(
        page.text(&format!("{first}.textContent"))
            .starts_with("longest queue")
    );
    let shown = bytes(&page.text(&format!("{first}.querySelector('b').textContent")));
    assert!((shown / held - 1.0).abs() < 1e-3, "{shown} is not {held}");
    page.picture("topology-hover", false);
    // A click opens the port's details.
    page.click_at(x, y);
    page.wait_for(&format!(
        "document.getElementById('topology-detail').textContent.includes({})",
        quoted(&port)
    ));
    assert!(page.number("document.querySelectorAll('#topology-detail canvas').length") >= 2.0);
    page.picture("topology-detail", false);
    page.close();
}

fn flows_are_found(browser: &Browser) {
    let page = Page::open(browser, &pages::run().join("report.html"));
    let rows = "document.querySelectorAll('#flow-rows tr')";
    assert_eq!(page.number(&format!("{rows}.length")), 8.0);
    page.set("document.getElementById('flow-find')", "3>9");
    page.wait_for(&format!("{rows}.length === 1"));
    page.place(CANVAS);
    let before = drawn(&page);
    page.click("document.querySelector('#flow-rows tr')");
    page.wait_for("document.querySelector('#flow-rows tr').getAttribute('aria-selected') === 'true'");
    let flow = page.text("document.querySelector('#flow-rows tr').dataset.flow");
    let detail = page.text("document.getElementById('topology-detail').textContent");
    assert!(detail.contains(&format!("Flow {flow}")), "{detail}");
    let data = pages::data(&pages::run());
    let found = data.flows.rows().find(|row| row.flow_id.to_string() == flow);
    let found = found.expect("the flow");
    assert_eq!((found.src, found.dst), (3, 9));
    assert_ne!(drawn(&page), before, "the flow is not in the picture");
    page.picture("topology-flow", false);
    page.close();
}

fn hundreds_of_hosts(browser: &Browser) {
    let page = Page::open(browser, &pages::large().join("report.html"));
    let nodes = page.number(
        "JSON.parse(document.getElementById('topology-data').textContent).nodes.filter((n) => n.host).length",
    );
    assert_eq!(nodes, 320.0);
    page.place(CANVAS);
    let last = page.number("paceline.frames()") as usize - 1;
    assert!(last > 10);
    let pictures: Vec<String> = [0, last / 4, last / 2]
        .into_iter()
        .map(|frame| {
            seek(&page, frame);
            drawn(&page)
        })
        .collect();
    assert!(pictures[0] != pictures[1] && pictures[1] != pictures[2]);
    page.picture("topology-320", false);
    assert_eq!(page.eval("window.owned === undefined"), Value::Bool(true));
    page.close();
}

/// There are more nodes and links than a function call can have arguments.
fn tens_of_thousands_of_hosts(browser: &Browser) {
    let page = Page::open(browser, &pages::huge().join("report.html"));
    page.place(CANVAS);
    let last = page.number("paceline.frames()") as usize - 1;
    seek(&page, 0);
    let first = drawn(&page);
    seek(&page, last / 2);
    assert_ne!(drawn(&page), first);
    page.picture("topology-65536", false);
    page.close();
}
