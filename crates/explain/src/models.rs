//! Trained models: built-in ones, and files.

mod forest;

use std::path::Path;
use std::sync::Arc;

use paceline_congestion::learned::card::{Card, DataSource};
use paceline_congestion::learned::kind::ModelKind;
use paceline_congestion::learned::model::Model;
use paceline_congestion::learned::shipped::{self, SHIPPED};
use paceline_congestion::learned::stack::Stack;
use paceline_congestion::learned::stack::card::PolicyCard;
use paceline_congestion::policy::check_card;
use paceline_congestion::registry::Scheme;
use paceline_lab::layout;
use paceline_lab::text::percent;
use paceline_scenario::{is_model_file, read_model};

/// Returns the built-in models.
pub(crate) fn shipped() -> Vec<Arc<Model>> {
    let models = SHIPPED.iter().filter_map(|shipped| shipped::find(shipped.name));
    models.collect()
}

/// Describes a model in a line.
pub(crate) fn about(model: &Model) -> String {
    let card = model.card();
    if let Some(forest) = model.forest() {
        return forest::about(forest);
    }
    if let Some((said, stack)) = model.stack() {
        return format!(
            "network {}, {} parameters; {}",
            stack.shape(),
            stack.parameters(),
            said.action
        );
    }
    if card.kind.decides() {
        return format!(
            "{}, {} parameters; {}",
            kind(card),
            card.parameters(),
            card.training.loss
        );
    }
    format!(
        "{}, {} parameters, test MAPE {}; trained on {}",
        kind(card),
        card.parameters(),
        percent(card.metrics.test_mape),
        trained_on(card)
    )
}

fn kind(card: &Card) -> String {
    let hidden = card.hidden;
    match card.kind {
        ModelKind::Lstm => format!("LSTM of {hidden} units"),
        ModelKind::Gru => format!("GRU of {hidden} units"),
        ModelKind::Rnn => format!("simple recurrent network of {hidden} units"),
        ModelKind::Ar3 => "linear in the last three features, AR(3)".to_string(),
        ModelKind::Adpg => "policy of two hidden layers of 12 units".to_string(),
        ModelKind::Law => "rate law of DECC".to_string(),
        ModelKind::Residual => {
            "rate law of DECC with a network of two hidden layers of 32 units beside it".to_string()
        }
        ModelKind::Decc => "policy of two hidden layers of 32 units".to_string(),
        ModelKind::Aurora => "policy of two hidden layers of 32 and 16 units".to_string(),
        ModelKind::Spine => format!("watcher and policy generator over {hidden} recurrent units"),
        ModelKind::Policy => "policy of your own".to_string(),
        ModelKind::Forest => "boosted oblivious trees".to_string(),
    }
}

/// Lists the training runs: `incast-20 under timely, lstm-pid`.
fn trained_on(card: &Card) -> String {
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for source in &card.data.sources {
        if parts
            .last()
            .is_none_or(|(scenario, _)| *scenario != source.scenario)
        {
            parts.push((&source.scenario, Vec::new()));
        }
        if let Some((_, schemes)) = parts.last_mut()
            && !schemes.contains(&source.scheme.as_str())
        {
            schemes.push(&source.scheme);
        }
    }
    let part = |(scenario, schemes): &(&str, Vec<&str>)| format!("{scenario} under {}", schemes.join(", "));
    parts.iter().map(part).collect::<Vec<_>>().join("; ")
}

/// Returns the page of a built-in model.
pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    let model = shipped::find(name)?;
    Some(model_page(&model, name, width))
}

/// Returns the page of a model's file, if `name` looks like one.
///
/// # Errors
/// If the file is unreadable or damaged.
pub(crate) fn page_of_file(name: &str, width: usize) -> Result<Option<String>, String> {
    let path = Path::new(name);
    if !is_model_file(path) {
        return Ok(None);
    }
    let model = read_model(path)?;
    let ending = match model.forest().is_some() || model.stack().is_some() {
        true => "json",
        false => "safetensors",
    };
    if let Some((card, _)) = model.stack() {
        check_card(card).map_err(|message| format!("{name}: {message}"))?;
    }
    let location = path.with_extension(ending).display().to_string();
    Ok(Some(model_page(&model, &location, width)))
}

