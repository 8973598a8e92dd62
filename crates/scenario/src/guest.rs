//! Extensions by simulators of others that are not built in: each has a fidelity with its own tables and inputs.

pub use crate::diagnostics::{Place, Problem, Source, suggestion};
pub use crate::htsim::matrix::{Flow, Matrix};
pub use crate::htsim::topology::Wiring;
pub use crate::ns3::keys::Config;
pub use crate::resolve::{
    Around, Cx, Given, OwnRun, Simulator, above_zero, check_within, fill_at, fill_declared, fill_value,
    hosts, one_way, probability, within,
};
pub use crate::schema::{
    Ack, AckClass, Clock, FlowControlKind, Formula, NodeItem, Nodes, OrAuto, OrEvery, OrOff, OwnTable,
    Parity, Profile, REPRODUCED, SwitchDefaults, TableRow,
};
pub use crate::topology::Net;

use std::fmt::Debug;

use paceline_congestion::registry::{AddError, Addition, Definition};

use crate::schema::{EXACT, NS3_HPCC, SIMAI};
use crate::{resolve, schema};

/// Simulator with its own network models, selected by its own fidelity.
pub struct Guest {
    /// Settings that the fidelity determines.
    pub profile: Profile,
    /// Table of its settings in scenarios.
    pub table: TableRow,
    /// Hooks that resolving a scenario calls.
    pub simulator: &'static dyn Simulator,
}

/// Schemes and simulators that a program adds to the built-in ones. They have to be added once, before the first
/// look-up.
#[derive(Default)]
pub struct Extension {
    /// Congestion control schemes to add.
    pub schemes: Vec<Addition>,
    /// Simulators to add, each with its fidelity.
    pub guests: Vec<Guest>,
    /// Fidelities that the program could be built with, each with instructions for that.
    pub left_out: Vec<(&'static str, String)>,
}

/// Reason why an extension cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionError {
    /// Scheme that the registry rejects.
    #[error(transparent)]
    Scheme(#[from] AddError),
    /// Name that is already in use.
    #[error("there is a fidelity called `{0}` already")]
    Taken(&'static str),
    /// Attempt to add after the first look-up.
    #[error("fidelities are added once, before anything runs")]
    TooLate,
}

impl Extension {
    /// Creates an empty extension.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the scheme with parameters `P`.
    #[must_use]
    pub fn with<P: Definition + Debug + PartialEq + Send + Sync + 'static>(mut self) -> Self {
        self.schemes.push(Addition::of::<P>());
        self
    }

    /// Adds everything in another extension.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.schemes.extend(other.schemes);
        self.guests.extend(other.guests);
        self.left_out.extend(other.left_out);
        self
    }

    /// Adds the extension to the built-in schemes and simulators.
    ///
    /// # Errors
    /// If a name is in use or empty, a part of a scheme does something that the scheme does not declare, or something
    /// was looked up before.
    pub fn add(self) -> Result<(), ExtensionError> {
        let mut taken = vec![EXACT.name(), NS3_HPCC.name(), SIMAI.name()];
        for guest in &self.guests {
            if taken.contains(&guest.profile.name) {
                return Err(ExtensionError::Taken(guest.profile.name));
            }
            taken.push(guest.profile.name);
        }
        paceline_congestion::registry::add(self.schemes)?;
        let (mut profiles, mut tables, mut simulators) = (Vec::new(), Vec::new(), Vec::new());
        for Guest {
            profile,
            table,
            simulator,
        } in self.guests
        {
            profiles.push(profile);
            tables.push(table);
            simulators.push(simulator);
        }
        let in_time = [
            schema::add_fidelities(profiles),
            schema::add_tables(tables),
            resolve::add_simulators(simulators),
            schema::leave_out(self.left_out),
        ];
        match in_time {
            [true, true, true, true] => Ok(()),
            _ => Err(ExtensionError::TooLate),
        }
    }
}
