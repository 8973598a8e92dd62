//! A headless Chromium: found on the system, or installed where permitted. Otherwise the reason is reported.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::devtools::Browser;

/// Program names to look for.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Starts the browser, or returns the reason why there is none.
pub(crate) fn start() -> Result<Browser, String> {
    let program = match find() {
        Some(program) => program,
        None => install()?,
    };
    Browser::start(&program)
}

fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROME").filter(|name| !name.is_empty()) {
        return Some(named.into());
    }
    NAMES.iter().find_map(|name| on_path(name))
}

/// Finds a program on the search path.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Installs the distribution's Chromium, which needs root and apt.
fn install() -> Result<PathBuf, String> {
    let apt = on_path("apt-get")
        .ok_or("there is no Chromium (looked for CHROME and on the path), and no apt-get to install it")?;
    if !is_root() {
        return Err(
            "there is no Chromium (looked for CHROME and on the path), and only root may install it".into(),
        );
    }
    // Concurrent test runs take turns, so that the second one finds the browser installed.
    let place = std::env::temp_dir().join("paceline-browser-tests.lock");
    let lock = File::create(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    lock.lock()
        .map_err(|error| format!("{}: {error}", place.display()))?;
    if let Some(program) = find() {
        return Ok(program);
    }
    eprintln!("browser tests: installing the package chromium");
    apt_get(&apt, &["update"])?;
    apt_get(&apt, &["install", "-y", "--no-install-recommends", "chromium"])?;
    find().ok_or_else(|| "the package chromium is installed, but has no such program".into())
}

fn apt_get(apt: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(apt)
        .args(["-q", "-o", "Acquire::Retries=2", "-o", "DPkg::Lock::Timeout=300"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .map_err(|error| format!("{}: {error}", apt.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    Err(format!(
        "there is no Chromium, and apt-get {} failed: {last}",
        arguments[0]
    ))
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