fn model_page(model: &Model, location: &str, width: usize) -> String {
    match (model.forest(), model.stack()) {
        (Some(forest), _) => forest::page(forest, model, location, width),
        (None, Some((said, stack))) => own_page(model, said, stack, location, width),
        (None, None) => card_page(model.card(), location, width),
    }
}

/// Returns the page of a user's policy, from its card.
fn own_page(model: &Model, said: &PolicyCard, stack: &Stack, location: &str, width: usize) -> String {
    let or_auto = |text: &Option<String>| text.clone().unwrap_or_else(|| "as external".into());
    let questions = match said.history {
        1 => String::new(),
        history => format!(", of the last {history} questions"),
    };
    let memory = match stack.remembers() {
        0 => String::new(),
        numbers => format!(", {numbers} numbers of memory for each flow"),
    };
    let action = match &said.choices {
        Some(choices) => format!("{}, one of {choices:?}", said.action),
        None => said.action.clone(),
    };
    let mut rows = vec![
        (
            "what",
            format!(
                "network {}, {} parameters{memory}",
                stack.shape(),
                stack.parameters()
            ),
        ),
        ("reads", format!("{}{questions}", said.observation.join(", "))),
        ("does", format!("{action}, step {}", said.step)),
        (
            "when",
            format!(
                "clock {}, interval {}",
                or_auto(&said.clock),
                or_auto(&said.interval)
            ),
        ),
        ("decision latency", or_auto(&said.decision_latency)),
        ("first rate", or_auto(&said.initial_rate)),
        (
            "card, weights",
            format!("SHA-256 {}", model.card().weights_sha256),
        ),
    ];
    if !said.about.is_empty() {
        rows.insert(1, ("about", said.about.clone()));
    }
    let rows: Vec<Vec<String>> = (rows.into_iter())
        .map(|(name, value)| vec![name.to_string(), value])
        .collect();
    let mut page = format!("{} - a policy\n\n", said.name);
    page.push_str(&layout::columns(&rows, width));
    page.push_str(&format!(
        "\nIn a scenario:\n  [cc.policy]\n  model = \"{location}\"\n"
    ));
    page
}

/// Returns the page of a policy: its inputs and outputs, and its training data.
fn policy_page(card: &Card, location: &str, width: usize) -> String {
    let training = &card.training;
    // A law is found by search: candidates are run, but no individual decisions are used.
    let (learned, seen, rounds) = match card.kind {
        ModelKind::Law => ("searched among", "candidates", "generations"),
        _ => ("learned from", "decisions", "updates"),
    };
    let mut rows = vec![
        (
            "what",
            format!("{}, {} parameters", kind(card), card.parameters()),
        ),
        ("reads", card.features.join(", ")),
        ("does", card.output.clone()),
        (learned, format!("{} {seen}", card.data.train)),
        (
            "by",
            format!(
                "{}, {}, rate {}, {} {rounds}, seed {}",
                training.loss, training.optimiser, training.learning_rate, training.rounds, training.seed
            ),
        ),
        ("made by", format!("Paceline {}", card.version)),
    ];
    // A model that took several commands has none on its card.
    if !training.command.is_empty() {
        rows.push(("again", training.command.clone()));
    }
    rows.push(("weights", format!("SHA-256 {}", card.weights_sha256)));
    let rows: Vec<Vec<String>> = (rows.into_iter())
        .map(|(name, value)| vec![name.to_string(), value])
        .collect();
    let scheme = card.kind.scheme();
    let mut page = format!("{} - a policy of the scheme {scheme}\n\n", card.name);
    page.push_str(&layout::columns(&rows, width));
    page.push_str("\nScenarios in which it learned:\n");
    page.push_str(&layout::columns(&sources(card), width));
    page.push_str(&format!(
        "\nIn a scenario:\n  [cc.{scheme}]\n  model = \"{location}\"\n"
    ));
    page
}

