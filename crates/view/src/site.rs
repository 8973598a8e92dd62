//! Addresses of the page, and who may ask for them.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_lab::files::columns::write_parquet;
use paceline_lab::sweep::{SweepData, points, results};
use paceline_report::STYLE;
use serde_json::{Value, json};

use crate::files::{changed, encoded, inside, names_table, of_bytes, response};
use crate::flows::By;
use crate::http::{Request, Response, serve};
use crate::status::{LIVE, Status, is_stale};
use crate::timeline::Timeline;
use crate::token::{same, secret};

/// Kind of results that a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Results of a single run.
    Run,
    /// Several runs, each in a folder of its own.
    Comparison,
    /// Grid of runs, finished or not.
    Sweep,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Comparison => "comparison",
            Self::Sweep => "sweep",
        }
    }
}

/// Renders the report of a folder, or says why there is none.
pub type Render = dyn Fn(&Path) -> Result<String, String> + Send + Sync;

/// Folder that a page shows.
pub struct Content {
    /// Path of the folder, as commands name it.
    pub folder: PathBuf,
    /// Kind of the results in it.
    pub kind: Kind,
    /// Folders of the runs that have a time line, relative; an empty one for the folder itself.
    pub runs: Vec<String>,
    /// Description of tables and columns: `{table: {about, columns: {name: meaning}}}`.
    pub meanings: Value,
    /// Renders the report of a folder that has no page yet.
    pub render: Box<Render>,
}

/// Time lines that are kept, each with the run's folder and the time of its summary.
const TIMELINES_MAX: usize = 2;

/// Policy of our own page: scripts, styles and data from this server and nowhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    worker-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Policy of reports, which a stranger may have written: they run apart from our page, and reach nothing.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLES: &str = "text/css; charset=utf-8";
const PARQUET: &str = "application/vnd.apache.parquet";

type Timelines = Vec<(String, u64, Arc<Timeline>)>;
/// Page or table in memory: its path, the state of the folder that it shows, and its content.
type Made = Mutex<Option<(String, String, Arc<Vec<u8>>)>>;

/// The page's server, before it has accepted anyone.
pub struct Server {
    listener: TcpListener,
    site: Site,
}

impl Server {
    /// Opens a port of the loopback interface; 0 stands for any free one.
    ///
    /// # Errors
    /// The port is in use, the folder cannot be read, or the system has no random numbers.
    pub fn open(content: Content, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            site: Site::new(content, port, secret()?, secret()?)?,
            listener,
        })
    }

    /// Returns the address with the token, which opens the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.site.port, self.site.token)
    }

    /// Answers requests until the process ends.
    pub fn serve(self) -> ! {
        serve(&self.listener, &|request| self.site.answer(request))
    }
}

