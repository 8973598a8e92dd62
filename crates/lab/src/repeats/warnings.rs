//! Warnings that qualify repeats: the warnings of all seeds, each once.

use paceline_scenario::{Warning, WarningKind};
use serde::{Deserialize, Serialize};

use super::{Group, OfScheme, Repeats};

/// Relative half width of an interval of the 99th percentile above which a warning is added.
const WIDE: f64 = 0.1;

/// Warning that holds for some of the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedWarning {
    /// Text and kind, as in the first of these runs.
    #[serde(flatten)]
    pub warning: Warning,
    /// True if numbers in the text differ between the runs.
    pub varies: bool,
    /// Runs for which it holds, by scheme.
    pub holds: Vec<Holds>,
    /// True if it holds for all runs.
    pub everywhere: bool,
}

/// Seeds of one scheme for which a warning holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holds {
    /// Name of the scheme.
    pub scheme: String,
    /// Seeds of the runs for which it holds.
    pub seeds: Vec<u64>,
    /// True if these are all seeds that the scheme was run with.
    pub all: bool,
}

impl SeedWarning {
    /// Returns the warning with the runs for which it holds.
    pub fn texts(&self) -> String {
        let part = |holds: &Holds| match holds.all {
            true => holds.scheme.clone(),
            false => format!("{} with {}", holds.scheme, in_words(&holds.seeds)),
        };
        let about: Vec<String> = self.holds.iter().map(part).collect();
        let about = match self.everywhere {
            true => String::new(),
            false => format!("{}: ", about.join(", ")),
        };
        let first = self.holds.first().filter(|_| self.varies);
        let varies = match first.and_then(|first| Some((&first.scheme, first.seeds.first()?))) {
            Some((scheme, seed)) => {
                format!(" (The numbers are of {scheme} with seed {seed}; those of other runs differ.)")
            }
            None => String::new(),
        };
        format!("{about}{}{varies}", self.warning)
    }
}

/// Formats seeds in words: `seed 3`, `seeds 1 to 4`, `seeds 1, 3 and 7`.
pub fn in_words(all: &[u64]) -> String {
    match all {
        [] => "no seed".into(),
        [one] => format!("seed {one}"),
        [first, .., last] if all.len() > 2 && last - first == all.len() as u64 - 1 => {
            format!("seeds {first} to {last}")
        }
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(u64::to_string).collect();
            format!("seeds {} and {last}", rest.join(", "))
        }
    }
}

/// Removes the numbers from a warning's text.
fn without_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' if plain.ends_with('#') => {}
            '0'..='9' => plain.push('#'),
            // `3.5` and `3` are numbers alike.
            _ => plain.push(c),
        }
    }
    plain.replace("#.#", "#")
}

/// Identity of a warning across runs: kind, key of the scenario, and text without numbers.
type Key = (WarningKind, Option<String>, String);

