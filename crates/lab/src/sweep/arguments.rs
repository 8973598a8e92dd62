//! Arguments that define a sweep: written into its plan, and read from it to sweep the same again.

use std::path::Path;

use paceline_scenario::Overrides;

use super::data::read_plan;
use super::stored::input_in;
use super::{Study, SweepError};

/// Returns the arguments that define a sweep, without those on where or how to run it.
pub(super) fn words(input: &str, changes: &Overrides, repeats: Option<u32>) -> Vec<String> {
    let mut words = vec![input.to_string()];
    let mut add = |option: &str, value: String| words.extend([option.to_string(), value]);
    for over in &changes.over {
        add("--over", over.clone());
    }
    if let Some(repeats) = repeats {
        add("--repeats", repeats.to_string());
    }
    if let Some(scheme) = &changes.scheme {
        add("--scheme", scheme.clone());
    }
    for set in &changes.set {
        add("--set", set.clone());
    }
    if let Some(seed) = changes.seed {
        add("--seed", seed.to_string());
    }
    if let Some(duration) = changes.duration {
        add("--duration", duration.to_string());
    }
    if let Some(fidelity) = changes.fidelity {
        add("--fidelity", fidelity.name().to_string());
    }
    if let Some(format) = changes.input_format {
        add("--input-format", format.name().to_string());
    }
    if let Some(seed) = changes.shuffle_ties {
        add("--shuffle-ties", seed.to_string());
    }
    if changes.check {
        words.push("--check".into());
    }
    words
}

/// Reads the arguments behind the input that [`words`] writes: changes and repeats.
fn parsed(words: &[String]) -> Option<(Overrides, Option<u32>)> {
    let mut changes = Overrides::default();
    let mut repeats = None;
    let mut words = words.iter();
    while let Some(option) = words.next() {
        if option == "--check" {
            changes.check = true;
            continue;
        }
        let value = words.next()?;
        match option.as_str() {
            "--over" => changes.over.push(value.clone()),
            "--repeats" => repeats = Some(value.parse().ok()?),
            "--scheme" => changes.scheme = Some(value.clone()),
            "--set" => changes.set.push(value.clone()),
            "--seed" => changes.seed = Some(value.parse().ok()?),
            "--duration" => changes.duration = Some(value.parse().ok()?),
            "--fidelity" => changes.fidelity = Some(value.parse().ok()?),
            "--input-format" => changes.input_format = Some(value.parse().ok()?),
            "--shuffle-ties" => changes.shuffle_ties = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some((changes, repeats))
}

/// Returns assignments `key=value` of which those in `new` replace others of the same key, in their place.
fn merged(mut old: Vec<String>, new: &[String]) -> Vec<String> {
    let key = |text: &String| text.split('=').next().unwrap_or_default().trim().to_string();
    for one in new {
        match old.iter_mut().find(|known| key(known) == key(one)) {
            Some(known) => known.clone_from(one),
            None => old.push(one.clone()),
        }
    }
    old
}

impl Study {
    /// Creates the study of an input, which may be the folder of a sweep: its scenario with its arguments, of which
    /// `changes` and `repeats` replace what they name.
    ///
    /// # Errors
    /// If it is the folder of a sweep that does not hold its scenario, or is damaged.
    pub fn of(input: &str, changes: Overrides, repeats: Option<u32>) -> Result<Self, SweepError> {
        let folder = Path::new(input);
        if changes.text.is_some() || !folder.join("sweep.json").is_file() {
            return Ok(Self::new(input, changes, repeats));
        }
        let plan = read_plan(folder)?;
        let [of_old, words @ ..] = &plan.arguments[..] else {
            return Err(SweepError::Refused(format!(
                "{input}: sweep.json has no arguments"
            )));
        };
        let stored = input_in(folder, of_old)?;
        let old = parsed(words).ok_or_else(|| {
            SweepError::Refused(format!(
                "{input}: sweep.json has arguments that this version does not know: {}",
                words.join(" ")
            ))
        })?;
        let (old, old_repeats) = old;
        let overrides = Overrides {
            over: merged(old.over, &changes.over),
            set: merged(old.set, &changes.set),
            scheme: changes.scheme.clone().or(old.scheme),
            seed: changes.seed.or(old.seed),
            duration: changes.duration.or(old.duration),
            fidelity: changes.fidelity.or(old.fidelity),
            input_format: changes.input_format.or(old.input_format),
            shuffle_ties: changes.shuffle_ties.or(old.shuffle_ties),
            check: changes.check || old.check,
            ..changes
        };
        // The arguments name the original input, so that an equal sweep has an equal plan.
        let study = Self::new(of_old, overrides, repeats.or(old_repeats));
        Ok(Self {
            input: stored.display().to_string(),
            ..study
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_as_they_are_written() {
        let changes = Overrides {
            over: vec!["cc.scheme=hpcc,dctcp".into(), "a,b=[1,2],[3,4]".into()],
            set: vec!["network.mtu=1KB".into()],
            scheme: Some("dcqcn:g=0.1".into()),
            seed: Some(7),
            duration: Some("3ms".parse().unwrap()),
            fidelity: Some(paceline_scenario::EXACT),
            input_format: Some("conweave".parse().unwrap()),
            shuffle_ties: Some(3),
            check: true,
            ..Overrides::default()
        };
        let all = words("my.toml", &changes, Some(5));
        assert_eq!(parsed(&all[1..]), Some((changes, Some(5))));
        assert_eq!(parsed(&["--jobs".into(), "2".into()]), None);
    }

    #[test]
    fn new_assignments_replace_those_of_their_key() {
        let list = |all: &[&str]| -> Vec<String> { all.iter().map(ToString::to_string).collect() };
        assert_eq!(
            merged(list(&["a=1", "b,c=[1],[2]"]), &list(&["d=4", "a = 3", "b,c=[5]"])),
            list(&["a = 3", "b,c=[5]", "d=4"])
        );
    }
}
