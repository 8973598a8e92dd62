//! Policies trained elsewhere: files that PyTorch wrote (`data/policies/export.py`), and damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_scenario::{Overrides, load, read_model};
use serde::Deserialize;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/policies")
}

/// Inputs and outputs of the networks in PyTorch.
#[derive(Deserialize)]
struct Expected {
    inputs: Vec<Vec<f32>>,
    outputs: std::collections::BTreeMap<String, Vec<Vec<f32>>>,
}

/// Six decisions of each network, including its state, from safetensors and from the output of both PyTorch
/// exporters.
#[test]
fn networks_compute_what_pytorch_computes() {
    let text = fs::read(folder().join("outputs.json")).unwrap();
    let expected: Expected = serde_json::from_slice(&text).unwrap();
    let mut files = 0;
    for (name, rows) in &expected.outputs {
        for ending in ["", "-dynamo", "-script"] {
            let path = folder().join(format!("{name}{ending}.json"));
            if !path.exists() {
                continue;
            }
            files += 1;
            let model = read_model(&path).unwrap();
            let (card, stack) = model.stack().unwrap();
            let inputs = expected.inputs.iter().flat_map(|input| &input[..card.width()]);
            let outputs = stack.run(&inputs.copied().collect::<Vec<f32>>());
            assert_eq!(outputs.len(), rows.iter().map(Vec::len).sum::<usize>());
            for (found, expected) in outputs.iter().zip(rows.iter().flatten()) {
                assert!(
                    (found - expected).abs() < 3e-6,
                    "{name}{ending}: {found} {expected}"
                );
            }
        }
    }
    assert_eq!(files, 10);
}

/// Returns the messages about a scenario that uses a changed policy of the folder.
fn said(name: &str, change: impl FnOnce(&mut String, &mut Vec<u8>)) -> String {
    let mut card = fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    let weights = if card.contains("layers") {
        "safetensors"
    } else {
        "onnx"
    };
    let mut bytes = fs::read(folder().join(format!("{name}.{weights}"))).unwrap();
    change(&mut card, &mut bytes);
    let here = tempfile::tempdir().unwrap();
    fs::write(here.path().join("mine.json"), card).unwrap();
    if !bytes.is_empty() {
        fs::write(here.path().join(format!("mine.{weights}")), bytes).unwrap();
    }
    let text = "name = \"test\"\ntopology.star.hosts = 4\n[[workload]]\nincast = { fan-in = 3, receiver = 4, size = \"1MB\" }\n\
                [cc]\nscheme = \"policy\"\npolicy.model = \"mine.json\"\n";
    let path = here.path().join("test.toml");
    fs::write(&path, text).unwrap();
    let said = match load(path.to_str().unwrap(), &Overrides::default()) {
        Ok(resolved) => {
            let names: Vec<&str> = resolved.files.iter().map(|(name, _)| name.as_str()).collect();
            format!("fine {}", names.join(" "))
        }
        Err(error) => error.to_string(),
    };
    said.replace(&format!("{}/", here.path().display()), "")
}

/// Replaces bytes by others of the same number, at every occurrence.
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let windows = bytes.windows(from.len()).enumerate();
    let indices: Vec<usize> = windows
        .filter(|(_, window)| *window == from)
        .map(|(at, _)| at)
        .collect();
    assert!(!indices.is_empty() && from.len() == to.len());
    for at in indices {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
}

#[test]
fn policies_in_scenarios() {
    assert_eq!(
        said("gru", |_, _| {}),
        "fine models/mine.json models/mine.safetensors"
    );
    assert_eq!(
        said("lstm-dynamo", |_, _| {}),
        "fine models/mine.json models/mine.onnx"
    );
    let all = [
        said("gru", |card, _| *card = card.replace("\"rtt\"", "\"rt\"")),
        said("gru", |card, _| *card = card.replace("\"marks\",", "")),
        said("gru", |card, _| *card = card.replace("memory", "memry")),
        said("gru", |card, _| {
            *card = card.replace("\"history\"", "\"histroy\"")
        }),
        said("lstm", |card, _| *card = card.replace("0.5", "1.5")),
        said("plain-script", |_, bytes| bytes.clear()),
        said("plain-script", |_, bytes| replace(bytes, b"Tanh", b"Sinh")),
        said("plain-script", |_, bytes| bytes.truncate(700)),
        said("plain-script", |card, _| *card = card.replace("\"marks\",", "")),
        said("gru-script", |_, bytes| {
            replace(bytes, b"linear_before_reset", b"linear_before_rasit")
        }),
        said("gru-script", |_, bytes| {
            bytes.clear();
            bytes.extend_from_slice(b"no protobuf at all");
        }),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// A truncated or changed file leads to an error or a network, never to a panic.
#[test]
fn damaged_graphs_are_errors() {
    let bytes = fs::read(folder().join("gru-script.onnx")).unwrap();
    let card = fs::read(folder().join("gru-script.json")).unwrap();
    let here = tempfile::tempdir().unwrap();
    fs::write(here.path().join("mine.json"), card).unwrap();
    let mut refused = 0;
    let mut try_one = |bytes: &[u8]| {
        fs::write(here.path().join("mine.onnx"), bytes).unwrap();
        refused += usize::from(read_model(&here.path().join("mine.json")).is_err());
    };
    for end in (0..bytes.len()).step_by(13) {
        try_one(&bytes[..end]);
    }
    for at in 0..bytes.len().min(2500) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        try_one(&changed);
    }
    assert!(refused > bytes.len() / 13, "{refused}");
}

/// A variant may name a model's file. The resolved scenario names the copy, and is the same run.
#[test]
fn a_variant_names_a_policy() {
    let here = tempfile::tempdir().unwrap();
    let scenario = here.path().join("test.toml");
    let text = "name = \"test\"\ntopology.star.hosts = 4\n[[workload]]\nincast = { fan-in = 3, receiver = 4, size = \"1MB\" }\n\
                [cc]\nscheme = \"swift\"\n";
    fs::write(&scenario, text).unwrap();
    let path = folder().join("gru.json");
    let name = format!("policy:model={}:step=0.1", path.display());
    let changes = Overrides {
        scheme: Some(name.clone()),
        ..Overrides::default()
    };
    let resolved = load(scenario.to_str().unwrap(), &changes).unwrap();
    let config = &resolved.run.schemes[0].config;
    assert_eq!(resolved.scheme, name);
    assert!(config.models()[0].model().is_some());
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir(elsewhere.path().join("models")).unwrap();
    for (file, content) in &resolved.files {
        fs::write(elsewhere.path().join(file), content).unwrap();
    }
    let copy = elsewhere.path().join("scenario.toml");
    // The file in the variant's name is gone.
    let moved = resolved.toml.replace(path.to_str().unwrap(), "/gone/gru.json");
    fs::write(&copy, moved).unwrap();
    let again = load(copy.to_str().unwrap(), &Overrides::default()).unwrap();
    assert_eq!(again.run.schemes[0].config.values(), config.values());
    assert_eq!(again.files, resolved.files);
    let wrong = Overrides {
        scheme: Some("policy:model=gone/gru.json".into()),
        ..Overrides::default()
    };
    let error = load(scenario.to_str().unwrap(), &wrong).unwrap_err().to_string();
    assert!(
        error.contains("the model file `gone/gru.json` does not exist"),
        "{error}"
    );
}
