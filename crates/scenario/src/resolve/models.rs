//! Models of learned schemes: files that the scenario names are read and attached.

use std::path::Path;
use std::sync::Arc;

use paceline_congestion::learned::{Model, ModelRef, shipped};
use paceline_congestion::registry::SchemeParams;

use crate::diagnostics::{Place, Problem};

use super::Cx;
use crate::models::Unread;

/// What a model is called in messages.
const WHAT: &str = "the model file";

/// Reads the models that the schemes' blocks name by their paths. The resolved scenario has the whole
/// path, and the hash says that it is the same file.
pub(super) fn attach(cx: &Cx<'_>, blocks: &mut SchemeParams) -> Result<(), Problem> {
    for (scheme, key, model) in blocks.models() {
        if model.model().is_some() {
            continue;
        }
        let known = cx.parameters.iter().find(|(s, p, _)| s == scheme && p == key);
        let place = known.map_or_else(|| cx.texts.main().end(), |(.., span)| cx.texts.at(span.clone()));
        *model = match cx.files.model(model.name()) {
            Some(at_hand) => at_hand.clone(),
            None => read(cx, scheme, model.name(), &place)?,
        };
    }
    Ok(())
}

/// The model at a path: that of its card, that of its weights, or what both have in common.
fn read(cx: &Cx<'_>, scheme: &str, path: &str, place: &Place) -> Result<ModelRef, Problem> {
    let stem = [".safetensors", ".json"]
        .iter()
        .find_map(|end| path.strip_suffix(end));
    if stem.is_none() && !path.contains(['/', '\\']) && cx.files.find(&card_of(path), WHAT, place).is_err() {
        return Err(unknown(path, place));
    }
    let stem = stem.unwrap_or(path);
    let (card_path, card) = cx.files.read_bytes(&card_of(stem), WHAT, place)?;
    let weights = || {
        let (_, weights) = cx
            .files
            .read_bytes(&format!("{stem}.safetensors"), WHAT, place)
            .map_err(Unread::File)?;
        Ok(weights)
    };
    let model = Model::read(&card, weights).map_err(|unread| match unread {
        Unread::File(problem) => problem,
        Unread::Model(error) => Problem::new(format!(
            "the model `{}` cannot be used: {error}",
            card_path.display()
        ))
        .at(place)
        .label("this model")
        .help(format!(
            "`paceline train` writes models; `paceline explain {scheme}` says which fit"
        )),
    })?;
    Ok(ModelRef::read_from(whole(&card_path), Arc::new(model)))
}

fn card_of(stem: &str) -> String {
    format!("{stem}.json")
}

/// The path from the root, without its last extension.
fn whole(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    path.with_extension("").display().to_string()
}

fn unknown(name: &str, place: &Place) -> Problem {
    let names: Vec<_> = shipped::SHIPPED.iter().map(|shipped| shipped.name).collect();
    let problem = Problem::new(format!("there is no model `{name}`")).at(place);
    let all = format!(
        "models that ship: {}; or the path of a model file",
        names.join(", ")
    );
    match shipped::nearest(name) {
        Some(near) => problem
            .label(format!("did you mean `{near}`?"))
            .help(format!("did you mean `{near}`? {all}")),
        None => problem.label("no such model").help(all),
    }
}
