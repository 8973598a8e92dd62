//! A page in the browser, with methods to inspect and to use it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::devtools::{Browser, Tab};

/// Maximum wait for an immediate effect.
const PATIENCE: Duration = Duration::from_secs(30);
/// Console message that marks the end of earlier messages.
const MARK: &str = "everything before this has been seen";

/// Unexpected behaviour of a page.
#[derive(Default)]
struct PageEvents {
    /// Console errors and warnings, exceptions, and requests that the browser refused.
    errors: Vec<String>,
    /// Addresses of all requests so far.
    requests: Vec<String>,
    marks: usize,
}

/// A rectangle in the window, in CSS pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rectangle {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Preferred colour scheme of the reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Theme {
    Light,
    Dark,
}

/// An open page and what it reported.
pub(crate) struct Page {
    tab: Tab,
    seen: PageEvents,
    marks: usize,
    address: String,
}

impl Page {
    /// Opens a file in the light theme.
    pub(crate) fn open(browser: &Browser, file: &Path) -> Self {
        Self::open_in(browser, file, Theme::Light)
    }

    /// Opens a file in a theme.
    pub(crate) fn open_in(browser: &Browser, file: &Path, theme: Theme) -> Self {
        let address = format!(
            "file://{}",
            file.canonicalize().expect("the page is there").display()
        );
        let page = Self::navigate(browser, &address, theme);
        let is_loaded = format!(
            "location.href === {} && document.readyState === 'complete'",
            quoted(&page.address)
        );
        page.wait_for(&is_loaded);
        page
    }

    /// Opens an address of a server; the page may ask that server, and no other.
    pub(crate) fn visit(browser: &Browser, address: &str, theme: Theme) -> Self {
        let page = Self::navigate(browser, address, theme);
        page.wait_for("location.protocol === 'http:' && document.readyState === 'complete'");
        page
    }

    fn navigate(browser: &Browser, address: &str, theme: Theme) -> Self {
        let tab = browser.new_tab();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        let page = Self {
            tab,
            seen: PageEvents::default(),
            marks: 0,
            address: address.to_string(),
        };
        page.screen(1280, 900);
        page.emulate(theme, "screen");
        page.tab.call("Page.navigate", json!({ "url": page.address }));
        page
    }

