//! `paceline view` serves a folder to those who have its token, and changes nothing.

#![cfg(unix)]

use std::fs;
use std::net::TcpListener;

use crate::common::served::Served;
use crate::common::{SMALL, files, folder_with, json, run, stdout};

fn with_run() -> tempfile::TempDir {
    let folder = folder_with("my.toml", SMALL);
    stdout(folder.path(), &["run", "my.toml", "--out", "run", "--quiet"]);
    folder
}

#[test]
fn strangers_see_nothing() {
    let folder = with_run();
    let path = folder.path();
    fs::write(path.join("secret.csv"), "secret\n").unwrap();
    std::os::unix::fs::symlink("../secret.csv", path.join("run/out.csv")).unwrap();
    let before = files(path);
    let server = Served::start(path, &["run"]);
    let host = format!("Host: {}", server.host());
    assert!(server.token().len() >= 32, "{}", server.address);

    let known = |request: &str| {
        server.send(
            &request.replace('?', &format!("?token={}&", server.token())),
            &[&host],
        )
    };
    assert_eq!(known("GET /?").status, 200);
    assert_eq!(
        server.get("/file/flows.csv").body,
        fs::read(path.join("run/flows.csv")).unwrap()
    );
    assert_eq!(server.send("GET /", &[&host]).status, 403);
    assert_eq!(server.send("GET /file/flows.csv", &[&host]).status, 403);
    assert_eq!(server.send("GET /?token=00", &[&host]).status, 403);
    for other in ["Host: evil.example", "Host: 127.0.0.1", "Host: 127.0.0.1:1"] {
        assert_eq!(
            server
                .send(&format!("GET /?token={}", server.token()), &[other])
                .status,
            403,
            "{other}"
        );
    }
    assert_eq!(known("POST /?").status, 405);
    for path in [
        "/file/../secret.csv",
        "/file/%2e%2e/secret.csv",
        "/file/..%2fsecret.csv",
        "/file/out.csv",
        "/file/scenario.toml",
        "/file//etc/passwd",
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(
            !String::from_utf8_lossy(&answer.body).contains("secret\n"),
            "{path}"
        );
    }
    let head = known("GET /?").head;
    for header in [
        "Content-Security-Policy: default-src 'none'; script-src 'self'",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "HttpOnly; SameSite=Strict",
    ] {
        assert!(head.contains(header), "{header} in {head}");
    }
    assert!(!head.to_lowercase().contains("access-control"), "{head}");
    assert_eq!(server.interrupted(), Some(0));
    assert!(files(path) == before, "the server wrote something");
}

#[test]
fn parts_of_files_and_of_the_time_line() {
    let folder = with_run();
    let server = Served::start(folder.path(), &["run"]);
    let whole = fs::read(folder.path().join("run/series.parquet")).unwrap();
    let port = server.host().split(':').nth(1).unwrap();
    let lines = [
        format!("Host: localhost:{port}"),
        format!("Cookie: paceline-view-{port}={}", server.token()),
        "Range: bytes=-4".to_string(),
    ];
    let part = server.send("GET /file/series.parquet", &[&lines[0], &lines[1], &lines[2]]);
    assert_eq!(
        (part.status, part.body.as_slice()),
        (206, &whole[whole.len() - 4..])
    );
    let head = server.send("HEAD /file/series.parquet", &[&lines[0], &lines[1]]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(
        head.head.contains(&format!("Content-Length: {}", whole.len())),
        "{}",
        head.head
    );

    let of = |path: &str| -> serde_json::Value { serde_json::from_slice(&server.get(path).body).unwrap() };
    let about = of("/timeline/about?run=");
    assert_eq!(about["flows"], 2);
    let end = about["end"].as_u64().unwrap();
    let window = of(&format!(
        "/timeline/window?run=&from=0&to={end}&columns=100&by=scheme"
    ));
    assert_eq!(window["flows"]["bars"].as_array().unwrap().len(), 2);
    assert!(!window["queues"].as_array().unwrap().is_empty());
    let flow = of("/timeline/flow?run=&id=1");
    assert_eq!((&flow["is"]["flow"], &flow["count"]), (&1.into(), &1.into()));
    assert_eq!(of("/timeline/find?run=&q=1")[0]["flow"], 1);
    assert_eq!(server.get("/timeline/about?run=../run").status, 404);
    let page = of("/api/info")["page"].as_str().unwrap().to_string();
    let report = server.send(&format!("GET /{page}"), &[&lines[0]]);
    assert_eq!(
        report.body,
        fs::read(folder.path().join("run/report.html")).unwrap()
    );
}

/// The folder is as it was in the middle of the sweep: rows, and neither tables nor a page.
#[test]
fn a_sweep_under_way_is_shown() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    stdout(
        path,
        &[
            "sweep",
            "my.toml",
            "--over",
            "cc.scheme=hpcc,dctcp",
            "--out",
            "sweep",
            "--quiet",
        ],
    );
    let sweep = path.join("sweep");
    for name in [
        "results.csv",
        "results.parquet",
        "points.csv",
        "points.parquet",
        "notes.json",
        "report.html",
    ] {
        fs::remove_file(sweep.join(name)).unwrap();
    }
    let rows: Vec<_> = fs::read_dir(sweep.join("rows"))
        .unwrap()
        .map(|row| row.unwrap().path())
        .collect();
    let last = fs::read(&rows[0]).unwrap();
    fs::remove_file(&rows[0]).unwrap();
    let server = Served::start(path, &["sweep"]);
    let status = || -> serde_json::Value { serde_json::from_slice(&server.get("/api/status").body).unwrap() };
    let now = status();
    assert_eq!(
        (&now["under_way"], &now["done"], &now["planned"]),
        (&true.into(), &1.into(), &2.into())
    );
    assert_eq!(now["tables"][0]["url"], "live/results.parquet");
    let table = server.get("/live/results.parquet");
    assert_eq!((table.status, &table.body[..4]), (200, &b"PAR1"[..]));
    let info: serde_json::Value = serde_json::from_slice(&server.get("/api/info").body).unwrap();
    assert_eq!(info["runs"], serde_json::json!([]));
    let report = server.get(&format!("/{}", info["page"].as_str().unwrap()));
    assert!(
        String::from_utf8(report.body)
            .unwrap()
            .contains("1 of 2 runs are finished")
    );
    assert!(!sweep.join("report.html").exists() && !sweep.join("results.csv").exists());
    // The next run ends.
    fs::write(&rows[0], last).unwrap();
    while status()["done"] != 2 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_ne!(status()["stamp"], now["stamp"]);
}

#[test]
fn what_cannot_be_shown_is_an_error() {
    let folder = with_run();
    let path = folder.path();
    fs::create_dir(path.join("empty")).unwrap();
    let refused = |arguments: &[&str]| {
        let output = run(path, &[&["view"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let report = |name: &str| String::from_utf8(run(path, &["report", name]).stderr).unwrap();
    for name in ["empty", "none", "my.toml", "rum"] {
        assert_eq!(refused(&[name]), report(name));
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    assert_eq!(
        refused(&["run", "--port", &port]),
        format!("error: port {port} is in use: name another, or leave out --port\n")
    );
    assert_eq!(json(&path.join("run/summary.json"))["flows"]["total"], 2);
}
