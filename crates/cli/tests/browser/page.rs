//! A page in the browser: its eyes and hands.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use headless_chrome::browser::tab::point::Point;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Input, Network, Page as Protocol, Runtime};
use headless_chrome::{Browser, Tab};
use serde_json::Value;

/// How long to wait for what follows at once.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is written to the console to know that all before it has been seen.
const MARK: &str = "everything before this has been seen";

/// What a page did that it should not have.
#[derive(Default)]
struct Seen {
    /// Errors and warnings on the console, exceptions, and refusals of the browser.
    errors: Vec<String>,
    /// Addresses that were asked for.
    requests: Vec<String>,
    marks: usize,
}

/// A place on the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rectangle {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Light or dark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Theme {
    Light,
    Dark,
}

/// A page that was opened.
pub(crate) struct Page {
    tab: Arc<Tab>,
    seen: Arc<Mutex<Seen>>,
    marks: usize,
    address: String,
}

impl Page {
    /// Opens a file in the light.
    pub(crate) fn open(browser: &Browser, file: &Path) -> Self {
        Self::open_in(browser, file, Theme::Light)
    }

    /// Opens a file.
    pub(crate) fn open_in(browser: &Browser, file: &Path, theme: Theme) -> Self {
        let tab = browser.new_tab().expect("a tab");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let notes = Arc::clone(&seen);
        tab.add_event_listener(Arc::new(move |event: &Event| {
            note(&mut notes.lock().expect("no panic while noting"), event);
        }))
        .expect("a listener");
        tab.enable_runtime().expect("runtime events");
        tab.enable_log().expect("log events");
        tab.call_method(Network::Enable {
            max_total_buffer_size: None,
            max_resource_buffer_size: None,
            max_post_data_size: None,
            report_direct_socket_traffic: None,
            enable_durable_messages: None,
        })
        .expect("network events");
        let address = format!(
            "file://{}",
            file.canonicalize().expect("the page is there").display()
        );
        let page = Self {
            tab,
            seen,
            marks: 0,
            address,
        };
        page.screen(1280, 900);
        page.emulate(theme, "screen");
        page.tab
            .navigate_to(&page.address)
            .and_then(|tab| tab.wait_until_navigated())
            .expect("the page loads");
        page
    }

    /// The size of the window.
    pub(crate) fn screen(&self, width: u32, height: u32) {
        self.tab
            .call_method(Emulation::SetDeviceMetricsOverride {
                width,
                height,
                device_scale_factor: 1.0,
                mobile: false,
                scale: None,
                screen_width: None,
                screen_height: None,
                position_x: None,
                position_y: None,
                dont_set_visible_size: None,
                screen_orientation: None,
                viewport: None,
                display_feature: None,
                device_posture: None,
            })
            .expect("a size of the window");
    }

    /// The reader's taste, and `screen` or `print`.
    pub(crate) fn emulate(&self, theme: Theme, media: &str) {
        let value = if theme == Theme::Dark { "dark" } else { "light" };
        self.tab
            .call_method(Emulation::SetEmulatedMedia {
                media: Some(media.into()),
                features: Some(vec![Emulation::MediaFeature {
                    name: "prefers-color-scheme".into(),
                    value: value.into(),
                }]),
            })
            .expect("emulated media");
    }

