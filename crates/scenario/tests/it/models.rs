//! Models of learned schemes that a scenario names by path.

use std::fs;
use std::path::Path;

use paceline_congestion::learned::ModelKind;
use paceline_congestion::learned::card::Card;
use paceline_congestion::testkit::models::{Tensors, card, file, json, random};
use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, load};

/// Writes `models/NAME` and a scenario that sets these parameters.
fn scenario(folder: &Path, name: &str, card: &[u8], weights: &[u8], parameters: &str) -> String {
    fs::create_dir_all(folder.join("models")).unwrap();
    fs::write(folder.join(format!("models/{name}.json")), card).unwrap();
    fs::write(folder.join(format!("models/{name}.safetensors")), weights).unwrap();
    let text = format!(
        r#"name = "test"
duration = "10ms"
topology.star.hosts = 4
[[workload]]
incast = {{ fan-in = 3, receiver = 4, size = "1MB" }}
[cc]
scheme = "lstm-pid"
[cc.lstm-pid]
{parameters}
"#
    );
    let path = folder.join("test.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

/// Returns the messages about a scenario that uses a changed model.
fn outcome(parameters: &str, change: impl FnOnce(&mut Card, &mut Tensors, &mut Vec<u8>)) -> String {
    let mut card = card(ModelKind::Gru, 4);
    let mut tensors = random(&card, 1);
    let mut flip = Vec::new();
    change(&mut card, &mut tensors, &mut flip);
    let mut weights = file(&tensors);
    let text = json(&card, &weights);
    for at in flip {
        let at = weights.len() - 1 - usize::from(at);
        weights[at] ^= 1;
    }
    let folder = tempfile::tempdir().unwrap();
    let input = scenario(folder.path(), "mine", &text, &weights, parameters);
    let said = match load(&input, &Overrides::default()) {
        Ok(resolved) => format!("fine {}", lines(&resolved.warnings).join("\n")),
        Err(error) => error.to_string(),
    };
    said.replace(&format!("{}/", folder.path().display()), "")
}

const USE: &str = "predictor = 'gru'\nmodel = 'models/mine.json'";

#[test]
fn refusals() {
    let hash = "0".repeat(64);
    let said = [
        outcome(USE, |_, _, _| {}),
        outcome(
            "predictor = 'gru'\nmodel = 'models/mine.safetensors'",
            |_, _, _| {},
        ),
        outcome("predictor = 'gru'\nmodel = 'models/mine'", |_, _, _| {}),
        outcome(USE, |card, _, _| card.features.swap(0, 1)),
        outcome(USE, |_, _, flip| flip.push(3)),
        outcome(USE, |_, tensors, _| tensors[1].2[5] = f32::NAN),
        outcome(USE, |card, _, _| card.smoothing = 0.3),
        outcome(&format!("{USE}\nsmoothing = 0.3"), |_, _, _| {}),
        outcome("predictor = 'ar3'\nmodel = 'models/mine'", |_, _, _| {}),
        outcome(&format!("{USE}\nmodel-hash = '{hash}'"), |_, _, _| {}),
        outcome(&format!("{USE}\nmodel-hash = 'abc'"), |_, _, _| {}),
        outcome("predictor = 'gru'\nmodel = 'models/other'", |_, _, _| {}),
        outcome("predictor = 'gru'\nmodel = 'rtt-other'", |_, _, _| {}),
        outcome("predictor = 'gru'\nmodel = ''", |_, _, _| {}),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_resolved_scenario_finds_the_same_model_again() {
    let card = card(ModelKind::Lstm, 16);
    let weights = file(&random(&card, 2));
    let folder = tempfile::tempdir().unwrap();
    let parameters = "predictor = 'lstm'\nmodel = 'models/of.mine'";
    let input = scenario(
        folder.path(),
        "of.mine",
        &json(&card, &weights),
        &weights,
        parameters,
    );
    let resolved = load(&input, &Overrides::default()).unwrap();
    let config = &resolved.run.schemes[0].config;
    let values = config.values();
    let of = |key: &str| &values.iter().find(|(name, _)| name == key).unwrap().1;
    assert_eq!(of("model"), "models/of.mine");
    assert_eq!(of("model-hash").len(), 64);
    // Loaded from another folder, with the copies next to the resolved scenario, after the original is gone.
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("scenario.toml");
    fs::write(&copy, &resolved.toml).unwrap();
    let names: Vec<&str> = resolved.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["models/of.mine.json", "models/of.mine.safetensors"]);
    fs::create_dir(elsewhere.path().join("models")).unwrap();
    for (name, content) in &resolved.files {
        fs::write(elsewhere.path().join(name), content).unwrap();
    }
    fs::remove_dir_all(folder.path()).unwrap();
    let again = load(copy.to_str().unwrap(), &Overrides::default()).unwrap();
    assert_eq!(again.toml, resolved.toml);
    assert_eq!(again.files, resolved.files);
    assert_eq!(again.run.schemes[0].config, *config);
    // With another model at the same path, the run is different.
    let other = file(&random(&card, 3));
    for (ending, content) in [("json", json(&card, &other)), ("safetensors", other)] {
        fs::write(elsewhere.path().join(format!("models/of.mine.{ending}")), content).unwrap();
    }
    let error = load(copy.to_str().unwrap(), &Overrides::default()).unwrap_err();
    assert!(error.to_string().contains("parameter `model-hash`"), "{error}");
}

/// A forest is one file: named with or without its extension, damaged, or with other features.
#[test]
fn a_forest_is_a_model_of_one_file() {
    let good = shipped_forest();
    let folder = tempfile::tempdir().unwrap();
    let said = |text: &str, model: &str| {
        let parameters = format!("model = '{model}'");
        let input = scenario(folder.path(), "mine", text.as_bytes(), b"", &parameters);
        fs::remove_file(folder.path().join("models/mine.safetensors")).unwrap();
        let adpg = fs::read_to_string(&input).unwrap().replace("lstm-pid", "adpg");
        fs::write(&input, adpg).unwrap();
        match load(&input, &Overrides::default()) {
            Ok(resolved) => {
                let values = resolved.run.schemes[0].config.values();
                let of = |key: &str| values.iter().find(|(name, _)| name == key).unwrap().1.clone();
                format!("{} {}", of("model"), of("model-hash").len())
            }
            Err(error) => error.to_string(),
        }
        .replace(&format!("{}/", folder.path().display()), "")
    };
    let all = [
        said(&good, "models/mine.json"),
        said(&good, "models/mine"),
        said(&good.replacen("\"z[t]\"", "\"y[t]\"", 1), "models/mine"),
        said(&good[..good.len() / 2], "models/mine"),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

fn shipped_forest() -> String {
    let mut shipped = paceline_congestion::learned::shipped::SHIPPED.iter();
    let forest = shipped.find(|shipped| shipped.name == "adpg-tree-100");
    String::from_utf8(forest.unwrap().card().into_owned()).unwrap()
}
