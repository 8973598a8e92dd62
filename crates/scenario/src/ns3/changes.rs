//! Changes that the command line makes to a configuration.

use crate::ns3::format::InputFormat;
use crate::schema::Fidelity;

/// Command-line options that decide how a configuration is read; `None` leaves the choice to the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) scheme: Option<&'a str>,
    pub(crate) fidelity: Option<Fidelity>,
    pub(crate) format: Option<InputFormat>,
}
