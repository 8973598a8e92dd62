//! What simulators of others are made of that are not built in: a fidelity each, with the tables and inputs of its
//! scenarios.

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

/// A simulator whose networks are models of their own, under a fidelity of its own.
pub struct Guest {
    /// What its fidelity decides.
    pub profile: Profile,
    /// Its settings in scenarios.
    pub table: TableRow,
    /// What resolving asks of it.
    pub simulator: &'static dyn Simulator,
}

/// What a program has that is not built in. All of it is added once, before anything is looked up.
#[derive(Default)]
pub struct Extension {
    /// Schemes.
    pub schemes: Vec<Addition>,
    /// Simulators.
    pub guests: Vec<Guest>,
    /// Fidelities that the program could have, each with what to do to have it.
    pub left_out: Vec<(&'static str, String)>,
}

/// Why an extension cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionError {
    /// A scheme cannot be.
    #[error(transparent)]
    Scheme(#[from] AddError),
    /// Something has its name.
    #[error("there is a fidelity called `{0}` already")]
    Taken(&'static str),
    /// They have been looked up.
    #[error("fidelities are added once, before anything runs")]
    TooLate,
}

impl Extension {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and the scheme whose parameters these are.
    #[must_use]
    pub fn with<P: Definition + Debug + PartialEq + Send + Sync + 'static>(mut self) -> Self {
        self.schemes.push(Addition::of::<P>());
        self
    }

    /// The same with all of another.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.schemes.extend(other.schemes);
        self.guests.extend(other.guests);
        self.left_out.extend(other.left_out);
        self
    }

    /// Adds all of it to what is built in.
    ///
    /// # Errors
    /// If a name is taken or none, a scheme's halves do what it does not declare, or it is too late.
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
