//! Models of learned schemes, read from the files that the scenario names.

use std::sync::Arc;

use paceline_congestion::learned::{Model, ModelRef, shipped};
use paceline_congestion::registry::SchemeParams;

use crate::cc::Blocks;
use crate::diagnostics::{Location, Problem};

use super::Cx;
use crate::models::{ENDINGS, Unread, weights};

/// Name of a model file in messages.
const WHAT: &str = "the model file";

/// Folder next to the resolved scenario that holds the copies.
const FOLDER: &str = "models";

/// Reads the models that the schemes' blocks name by path. The resolved scenario names copies, with a hash that
/// identifies the content.
pub(super) fn attach(cx: &mut Cx<'_>, blocks: &mut Blocks) -> Result<(), Problem> {
    for (alias, params) in blocks.all_mut() {
        attach_to(cx, alias, params)?;
    }
    Ok(())
}

/// Reads the models of one block: an alias's, or the schemes'.
fn attach_to(cx: &mut Cx<'_>, alias: Option<&str>, params: &mut SchemeParams) -> Result<(), Problem> {
    for (scheme, key, model) in params.models() {
        if model.model().is_some() {
            continue;
        }
        let location = alias.and_then(|alias| cx.parameter(alias, key));
        let location = location.or_else(|| cx.parameter(scheme, key));
        let location = location.unwrap_or_else(|| cx.texts.main().end());
        *model = match cx.files.model(model.name()) {
            Some(at_hand) => at_hand.clone(),
            None => read(cx, scheme, model.name(), &location)?,
        };
    }
    Ok(())
}

/// Reads the model at a path: that of its card, of its weights, or their common stem.
fn read(cx: &mut Cx<'_>, scheme: &str, path: &str, location: &Location) -> Result<ModelRef, Problem> {
    let stem = ENDINGS.iter().find_map(|end| path.strip_suffix(end));
    // A bare word without such a file is meant as the name of a built-in model.
    if stem.is_none() && !path.contains(['/', '\\']) && cx.files.find(&card_of(path), WHAT, location).is_err()
    {
        return Err(unknown(path, location));
    }
    let stem = stem.unwrap_or(path);
    let (card_path, card) = cx.files.read_bytes(&card_of(stem), WHAT, location)?;
    let mut files = vec![("json", card.clone())];
    let model = Model::read(&card, |ending| {
        let read = cx.files.read_bytes(&format!("{stem}.{ending}"), WHAT, location);
        let (_, bytes) = read.map_err(Unread::File)?;
        files.push((ending, bytes.clone()));
        weights(ending, bytes).map_err(Unread::Model)
    })
    .map_err(|unread| match unread {
        Unread::File(problem) => problem,
        Unread::Model(error) => Problem::new(format!(
            "the model `{}` cannot be used: {error}",
            card_path.display()
        ))
        .at(location)
        .label("this model")
        .help(match scheme {
            "policy" => {
                "`paceline.save_policy` in Python writes cards; `paceline explain policy` says what they mean"
                    .into()
            }
            _ => format!("`paceline train` writes models; `paceline explain {scheme}` says which fit"),
        }),
    })?;
    let name = card_path.file_stem().unwrap_or_default().to_string_lossy();
    // One stem for all files, so that the copy of the card still finds its weights.
    let stem = cx.keep_all(&format!("{FOLDER}/{name}"), files);
    Ok(ModelRef::read_from(stem, Arc::new(model)))
}

fn card_of(stem: &str) -> String {
    format!("{stem}.json")
}

fn unknown(name: &str, location: &Location) -> Problem {
    let names: Vec<_> = shipped::SHIPPED.iter().map(|shipped| shipped.name).collect();
    let problem = Problem::new(format!("there is no model `{name}`")).at(location);
    let all = format!(
        "built-in models: {}; or the path of a model file",
        names.join(", ")
    );
    match shipped::nearest(name) {
        Some(near) => problem
            .label(format!("did you mean `{near}`?"))
            .help(format!("did you mean `{near}`? {all}")),
        None => problem.label("no such model").help(all),
    }
}
