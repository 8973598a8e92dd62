//! What the command line changes in a configuration, and where parameters were written.

use crate::ns3::format::InputFormat;
use crate::schema::Fidelity;

/// What the command line changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) scheme: Option<&'a str>,
    pub(crate) fidelity: Option<Fidelity>,
    pub(crate) format: Option<InputFormat>,
}

/// Where each parameter of a scheme was written: scheme, parameter, place.
pub(crate) type Places = Vec<(String, String, std::ops::Range<usize>)>;
