//! Ids of runs: digests of everything that determines a run's result.

use paceline_scenario::Resolved;
use sha2::{Digest as _, Sha256};

/// Hexadecimal digits of an id: 80 bits, which make collisions negligible.
const DIGITS: usize = 20;

/// Computes the ids of the runs of a resolved scenario with `seeds`, by this `version` of the program.
///
/// The scenario's own seed is left out, so the runs of a point differ only in theirs. The order of keys in the file
/// does not matter, since the resolved text has a fixed order.
pub(crate) fn run_ids(input: &Resolved, seeds: &[u64], version: &str) -> Vec<String> {
    let mut common = Sha256::new();
    let mut add = |text: &[u8]| {
        // Lengths are hashed too, so that text cannot move between two parts unnoticed.
        common.update((text.len() as u64).to_le_bytes());
        common.update(text);
    };
    add(version.as_bytes());
    add(without_seed(&input.toml).as_bytes());
    for (name, content) in &input.files {
        add(name.as_bytes());
        add(content);
    }
    let id = |seed: &u64| {
        let digest = common.clone().chain_update(seed.to_le_bytes()).finalize();
        let hexadecimal: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        hexadecimal[..DIGITS].to_string()
    };
    seeds.iter().map(id).collect()
}

/// Returns the id of a resolved scenario's run with its own seed, by this version of the program.
pub fn run_id(input: &Resolved) -> String {
    run_ids(input, &[input.seed], crate::identity::version()).remove(0)
}

/// Removes comments and the line of the seed, which precedes all tables, from a resolved scenario.
fn without_seed(toml: &str) -> String {
    let mut top = true;
    let kept = toml.lines().filter(|line| {
        top = top && !line.starts_with('[');
        !(line.starts_with('#') || top && line.starts_with("seed = "))
    });
    kept.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_scenario::{Overrides, load, load_text, scenarios};

    const TEXT: &str = r#"name = "x"
seed = 3
[cc]
scheme = "dcqcn"
[topology.star]
hosts = 3
[[workload]]
incast = { fan-in = 2, receiver = 3, size = "100KB" }
"#;

    fn id_of(input: &Resolved, seed: u64, version: &str) -> String {
        run_ids(input, &[seed], version).remove(0)
    }

    fn resolved(text: &str, set: &[&str]) -> Resolved {
        let overrides = Overrides {
            set: set.iter().map(ToString::to_string).collect(),
            ..Overrides::default()
        };
        load_text("x.toml", text, &overrides).unwrap()
    }

    #[test]
    fn changes_with_all_that_matters_and_with_nothing_else() {
        let base = id_of(&resolved(TEXT, &[]), 3, "1");
        assert_eq!(base.len(), DIGITS);
        assert_ne!(base, id_of(&resolved(TEXT, &[]), 4, "1"), "seed");
        assert_ne!(base, id_of(&resolved(TEXT, &[]), 3, "2"), "version");
        let set = ["cc.dcqcn.rate-ai=41Mbps"];
        assert_ne!(base, id_of(&resolved(TEXT, &set), 3, "1"), "parameter");
        // The scenario's own seed does not matter, nor does the notation of a value.
        assert_eq!(base, id_of(&resolved(TEXT, &["seed=9"]), 3, "1"));
        let (head, tables) = TEXT.split_once("[cc]").unwrap();
        let (cc, rest) = tables.split_once("[topology").unwrap();
        let other = format!(
            "# Another order.\nseed = 3\n[topology{}\n[cc]{cc}{}",
            rest.replace("100KB", "100000B"),
            "[network]\nmtu = \"1KB\""
        );
        assert!(head.contains("name"));
        assert_eq!(base, id_of(&resolved(&other, &["name=x"]), 3, "1"));
    }

    #[test]
    fn files_count() {
        let mut input = resolved(TEXT, &[]);
        let base = id_of(&input, 3, "1");
        input.files.push(("flows.txt".into(), "1".into()));
        let one = id_of(&input, 3, "1");
        input.files[0].1 = "2".into();
        assert_ne!(one, base);
        assert_ne!(one, id_of(&input, 3, "1"));
    }

    /// Registers the simulators that a program adds before tests look anything up.
    #[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
    #[ctor::ctor(unsafe)]
    fn add_simulators() {
        paceline_parity::install();
    }

    /// A point is resolved with one seed; only the seed's line distinguishes the texts of its runs.
    #[test]
    fn resolved_scenarios_depend_on_the_seed_in_one_line() {
        for shipped in scenarios() {
            let with = |seed| {
                let overrides = Overrides {
                    seed: Some(seed),
                    ..Overrides::default()
                };
                id_of(&load(shipped.name, &overrides).unwrap(), 1, "1")
            };
            assert_eq!(with(1), with(2), "{}", shipped.name);
        }
    }
}
