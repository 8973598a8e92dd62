//! What was chosen after results had been seen.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Something that nobody had published, chosen by us with results before our eyes: what agrees with a paper
/// after that agrees a little less by itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What was chosen.
    pub what: String,
    /// What else was tried; or that nothing else was.
    pub tried: String,
    /// What it changed.
    pub changed: String,
}

impl Choice {
    /// In the list for programs: an entry with the keys of the others, and two of its own.
    pub(super) fn entry(&self, id: &str) -> Value {
        json!({
            "id": id,
            "case": self.what,
            "metric": "choice",
            "unit": "",
            "paper": null,
            "ours": null,
            "tolerance": "",
            "ok": null,
            "kind": "choice",
            "source": "us",
            "tried": self.tried,
            "changed": self.changed,
        })
    }
}
