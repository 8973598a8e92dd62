//! Runs of several schemes on the same flows and seeds.

use paceline_congestion::registry::variant::{Variant, is_variant};
use paceline_congestion::registry::{SchemeConfig, SchemeParams};
use paceline_scenario::{Diagnostics, Overrides, Resolved};

use crate::input_warnings::settled;
use crate::repeats::hangs_on_seed;
use crate::run::{Finished, RunError};

/// Parses a list of schemes; each may occur once. A name may set parameters: `dcqcn:g=0.1`.
///
/// # Errors
/// If a scheme is unknown, is named twice or sets an invalid parameter, or if there is none.
pub fn schemes(schemes: &[String]) -> Result<Vec<&str>, String> {
    let mut names: Vec<&str> = Vec::new();
    let mut known: Vec<(&str, SchemeConfig)> = Vec::new();
    let named = schemes.iter().map(|name| name.trim());
    for name in named.filter(|name| !name.is_empty()) {
        let variant = Variant::parse(name).map_err(|error| match error.hint() {
            Some(hint) => format!("{error}: {hint}"),
            None => error.to_string(),
        })?;
        if names.contains(&name) {
            return Err(format!("`{name}` is named twice"));
        }
        let config = variant.configure(&SchemeParams::default());
        let config = config.map_err(|error| format!("`{name}`: {error}"))?;
        // A name without settings takes those of the scenario.
        if is_variant(name) {
            let same = known.iter().find(|(_, known)| *known == config);
            if let Some((same, _)) = same {
                return Err(format!("`{name}` is the same as `{same}`"));
            }
            known.push((name, config));
        }
        names.push(name);
    }
    if names.is_empty() {
        return Err("no scheme is named".to_string());
    }
    Ok(names)
}

/// Resolves one list of runs per scheme; every scheme gets the same `repeats` seeds.
///
/// # Errors
/// The scenario or one of the changes to it is wrong.
pub fn inputs(
    input: &str,
    changes: &Overrides,
    schemes: &[&str],
    repeats: u32,
) -> Result<Vec<Vec<Resolved>>, Diagnostics> {
    let of_scheme = |scheme: &&str| {
        let mut changes = Overrides {
            scheme: Some(scheme.to_string()),
            ..changes.clone()
        };
        let mut all = Vec::new();
        for _ in 0..repeats {
            let input = crate::load(input, &changes)?;
            changes.seed = Some(input.seed.saturating_add(1));
            all.push(input);
        }
        Ok(all)
    };
    let inputs: Result<Vec<_>, _> = schemes.iter().map(of_scheme).collect();
    inputs.map(settled)
}

/// Run that has ended, with its input.
#[derive(Debug)]
pub struct One<'a> {
    /// Scenario of the run, with the scheme and seed filled in.
    pub input: &'a Resolved,
    /// Outcome and summary of the run.
    pub run: Finished,
    /// True if the scheme's result does not depend on the seed, so that one run stands for all seeds.
    pub fixed: bool,
}

/// Function that runs the given scenarios and returns their results in the same order.
pub type RunSome<'r, 'a> = dyn FnMut(&[&'a Resolved]) -> Vec<Result<Finished, RunError>> + 'r;

/// Runs everything with `run_some`; if several runs fail, returns the first error. The first seed of each scheme shows
/// whether its results depend on the seed; if they do not, the other seeds are not run.
pub fn run_all<'a>(
    inputs: &'a [Vec<Resolved>],
    run_some: &mut RunSome<'_, 'a>,
) -> (Vec<One<'a>>, Option<RunError>) {
    let firsts: Vec<&Resolved> = inputs.iter().map(|repeats| &repeats[0]).collect();
    // The first seeds run together, so that they keep all cores busy; only their outcomes show which further seeds
    // matter.
    let first_results = run_some(&firsts);
    let hangs = |(repeats, first): (&Vec<Resolved>, &Result<Finished, RunError>)| match first {
        Ok(first) => hangs_on_seed(repeats, &first.outcome),
        // A failed first run shows nothing, so its other seeds are run.
        Err(_) => true,
    };
    let hangs: Vec<bool> = inputs.iter().zip(&first_results).map(hangs).collect();
    let rest: Vec<&Resolved> = (inputs.iter().zip(&hangs))
        .filter(|&(_, &hangs)| hangs)
        .flat_map(|(repeats, _)| &repeats[1..])
        .collect();
    let of_rest = if rest.is_empty() {
        Vec::new()
    } else {
        run_some(&rest)
    };
    let mut of_rest = rest.into_iter().zip(of_rest);
    let (mut finished, mut failure) = (Vec::new(), None);
    let of_first = inputs.iter().zip(first_results).zip(&hangs);
    for ((repeats, first), &hangs) in of_first {
        let others = if hangs { repeats.len() - 1 } else { 0 };
        let results = std::iter::once((&repeats[0], first)).chain(of_rest.by_ref().take(others));
        for (input, result) in results {
            match result {
                Ok(run) => finished.push(One {
                    input,
                    run,
                    fixed: !hangs,
                }),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
    }
    (finished, failure)
}
