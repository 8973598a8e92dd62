//! Nodes whose time follows from a rule of the reader: counted, so that their user is told.

use std::collections::BTreeMap;

use super::options::Roofline;
use crate::trouble::{Caution, Trouble};

/// Why nodes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// A broadcast that lasts as long as it was recorded, as in ASTRA-sim.
    FixedBroadcast,
    /// A load from or a store to memory outside the GPU.
    Memory,
    /// A communication node of the CPU that says neither kind nor size: the call that starts one.
    Call,
    /// A communication node of the CPU that is carried on the network like one of the GPU.
    OnCpu,
    /// A collective in none of the dimensions of the network.
    NotInvolved,
    /// A collective of a group of one.
    Alone,
    /// A message to the rank itself.
    ToSelf,
    /// A message or collective with a priority of its own.
    Priority,
    /// A rooted collective that does not name its root.
    NoRoot,
    /// A node without a duration, whose work would give it one if the rates were known.
    NoRate,
    /// A node with neither duration nor work.
    NoWork,
    /// The same where ASTRA-sim's rules count: 1 ns, whatever its work.
    AstraInstant,
    /// ASTRA-sim's roofline skips kernels without `tensor_size`.
    AstraSkipped,
    /// A kernel whose duration is that of the roofline.
    Roofline,
}

#[derive(Clone, Debug, Default)]
struct Sum {
    nodes: u64,
    bytes: u64,
    ns: u64,
    first: String,
}

/// Nodes of all ranks, by the rule that gives them their time.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    sums: BTreeMap<Reason, Sum>,
    /// What all communication and memory nodes name, in bytes.
    bytes: u64,
    /// How long all nodes last whose time does not come from the network.
    ns: u64,
    /// Nodes of type COMP.
    kernels: u64,
}

impl Tally {
    /// Counts a node for a reason.
    pub(super) fn add(&mut self, reason: Reason, place: &str, bytes: u64, ns: u64) {
        let sum = self.sums.entry(reason).or_default();
        if sum.nodes == 0 {
            sum.first = place.to_string();
        }
        sum.nodes += 1;
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.ns = sum.ns.saturating_add(ns);
    }

    /// Counts the bytes of a communication or memory node.
    pub(super) fn moves(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Counts the time of a node that the network has no part in.
    pub(super) fn lasts(&mut self, ns: u64) {
        self.ns = self.ns.saturating_add(ns);
    }

    /// Counts a node of type COMP.
    pub(super) fn kernel(&mut self) {
        self.kernels += 1;
    }

    /// Refuses nodes that have work, but no time.
    ///
    /// # Errors
    ///
    /// With the first such node, their number, and the rules that give them a time.
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

    /// What the user of the trace should know.
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
            // Nothing to say where all kernels are alike.
            Reason::Roofline if sum.nodes < self.kernels => format!(
                "{} of {} compute nodes take the time of the roofline ({}), the others that of the trace; {first}",
                sum.nodes,
                self.kernels,
                time(sum.ns)
            ),
            Reason::Roofline | Reason::NoRate => return None,
        })
    }

    /// What a sum stands for.
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

/// A time in the unit that reads best.
fn time(ns: u64) -> String {
    crate::explain::time(u128::from(ns))
}
