//! Recognition of launchers, by the variables that they set.

use std::env;

/// A launcher of several processes has started this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Name of the launcher.
    pub launcher: &'static str,
    /// Number of processes, if the launcher says it.
    pub ranks: Option<usize>,
    /// Number of this process.
    pub rank: usize,
    /// True if libraries of Open MPI are likely to be the launcher's.
    pub(crate) is_open_mpi: bool,
}

impl Launched {
    /// Stands for a process that no launcher has started.
    pub(crate) const NONE: Self = Self {
        launcher: "no launcher",
        ranks: None,
        rank: 0,
        is_open_mpi: false,
    };
}

/// Name of a launcher, and its variables for the rank and the number of ranks.
type Signs = (&'static str, &'static str, &'static str, bool);

/// The first that is there counts: Open MPI 5 sets PMIX_RANK too.
const SIGNS: [Signs; 3] = [
    (
        "Open MPI's mpirun",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        true,
    ),
    ("an MPICH launcher", "PMI_RANK", "PMI_SIZE", false),
    ("a PMIx launcher", "PMIX_RANK", "", true),
];

/// Returns the launcher that has started this process; `None` if none has, if this is its only process, or if
/// `PACELINE_MPI` is `off`.
pub fn launched() -> Option<Launched> {
    of(|name| env::var(name).ok())
}

fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    if variable("PACELINE_MPI").is_some_and(|file| file == "off") {
        return None;
    }
    let number = |name: &str| variable(name)?.parse::<usize>().ok();
    let found = SIGNS
        .into_iter()
        .find_map(|(launcher, rank, ranks, is_open_mpi)| {
            Some(Launched {
                launcher,
                rank: number(rank)?,
                ranks: number(ranks),
                is_open_mpi,
            })
        })?;
    (found.ranks != Some(1)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<(&'static str, usize, Option<usize>)> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        of(variable).map(|launched| (launched.launcher, launched.rank, launched.ranks))
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(
            found(&[("PMI_RANK", "2"), ("PMI_SIZE", "4")]),
            Some(("an MPICH launcher", 2, Some(4)))
        );
        let open = [
            ("PMIX_RANK", "1"),
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
        ];
        assert_eq!(found(&open), Some(("Open MPI's mpirun", 1, Some(2))));
        assert_eq!(found(&open[..1]), Some(("a PMIx launcher", 1, None)));
        assert_eq!(
            found(&[("PMI_RANK", "2"), ("PMI_SIZE", "4"), ("PACELINE_MPI", "off")]),
            None
        );
        // Slurm alone starts copies of a program that do not know each other.
        assert_eq!(found(&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")]), None);
    }
}
