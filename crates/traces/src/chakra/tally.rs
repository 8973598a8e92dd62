//! Counts of nodes whose duration follows from a rule of the reader, for notes to the user.

use std::collections::BTreeMap;

use super::options::Roofline;
use crate::trouble::{Caution, Trouble};

/// Reason for counting a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Broadcast with its recorded duration, as in ASTRA-sim.
    FixedBroadcast,
    /// Load from or store to memory outside the GPU.
    Memory,
    /// CPU communication node without kind or size: the call that starts a communication.
    Call,
    /// CPU communication node that uses the network like one of the GPU.
    OnCpu,
    /// Collective in none of the network's dimensions.
    NotInvolved,
    /// Collective of a group of one rank.
    Alone,
    /// Message to the rank itself.
    ToSelf,
    /// Message or collective with a priority, which is ignored.
    Priority,
    /// Rooted collective that does not name its root.
    NoRoot,
    /// Node without a duration, whose work would determine one if the rates were known.
    NoRate,
    /// Node with neither duration nor work.
    NoWork,
    /// Node without a duration under ASTRA-sim's rules: 1 ns, regardless of its work.
    AstraInstant,
    /// Kernel without `tensor_size`, which ASTRA-sim's roofline skips.
    AstraSkipped,
    /// Kernel with the duration of the roofline.
    Roofline,
}

#[derive(Clone, Debug, Default)]
struct Sum {
    nodes: u64,
    bytes: u64,
    ns: u64,
    first: String,
}

/// Nodes of all ranks, by the rule that determines their duration.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    sums: BTreeMap<Reason, Sum>,
    /// Bytes of all communication and memory nodes.
    bytes: u64,
    /// Total duration of the nodes that do not use the network.
    ns: u64,
    /// Number of COMP nodes.
    kernels: u64,
}

impl Tally {
    /// Counts a node for a reason.
    pub(super) fn add(&mut self, reason: Reason, location: &str, bytes: u64, ns: u64) {
        let sum = self.sums.entry(reason).or_default();
        if sum.nodes == 0 {
            sum.first = location.to_string();
        }
        sum.nodes += 1;
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.ns = sum.ns.saturating_add(ns);
    }

