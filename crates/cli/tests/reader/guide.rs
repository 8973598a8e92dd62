//! Pages that show what their commands say and draw. `UPDATE_BOOK=1 cargo test -p paceline --test reader` writes it again.

use std::fs;
use std::path::Path;

/// A page's text about a command, and the present output; both start with the command.
pub(crate) type Shown = (String, String);

/// Checks that outputs and figures on the page agree with its commands, which were executed in `folder`.
pub(crate) fn keep(page: &Path, shown: &[Shown], folder: &Path) {
    let text = fs::read_to_string(page).expect("the page");
    let mut now = text.clone();
    for (before, after) in shown {
        assert!(now.contains(before), "{before}");
        now = now.replacen(before, after, 1);
    }
    keep_file(page, &now);
    // `![words](../images/guide/name.svg)` shows the figure that a command drew as `name.svg`.
    for part in text.split("](../images/guide/").skip(1) {
        let name = part.split(')').next().expect("a name");
        let drawn = fs::read_to_string(folder.join(name)).expect("a figure that a command draws");
        let images = page
            .parent()
            .and_then(Path::parent)
            .expect("the book")
            .join("images/guide");
        fs::create_dir_all(&images).expect("a folder");
        keep_file(&images.join(name), &drawn);
    }
}

fn keep_file(file: &Path, now: &str) {
    if std::env::var_os("UPDATE_BOOK").is_some() {
        return fs::write(file, now).expect("the file is written");
    }
    let written = fs::read_to_string(file).unwrap_or_default();
    assert!(
        written == now,
        "{} is out of date: UPDATE_BOOK=1 cargo test -p paceline --test reader writes\n{now}",
        file.display()
    );
}
