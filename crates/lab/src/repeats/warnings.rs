//! What to know before trusting repeats: the warnings of all seeds, each told once.

use serde::{Deserialize, Serialize};

use super::{Group, Repeats};

/// A half width above this share of the 99th percentile is worth a warning.
const WIDE: f64 = 0.1;

/// A warning of some runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedWarning {
    /// It, as the first of these runs has it.
    pub text: String,
    /// Whether its numbers differ between the runs.
    pub varies: bool,
    /// The runs for which it holds.
    pub holds: Vec<Holds>,
    /// Whether these are all.
    pub everywhere: bool,
}

/// Runs of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holds {
    /// The scheme.
    pub scheme: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Whether these are all that the scheme was run with.
    pub all: bool,
}

impl SeedWarning {
    /// The runs in words, with the warning.
    pub fn told(&self) -> String {
        let part = |holds: &Holds| match holds.all {
            true => holds.scheme.clone(),
            false => format!("{} with {}", holds.scheme, in_words(&holds.seeds)),
        };
        let about: Vec<String> = self.holds.iter().map(part).collect();
        let about = match self.everywhere {
            true => String::new(),
            false => format!("{}: ", about.join(", ")),
        };
        let first = &self.holds[0];
        let varies = match (self.varies, first.seeds.first()) {
            (true, Some(seed)) => {
                format!(
                    " (The numbers are those of {} with seed {seed}; the others' differ.)",
                    first.scheme
                )
            }
            _ => String::new(),
        };
        format!("{about}{}{varies}", self.text)
    }
}

/// Seeds in words: `seed 3`, `seeds 1 to 4`, `seeds 1, 3 and 7`.
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

/// A warning without its numbers.
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

/// The warnings of all runs of `groups`.
pub(super) fn of(groups: &[Group<'_>], kept: &[u64]) -> Vec<SeedWarning> {
    let mut found: Vec<(String, SeedWarning)> = Vec::new();
    for group in groups {
        for run in group.runs {
            for text in &run.summary.warnings {
                let plain = without_numbers(text);
                let at = found.iter().position(|(known, _)| *known == plain);
                let at = at.unwrap_or_else(|| {
                    let warning = SeedWarning {
                        text: text.clone(),
                        varies: false,
                        holds: Vec::new(),
                        everywhere: false,
                    };
                    found.push((plain, warning));
                    found.len() - 1
                });
                let warning = &mut found[at].1;
                warning.varies |= warning.text != *text;
                let of_scheme = warning
                    .holds
                    .iter_mut()
                    .find(|holds| holds.scheme == group.scheme());
                match of_scheme {
                    // A run may say the same of several things.
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
    /// Everything to know before trusting the means: the warnings of the runs, each once with the seeds for
    /// which it holds, then what is to be said of the runs together.
    pub fn told(&self) -> Vec<String> {
        let mut told: Vec<String> = self.warnings.iter().map(SeedWarning::told).collect();
        told.extend(self.wide());
        told.extend(self.same_runs());
        told
    }

    /// Intervals that are wide.
    fn wide(&self) -> impl Iterator<Item = String> {
        self.intervals.iter().filter_map(|scheme| {
            let p99 = scheme.metrics.get("fct_slowdown.p99")?;
            let share = p99.half_width() / p99.mean;
            (share > WIDE).then(|| {
                format!(
                    "{}: the 99th percentile of slowdowns is known to ±{:.0}% only, from {} seeds: more repeats \
                     make it surer.",
                    scheme.scheme,
                    100.0 * share,
                    p99.n
                )
            })
        })
    }

    /// Schemes under which the seed changes nothing.
    fn same_runs(&self) -> Option<String> {
        let fixed: Vec<&str> = (self.intervals.iter())
            .filter(|one| !one.seed_matters)
            .map(|one| one.scheme.as_str())
            .collect();
        match (self.seed_matters, fixed.is_empty()) {
            (false, _) => self.seed_says_nothing(),
            (true, true) => None,
            (true, false) => Some(format!(
                "{}: the seed changes nothing there, so one run stands for all {} and its numbers have no interval.",
                fixed.join(", "),
                self.asked
            )),
        }
    }

    /// If the seed changes nothing at all: that, and what follows.
    pub fn seed_says_nothing(&self) -> Option<String> {
        (!self.seed_matters).then(|| {
            format!(
                "The seed changes nothing in this scenario: one run of each scheme (seed {}) stands for all {}, and \
                 there are no intervals. --shuffle-ties shows what hangs on the order of simultaneous events.",
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
