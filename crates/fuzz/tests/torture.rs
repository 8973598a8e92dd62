//! Damage done by the command is detected.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Runs a round of an attack on a script that acts as the command; returns true if there was a finding, and the
/// output.
fn attacked(attack: &str, script: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let command = folder.path().join("paceline");
    fs::write(&command, format!("#!/bin/sh\n{MAKES}{script}")).unwrap();
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
    let mut torture = Command::new(env!("CARGO_BIN_EXE_paceline-torture"));
    torture
        .args([attack, "--rounds", "3", "--command"])
        .arg(Path::new(&command));
    let output = torture.output().expect("the program starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code() == Some(1), String::from_utf8(said).unwrap())
}

/// Sets `$out` to the name of the output in the arguments.
const MAKES: &str =
    "for word in \"$@\"; do case \"$word\" in out*|a|former|shard-*) out=$word;; esac; done\n";

/// Creates a complete file or folder with constant content.
const SOUND: &str =
    "case \"$out\" in *.*) echo x > \"$out\";; *) mkdir -p \"$out\"; echo x > \"$out/summary.json\";; esac\n";

#[test]
fn damage_is_noticed() {
    let (found, said) = attacked("surroundings", SOUND);
    assert!(!found, "{said}");
    for (damage, notice) in [
        ("echo mine > canary/a\n", "what is not the command's was changed"),
        ("rm -f canary/link\n", "what is not the command's was changed"),
        (
            "chmod 600 canary/read-only\n",
            "what is not the command's was changed",
        ),
        ("touch \".$out.partial-1-0\"\n", "is left"),
    ] {
        // The inputs are created by the same command, before there are files of a user.
        let (found, said) = attacked(
            "surroundings",
            &format!("{SOUND}[ -d canary ] || exit 0\n{damage}"),
        );
        assert!(found && said.contains(notice), "{damage}: {said}");
    }
}
