//! A `paceline view` that runs, and requests to it.
#![allow(dead_code)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use super::{command, interrupt};

/// A running server; it ends when this is dropped.
pub(crate) struct Served {
    child: Child,
    /// Address with the token, as the command printed it.
    pub(crate) address: String,
}

/// Answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Head of the answer, with its status.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Served {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = command(folder)
            .arg("view")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let mut address = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut address)
            .expect("an address");
        let address = address.trim().to_string();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Self { child, address }
    }

    /// Returns host and port.
    pub(crate) fn host(&self) -> &str {
        let rest = self.address.trim_start_matches("http://");
        rest.split('/').next().unwrap_or_default()
    }

    pub(crate) fn token(&self) -> &str {
        self.address.split("token=").nth(1).unwrap_or_default()
    }

    /// Sends a request with these lines after the first, and returns the answer.
    pub(crate) fn send(&self, first: &str, lines: &[&str]) -> Answer {
        let mut stream = TcpStream::connect(self.host()).expect("a connection");
        let mut text = format!("{first} HTTP/1.1\r\nConnection: close\r\n");
        for line in lines {
            text += &format!("{line}\r\n");
        }
        stream.write_all((text + "\r\n").as_bytes()).expect("it is sent");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        let end = bytes
            .windows(4)
            .position(|part| part == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of text");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer {
            status: status.expect("a status"),
            head,
            body: bytes[end + 4..].to_vec(),
        }
    }

    /// Asks for a path as the page does, with the cookie.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let port = self.host().split(':').nth(1).unwrap_or_default();
        let cookie = format!("Cookie: paceline-view-{port}={}", self.token());
        self.send(
            &format!("GET {path}"),
            &[&format!("Host: {}", self.host()), &cookie],
        )
    }

    /// Interrupts the server as Ctrl-C does, and returns its exit status.
    pub(crate) fn interrupted(mut self) -> Option<i32> {
        interrupt(&self.child);
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
