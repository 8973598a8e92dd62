//! Operations of ranks for the layers of a workload.
//!
//! An iteration of a rank is a chain. Forward, layer by layer: compute, the collective, its process time, 1 ns.
//! Backward, from the last layer: compute the gradients of inputs, the collective, its process time, 1 ns; compute
//! the gradients of weights; then their collective, which nothing waits for, and, at once, 1 ns and the next layer.
//! The rank completes after all of these. (`Workload::iterate_hybrid_parallel_Transformer_fwd_in_bckwd` of
//! aliyun/SimAI@f5efb5a.)

use crate::program::{
    Collective, CollectiveKind, Lanes, NO_LANE, Operation, OperationId, Order, Program, Rank, Work,
};
use crate::trouble::{Caution, Trouble};

use super::groups::{GroupKind, Groups};
use super::workload::{Layer, Phase, PhaseCollective, Workload, list};

/// Lanes of a rank. SimAI has a queue for collectives of the forward pass and of gradients of inputs, and one for
/// those of gradients of weights; each runs one collective at a time.
const COMPUTE: u8 = 0;
const BLOCKING: u8 = 1;
const WEIGHTS: u8 = 2;

/// Smallest size of forward collectives, in bytes; smaller ones count as this.
const LEAST_FORWARD: u64 = 4096;

/// Servers that a job runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// Total number of ranks: GPUs of the topology, or of the job.
    pub ranks: u32,
    /// GPUs per server: ranks r with equal `r / gpus_per_server` share a server.
    pub gpus_per_server: u32,
    /// NVSwitches of the topology, which SimAI counts as nodes.
    pub nvswitches: u32,
    /// Payload of a full packet, by which messages are detected that never end in SimAI.
    pub mtu: u64,
}

/// Operation of the iteration, which is the same at all ranks.
#[derive(Clone, Copy, Debug)]
struct Step {
    what: StepKind,
    /// Index of its layer.
    layer: u32,
    part: Part,
    /// Operations that wait for its end.
    next: [Option<OperationId>; 2],
}

#[derive(Clone, Copy, Debug)]
enum StepKind {
    Compute { ns: u64, lane: u8 },
    Collective { shape: u32 },
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Forward,
    Input,
    Weight,
}

/// Collectives that differ only in their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    collective: PhaseCollective,
    /// Lane for its operations.
    lane: u8,
    /// Index of the first group's collective in the program's list; those of the other groups follow.
    first: u32,
}

/// Iteration of a workload.
#[derive(Clone, Debug)]
pub struct SimaiProgram {
    file: String,
    layers: Vec<(String, u32)>,
    steps: Vec<Step>,
    ranks: u32,
    grouping: Groups,
    /// Number of a channel's sends after which SimAI's toggle flips, for each lane of collectives.
    cycles: [u32; 2],
    shapes: Vec<Shape>,
    collectives: Vec<Collective>,
    groups: Vec<Vec<Rank>>,
    lanes: Lanes,
}

/// Upper limits of a job's ranks, and of the groups over all of its collectives: a line of the workload is expanded
/// for each rank.
const MOST_RANKS: u32 = 1 << 20;
const MOST_COLLECTIVES: u64 = 1 << 24;

/// Creates the program of a workload.
///
/// # Errors
/// If groups and ranks do not match, or a feature is not supported.
pub fn program(workload: &Workload, servers: &Servers) -> Result<(SimaiProgram, Vec<Caution>), Trouble> {
    let location = format!("{}:1", workload.file);
    let (tp, ranks) = (workload.header.tp, servers.ranks);
    if let Some(all) = workload.header.all_gpus
        && all != ranks
    {
        let message = format!(
            "all_gpus is {all}, and the job has {ranks} ranks (model_parallel_NPU_group {tp}): expected as many"
        );
        return Err(Trouble::at(location, message));
    }
    if ranks > MOST_RANKS {
        let message = format!("{ranks} ranks: expected at most {MOST_RANKS}");
        return Err(Trouble::at(location, message));
    }
    if servers.gpus_per_server == 0 || !ranks.is_multiple_of(servers.gpus_per_server) {
        let message = format!(
            "{ranks} ranks are not whole servers of {} (model_parallel_NPU_group {tp})",
            servers.gpus_per_server
        );
        return Err(Trouble::at(location, message));
    }
    let grouping = Groups::new(&workload.header, ranks, &location)?;
    let mut builder = Builder {
        steps: Vec::new(),
        shapes: Vec::new(),
        last: None,
    };
    for (layer, number) in workload.layers.iter().zip(0..) {
        builder.blocking(layer, number, Part::Forward);
    }
    for (number, layer) in workload.layers.iter().enumerate().rev() {
        let number = number as u32;
        builder.blocking(layer, number, Part::Input);
        builder.weight(layer, number);
    }
    let Builder {
        steps, mut shapes, ..
    } = builder;
    // Before the lists are built, since they grow with the number of ranks.
    let all = shapes
        .iter()
        .map(|shape| u64::from(grouping.count(shape.collective.group)));
    let all: u64 = all.sum();
    if all > MOST_COLLECTIVES {
        let message = format!(
            "{} kinds of collectives over {ranks} ranks are {all}, one for each group: expected at most {MOST_COLLECTIVES}",
            shapes.len()
        );
        return Err(Trouble::at(location, message));
    }
    let mut groups = Vec::new();
    let mut first_group = Vec::new();
    for kind in Groups::KINDS {
        first_group.push((kind, groups.len() as u32));
        // Groups that no collective uses would only take memory.
        if shapes.iter().any(|shape| shape.collective.group == kind) {
            groups.extend((0..grouping.count(kind)).map(|number| grouping.members(kind, number)));
        }
    }
    let mut collectives = Vec::new();
    for shape in &mut shapes {
        shape.first = collectives.len() as u32;
        let first = first_group
            .iter()
            .find(|(kind, _)| *kind == shape.collective.group);
        let first = first.map_or(0, |(_, first)| *first);
        collectives.extend(
            (0..grouping.count(shape.collective.group)).map(|number| Collective {
                kind: shape.collective.kind,
                bytes: shape.collective.bytes,
                group: first + number,
                root: 0,
            }),
        );
    }
    let cautions = endless(workload, &grouping, servers).into_iter().collect();
    let program = SimaiProgram {
        file: workload.file.clone(),
        layers: workload
            .layers
            .iter()
            .map(|layer| (layer.name.clone(), layer.line))
            .collect(),
        steps,
        ranks,
        // The second of SimAI's two dimensions has the rest of all nodes, including NVSwitches.
        cycles: [tp, ranks.saturating_add(servers.nvswitches) / tp],
        grouping,
        shapes,
        collectives,
        groups,
        lanes: Lanes {
            orders: vec![Order::Freed, Order::LastIssued, Order::LastIssued],
        },
    };
    Ok((program, cautions))
}