    /// The value of an expression; of a promise, what it comes to.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let answer = self
            .tab
            .call_method(Runtime::Evaluate {
                expression: expression.to_string(),
                return_by_value: Some(true),
                await_promise: Some(true),
                generate_preview: None,
                silent: Some(true),
                include_command_line_api: None,
                user_gesture: None,
                object_group: None,
                context_id: None,
                throw_on_side_effect: None,
                timeout: None,
                disable_breaks: None,
                repl_mode: None,
                allow_unsafe_eval_blocked_by_csp: None,
                unique_context_id: None,
                serialization_options: None,
            })
            .unwrap_or_else(|error| panic!("{expression}: {error}"));
        if let Some(problem) = answer.exception_details {
            panic!("{expression}: {}", exception(&problem));
        }
        answer.result.value.unwrap_or(Value::Null)
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
        while self.eval(&format!("Boolean({expression})")) != Value::Bool(true) {
            assert!(start.elapsed() < PATIENCE, "never: {expression}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Where the element is that an expression gives, after bringing it into sight.
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
        self.tab
            .move_mouse_to_point(Point { x, y })
            .expect("the mouse moves");
    }

    /// Moves the mouse to the middle of an element.
    pub(crate) fn hover(&self, element: &str) {
        let at = self.place(element);
        self.move_to(at.left + at.width / 2.0, at.top + at.height / 2.0);
    }

    /// Clicks at the middle of an element.
    pub(crate) fn click(&self, element: &str) {
        let at = self.place(element);
        self.click_at(at.left + at.width / 2.0, at.top + at.height / 2.0);
    }

    pub(crate) fn click_at(&self, x: f64, y: f64) {
        self.move_to(x, y);
        self.button(Input::DispatchMouseEventTypeOption::MousePressed, x, y, 1);
        self.button(Input::DispatchMouseEventTypeOption::MouseReleased, x, y, 1);
    }

    pub(crate) fn double_click(&self, x: f64, y: f64) {
        self.move_to(x, y);
        for count in 1..=2 {
            self.button(Input::DispatchMouseEventTypeOption::MousePressed, x, y, count);
            self.button(Input::DispatchMouseEventTypeOption::MouseReleased, x, y, count);
        }
    }

    /// Drags from one x to another.
    pub(crate) fn drag(&self, from: f64, to: f64, y: f64) {
        self.move_to(from, y);
        self.button(Input::DispatchMouseEventTypeOption::MousePressed, from, y, 1);
        for step in 1..=4 {
            let x = from + (to - from) * f64::from(step) / 4.0;
            self.button(Input::DispatchMouseEventTypeOption::MouseMoved, x, y, 0);
        }
        self.button(Input::DispatchMouseEventTypeOption::MouseReleased, to, y, 1);
    }

    fn button(&self, kind: Input::DispatchMouseEventTypeOption, x: f64, y: f64, count: u32) {
        self.tab
            .call_method(Input::DispatchMouseEvent {
                Type: kind,
                x,
                y,
                button: Some(Input::MouseButton::Left),
                buttons: Some(1),
                click_count: Some(count),
                modifiers: None,
                timestamp: None,
                force: None,
                tangential_pressure: None,
                tilt_x: None,
                tilt_y: None,
                twist: None,
                delta_x: None,
                delta_y: None,
                pointer_Type: None,
            })
            .expect("the mouse");
    }

    /// Sets an input or a selection as a reader's hand would.
    pub(crate) fn set(&self, element: &str, value: &str) {
        let value = quoted(value);
        self.eval(&format!(
            "(() => {{ const e = {element}; e.value = {value}; \
             for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"
        ));
    }

    /// A picture of the page (PNG), all of it or what the window shows.
    pub(crate) fn picture(&self, name: &str, whole: bool) -> Vec<u8> {
        let window = |what: &str| self.number(what) as u32;
        let (width, height) = (window("innerWidth"), window("innerHeight"));
        if whole {
            let all = self.number("document.documentElement.scrollHeight") as u32;
            self.screen(width, all.min(16_000));
        }
        let format = Protocol::CaptureScreenshotFormatOption::Png;
        let picture = self
            .tab
            .capture_screenshot(format, None, None, true)
            .expect("a picture");
        if whole {
            self.screen(width, height);
        }
        keep(&format!("{name}.png"), &picture);
        picture
    }

    /// Asserts that a window as narrow as a telephone need not be scrolled sideways.
    pub(crate) fn fits_telephone(&self) {
        self.screen(420, 900);
        // Charts follow the window.
        self.wait_for(
            "[...document.querySelectorAll('canvas')].every((c) => c.getBoundingClientRect().right <= innerWidth)",
        );
        let beyond = "document.documentElement.scrollWidth <= innerWidth ? [] : \
            [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth \
            && !e.closest('.scroll, .panel, pre, .flow-scroll')).map((e) => e.outerHTML.slice(0, 120))";
        assert_eq!(self.eval(beyond), Value::Array(Vec::new()), "{}", self.address);
    }

    /// Asserts that on paper, which is narrower than the screen, nothing is cut off; takes a picture.
    pub(crate) fn fits_paper(&self, name: &str) {
        self.emulate(Theme::Light, "print");
        self.eval("void (document.querySelector('main').style.width = '700px')");
        let beyond = "[...document.querySelectorAll('figure, canvas, table')]\
            .filter((e) => e.getBoundingClientRect().right > document.querySelector('main').getBoundingClientRect().right + 1).map((e) => e.outerHTML.slice(0, 80))";
        assert_eq!(self.eval(beyond), Value::Array(Vec::new()), "{name}");
        self.picture(&format!("{name}-paper"), true);
    }

    /// The page as it is printed.
    pub(crate) fn print(&self, name: &str) -> Vec<u8> {
        let pdf = self.tab.print_to_pdf(None).expect("a PDF");
        keep(&format!("{name}.pdf"), &pdf);
        pdf
    }

    /// What went wrong so far, and what was asked for besides the page itself.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.marks += 1;
        self.eval(&format!("console.log({})", quoted(MARK)));
        let start = Instant::now();
        loop {
            let seen = self.seen.lock().expect("no panic while noting");
            if seen.marks >= self.marks {
                let foreign = |address: &&String| **address != self.address && !address.starts_with("data:");
                let asked = seen.requests.iter().filter(foreign);
                return (seen.errors.iter().cloned())
                    .chain(asked.map(|address| format!("asked for {address}")))
                    .collect();
            }
            drop(seen);
            assert!(start.elapsed() < PATIENCE, "the browser says nothing");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends a visit: nothing went wrong, and nobody was asked for anything.
    pub(crate) fn close(mut self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "{}: {complaints:#?}", self.address);
        self.tab.close(false).expect("the tab closes");
    }
}

/// Keeps what a test drew, where `PACELINE_SCREENSHOTS` says.
fn keep(name: &str, content: &[u8]) {
    if let Some(folder) = std::env::var_os("PACELINE_SCREENSHOTS") {
        let folder = Path::new(&folder);
        fs::create_dir_all(folder).expect("the folder for pictures");
        fs::write(folder.join(name), content).expect("the picture is kept");
    }
}

/// Text as JavaScript has it.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn exception(details: &Runtime::ExceptionDetails) -> String {
    let more = details
        .exception
        .as_ref()
        .and_then(|object| object.description.clone());
    format!("{} {}", details.text, more.unwrap_or_default())
}

fn note(seen: &mut Seen, event: &Event) {
    match event {
        Event::RuntimeExceptionThrown(event) => seen.errors.push(exception(&event.params.exception_details)),
        Event::RuntimeConsoleAPICalled(event) => {
            let words: Vec<String> = event.params.args.iter().map(words).collect();
            let words = words.join(" ");
            if words == MARK {
                seen.marks += 1;
                return;
            }
            use Runtime::ConsoleAPICalledEventTypeOption as Kind;
            if matches!(event.params.Type, Kind::Error | Kind::Warning | Kind::Assert) {
                seen.errors.push(format!("console: {words}"));
            }
        }
        Event::LogEntryAdded(event) => {
            let entry = &event.params.entry;
            seen.errors.push(format!("{:?}: {}", entry.level, entry.text));
        }
        Event::NetworkRequestWillBeSent(event) => seen.requests.push(event.params.request.url.clone()),
        _ => {}
    }
}

fn words(object: &Runtime::RemoteObject) -> String {
    match &object.value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => object.description.clone().unwrap_or_default(),
    }
}
