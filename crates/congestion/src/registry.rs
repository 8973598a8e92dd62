//! The list of schemes.

use crate::api::{CongestionControl, Needs, PathInfo};

/// How the bytes in flight of a flow are bounded, whatever its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowMode {
    /// Not at all.
    Off,
    /// By the bandwidth-delay product.
    Fixed,
    /// By the bandwidth-delay product times rate over line rate.
    Variable,
}

/// A scheme with its parameters, ready to make senders.
#[derive(Clone, Debug)]
pub struct SchemeConfig {}

impl SchemeConfig {
    /// The scheme's name, as in the scenario file.
    pub fn name(&self) -> &'static str {
        "none"
    }
    /// What the scheme, with these parameters, needs.
    pub fn needs(&self) -> Needs {
        Needs::default()
    }
    /// The window mode that the scheme's paper uses.
    pub fn default_window(&self) -> WindowMode {
        WindowMode::Off
    }
    /// The sender's half for a new flow.
    pub fn build(&self, _path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(LineRate)
    }
}

struct LineRate;
impl CongestionControl for LineRate {
    fn limits(&self) -> crate::SendLimits {
        crate::SendLimits {
            rate: paceline_kernel::BitRate::from_gbps(100),
            window: paceline_kernel::Bytes::MAX,
        }
    }
    fn on_ack(&mut self, _: &mut crate::Ctx<'_>, _: &crate::AckInfo<'_>) {}
}
