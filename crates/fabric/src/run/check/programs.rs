//! Checks of programs and their hosts.

use paceline_congestion::registry::ActiveScheme;

use super::{BuildError, hosts};
use paceline_run::spec::{Program, RunSpec};

/// Checks programs for everything that would make the run fail, or its results wrong, later. `degree` is each node's
/// number of links.
pub(super) fn check_programs(
    spec: &RunSpec,
    schemes: &[ActiveScheme],
    degree: &[u32],
) -> Result<(), BuildError> {
    let all = spec.programs.iter().enumerate();
    for (program, told) in all {
        let bad = |why| BuildError::BadProgram { program, why };
        check_program(spec, told, degree).map_err(bad)?;
        if schemes.iter().any(|scheme| scheme.needs().foresight) {
            let why = "a scheme asks for foresight, and flows of a program come as the run goes on";
            return Err(bad(why.into()));
        }
    }
    Ok(())
}

fn check_program(spec: &RunSpec, program: &Program, degree: &[u32]) -> Result<(), String> {
    let model = spec.model.as_ref();
    if let Some(model) = model {
        return Err(format!(
            "in a network of {} flows come from a list, and those of a program as the run goes on",
            model.name()
        ));
    }
    for &host in &program.hosts {
        hosts::check_host(spec, host, degree)?;
    }
    hosts::check_class_and_scheme(spec, program.class, program.scheme)
}