fn card_page(card: &Card, location: &str, width: usize) -> String {
    if card.kind.decides() {
        return policy_page(card, location, width);
    }
    let training = &card.training;
    let rows: Vec<(&str, String)> = vec![
        (
            "what",
            format!("{}, {} parameters", kind(card), card.parameters()),
        ),
        (
            "reads",
            format!("{}, smoothing {}", card.features.join(", "), card.smoothing),
        ),
        ("predicts", card.output.clone()),
        (
            "test MAPE",
            format!(
                "{} in its last round; {} of the pairs that this learned from",
                percent(card.metrics.test_mape),
                percent(card.metrics.train_mape)
            ),
        ),
        (
            "learned from",
            format!(
                "{} of {} pairs; {} were for tests",
                card.data.train, card.data.pairs, card.data.test
            ),
        ),
        ("by", how(card)),
        (
            "made by",
            match training.library.as_str() {
                "none" => format!("Paceline {}", card.version),
                library => format!("Paceline {}, {library}", card.version),
            },
        ),
        ("again", training.command.clone()),
        ("weights", format!("SHA-256 {}", card.weights_sha256)),
        ("data", format!("SHA-256 {}", card.data.sha256)),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_string(), value])
        .collect();
    let mut page = format!("{} - a model that predicts round-trip times\n\n", card.name);
    page.push_str(&layout::columns(&rows, width));
    page.push_str("\nRuns that its pairs are from:\n");
    page.push_str(&layout::columns(&sources(card), width));
    let curve: Vec<f64> = card.metrics.rounds.iter().map(|round| round.test_mape).collect();
    if let [first, .., last] = curve[..] {
        page.push_str(&format!(
            "\ntest MAPE by round  {}  {} to {}\n",
            layout::sparkline(&curve),
            percent(first),
            percent(last)
        ));
    }
    page.push_str(&format!(
        "\nIn a scenario:\n  [cc.lstm-pid]\n  predictor = \"{}\"\n  model = \"{location}\"\n",
        card.kind
    ));
    page
}

/// Returns the runs on a card; runs that differ only in the order of simultaneous events share a row.
fn sources(card: &Card) -> Vec<Vec<String>> {
    let own = |source: &DataSource| {
        let whose = [
            format!("  {} under {}", source.scenario, source.scheme),
            format!("seed {}, {}", source.seed, source.fidelity),
        ];
        (whose, source.settings.clone(), source.model_sha256.clone())
    };
    let row = |part: &[DataSource]| {
        let (whose, settings, model) = own(&part[0]);
        let mut said = Vec::new();
        if !settings.is_empty() {
            said.push(settings.join(", "));
        }
        said.extend(model.map(|hash| format!("predicted by the weights {}", &hash[..hash.len().min(12)])));
        if part.len() > 1 {
            said.push(format!(
                "{} runs, simultaneous events in another order in each",
                part.len()
            ));
        }
        [&whose[..], &[said.join("; ")]].concat()
    };
    let parts = card.data.sources.chunk_by(|a, b| own(a) == own(b));
    parts.map(row).collect()
}

fn how(card: &Card) -> String {
    let training = &card.training;
    let mut parts = vec![format!("{} loss", training.loss), training.optimiser.clone()];
    if card.kind != ModelKind::Ar3 {
        parts.push(format!(
            "rate {}, batches of {}",
            training.learning_rate, training.batch
        ));
    }
    parts.push(format!("{} rounds, seed {}", training.rounds, training.seed));
    parts.join(", ")
}

/// Returns the list of built-in models for a scheme's page, if the scheme uses models.
pub(crate) fn of_scheme(scheme: &Scheme, width: usize) -> String {
    let mut shipped = shipped();
    let policy = ModelKind::POLICIES
        .into_iter()
        .find(|kind| kind.name() == scheme.name);
    shipped.retain(|model| match policy {
        Some(kind) => model.fits(kind).is_ok(),
        None => !model.card().kind.decides(),
    });
    let mut parameters = (scheme.params)().into_iter();
    if shipped.is_empty() || !parameters.any(|parameter| parameter.name == "model") {
        return String::new();
    }
    let row = |model: &Arc<Model>| vec![format!("  {}", model.card().name), about(model)];
    let rows: Vec<Vec<String>> = shipped.iter().map(row).collect();
    format!("\nBuilt-in models:\n{}", layout::columns(&rows, width))
}
