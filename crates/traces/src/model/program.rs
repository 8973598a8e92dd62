//! Program of a training job. Ranks of a stage share its operations, so that its memory grows with the number of stages,
//! not of ranks.

use std::sync::Arc;

use paceline_kernel::sorted::SortedMap;

use super::communication::{Communication, Purpose};
use super::experts::Layers;
use super::layout::{GroupKind, Layout};
use super::plan::Plan;
use super::schedule::Pass;
use super::stage::{Builder, Peer, Stage, Step, StepKind};
use crate::program::{
    Collective, CollectiveKind, Lanes, NO_LANE, Operation, OperationId, Order, Program, Rank, Work,
};
use crate::shares::{Shares, apportion};

/// Training job of a model.
#[derive(Clone, Debug)]
pub struct ModelProgram {
    plan: Plan,
    layout: Layout,
    stages: Vec<Stage>,
    shapes: Vec<Communication>,
    /// Index of each shape's first collective; those of its other groups follow.
    firsts: Vec<u32>,
    collectives: Vec<Collective>,
    groups: Vec<Vec<Rank>>,
    /// Weights of the expert-parallel ranks, if they get different numbers of tokens.
    loads: SortedMap<Layers, Arc<[u64]>>,
    lanes: Lanes,
}

/// Lane of a rank's computations. All other operations occupy none: they wait for each other where they must.
const COMPUTE: u8 = 0;

/// Creates the program of a plan.
pub fn program(plan: &Plan) -> ModelProgram {
    let layout = Layout::new(&plan.parallel);
    let mut shapes = Vec::new();
    let stages: Vec<Stage> = (0..plan.parallel.pipeline)
        .map(|stage| Builder::new(plan, &layout, stage, &mut shapes).build())
        .collect();
    let loads = loads(plan, &shapes, &stages);
    let mut groups: Vec<Vec<Rank>> = Vec::new();
    // Groups that no collective uses would only take memory.
    let first_group = GroupKind::ALL.map(|kind| {
        let first = groups.len() as u32;
        if shapes.iter().any(|shape: &Communication| shape.group == kind) {
            groups.extend((0..layout.count(kind)).map(|number| layout.members(kind, number)));
        }
        first
    });
    let (mut firsts, mut collectives) = (Vec::new(), Vec::new());
    for shape in &shapes {
        firsts.push(collectives.len() as u32);
        let first = first_group[shape.group as usize];
        let load = shape.experts.map(|layers| &*loads[&layers]);
        collectives.extend((0..layout.count(shape.group)).map(|number| {
            let group = first + number;
            let of_one = |weights: &[u64]| {
                let expert = layout.expert(groups[group as usize][0]);
                part(shape.bytes, weights, expert)
            };
            Collective {
                kind: shape.kind,
                // All members of an all-to-all have as many tokens; only those of one expert differ from others.
                bytes: match load {
                    Some(weights) if shape.kind != CollectiveKind::AllToAll => of_one(weights),
                    _ => shape.bytes,
                },
                group,
                root: 0,
            }
        }));
    }
    ModelProgram {
        plan: plan.clone(),
        layout,
        stages,
        shapes,
        firsts,
        collectives,
        groups,
        loads,
        lanes: Lanes {
            orders: vec![Order::Freed],
        },
    }
}

/// Returns the weights of the expert-parallel ranks for all steps that depend on them.
fn loads(plan: &Plan, shapes: &[Communication], stages: &[Stage]) -> SortedMap<Layers, Arc<[u64]>> {
    let steps = stages.iter().flat_map(|stage| &stage.steps);
    let computing = steps.filter_map(|step| match step.kind {
        StepKind::Compute { experts, .. } => experts,
        _ => None,
    });
    let all = shapes.iter().filter_map(|shape| shape.experts).chain(computing);
    let mut loads = SortedMap::new();
    for layers in all {
        loads
            .entry(layers)
            .or_insert_with(|| plan.expert_weights_over(layers));
    }
    loads
}

/// Returns what is `mean` for all expert-parallel ranks on average, for one of them.
fn part(mean: u64, weights: &[u64], expert: u32) -> u64 {
    let whole = mean.saturating_mul(weights.len() as u64);
    apportion(whole, weights)[expert as usize]
}

