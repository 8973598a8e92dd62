//! Parser for SimAI's workload files.

use crate::program::CollectiveKind;
use crate::trouble::{Caution, Trouble};

use super::groups::GroupKind;
use super::header::Header;

/// Fields of a layer: its name, its dependency, three phases of three, and the process time.
const FIELDS: usize = 12;

/// Collective operation that a phase of a layer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseCollective {
    /// Operation that the ranks perform.
    pub kind: CollectiveKind,
    /// Groups that perform it, each on its own.
    pub group: GroupKind,
    /// Size of the operation, in bytes.
    pub bytes: u64,
}

/// Phase of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Computing time in ns.
    pub compute_ns: u64,
    /// Collective after the computation.
    pub collective: Option<PhaseCollective>,
}

/// Layer of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Name in the file.
    pub name: String,
    /// Line in the file, from 1.
    pub line: u32,
    /// Phase of the forward pass.
    pub forward: Phase,
    /// Phase that computes gradients of inputs.
    pub input: Phase,
    /// Phase that computes gradients of weights.
    pub weight: Phase,
    /// Delay after each of its collectives, in ns.
    pub process_ns: u64,
}

/// Header and layers of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Name of the file in errors.
    pub file: String,
    /// Values in the first line.
    pub header: Header,
    /// Layers in the order of the forward pass.
    pub layers: Vec<Layer>,
}

/// Parses a workload; errors call the file `file`.
///
/// # Errors
/// If a line is invalid, with its number.
pub fn read(file: &str, text: &str) -> Result<(Workload, Vec<Caution>), Trouble> {
    let mut lines = (1_u32..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let at = |line: u32| format!("{file}:{line}");
    let (line, first) = lines.next().unwrap_or((1, ""));
    let header = Header::read(first, &at(line))?;
    let mut cautions = header.cautions(&at(line));
    let Some((line, count)) = lines.next() else {
        return Err(Trouble::at(
            at(line),
            "the file ends after its first line: expected the number of layers",
        ));
    };
    let location = at(line);
    let announced = match count.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [count] => whole(count, "the number of layers", &location)?,
        _ => {
            let message = format!("`{}`: expected the number of layers alone", count.trim());
            return Err(Trouble::at(location, message));
        }
    };
    let mut layers = Vec::new();
    let mut empty = Vec::new();
    for (line, text) in lines {
        layers.push(layer(text, line, &at(line), &mut empty)?);
    }
    // Only after all layers are read: a fault in a layer explains more than a wrong count.
    if layers.len() as u64 != announced || layers.is_empty() {
        let expected = if announced == 0 { "at least one" } else { "as many" };
        let message = format!(
            "{announced} layers are announced, and {} follow: expected {expected}",
            layers.len()
        );
        return Err(Trouble::at(location, message));
    }
    if !empty.is_empty() {
        let text = format!(
            "{file}: collectives of 0 bytes are left out (SimAI waits for ever for those that are not of weight gradients): \
             lines {}",
            list(&empty)
        );
        cautions.push(Caution { text });
    }
    let times = layers
        .iter()
        .flat_map(|layer| [layer.forward, layer.input, layer.weight].map(|phase| phase.compute_ns));
    if times.max().is_some_and(|most| most <= 1) {
        let text = format!(
            "{file}: all computing times are 0 or 1 ns, so that an iteration is communication alone: AICB writes that unless it \
             measures (aiob_enable)"
        );
        cautions.push(Caution { text });
    }
    let workload = Workload {
        file: file.to_string(),
        header,
        layers,
    };
    Ok((workload, cautions))
}

/// Lists the first twenty numbers.
pub(super) fn list(numbers: &[u32]) -> String {
    let most = 20;
    let mut text: Vec<String> = numbers.iter().take(most).map(u32::to_string).collect();
    if numbers.len() > most {
        text.push(format!("and {} more", numbers.len() - most));
    }
    text.join(", ")
}