/// Collects the warnings of all runs of `groups`.
pub(super) fn of(groups: &[Group<'_>], kept: &[u64]) -> Vec<SeedWarning> {
    let mut found: Vec<(Key, SeedWarning)> = Vec::new();
    for group in groups {
        for run in group.runs {
            for of_run in &run.summary.warnings {
                // Numbers in a text differ from seed to seed, though the warning is the same.
                let key = (of_run.id, of_run.location.clone(), without_numbers(&of_run.text));
                let at = found.iter().position(|(known, _)| *known == key);
                let at = at.unwrap_or_else(|| {
                    let warning = SeedWarning {
                        warning: of_run.clone(),
                        varies: false,
                        holds: Vec::new(),
                        everywhere: false,
                    };
                    found.push((key, warning));
                    found.len() - 1
                });
                let warning = &mut found[at].1;
                warning.varies |= warning.warning != *of_run;
                let of_scheme = warning
                    .holds
                    .iter_mut()
                    .find(|holds| holds.scheme == group.scheme());
                match of_scheme {
                    // A run may have the same warning several times.
                    Some(holds) if holds.seeds.last() == Some(&run.summary.seed) => {}
                    Some(holds) => holds.seeds.push(run.summary.seed),
                    None => warning.holds.push(Holds {
                        scheme: group.scheme().to_string(),
                        seeds: vec![run.summary.seed],
                        all: false,
                    }),
                }
            }
        }
    }
    let finish = |mut warning: SeedWarning| {
        for holds in &mut warning.holds {
            let of_scheme = groups.iter().find(|group| group.scheme() == holds.scheme);
            let fixed = of_scheme.is_some_and(|group| group.fixed);
            holds.all = fixed || holds.seeds.len() == kept.len();
            if fixed {
                holds.seeds = kept.to_vec();
            }
        }
        warning.everywhere =
            warning.holds.len() == groups.len() && warning.holds.iter().all(|holds| holds.all);
        warning
    };
    found.into_iter().map(|(_, warning)| finish(warning)).collect()
}

impl Repeats {
    /// Returns all warnings about the means: those of the runs, each once with the seeds for which it holds, then those
    /// of the runs together.
    pub fn texts(&self) -> Vec<String> {
        self.told_of(|_| true)
    }

    /// Returns the texts of the warnings that `which` selects.
    pub fn told_of(&self, which: impl Fn(&Warning) -> bool) -> Vec<String> {
        let found = self.warnings.iter().filter(|found| which(&found.warning));
        found.map(SeedWarning::texts).collect()
    }

    /// Adds the warnings about the runs together: wide intervals, and a seed that changes nothing.
    pub(super) fn warn_of_all(&mut self) {
        let wide: Vec<SeedWarning> = self.intervals.iter().filter_map(|one| self.wide(one)).collect();
        self.warnings.extend(wide);
        let fixed = self.intervals.iter().filter(|one| !one.seed_matters);
        let fixed: Vec<Holds> = fixed.map(|one| self.all_seeds(one)).collect();
        if let Some(text) = self.seed_says_nothing() {
            self.warnings.push(SeedWarning {
                warning: Warning::new(WarningKind::SeedChangesNothing, text),
                varies: false,
                holds: Vec::new(),
                everywhere: true,
            });
        } else if !fixed.is_empty() {
            let text = format!(
                "the seed changes nothing, since nothing acts on what is random: one run represents all {}, without intervals.",
                self.asked
            );
            self.warnings.push(SeedWarning {
                warning: Warning::new(WarningKind::SeedChangesNothing, text),
                varies: false,
                holds: fixed,
                everywhere: false,
            });
        }
    }

    fn all_seeds(&self, of: &OfScheme) -> Holds {
        Holds {
            scheme: of.scheme.clone(),
            seeds: self.seeds.clone(),
            all: true,
        }
    }

    /// Returns a warning if an interval is wide.
    fn wide(&self, of: &OfScheme) -> Option<SeedWarning> {
        let p99 = of.metrics.get("fct_slowdown.p99")?;
        let share = p99.half_width()? / p99.mean;
        (share > WIDE).then(|| {
            let text = format!(
                "the 99th percentile of slowdowns is known to ±{:.0}% only, from {} seeds: more repeats make it surer.",
                100.0 * share,
                p99.n
            );
            SeedWarning {
                warning: Warning::new(WarningKind::WideInterval, text),
                varies: false,
                holds: vec![self.all_seeds(of)],
                everywhere: false,
            }
        })
    }

    /// Returns a warning if the seed changes nothing at all, with the consequences.
    pub fn seed_says_nothing(&self) -> Option<String> {
        (!self.seed_matters).then(|| {
            format!(
                "The seed changes nothing in this scenario, since nothing acts on what is random: one run per scheme \
                 (seed {}) represents all {}, without intervals. --shuffle-ties shows which results depend on the order of simultaneous events.",
                self.seeds[0], self.asked
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_in_words() {
        let all = [&[3][..], &[3, 4], &[1, 2, 3, 4], &[1, 3, 7]];
        assert_eq!(
            all.map(in_words),
            ["seed 3", "seeds 3 and 4", "seeds 1 to 4", "seeds 1, 3 and 7"]
        );
    }

    #[test]
    fn numbers_do_not_make_a_warning_another() {
        assert_eq!(
            without_numbers("12 of 3.5 KB in flow 7"),
            without_numbers("9 of 81 KB in flow 112")
        );
        assert_ne!(without_numbers("2 drops"), without_numbers("2 pauses"));
    }
}
