//! Glossary of terms of the field, vendors' counters, and words of AI networks, with references to pages.

use std::sync::LazyLock;

use paceline_lab::layout;

/// Term of the glossary.
pub struct Term {
    /// Names; the first is the title.
    pub names: Vec<&'static str>,
    /// Meaning, without a full stop at the end.
    pub about: &'static str,
    /// Names of related pages of `paceline explain`.
    pub see: Vec<&'static str>,
}

/// Returns all terms in alphabetical order.
pub fn terms() -> &'static [Term] {
    static TERMS: LazyLock<Vec<Term>> = LazyLock::new(|| {
        let lines = include_str!("terms.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let list = |part: &'static str| {
            part.split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .collect()
        };
        let term = |line: &'static str| {
            let mut parts = line.split('|');
            let mut next = || parts.next().unwrap_or_default().trim();
            Term {
                names: list(next()),
                about: next(),
                see: list(next()),
            }
        };
        lines.map(term).collect()
    });
    &TERMS
}

/// Normalizes a name for comparison: lower case, one kind of blank, singular.
fn plain(name: &str) -> String {
    let mut plain = name.to_lowercase().replace(['-', '_'], " ");
    if let Some(one) = plain
        .strip_suffix('s')
        .filter(|one| one.len() > 3 && !one.ends_with('s'))
    {
        plain = one.to_string();
    }
    plain
}

fn find(name: &str) -> Option<&'static Term> {
    let name = plain(name);
    terms()
        .iter()
        .find(|term| term.names.iter().any(|own| plain(own) == name))
}

/// Returns the names of all terms.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    terms().iter().flat_map(|term| term.names.iter().copied())
}

/// Returns the first lines of a page about a term.
pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    let term = find(name)?;
    let also = match &term.names[1..] {
        [] => String::new(),
        also => layout::paragraph(&format!("Also {}.", also.join(", ")), width),
    };
    let see = match &term.see[..] {
        [] => String::new(),
        see => {
            let pages: Vec<String> = see.iter().map(|name| command(name)).collect();
            format!("\nSee:\n{}", pages.concat())
        }
    };
    let about = layout::paragraph(&format!("{}.", term.about), width);
    Some(format!("{}\n\n{about}{also}{see}", term.names[0]))
}

/// Returns the command that shows more.
fn command(name: &str) -> String {
    match name {
        "why" => "  paceline why RUN\n".to_string(),
        "measures" => "  paceline list measures\n".to_string(),
        "list schemes" => "  paceline list schemes\n".to_string(),
        _ => format!("  paceline explain {name}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;

    #[test]
    fn every_term_is_answered_and_leads_somewhere() {
        assert!(terms().len() > 100);
        for term in terms() {
            assert!(
                !term.about.is_empty() && !term.about.ends_with('.'),
                "{}",
                term.names[0]
            );
            for name in &term.names {
                let page = explain(name, 100).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(page.len() > 60, "{name}: {page}");
            }
            for see in term
                .see
                .iter()
                .filter(|see| !["why", "measures", "list schemes"].contains(see))
            {
                assert!(
                    explain(see, 100).is_ok(),
                    "{}: there is no page {see}",
                    term.names[0]
                );
            }
        }
        let names: Vec<String> = names().map(plain).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name} is there twice");
        }
    }

    #[test]
    fn words_of_ai_networks_are_answered() {
        for (name, says) in [
            ("PortXmitWait", "credits.stalled_s"),
            ("PXN", "NVLink"),
            ("NCCL", "rings, trees"),
            ("busbw", "NCCL's tests"),
            ("rendezvous", "eager"),
            ("DRILL", "Not simulated"),
            ("NSCC", "Ultra Ethernet"),
            ("REPS", "entropy values"),
            ("nvls", "Not simulated"),
            ("Queue Pair", "sending state"),
            ("queue-pairs", "sending state"),
            ("rx_prio3_pause", "pfc.pause_frames"),
            ("PFC", "network.pfc"),
            ("ECE", "CNPs carry marks"),
        ] {
            let page = explain(name, 2000).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(page.contains(says), "{name}: {page}");
        }
        let near = explain("PortXmitWaits2", 100).unwrap_err();
        assert!(near.contains("did you mean `PortXmitWait`"), "{near}");
    }
}
