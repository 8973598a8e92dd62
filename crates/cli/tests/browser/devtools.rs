//! The DevTools protocol of a headless Chromium over a pipe: JSON messages, each terminated by a zero byte. A pipe
//! needs neither a port nor a WebSocket.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Maximum duration of a step in the browser; long enough for busy machines.
const PATIENCE: Duration = Duration::from_secs(120);

/// Arguments that disable network connections and updates, and make output independent of the machine.
const ARGUMENTS: [&str; 20] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--window-size=1280,900",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-quic",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
];

/// A running browser; it ends when this is dropped.
pub(crate) struct Browser {
    child: Child,
    connection: Arc<Connection>,
    /// Folder of the browser's profile, removed with it.
    _folder: TempDir,
}

struct Connection {
    input: Mutex<ChildStdin>,
    received: Mutex<Received>,
    changed: Condvar,
}

#[derive(Default)]
struct Received {
    /// Number of the last message sent.
    last: u64,
    answers: HashMap<u64, Value>,
    /// Events by session, oldest first.
    events: HashMap<String, Vec<Value>>,
    closed: bool,
}

/// A tab of a browser.
pub(crate) struct Tab {
    connection: Arc<Connection>,
    target: String,
    session: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Browser {
    pub(crate) fn start(program: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{} does not start: {error}", program.display());
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        // The protocol uses file descriptors 3 and 4, which a shell can open without unsafe code.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args(ARGUMENTS)
            .arg(format!("--user-data-dir={}", folder.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let connection = Arc::new(Connection {
            input: Mutex::new(input.expect("a pipe")),
            received: Mutex::default(),
            changed: Condvar::new(),
        });
        let reader = Arc::clone(&connection);
        std::thread::spawn(move || reader.read(output.expect("a pipe")));
        let browser = Self {
            child,
            connection,
            _folder: folder,
        };
        browser.version().map_err(|error| failed(&error))?;
        Ok(browser)
    }

    /// Returns name and version of the browser.
    pub(crate) fn version(&self) -> Result<String, String> {
        let found = self.connection.call(None, "Browser.getVersion", json!({}))?;
        Ok(found["product"].as_str().unwrap_or("?").to_string())
    }

    pub(crate) fn new_tab(&self) -> Tab {
        let call = |method, params| self.connection.call(None, method, params).expect("a tab");
        let text = |value: &Value| value.as_str().expect("an identifier").to_string();
        let target = text(&call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"]);
        let attached = call(
            "Target.attachToTarget",
            json!({ "targetId": target, "flatten": true }),
        );
        Tab {
            connection: Arc::clone(&self.connection),
            session: text(&attached["sessionId"]),
            target,
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Connection {
    fn read(&self, output: ChildStdout) {
        for message in BufReader::new(output).split(0) {
            let Ok(message) = message else { break };
            let Ok(mut message) = serde_json::from_slice::<Value>(&message) else {
                continue;
            };
            let mut received = lock(&self.received);
            if let Some(id) = message["id"].as_u64() {
                received.answers.insert(id, message);
            } else if let Some(session) = message["sessionId"].as_str().map(str::to_string) {
                received.events.entry(session).or_default().push(message.take());
            }
            self.changed.notify_all();
        }
        lock(&self.received).closed = true;
        self.changed.notify_all();
    }

    fn call(&self, session: Option<&str>, method: &str, params: Value) -> Result<Value, String> {
        let mut received = lock(&self.received);
        received.last += 1;
        let id = received.last;
        drop(received);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        lock(&self.input)
            .write_all(&bytes)
            .map_err(|error| format!("{method}: {error}"))?;
        let waits = |received: &mut Received| !received.closed && !received.answers.contains_key(&id);
        let received = lock(&self.received);
        let waited = self.changed.wait_timeout_while(received, PATIENCE, waits);
        let (mut received, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let mut answer = received
            .answers
            .remove(&id)
            .ok_or_else(|| format!("{method}: no answer"))?;
        match answer.get("error") {
            Some(error) => Err(format!("{method}: {}", error["message"])),
            None => Ok(answer["result"].take()),
        }
    }
}

impl Tab {
    /// Calls a method of the protocol. An error fails the test.
    pub(crate) fn call(&self, method: &str, params: Value) -> Value {
        self.try_call(method, params)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn try_call(&self, method: &str, params: Value) -> Result<Value, String> {
        self.connection.call(Some(&self.session), method, params)
    }

    /// Returns the events since the last call, oldest first.
    pub(crate) fn events(&self) -> Vec<Value> {
        lock(&self.connection.received)
            .events
            .remove(&self.session)
            .unwrap_or_default()
    }

    pub(crate) fn close(&self) {
        let closed = self
            .connection
            .call(None, "Target.closeTarget", json!({ "targetId": self.target }));
        closed.expect("the tab closes");
    }
}
