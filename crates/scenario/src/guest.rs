//! Extensions by what is not built in: schemes, simulators of others that each have a fidelity with its own tables and
//! inputs, sets of measures, tables for SQL.

pub use crate::diagnostics::{Location, Problem, Source, suggestion};
pub use crate::htsim::matrix::{Flow, Matrix};
pub use crate::htsim::topology::Wiring;
pub use crate::left_out::{is_incomplete, left_out};
pub use crate::measures::{Measure, MeasureSet, Metrics, measure};
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

pub use paceline_fabric::made;

use std::fmt::Debug;
use std::sync::OnceLock;

use made::Made;
use paceline_congestion::registry::{AddError, Addition, Definition};

use crate::left_out::leave_out;
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
    /// Sets of measures to add.
    pub measures: Vec<MeasureSet>,
    /// Tables for SQL to add.
    pub tables: Vec<Made>,
    /// Identity of the code of all this, if a build script has computed it. Otherwise results carry that of the program's
    /// file.
    pub code: Option<String>,
    /// Fidelities, sets of measures and tables that the program could be built with, each with instructions for that.
    pub left_out: Vec<(&'static str, String)>,
}

/// Additions that the crates above look up.
#[derive(Default)]
struct Added {
    measures: Vec<MeasureSet>,
    tables: Vec<Made>,
    code: AddedCode,
}

/// Identity of the code of the additions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AddedCode {
    /// No additions.
    #[default]
    None,
    /// Known identity.
    Known(String),
    /// Additions without an identity.
    Unknown,
}

static ADDED: OnceLock<Added> = OnceLock::new();

fn added() -> &'static Added {
    ADDED.get_or_init(Added::default)
}

/// Returns the added sets of measures.
pub fn measures() -> &'static [MeasureSet] {
    &added().measures
}

/// Returns the added tables.
pub fn tables() -> &'static [Made] {
    &added().tables
}

/// Returns the identity of the code of all additions.
pub fn code() -> &'static AddedCode {
    &added().code
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
    #[error("extensions are added once, before anything runs")]
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
        self.code = match (self.added_code(), other.added_code()) {
            (AddedCode::Known(own), AddedCode::Known(others)) => Some(own + &others),
            (AddedCode::Known(code), AddedCode::None) | (AddedCode::None, AddedCode::Known(code)) => {
                Some(code)
            }
            // If the identity of either is unknown, so is that of both.
            _ => None,
        };
        self.schemes.extend(other.schemes);
        self.guests.extend(other.guests);
        self.measures.extend(other.measures);
        self.tables.extend(other.tables);
        self.left_out.extend(other.left_out);
        self
    }

    /// Returns the identity of the code that it adds.
    fn added_code(&self) -> AddedCode {
        let sizes = [
            self.schemes.len(),
            self.guests.len(),
            self.measures.len(),
            self.tables.len(),
        ];
        match &self.code {
            _ if sizes == [0; 4] => AddedCode::None,
            Some(code) => AddedCode::Known(code.clone()),
            None => AddedCode::Unknown,
        }
    }

    /// Adds the extension to what is built in.
    ///
    /// # Errors
    /// If a name is in use or empty, a part of a scheme does something that the scheme does not declare, or something
    /// was looked up before.
    pub fn add(self) -> Result<(), ExtensionError> {
        let code = self.added_code();
        // Names are checked before anything is registered, which cannot be undone.
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
            leave_out(self.left_out),
            ADDED
                .set(Added {
                    measures: self.measures,
                    tables: self.tables,
                    code,
                })
                .is_ok(),
        ];
        match in_time {
            [true, true, true, true, true] => Ok(()),
            _ => Err(ExtensionError::TooLate),
        }
    }
}