    /// Counts the bytes of a communication or memory node.
    pub(super) fn moves(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Counts the duration of a node that does not use the network.
    pub(super) fn lasts(&mut self, ns: u64) {
        self.ns = self.ns.saturating_add(ns);
    }

    /// Counts a COMP node.
    pub(super) fn kernel(&mut self) {
        self.kernels += 1;
    }

    /// Rejects nodes that have work, but no duration.
    ///
    /// # Errors
    /// The first such node, their number, and the rules that would determine a duration.
    pub(super) fn check(&self, roofline: &Roofline) -> Result<(), Trouble> {
        let Some(sum) = self.sums.get(&Reason::NoRate) else {
            return Ok(());
        };
        let missing = match (roofline.flops, roofline.memory) {
            (None, Some(_)) => "`flops`",
            (Some(_), None) => "`memory`",
            _ => "`flops` and `memory`",
        };
        let (nodes, has) = match sum.nodes {
            1 => ("1 node".to_string(), "has"),
            nodes => (format!("{nodes} nodes"), "have"),
        };
        Err(Trouble::at(
            &sum.first,
            format!(
                "{nodes} of the trace {has} work (num_ops, tensor_size) but no duration_micros, and the rules give no \
                 {missing}: this is the first"
            ),
        )
        .help(
            "`rules = { flops = \"400T\", memory = \"3TB/s\" }` in the job: a kernel then takes the longer of num_ops / flops and \
             tensor_size / memory. A `system` file of ASTRA-sim with roofline-enabled, peak-perf and local-mem-bw says the same",
        ))
    }

    /// Returns the notes for the user of the trace.
    pub(super) fn cautions(&self) -> Vec<Caution> {
        let caution = |(reason, sum): (&Reason, &Sum)| {
            Some(Caution {
                text: self.text(*reason, sum)?,
            })
        };
        self.sums.iter().filter_map(caution).collect()
    }

    fn text(&self, reason: Reason, sum: &Sum) -> Option<String> {
        let first = format!("the first: {}.", sum.first);
        let stand = self.share(sum);
        Some(match reason {
            Reason::FixedBroadcast => format!(
                "{} the recorded time and no bytes to the network, as in ASTRA-sim: {stand}; {first}",
                counted(sum.nodes, "broadcast has", "broadcasts have")
            ),
            Reason::Memory => format!(
                "{} not carried on the network, {} the communication lane of the rank for the recorded time, or for tensor_size / `memory` \
                 where there is none: {stand}; {first}",
                counted(
                    sum.nodes,
                    "memory node (MEM_LOAD, MEM_STORE) is",
                    "memory nodes (MEM_LOAD, MEM_STORE) are"
                ),
                if sum.nodes == 1 {
                    "and occupies"
                } else {
                    "and occupy"
                },
            ),
            Reason::Call => format!(
                "{} of the CPU (is_cpu_op) without comm_type and comm_size, taken for calls that start communication: computing of the \
                 CPU for the recorded time, {stand}; {first}",
                counted(sum.nodes, "communication node", "communication nodes")
            ),
            Reason::OnCpu => format!(
                "{} carried on the network like those of the GPU: {} bytes; {first}",
                counted(
                    sum.nodes,
                    "communication node of the CPU (is_cpu_op) is",
                    "communication nodes of the CPU (is_cpu_op) are"
                ),
                sum.bytes
            ),
            Reason::NotInvolved => format!(
                "{} involved_dim false in every dimension, and nothing to send, as in ASTRA-sim: {stand}; {first}",
                counted(sum.nodes, "collective has", "collectives have")
            ),
            Reason::Alone => format!(
                "{} a group of one rank, and done at once: {} bytes. If other ranks take part, their files are missing; {first}",
                counted(sum.nodes, "collective is of", "collectives are of"),
                sum.bytes
            ),
            Reason::ToSelf => format!(
                "{} to the rank itself, without the network: {} bytes; {first}",
                counted(sum.nodes, "message is", "messages are"),
                sum.bytes
            ),
            Reason::Priority => format!(
                "{} comm_priority, which is not read: all messages of a job have its `priority`; {first}",
                counted(sum.nodes, "node has", "nodes have")
            ),
            Reason::NoRoot => format!(
                "{} no comm_src: the root is the first member of the group; {first}",
                counted(
                    sum.nodes,
                    "node of a collective with a root has",
                    "nodes of collectives with a root have"
                )
            ),
            Reason::NoWork => format!(
                "{} of {} compute nodes have neither duration_micros nor num_ops, and take 1 ns; {first}",
                sum.nodes, self.kernels
            ),
            Reason::AstraInstant => format!(
                "{} of {} compute nodes have no duration_micros, and take 1 ns, as in ASTRA-sim without roofline-enabled. `flops` and `memory` in \
                 the rules give those with num_ops a time; {first}",
                sum.nodes, self.kernels
            ),
            Reason::AstraSkipped => format!(
                "{} of {} compute nodes have no tensor_size, and take no time, as in ASTRA-sim with roofline-enabled; {first}",
                sum.nodes, self.kernels
            ),
            // Worth a note only if some kernels differ.
            Reason::Roofline if sum.nodes < self.kernels => format!(
                "{} of {} compute nodes take the time of the roofline ({}), the others that of the trace; {first}",
                sum.nodes,
                self.kernels,
                time(sum.ns)
            ),
            Reason::Roofline | Reason::NoRate => return None,
        })
    }

    /// Describes a sum as a share of the trace's bytes or time.
    fn share(&self, sum: &Sum) -> String {
        let share = |part: u64, of: u64| {
            if of > 0 {
                100.0 * part as f64 / of as f64
            } else {
                0.0
            }
        };
        format!(
            "{} bytes ({:.1} % of those that the trace moves) and {} ({:.1} % of the time that its nodes last)",
            sum.bytes,
            share(sum.bytes, self.bytes),
            time(sum.ns),
            share(sum.ns, self.ns)
        )
    }
}

fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Returns a duration in the unit that reads best.
fn time(ns: u64) -> String {
    crate::explain::time(u128::from(ns))
}
