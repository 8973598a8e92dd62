//! What the command line changes in a configuration.

use crate::ns3::format::InputFormat;
use crate::schema::Fidelity;

/// What the command line changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) scheme: Option<&'a str>,
    pub(crate) fidelity: Option<Fidelity>,
    pub(crate) format: Option<InputFormat>,
}
