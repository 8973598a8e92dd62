//! Senders of another make than a scheme's own.

use std::fmt;
use std::sync::Arc;

use crate::api::{CongestionControl, Needs, PathInfo};

type Make = dyn Fn(&PathInfo) -> Box<dyn CongestionControl> + Send + Sync;

/// What makes senders in place of a scheme's own: training runs, where senders learn as they go.
#[derive(Clone)]
pub struct Maker {
    pub(super) make: Arc<Make>,
    pub(super) needs: Option<Needs>,
}

impl Maker {
    /// Of a function.
    pub fn new(make: impl Fn(&PathInfo) -> Box<dyn CongestionControl> + Send + Sync + 'static) -> Self {
        Self {
            make: Arc::new(make),
            needs: None,
        }
    }

    /// The same, of senders that need something else than the scheme's own.
    pub fn needing(mut self, needs: Needs) -> Self {
        self.needs = Some(needs);
        self
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

impl PartialEq for Maker {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make) && self.needs == other.needs
    }
}
