//! Pages that show what their commands say and draw. `UPDATE_BOOK=1 cargo test -p paceline --test reader` writes it again.

use std::fs;
use std::path::Path;

/// What a page shows of a command, and what the command says now; both begin with the command.
pub(crate) type Shown = (String, String);

/// Outputs and figures of the page are those of its commands, which were typed in `folder`.
pub(crate) fn keep(page: &Path, shown: &[Shown], folder: &Path) {
    let text = fs::read_to_string(page).expect("the page");
    let mut now = text.clone();
    for (before, after) in shown {
        assert!(now.contains(before), "{before}");
        now = now.replacen(before, after, 1);
    }
    keep_file(page, &now);
    // `![words](../images/guide/name.svg)` is what a command drew as `name.svg`.
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
