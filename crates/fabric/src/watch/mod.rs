//! What is written down of a run, as the core sees it happen.

pub mod account;
pub mod closeup;
pub(crate) mod record;

use crate::watch::account::Accounts;
use crate::watch::record::Recorder;

/// What is written down of a run.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) recorder: Recorder,
    pub(crate) accounts: Accounts,
    pub(crate) closeups: crate::watch::closeup::CloseUps,
    pub(crate) standstill: crate::run::standstill::Watch,
}

impl Watch {
    /// Whether accounts, closeups or traces are to be told what senders wait for.
    #[inline]
    pub(crate) fn is_told(&self) -> bool {
        self.recorder.tracing || self.accounts.on()
    }
}
