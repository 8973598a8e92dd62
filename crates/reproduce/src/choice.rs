//! Choices that were made after results were known.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Choice that no publication prescribes, made after results were known: later agreement with the paper is weaker
/// evidence.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Description of the choice.
    pub what: String,
    /// Alternatives that were tried, or a statement that there were none.
    pub tried: String,
    /// Effect of the choice.
    pub changed: String,
}

impl Choice {
    /// Returns the entry in the list for programs: the keys of the other entries, and two further ones.
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
