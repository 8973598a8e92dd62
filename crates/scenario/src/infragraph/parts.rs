//! Parts of an infrastructure: devices with their components, instances, and links.

use paceline_kernel::{BitRate, Span};

use crate::diagnostics::Location;

/// Largest number of links; only a typing error exceeds it.
pub(super) const MOST_CABLES: usize = 10_000_000;

/// Rate and delay of links for which the file gives none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LinkDefaults {
    pub(crate) rate: Option<BitRate>,
    pub(crate) delay: Option<Span>,
}

/// Component of a device: so many of a kind.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) count: u32,
    /// Index of the device that it is, if it is one.
    pub(super) device: Option<usize>,
    pub(super) kind: PartKind,
}

/// Kind of a component, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// NIC or accelerator, whose device is a host.
    End,
    /// Port, device, or one of a kind of its own.
    Passive,
    /// Processor, memory or switch.
    Active,
}

/// Device, with its components.
pub(super) struct Device {
    pub(super) name: String,
    pub(super) parts: Vec<Part>,
}

/// Role of a device's instances in the network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Host,
    Switch,
    /// Device of ports alone: a transceiver, if it is between two others.
    Passive,
}

/// Instances of a device.
pub(super) struct Instance {
    pub(super) name: String,
    pub(super) device: usize,
    pub(super) count: u32,
    /// Number of the first of them, among all instances.
    pub(super) first: u32,
}

/// Named link of the infrastructure; rate or delay is missing if the file has none.
pub(super) struct Link<'a> {
    pub(super) name: &'a str,
    pub(super) rate: Option<BitRate>,
    pub(super) delay: Option<Span>,
    pub(super) place: Location,
}