/// Returns the collectives of a layer with their effective sizes.
fn phases(layer: &Layer) -> [Phase; 3] {
    let mut forward = layer.forward;
    if let Some(collective) = &mut forward.collective {
        collective.bytes = collective.bytes.max(LEAST_FORWARD);
    }
    [forward, layer.input, layer.weight]
}

/// Returns the line of the first all-reduce that uses the NVSwitch with NVLS (`AS_NVLS_ENABLE`) in servers with this
/// GPU: those of tensor-parallel groups of 8 or more on H100 and H800.
pub fn nvls_line(workload: &Workload, gpu: &str) -> Option<u32> {
    if !matches!(gpu, "H100" | "H800") || workload.header.tp < 8 {
        return None;
    }
    let of_tp = |phase: &Phase| {
        matches!(
            phase.collective,
            Some(PhaseCollective {
                kind: CollectiveKind::AllReduce,
                group: GroupKind::Tp,
                ..
            })
        )
    };
    let mut layers = workload.layers.iter();
    layers
        .find(|layer| phases(layer).iter().any(of_tp))
        .map(|layer| layer.line)
}

/// Warns of messages that never end in SimAI, which cannot tell their last packets from full ones, or from
/// acknowledgements.
fn endless(workload: &Workload, groups: &Groups, servers: &Servers) -> Option<Caution> {
    let headers = 52;
    let mtu = servers.mtu.max(1);
    let never = |collective: PhaseCollective| {
        let PhaseCollective { kind, group, bytes } = collective;
        let n = u64::from(groups.size(group));
        if n < 2 {
            return false;
        }
        let members = groups.members(group, 0);
        let on_first = members
            .iter()
            .filter(|rank| *rank / servers.gpus_per_server == members[0] / servers.gpus_per_server);
        let rings = match kind {
            CollectiveKind::AllToAll => 1,
            _ => on_first.count() as u64,
        };
        let message = (bytes / n / rings).max(1);
        let last = (message - 1) % mtu + 1;
        // SimAI distinguishes packets by size: shorter ones count as acknowledgements, longer ones as full packets.
        !(61..9000).contains(&(last + headers))
    };
    let lines: Vec<u32> = workload
        .layers
        .iter()
        .filter(|layer| {
            let collectives = phases(layer).into_iter().filter_map(|phase| phase.collective);
            collectives.into_iter().any(never)
        })
        .map(|layer| layer.line)
        .collect();
    (!lines.is_empty()).then(|| Caution {
        text: format!(
            "{}: SimAI itself never ends the messages of these collectives (their last packets have less than 61 B or more \
             than 8999 B); here they end: lines {}",
            workload.file,
            list(&lines)
        ),
    })
}

struct Builder {
    steps: Vec<Step>,
    shapes: Vec<Shape>,
    /// Operation that the next one of the chain waits for.
    last: Option<OperationId>,
}

impl Builder {
    /// Adds an operation that waits for another one.
    fn add(&mut self, before: Option<OperationId>, what: StepKind, layer: u32, part: Part) -> OperationId {
        let number = self.steps.len() as OperationId;
        self.steps.push(Step {
            what,
            layer,
            part,
            // Two at most: the collective of weight gradients, which nothing waits for, and the next layer.
            next: [None; 2],
        });
        if let Some(before) = before {
            let free = self.steps[before as usize]
                .next
                .iter_mut()
                .find(|next| next.is_none());
            if let Some(next) = free {
                *next = Some(number);
            }
        }
        number
    }