/// Parses a layer; adds the line to `empty` if one of its collectives has no bytes.
fn layer(text: &str, line: u32, location: &str, empty: &mut Vec<u32>) -> Result<Layer, Trouble> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != FIELDS {
        let message = format!("{} fields, expected {FIELDS}", fields.len());
        return Err(Trouble::at(location, message).help(
            "name, dependency, then time, collective and bytes of the forward pass, of the gradients of inputs and of \
             those of weights, then process time",
        ));
    }
    if fields[1].parse::<i64>().is_err() {
        let message = format!(
            "the dependency is `{}`: expected a whole number, such as -1",
            fields[1]
        );
        return Err(Trouble::at(location, message));
    }
    let mut phase = |first: usize, what: &str, plain: GroupKind| -> Result<Phase, Trouble> {
        let compute_ns = whole(fields[first], &format!("the time of the {what}, in ns"), location)?;
        let bytes = whole(
            fields[first + 2],
            &format!("the size of the collective of the {what}, in bytes"),
            location,
        )?;
        let collective = collective(fields[first + 1], plain, location)?;
        if collective.is_some() && bytes == 0 && empty.last() != Some(&line) {
            empty.push(line);
        }
        Ok(Phase {
            compute_ns,
            collective: collective
                .filter(|_| bytes > 0)
                .map(|(kind, group)| PhaseCollective { kind, group, bytes }),
        })
    };
    Ok(Layer {
        forward: phase(2, "forward pass", GroupKind::Tp)?,
        input: phase(5, "gradients of inputs", GroupKind::Tp)?,
        weight: phase(8, "gradients of weights", GroupKind::Dp)?,
        process_ns: whole(fields[11], "the process time, in ns", location)?,
        name: fields[0].to_string(),
        line,
    })
}

const COLLECTIVES: [(&str, CollectiveKind); 4] = [
    ("ALLREDUCE", CollectiveKind::AllReduce),
    ("ALLGATHER", CollectiveKind::AllGather),
    ("REDUCESCATTER", CollectiveKind::ReduceScatter),
    ("ALLTOALL", CollectiveKind::AllToAll),
];

/// Parses a collective and its group; without a suffix, the group is `plain`.
fn collective(
    text: &str,
    plain: GroupKind,
    location: &str,
) -> Result<Option<(CollectiveKind, GroupKind)>, Trouble> {
    if text == "NONE" {
        return Ok(None);
    }
    let suffixes = [("", plain), ("_EP", GroupKind::Ep), ("_DP_EP", GroupKind::DpEp)];
    for (name, kind) in COLLECTIVES {
        if let Some(rest) = text.strip_prefix(name)
            && let Some((_, group)) = suffixes.into_iter().find(|(suffix, _)| *suffix == rest)
        {
            return Ok(Some((kind, group)));
        }
    }
    if text.starts_with("ALLREDUCEALLTOALL") {
        let message =
            format!("`{text}` is not carried out: SimAI takes it for an all-reduce without a group");
        return Err(Trouble::at(location, message).help("write an ALLREDUCE and an ALLTOALL in two layers"));
    }
    let known: Vec<String> = COLLECTIVES
        .into_iter()
        .flat_map(|(name, _)| suffixes.map(|(suffix, _)| format!("{name}{suffix}")))
        .chain(["NONE".to_string()])
        .collect();
    Err(Trouble::at(location, format!("unknown collective `{text}`"))
        .help(nearest(text, known.iter().map(String::as_str))))
}

/// Parses a non-negative integer.
pub(super) fn whole(text: &str, what: &str, location: &str) -> Result<u64, Trouble> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        let expected = match error.kind() {
            std::num::IntErrorKind::PosOverflow => format!("at most {}", u64::MAX),
            _ => "a whole number, not negative".to_string(),
        };
        Trouble::at(location, format!("{what} is `{text}`: expected {expected}"))
    })
}

/// Returns a suggestion for a misspelt name.
pub(super) fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let distance = |name: &&str| strsim::damerau_levenshtein(&text.to_uppercase(), &name.to_uppercase());
    match known.clone().min_by_key(distance) {
        Some(name) if distance(&name) <= 2 + text.len() / 4 => format!("did you mean `{name}`?"),
        _ => format!("expected {}", known.collect::<Vec<_>>().join(", ")),
    }
}
