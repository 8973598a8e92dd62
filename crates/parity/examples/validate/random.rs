//! Random experiments with the reference simulator's results: `<number>/config.txt` and its inputs, and the
//! reference's `fct.txt` and `pfc.txt`.

use std::fmt::Write as _;
use std::path::Path;

use paceline_scenario::Overrides;

use crate::compare::{paragraph, table};
use crate::reference::{Case, random_cases, run, written};

/// A repeated random experiment.
pub(crate) struct Repeated {
    number: String,
    scheme: &'static str,
    /// Number of flows in the workload (`flows`), and of lines that the reference wrote (`completed`).
    flows: usize,
    completed: usize,
    /// Description of the first difference; `None` if all is equal.
    difference: Option<String>,
}

impl Repeated {
    fn new(case: &Case) -> Self {
        if let Some(lacking) = case.lacks() {
            return Self {
                number: case.scheme.clone(),
                scheme: "unknown",
                flows: 0,
                completed: 0,
                difference: Some(lacking.to_string()),
            };
        }
        let input = case.load(&Overrides::default());
        let finished = run(&input);
        let difference = ["fct.txt", "pfc.txt"].into_iter().find_map(|name| {
            let Some(theirs) = case.expected_text(name) else {
                return Some(format!("the reference's {name} is not there"));
            };
            let ours = String::from_utf8(written(name, &input, &finished)).expect("digits and spaces");
            first_difference(name, &theirs, &ours)
        });
        let completed = case
            .expected_text("fct.txt")
            .map_or(0, |text| text.lines().count());
        Self {
            number: case.scheme.clone(),
            scheme: input.run.schemes[0].config.name(),
            flows: input.run.flows.len(),
            completed,
            difference,
        }
    }
}

/// Describes the first difference between two texts.
fn first_difference(name: &str, theirs: &str, ours: &str) -> Option<String> {
    if theirs == ours {
        return None;
    }
    let (mut theirs_at, mut ours_at) = (theirs.lines(), ours.lines());
    let mut line = 1;
    loop {
        let (a, b) = (theirs_at.next(), ours_at.next());
        if a != b || a.is_none() {
            let shown =
                |line: Option<&str>| line.map_or("nothing more".to_string(), |line| format!("`{line}`"));
            let (theirs, ours) = (theirs.lines().count(), ours.lines().count());
            return Some(format!(
                "{name}, line {line} (of {theirs} and {ours}): the reference has {}, here {}",
                shown(a),
                shown(b)
            ));
        }
        line += 1;
    }
}

/// Repeats all experiments in `folder`, in order of their numbers.
pub(crate) fn repeat(folder: &Path) -> Vec<Repeated> {
    random_cases(folder).iter().map(Repeated::new).collect()
}

/// Returns true if all experiments are equal.
pub(crate) fn same(repeated: &[Repeated]) -> bool {
    repeated.iter().all(|one| one.difference.is_none())
}

/// Returns a line for each experiment that differs, and the number of equal ones.
pub(crate) fn lines(repeated: &[Repeated]) -> String {
    let mut text = String::new();
    for one in repeated {
        if let Some(difference) = &one.difference {
            let _ = writeln!(text, "{} ({}): {difference}", one.number, one.scheme);
        }
    }
    let equal = repeated.iter().filter(|one| one.difference.is_none()).count();
    let _ = writeln!(text, "{equal} of {} are the same, byte for byte", repeated.len());
    text
}

/// Returns the section of VALIDATION.md on random experiments.
pub(crate) fn section(repeated: &[Repeated]) -> String {
    let mut schemes: Vec<&str> = repeated.iter().map(|one| one.scheme).collect();
    schemes.sort_unstable();
    schemes.dedup();
    let rows: Vec<Vec<String>> = schemes
        .iter()
        .map(|scheme| {
            let of: Vec<&Repeated> = repeated.iter().filter(|one| one.scheme == *scheme).collect();
            let equal = of.iter().filter(|one| one.difference.is_none()).count();
            let sum = |count: fn(&Repeated) -> usize| of.iter().map(|one| count(one)).sum::<usize>();
            vec![
                scheme.to_string(),
                of.len().to_string(),
                equal.to_string(),
                sum(|one| one.flows).to_string(),
                sum(|one| one.completed).to_string(),
            ]
        })
        .collect();
    let text = format!(
        "{} experiments with topologies, flows and parameters drawn at random (`validation/hpcc-ns3/random`): stars, trees of \
         switches, leaf-spines, rings, parallel links, three tiers; switches numbered anywhere; links of 10 to 400 Gbit/s; buffers of 1 to 32 MiB; losses; links that fail. {} of them give the \
         same `fct.txt` and `pfc.txt`, byte for byte. Where fewer flows complete than there are, the reference has no timeout \
         and the last acknowledgement was lost, never sent or (`L2_BACK_TO_ZERO`) not counted; so it is here.",
        repeated.len(),
        repeated.iter().filter(|one| one.difference.is_none()).count(),
    );
    let head = [
        "scheme",
        "experiments",
        "the same",
        "flows",
        "completed by the reference",
    ];
    let differing: String = repeated
        .iter()
        .filter_map(|one| Some(format!("* {}: {}\n", one.number, one.difference.as_ref()?)))
        .collect();
    format!(
        "## Random experiments\n\n{}\n{}{differing}",
        paragraph(&text),
        table(&head, &rows)
    )
}
