//! HTTP/1.1 on a local socket: requests without bodies, and responses that are bytes or a part of a file.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Largest head of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// Connections that are served at a time; a browser opens six.
const CONNECTIONS_MAX: usize = 64;
/// Time that a connection may take for a request, or stay idle.
const PATIENCE: Duration = Duration::from_secs(20);

/// Head of a request, with what the page needs of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Decoded path, which begins with a slash.
    pub(crate) path: String,
    /// Decoded names and values after the question mark.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) host: Option<String>,
    pub(crate) cookie: Option<String>,
    pub(crate) range: Option<String>,
    /// True if the connection ends after the response.
    pub(crate) closes: bool,
}

impl Request {
    /// Returns the first value of a name in the query.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Body of a response: bytes in memory, or a part of a file.
#[derive(Debug)]
pub(crate) enum Body {
    Bytes(Vec<u8>),
    File { file: File, from: u64, len: u64 },
}

/// Response with its own headers; those of every response are added when it is sent.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
}

impl Response {
    pub(crate) fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("Content-Type", kind.to_string())],
            body: Body::Bytes(body.into()),
        }
    }

    /// Creates an error, whose text is all that the response has.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{message}\n"))
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        416 => "Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    }
}

/// Decodes `%xx`; returns `None` if that is malformed, not UTF-8, or has a zero byte.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Result of reading the start of a connection's input.
pub(crate) enum Parsed {
    /// A request, and the length of its head in bytes.
    Whole(Request, usize),
    /// More input is needed.
    Partial,
    /// No request that is served: status and reason.
    Refused(u16, &'static str),
}

/// Parses the head of a request.
pub(crate) fn parse(input: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(input) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Refused(400, "not a request"),
    };
    let (path, query) = match head.path.unwrap_or_default() {
        target if target.starts_with('/') => target.split_once('?').unwrap_or((target, "")),
        _ => return Parsed::Refused(400, "the target is not a path"),
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs: Option<Vec<(String, String)>> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        })
        .collect();
    let (Some(path), Some(query)) = (decoded(path), pairs) else {
        return Parsed::Refused(400, "the target is not encoded text");
    };
    let mut request = Request {
        method: head.method.unwrap_or_default().to_string(),
        path,
        query,
        closes: head.version == Some(0),
        ..Request::default()
    };
    for header in head.headers.iter() {
        let value = String::from_utf8_lossy(header.value).trim().to_string();
        let slot = match header.name.to_ascii_lowercase().as_str() {
            "host" => &mut request.host,
            "cookie" => &mut request.cookie,
            "range" => &mut request.range,
            // The rest of the input may be a body, which is not read as another request.
            "content-length" | "transfer-encoding" => {
                request.closes = true;
                continue;
            }
            "connection" => {
                request.closes |= value.eq_ignore_ascii_case("close");
                continue;
            }
            _ => continue,
        };
        if slot.replace(value).is_some() {
            return Parsed::Refused(400, "a header stands twice");
        }
    }
    Parsed::Whole(request, length)
}

/// Accepts connections for ever, and answers each request with `answer`.
pub(crate) fn serve(listener: &TcpListener, answer: &(impl Fn(&Request) -> Response + Sync)) -> ! {
    let open = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        loop {
            let Ok((stream, _)) = listener.accept() else {
                // Out of descriptors, for example: that passes when connections end.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            if open.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS_MAX {
                open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let slot = Slot(&open);
            let run = move || {
                let _slot = slot;
                // An error is the client's: it has gone, and nobody is left to hear of it.
                let _ = converse(stream, answer);
            };
            // Without a thread, the connection ends here.
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
    })
}

/// One of the connections that are served, until it ends in whichever manner.
struct Slot<'a>(&'a AtomicUsize);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers the requests of a connection.
fn converse(mut stream: TcpStream, answer: &impl Fn(&Request) -> Response) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut input = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let (request, response) = match parse(&input) {
            Parsed::Whole(request, length) => {
                input.drain(..length);
                let response = answer(&request);
                (request, response)
            }
            Parsed::Partial if input.len() <= HEAD_MAX => match stream.read(&mut chunk)? {
                0 => return Ok(()),
                count => {
                    input.extend_from_slice(&chunk[..count]);
                    continue;
                }
            },
            Parsed::Partial => (closing(), Response::error(431, "the request is too long")),
            Parsed::Refused(status, why) => (closing(), Response::error(status, why)),
        };
        send(&mut stream, &request, response)?;
        if request.closes {
            return Ok(());
        }
    }
}

/// Returns a request without content, for responses after which the connection ends.
fn closing() -> Request {
    Request {
        closes: true,
        ..Request::default()
    }
}

fn send(out: &mut impl Write, request: &Request, response: Response) -> io::Result<()> {
    let len = match &response.body {
        Body::Bytes(bytes) => bytes.len() as u64,
        Body::File { len, .. } => *len,
    };
    let mut head = format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
    for (name, value) in &response.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let connection = if request.closes { "close" } else { "keep-alive" };
    head += &format!(
        "Content-Length: {len}\r\nConnection: {connection}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    let has_body = request.method != "HEAD";
    match response.body {
        Body::Bytes(body) => {
            if has_body {
                bytes.extend_from_slice(&body);
            }
            out.write_all(&bytes)
        }
        Body::File { mut file, from, len } => {
            out.write_all(&bytes)?;
            if !has_body {
                return Ok(());
            }
            file.seek(SeekFrom::Start(from))?;
            match io::copy(&mut file.take(len), out)? {
                all if all == len => Ok(()),
                // The file was cut meanwhile: the client notices the end of the connection.
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Whole(request, _) => request,
            Parsed::Partial => panic!("partial"),
            Parsed::Refused(status, why) => panic!("{status} {why}"),
        }
    }

    #[test]
    fn a_head_is_read() {
        let text = "GET /a%20b?x=1&y=%2F HTTP/1.1\r\nHost: h:1\r\nCookie: c=d\r\nRange: bytes=0-1\r\n\r\n";
        let request = parsed(text);
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a b"));
        assert_eq!(
            (request.value("x"), request.value("y"), request.value("z")),
            (Some("1"), Some("/"), None)
        );
        let all = [request.host, request.cookie, request.range].map(Option::unwrap);
        assert_eq!(all, ["h:1", "c=d", "bytes=0-1"]);
        assert!(!request.closes);
        for cut in 0..text.len() {
            assert!(matches!(parse(&text.as_bytes()[..cut]), Parsed::Partial), "{cut}");
        }
    }

    #[test]
    fn what_may_have_a_body_ends_the_connection() {
        assert!(parsed("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n").closes);
        assert!(parsed("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").closes);
        assert!(parsed("GET / HTTP/1.0\r\n\r\n").closes);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in [
            "GET http://a/ HTTP/1.1\r\n\r\n",
            "GET /%zz HTTP/1.1\r\n\r\n",
            "GET /%ff HTTP/1.1\r\n\r\n",
            "GET /%00 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "\u{1}\r\n\r\n",
        ] {
            assert!(
                matches!(parse(text.as_bytes()), Parsed::Refused(400, _)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_head_alone_has_no_body() {
        let mut out = Vec::new();
        let request = parsed("HEAD / HTTP/1.1\r\n\r\n");
        send(&mut out, &request, Response::new(200, "text/plain", "abc")).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("Content-Length: 3\r\n") && text.ends_with("\r\n\r\n"),
            "{text}"
        );
    }
}