impl ModelProgram {
    /// Returns the plan that it carries out.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the groups of its ranks.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn steps(&self, stage: u32) -> &[Step] {
        &self.stages[stage as usize].steps
    }

    pub(super) fn shape(&self, index: u32) -> Communication {
        self.shapes[index as usize]
    }

    fn stage(&self, rank: Rank) -> &Stage {
        &self.stages[self.layout.stage(rank) as usize]
    }

    fn peer(&self, rank: Rank, peer: Peer) -> Rank {
        match peer {
            Peer::Stage(stage) => stage * self.layout.per_stage() + rank % self.layout.per_stage(),
            Peer::Next => self.layout.next_in_ring(rank),
            Peer::Previous => self.layout.previous_in_ring(rank),
        }
    }
}

impl Program for ModelProgram {
    fn ranks(&self) -> Rank {
        self.plan.parallel.ranks()
    }

    fn operations(&self, rank: Rank) -> u32 {
        self.stage(rank).steps.len() as u32
    }

    fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    fn roots(&self, rank: Rank, out: &mut Vec<OperationId>) {
        let steps = self.stage(rank).steps.iter().zip(0..);
        out.extend(
            steps
                .filter(|(step, _)| step.waits_for == 0)
                .map(|(_, number)| number),
        );
    }

    fn operation(&self, rank: Rank, number: OperationId) -> Operation {
        let Some(step) = self.stage(rank).steps.get(number as usize) else {
            return Operation {
                work: Work::Nothing,
                lane: NO_LANE,
                nic: 0,
                waits_for: 0,
            };
        };
        let work = match step.kind {
            StepKind::Compute { ns, experts } => Work::Compute {
                ns: match experts.and_then(|layers| self.loads.get(&layers)) {
                    Some(weights) => part(ns, weights, self.layout.expert(rank)),
                    None => ns,
                },
            },
            StepKind::Collective { shape } => {
                let group = self.layout.of(self.shapes[shape as usize].group, rank);
                Work::Collective(self.firsts[shape as usize] + group)
            }
            StepKind::Send(message) => Work::Send {
                to: self.peer(rank, message.peer),
                bytes: message.bytes,
                tag: message.tag,
            },
            StepKind::Receive(message) => Work::Receive {
                from: Some(self.peer(rank, message.peer)),
                bytes: message.bytes,
                tag: Some(message.tag),
            },
        };
        Operation {
            work,
            lane: if matches!(work, Work::Compute { .. }) {
                COMPUTE
            } else {
                NO_LANE
            },
            nic: 0,
            waits_for: u32::from(step.waits_for),
        }
    }

    fn after_end(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>) {
        out.extend_from_slice(self.stage(rank).after(number));
    }

    fn after_start(&self, _: Rank, _: OperationId, _: &mut Vec<OperationId>) {}

    fn collectives(&self) -> &[Collective] {
        &self.collectives
    }

    fn uneven(&self, collective: u32) -> Option<Shares> {
        let shape = self.firsts.partition_point(|&first| first <= collective) - 1;
        let shape = self.shapes[shape];
        if shape.kind != CollectiveKind::AllToAll {
            return None;
        }
        Some(Shares {
            weights: self.loads[&shape.experts?].clone(),
            // Tokens have the share of the expert that gets them, and results that of the expert that had them.
            by_sender: shape.purpose == Purpose::Combine,
        })
    }

    fn groups(&self) -> &[Vec<Rank>] {
        &self.groups
    }

    fn name(&self, rank: Rank, number: OperationId) -> String {
        let model = &self.plan.model.name;
        let Some(step) = self.stage(rank).steps.get(number as usize) else {
            return model.clone();
        };
        let what = match step.kind {
            StepKind::Compute { .. } => "compute".to_string(),
            StepKind::Collective { shape } => {
                let shape = self.shape(shape);
                format!("{} ({})", shape.kind.name(), shape.purpose.about().0)
            }
            StepKind::Send(message) => format!("send ({})", message.purpose.about().0),
            StepKind::Receive(message) => format!("receive ({})", message.purpose.about().0),
        };
        let stage = self.layout.stage(rank);
        let Some(slot) = step.slot else {
            return format!("{model}: end of the step at stage {stage}, {what}");
        };
        let pass = match slot.pass {
            Pass::Forward => "forward",
            Pass::Backward => "backward",
            Pass::Weights => "gradients of weights",
        };
        let layer = step
            .layer
            .map_or(String::new(), |layer| format!(", layer {layer}"));
        format!(
            "{model}: {pass} of micro-batch {} at stage {stage}{layer}, {what}",
            slot.micro_batch
        )
    }

    fn rename(&mut self, _: &dyn Fn(&str) -> String) {}
}