    /// Sets the size of the window.
    pub(crate) fn screen(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tab.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sets the preferred theme and the medium, `screen` or `print`.
    pub(crate) fn emulate(&self, theme: Theme, media: &str) {
        let value = if theme == Theme::Dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.tab.call(
            "Emulation.setEmulatedMedia",
            json!({ "media": media, "features": features }),
        );
    }

    /// Evaluates an expression; waits for the result if it is a promise.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        self.try_eval(expression)
            .unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn try_eval(&self, expression: &str) -> Result<Value, String> {
        let question =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true, "silent": true });
        let mut answer = self.tab.try_call("Runtime.evaluate", question)?;
        match answer.get("exceptionDetails") {
            Some(problem) => Err(exception(problem)),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    pub(crate) fn number(&self, expression: &str) -> f64 {
        let value = self.eval(expression);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    pub(crate) fn text(&self, expression: &str) -> String {
        let value = self.eval(expression);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{expression} is {value}"))
            .to_string()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&self, expression: &str) {
        let start = Instant::now();
        // A page that is being closed does not answer.
        while self.try_eval(&format!("Boolean({expression})")) != Ok(Value::Bool(true)) {
            assert!(start.elapsed() < PATIENCE, "never: {expression}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Scrolls an element into view and returns its rectangle.
    pub(crate) fn place(&self, element: &str) -> Rectangle {
        let place = self.eval(&format!(
            "(() => {{ const e = {element}; if (!e) return null; \
             e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; }})()"
        ));
        let part = |i: usize| {
            place[i]
                .as_f64()
                .unwrap_or_else(|| panic!("there is no {element}"))
        };
        Rectangle {
            left: part(0),
            top: part(1),
            width: part(2),
            height: part(3),
        }
    }

    pub(crate) fn move_to(&self, x: f64, y: f64) {
        let event = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.tab.call("Input.dispatchMouseEvent", event);
    }

    /// Moves the mouse to the centre of an element.
    pub(crate) fn hover(&self, element: &str) {
        let at = self.place(element);
        self.move_to(at.left + at.width / 2.0, at.top + at.height / 2.0);
    }

    /// Clicks at the centre of an element.
    pub(crate) fn click(&self, element: &str) {
        let at = self.place(element);
        self.click_at(at.left + at.width / 2.0, at.top + at.height / 2.0);
    }

    pub(crate) fn click_at(&self, x: f64, y: f64) {
        self.move_to(x, y);
        self.button("mousePressed", x, y, 1);
        self.button("mouseReleased", x, y, 1);
    }

    pub(crate) fn double_click(&self, x: f64, y: f64) {
        self.move_to(x, y);
        for count in 1..=2 {
            self.button("mousePressed", x, y, count);
            self.button("mouseReleased", x, y, count);
        }
    }

    /// Drags the mouse horizontally.
    pub(crate) fn drag(&self, from: f64, to: f64, y: f64) {
        self.move_to(from, y);
        self.button("mousePressed", from, y, 1);
        for step in 1..=4 {
            let x = from + (to - from) * f64::from(step) / 4.0;
            self.button("mouseMoved", x, y, 0);
        }
        self.button("mouseReleased", to, y, 1);
    }

    fn button(&self, kind: &str, x: f64, y: f64, count: u32) {
        let event =
            json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": count });
        self.tab.call("Input.dispatchMouseEvent", event);
    }

    /// Sets the value of an input or selection with the events of a user's change.
    pub(crate) fn set(&self, element: &str, value: &str) {
        let value = quoted(value);
        self.eval(&format!(
            "(() => {{ const e = {element}; e.value = {value}; \
             for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"
        ));
    }

    /// Takes a picture of the page (PNG), of the whole page or of the visible part.
    pub(crate) fn picture(&self, name: &str, whole: bool) -> Vec<u8> {
        let window = |what: &str| self.number(what) as u32;
        let (width, height) = (window("innerWidth"), window("innerHeight"));
        if whole {
            let all = self.number("document.documentElement.scrollHeight") as u32;
            self.screen(width, all.min(16_000));
        }
        let answer = self
            .tab
            .call("Page.captureScreenshot", json!({ "format": "png" }));
        let picture = decoded(&answer);
        if whole {
            self.screen(width, height);
        }
        keep(&format!("{name}.png"), &picture);
        picture
    }

    /// Asserts that a window as narrow as a telephone needs no horizontal scrolling.
    pub(crate) fn fits_telephone(&self) {
        self.screen(420, 900);
        // Charts adapt to the width of the window.
        self.wait_for(
            "[...document.querySelectorAll('canvas')].every((c) => c.getBoundingClientRect().right <= innerWidth)",
        );
        let beyond = "document.documentElement.scrollWidth <= innerWidth ? [] : \
            [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth \
            && !e.closest('.scroll, .panel, pre, .flow-scroll')).map((e) => e.outerHTML.slice(0, 120))";
        assert_eq!(self.eval(beyond), Value::Array(Vec::new()), "{}", self.address);
    }

    /// Asserts that nothing is cut off on paper, which is narrower than the screen, and takes a picture.
    pub(crate) fn fits_paper(&self, name: &str) {
        self.emulate(Theme::Light, "print");
        self.eval("void (document.querySelector('main').style.width = '700px')");
        let beyond = "[...document.querySelectorAll('figure, canvas, table')]\
            .filter((e) => e.getBoundingClientRect().right > document.querySelector('main').getBoundingClientRect().right + 1).map((e) => e.outerHTML.slice(0, 80))";
        assert_eq!(self.eval(beyond), Value::Array(Vec::new()), "{name}");
        self.picture(&format!("{name}-paper"), true);
    }

    /// Prints the page as PDF.
    pub(crate) fn print(&self, name: &str) -> Vec<u8> {
        let pdf = decoded(&self.tab.call("Page.printToPDF", json!({})));
        keep(&format!("{name}.pdf"), &pdf);
        pdf
    }

    /// Returns errors so far, and requests other than for the page itself.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.marks += 1;
        self.eval(&format!("console.log({})", quoted(MARK)));
        let start = Instant::now();
        loop {
            for event in self.tab.events() {
                note(&mut self.seen, &event);
            }
            if self.seen.marks >= self.marks {
                // A page on disk asks for nothing, one of a server only for what is there.
                let own = match self.address.starts_with("http:") {
                    true => self.address.split_inclusive('/').take(3).collect(),
                    false => self.address.clone(),
                };
                let foreign = |address: &&String| {
                    let is_own = **address == own || (own.ends_with('/') && address.starts_with(&own));
                    !is_own && !address.starts_with("data:")
                };
                let asked = self.seen.requests.iter().filter(foreign);
                return (self.seen.errors.iter().cloned())
                    .chain(asked.map(|address| format!("asked for {address}")))
                    .collect();
            }
            assert!(start.elapsed() < PATIENCE, "the browser says nothing");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes the page and asserts that there were no errors and no requests.
    pub(crate) fn close(mut self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "{}: {complaints:#?}", self.address);
        self.tab.close();
    }
}

/// Keeps a picture in the folder `PACELINE_SCREENSHOTS`, if set.
fn keep(name: &str, content: &[u8]) {
    if let Some(folder) = std::env::var_os("PACELINE_SCREENSHOTS") {
        let folder = Path::new(&folder);
        fs::create_dir_all(folder).expect("the folder for pictures");
        fs::write(folder.join(name), content).expect("the picture is kept");
    }
}

/// Quotes a text for JavaScript.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Decodes the file in an answer.
fn decoded(answer: &Value) -> Vec<u8> {
    let data = answer["data"].as_str().expect("a file");
    STANDARD.decode(data).expect("base64")
}

fn exception(details: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    format!(
        "{} {}",
        text(&details["text"]),
        text(&details["exception"]["description"])
    )
}

fn note(seen: &mut PageEvents, event: &Value) {
    let params = &event["params"];
    match event["method"].as_str() {
        Some("Runtime.exceptionThrown") => seen.errors.push(exception(&params["exceptionDetails"])),
        Some("Runtime.consoleAPICalled") => {
            let words: Vec<String> = params["args"]
                .as_array()
                .into_iter()
                .flatten()
                .map(words)
                .collect();
            let words = words.join(" ");
            if words == MARK {
                seen.marks += 1;
            } else if matches!(params["type"].as_str(), Some("error" | "warning" | "assert")) {
                seen.errors.push(format!("console: {words}"));
            }
        }
        Some("Log.entryAdded") => {
            let entry = &params["entry"];
            seen.errors.push(format!("{}: {}", entry["level"], entry["text"]));
        }
        Some("Network.requestWillBeSent") => {
            let address = params["request"]["url"].as_str().unwrap_or_default();
            seen.requests.push(address.to_string());
        }
        _ => {}
    }
}

fn words(object: &Value) -> String {
    match object.get("value") {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => object["description"].as_str().unwrap_or_default().to_string(),
    }
}