/// Everything that answers need.
struct Site {
    content: Content,
    /// Canonical path of the folder.
    root: PathBuf,
    port: u16,
    token: String,
    /// Secret in the addresses of reports. A report runs apart, without the cookie, and knows no other secret.
    page_key: String,
    timelines: Mutex<Timelines>,
    page: Made,
    table: Made,
    status: Mutex<Option<(u64, Arc<Status>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Site {
    fn new(content: Content, port: u16, token: String, page_key: String) -> io::Result<Self> {
        Ok(Self {
            root: content.folder.canonicalize()?,
            content,
            port,
            token,
            page_key,
            timelines: Mutex::default(),
            page: Made::default(),
            table: Made::default(),
            status: Mutex::default(),
        })
    }

    /// Returns the cookie's name. Cookies are those of a host and not of a port, so each server has its own.
    fn cookie(&self) -> String {
        format!("paceline-view-{}", self.port)
    }

    fn is_known(&self, request: &Request) -> bool {
        let name = self.cookie();
        let cookies = request.cookie.as_deref().unwrap_or_default().split(';');
        let mut cookies = cookies.filter_map(|one| one.trim().split_once('='));
        let of_cookie = cookies.find(|(key, _)| *key == name).map(|(_, value)| value);
        [request.value("token"), of_cookie]
            .into_iter()
            .flatten()
            .any(|guess| same(&self.token, guess))
    }

    /// Answers a request, or refuses it.
    fn answer(&self, request: &Request) -> Response {
        // A page of another name that leads here (DNS rebinding) has that name in its requests.
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        if !request.host.as_ref().is_some_and(|host| hosts.contains(host)) {
            return Response::error(403, "this address is not served");
        }
        if !["GET", "HEAD"].contains(&request.method.as_str()) {
            return Response::error(405, "only GET and HEAD: nothing can be changed")
                .with("Allow", "GET, HEAD");
        }
        let path = &request.path[1..];
        if let Some((key, page)) = path.strip_prefix("page/").and_then(|rest| rest.split_once('/')) {
            return match same(&self.page_key, key) {
                true => self.page(page, request),
                false => Response::error(403, "the key of this page is missing"),
            };
        }
        if !self.is_known(request) {
            return Response::error(
                403,
                "the token is missing: open the address that the command printed",
            );
        }
        match path {
            "" => self.index(),
            "api/info" => self.info(),
            "api/status" => of_json(&json!(*self.status())),
            _ => match path.split_once('/') {
                Some(("assets", name)) => asset(name),
                Some(("file", file)) if names_table(file) => match inside(&self.root, file) {
                    // A link may have another name than what it leads to.
                    Some(found) if names_table(&found.to_string_lossy()) => {
                        response(&found, kind_of(file), request.range.as_deref())
                    }
                    _ => Response::error(404, "there is no such table"),
                },
                Some(("live", name)) => self.live(name, request.range.as_deref()),
                Some(("timeline", what)) => self.timeline(what, request),
                _ => Response::error(404, "there is no such page"),
            },
        }
    }

    fn index(&self) -> Response {
        let cookie = format!(
            "{}={}; HttpOnly; SameSite=Strict; Path=/",
            self.cookie(),
            self.token
        );
        Response::new(200, HTML, include_str!("../assets/view.html"))
            .with("Content-Security-Policy", POLICY)
            .with("Set-Cookie", cookie)
    }

    fn info(&self) -> Response {
        let Content {
            folder,
            kind,
            runs,
            meanings,
            ..
        } = &self.content;
        let name = self.root.file_name().unwrap_or(self.root.as_os_str());
        of_json(&json!({
            "name": name.to_string_lossy(), "folder": folder.display().to_string(), "kind": kind.name(), "runs": runs, "meanings": meanings,
            "page": format!("page/{}/report.html", encoded(&self.page_key)), "version": paceline_lab::version(),
        }))
    }

    /// Returns the state of the folder. Several tabs that ask within a second get the same answer.
    fn status(&self) -> Arc<Status> {
        /// Time in ms for which an answer holds.
        const HOLDS: u64 = 1_000;
        let mut last = lock(&self.status);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_millis() as u64);
        match &*last {
            Some((at, status)) if (*at..*at + HOLDS).contains(&now) => Arc::clone(status),
            _ => {
                let status = Arc::new(Status::of(&self.root, self.content.kind == Kind::Sweep));
                *last = Some((now, Arc::clone(&status)));
                status
            }
        }
    }

    /// Returns a report: the file, or what is rendered of a folder without one.
    fn page(&self, path: &str, request: &Request) -> Response {
        if !path.ends_with(".html") {
            return Response::error(404, "there is no such page");
        }
        let sealed = |response: Response| response.with("Content-Security-Policy", REPORT_POLICY);
        let is_old = self.content.kind == Kind::Sweep && path == "report.html" && is_stale(&self.root, path);
        if !is_old && let Some(file) = inside(&self.root, path) {
            return match file.extension().is_some_and(|end| end == "html") {
                true => sealed(response(&file, HTML, request.range.as_deref())),
                false => Response::error(404, "there is no such page"),
            };
        }
        let folder = match path
            .strip_suffix("report.html")
            .map(|folder| folder.trim_end_matches('/'))
        {
            Some("") => Some(self.root.clone()),
            Some(run) => inside(&self.root, &format!("{run}/summary.json")).map(|_| self.root.join(run)),
            None => None,
        };
        let Some(folder) = folder else {
            return Response::error(404, "there is no such page");
        };
        let text = self.made(&self.page, path, || {
            (self.content.render)(&folder).map(String::into_bytes)
        });
        sealed(match text {
            Ok(text) => Response::new(200, HTML, text.as_slice()),
            Err(why) => Response::error(404, &format!("there is no report: {why}")),
        })
    }

    /// Returns what `make` makes, which holds as long as the folder is as it was.
    fn made(
        &self,
        kept: &Made,
        path: &str,
        make: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<Arc<Vec<u8>>, String> {
        let state = self.status().stamp.clone();
        let mut kept = lock(kept);
        if let Some((of, at, content)) = &*kept
            && (of.as_str(), at) == (path, &state)
        {
            return Ok(Arc::clone(content));
        }
        let content = Arc::new(make()?);
        *kept = Some((path.to_string(), state, Arc::clone(&content)));
        Ok(content)
    }

    /// Returns a table of the finished runs of a sweep under way.
    fn live(&self, name: &str, range: Option<&str>) -> Response {
        let is_live = self
            .status()
            .tables
            .iter()
            .any(|table| table.live && table.path == name);
        let table = name
            .strip_suffix(".parquet")
            .filter(|name| is_live && LIVE.contains(name));
        let Some(table) = table else {
            return Response::error(404, "there is no such table");
        };
        let bytes = self.made(&self.table, name, || {
            let data = SweepData::read(&self.root).map_err(|error| error.to_string())?;
            let columns = if table == "points" {
                points(&data)
            } else {
                results(&data)
            };
            let mut bytes = Vec::new();
            write_parquet(&mut bytes, &columns, &[]).map_err(|error| error.to_string())?;
            Ok(bytes)
        });
        match bytes {
            Ok(bytes) => of_bytes(&bytes, PARQUET, range),
            Err(why) => Response::error(404, &why),
        }
    }

    /// Answers a question about the times of a run.
    fn timeline(&self, what: &str, request: &Request) -> Response {
        let run = request.value("run").unwrap_or_default();
        if !self.content.runs.iter().any(|known| known == run) {
            return Response::error(404, "there is no such run");
        }
        let timeline = match self.timeline_of(run) {
            Ok(timeline) => timeline,
            Err(why) => return Response::error(404, &why),
        };
        let number = |name: &str| request.value(name).and_then(|text| text.parse::<u64>().ok());
        match (what, number("from"), number("to")) {
            ("about", ..) => of_json(&timeline.about()),
            ("window", Some(from), Some(to)) if from < to => {
                let columns = number("columns").unwrap_or(1).min(1 << 16) as usize;
                let by = if request.value("by") == Some("label") {
                    By::Label
                } else {
                    By::Scheme
                };
                of_json(&timeline.window(from, to, columns, by))
            }
            ("find", ..) => of_json(&Value::Array(
                timeline.find(request.value("q").unwrap_or_default()),
            )),
            ("overlaps", Some(from), Some(to)) if from < to => of_json(&timeline.overlaps(from, to, None)),
            ("flow", ..) => match number("id").and_then(|id| timeline.flow(u32::try_from(id).ok()?)) {
                Some(item) => of_json(&item),
                None => Response::error(404, "there is no such flow, or it did not start"),
            },
            _ => Response::error(400, "expected two times, the first before the second"),
        }
    }

    /// Returns the time line of a run, read again if the run is another.
    fn timeline_of(&self, run: &str) -> Result<Arc<Timeline>, String> {
        let summary = match run {
            "" => "summary.json".to_string(),
            run => format!("{run}/summary.json"),
        };
        let file = inside(&self.root, &summary).ok_or("there is no such run")?;
        let at = changed(&file);
        // The lock is held while one is read: others would read the same files at the same time.
        let mut kept = lock(&self.timelines);
        if let Some((_, _, known)) = kept.iter().find(|(of, time, _)| of == run && *time == at) {
            return Ok(Arc::clone(known));
        }
        kept.retain(|(of, ..)| of != run);
        kept.truncate(TIMELINES_MAX - 1);
        let made = Arc::new(Timeline::read(file.parent().unwrap_or(&self.root))?);
        kept.insert(0, (run.to_string(), at, Arc::clone(&made)));
        Ok(made)
    }
}

fn of_json(value: &Value) -> Response {
    Response::new(200, "application/json", value.to_string())
}

fn kind_of(file: &str) -> &'static str {
    match file.ends_with(".csv") {
        true => "text/csv; charset=utf-8",
        false => PARQUET,
    }
}

fn asset(name: &str) -> Response {
    let (kind, text) = match name {
        "report.css" => (STYLES, STYLE.to_string()),
        "view.css" => (STYLES, include_str!("../assets/view.css").to_string()),
        "ui.js" => (SCRIPT, include_str!("../assets/ui.js").to_string()),
        "view.js" => (SCRIPT, include_str!("../assets/view.js").to_string()),
        "table.js" => (SCRIPT, include_str!("../assets/table.js").to_string()),
        "rows.js" => (SCRIPT, include_str!("../assets/rows.js").to_string()),
        "timeline.js" => (SCRIPT, include_str!("../assets/timeline.js").to_string()),
        "hyparquet.js" => {
            let licence = include_str!("../assets/hyparquet.LICENSE");
            (
                SCRIPT,
                format!("/*\n{licence}*/\n{}", include_str!("../assets/hyparquet.min.js")),
            )
        }
        _ => return Response::error(404, "there is no such part of the page"),
    };
    Response::new(200, kind, text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::http::Body;

    fn site(folder: &Path) -> Site {
        let content = Content {
            folder: folder.to_path_buf(),
            kind: Kind::Run,
            runs: vec![String::new()],
            meanings: Value::Null,
            render: Box::new(|_| Ok("<p>rendered".into())),
        };
        Site::new(content, 4000, "secret".into(), "key".into()).unwrap()
    }

    fn get(path: &str) -> Request {
        Request {
            method: "GET".into(),
            path: path.into(),
            host: Some("127.0.0.1:4000".into()),
            query: vec![("token".into(), "secret".into())],
            ..Request::default()
        }
    }

    fn text(response: Response) -> (u16, String) {
        let status = response.status;
        match response.body {
            Body::Bytes(bytes) => (status, String::from_utf8(bytes).unwrap()),
            Body::File { file, from, len } => {
                use std::io::{Read as _, Seek as _};
                let mut file = file;
                file.seek(std::io::SeekFrom::Start(from)).unwrap();
                let mut text = String::new();
                file.take(len).read_to_string(&mut text).unwrap();
                (status, text)
            }
        }
    }

    fn folder() -> tempfile::TempDir {
        let tmp = tempfile::tempdir().unwrap();
        fs::write(tmp.path().join("flows.csv"), "0123456789").unwrap();
        fs::write(tmp.path().join("scenario.toml"), "secret").unwrap();
        tmp
    }

    #[test]
    fn strangers_are_refused() {
        let tmp = folder();
        let site = site(tmp.path());
        let status = |request: &Request| site.answer(request).status;
        for path in [
            "/",
            "/assets/view.js",
            "/api/info",
            "/api/status",
            "/file/flows.csv",
            "/none",
            "/page/other/report.html",
            "/page/secret/report.html",
        ] {
            let bare = Request {
                query: Vec::new(),
                ..get(path)
            };
            assert_eq!(status(&bare), 403, "{path}");
            let wrong = Request {
                query: vec![("token".into(), "secreT".into())],
                ..get(path)
            };
            assert_eq!(status(&wrong), 403, "{path}");
            for host in [
                None,
                Some("evil.example:4000"),
                Some("127.0.0.1"),
                Some("127.0.0.1:4001"),
                Some("127.0.0.1:4000.evil.example"),
            ] {
                let rebound = Request {
                    host: host.map(str::to_string),
                    ..get(path)
                };
                assert_eq!(status(&rebound), 403, "{path} {host:?}");
            }
        }
        let cookie = |text: &str| Request {
            query: Vec::new(),
            cookie: Some(text.into()),
            ..get("/file/flows.csv")
        };
        assert_eq!(status(&cookie("a=b; paceline-view-4000=secret")), 200);
        assert_eq!(status(&cookie("paceline-view-4001=secret; token=secret")), 403);
        assert_eq!(
            status(&Request {
                host: Some("localhost:4000".into()),
                ..get("/")
            }),
            200
        );
    }

    #[test]
    fn nothing_can_be_changed() {
        let tmp = folder();
        let site = site(tmp.path());
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get", ""] {
            let request = Request {
                method: method.into(),
                ..get("/file/flows.csv")
            };
            assert_eq!(site.answer(&request).status, 405, "{method}");
        }
    }

    #[test]
    fn only_tables_and_pages_are_served() {
        let tmp = folder();
        let site = site(tmp.path());
        let of = |path: &str| text(site.answer(&get(path)));
        assert_eq!(of("/file/flows.csv"), (200, "0123456789".into()));
        for path in [
            "/file/scenario.toml",
            "/file/../x.csv",
            "/file//etc/passwd",
            "/file/",
            "/file/none.csv",
            "/page/key/scenario.toml",
            "/page/key/../report.html",
            "/page/key/none.html",
            "/live/results.parquet",
            "/assets/none",
        ] {
            assert_eq!(of(path).0, 404, "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("scenario.toml", tmp.path().join("hidden.csv")).unwrap();
            std::os::unix::fs::symlink("scenario.toml", tmp.path().join("hidden.html")).unwrap();
            assert_eq!(of("/file/hidden.csv").0, 404);
            assert_eq!(of("/page/key/hidden.html").0, 404);
        }
        let part = Request {
            range: Some("bytes=2-4".into()),
            ..get("/file/flows.csv")
        };
        let answer = site.answer(&part);
        assert!(
            answer.headers.contains(&("Content-Range", "bytes 2-4/10".into())),
            "{answer:?}"
        );
        assert_eq!(text(answer), (206, "234".into()));
    }

    #[test]
    fn a_report_is_the_file_or_rendered() {
        let tmp = folder();
        let site = site(tmp.path());
        let of = || {
            let request = Request {
                query: Vec::new(),
                ..get("/page/key/report.html")
            };
            let answer = site.answer(&request);
            assert!(
                answer
                    .headers
                    .iter()
                    .any(|(name, value)| *name == "Content-Security-Policy" && value.contains("sandbox"))
            );
            text(answer).1
        };
        assert_eq!(of(), "<p>rendered");
        fs::write(tmp.path().join("report.html"), "<p>a file").unwrap();
        assert_eq!(of(), "<p>a file");
        let page = site.answer(&get("/"));
        let header = |name: &str| {
            page.headers
                .iter()
                .find(|(own, _)| *own == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(
            header("Set-Cookie"),
            Some("paceline-view-4000=secret; HttpOnly; SameSite=Strict; Path=/")
        );
        assert!(!header("Content-Security-Policy").unwrap().contains("unsafe"));
    }
}