    fn shape(&mut self, lane: u8, collective: PhaseCollective) -> StepKind {
        let shape = Shape {
            collective,
            lane,
            first: 0,
        };
        let known = self.shapes.iter().position(|known| *known == shape);
        let index = known.unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        });
        StepKind::Collective { shape: index as u32 }
    }

    /// Adds a computation, and a collective that the next layer waits for.
    fn blocking(&mut self, layer: &Layer, number: u32, part: Part) {
        let [forward, input, _] = phases(layer);
        let phase = match part {
            Part::Forward => forward,
            Part::Input | Part::Weight => input,
        };
        let ns = phase.compute_ns;
        let lane = COMPUTE;
        let mut last = self.add(self.last, StepKind::Compute { ns, lane }, number, part);
        // SimAI ends a layer with 1 ns, after the process time of its collective if it has one.
        let mut ns = 1;
        if let Some(collective) = phase.collective {
            let what = self.shape(BLOCKING, collective);
            last = self.add(Some(last), what, number, part);
            ns = layer.process_ns.saturating_add(1);
        }
        let lane = NO_LANE;
        self.last = Some(self.add(Some(last), StepKind::Compute { ns, lane }, number, part));
    }

    /// Adds a computation, and a collective that only the end of the iteration waits for.
    fn weight(&mut self, layer: &Layer, number: u32) {
        let [.., phase] = phases(layer);
        let part = Part::Weight;
        let ns = phase.compute_ns;
        let compute = self.add(self.last, StepKind::Compute { ns, lane: COMPUTE }, number, part);
        if let Some(collective) = phase.collective {
            let what = self.shape(WEIGHTS, collective);
            let collective = self.add(Some(compute), what, number, part);
            let (ns, lane) = (layer.process_ns, NO_LANE);
            self.add(Some(collective), StepKind::Compute { ns, lane }, number, part);
        }
        let lane = NO_LANE;
        self.last = Some(self.add(Some(compute), StepKind::Compute { ns: 1, lane }, number, part));
    }
}

impl SimaiProgram {
    /// Returns the groups of its ranks.
    pub fn grouping(&self) -> &Groups {
        &self.grouping
    }
}

impl Program for SimaiProgram {
    fn ranks(&self) -> Rank {
        self.ranks
    }

    fn operations(&self, _: Rank) -> u32 {
        self.steps.len() as u32
    }

    fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    fn roots(&self, _: Rank, out: &mut Vec<OperationId>) {
        out.extend((!self.steps.is_empty()).then_some(0));
    }

    fn operation(&self, rank: Rank, number: OperationId) -> Operation {
        let nothing = Operation {
            work: Work::Nothing,
            lane: NO_LANE,
            nic: 0,
            waits_for: u32::from(number > 0),
        };
        match self.steps.get(number as usize).map(|step| step.what) {
            None => nothing,
            Some(StepKind::Compute { ns, lane }) => Operation {
                work: Work::Compute { ns },
                lane,
                ..nothing
            },
            Some(StepKind::Collective { shape }) => {
                let shape = &self.shapes[shape as usize];
                Operation {
                    work: Work::Collective(shape.first + self.grouping.of(shape.collective.group, rank)),
                    lane: shape.lane,
                    ..nothing
                }
            }
        }
    }

    fn after_end(&self, _: Rank, number: OperationId, out: &mut Vec<OperationId>) {
        if let Some(step) = self.steps.get(number as usize) {
            out.extend(step.next.iter().flatten());
        }
    }

    fn after_start(&self, _: Rank, _: OperationId, _: &mut Vec<OperationId>) {}

    fn collectives(&self) -> &[Collective] {
        &self.collectives
    }

    fn groups(&self) -> &[Vec<Rank>] {
        &self.groups
    }

    fn cycle(&self, collective: u32) -> Option<u32> {
        let at = self.shapes.partition_point(|shape| shape.first <= collective);
        let shape = self.shapes.get(at.checked_sub(1)?)?;
        Some(self.cycles[usize::from(shape.lane == WEIGHTS)])
    }

    fn name(&self, _: Rank, number: OperationId) -> String {
        let Some(step) = self.steps.get(number as usize) else {
            return self.file.clone();
        };
        let part = match step.part {
            Part::Forward => "forward",
            Part::Input => "input gradients",
            Part::Weight => "weight gradients",
        };
        let (name, line) = &self.layers[step.layer as usize];
        let what = match step.what {
            StepKind::Collective { shape } => format!(", {:?}", self.shapes[shape as usize].collective.kind),
            StepKind::Compute { .. } => String::new(),
        };
        format!("{}:{line} ({name}, {part}{what})", self.file)
    }

    fn rename(&mut self, name: &dyn Fn(&str) -> String) {
        self.file = name(&self.file);
    }
}
