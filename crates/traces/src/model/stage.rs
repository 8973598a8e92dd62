//! Operations of a stage, which are the same at all of its ranks but for their peers and groups.

use super::communication::{Communication, Purpose};
use super::experts::Layers;
use super::layout::{GroupKind, Layout};
use super::pass::{Direction, Item, Items};
use super::plan::{Granularity, Plan, Schedule};
use super::schedule::{Pass, Pipeline, Slot, order};

use crate::program::{CollectiveKind, OperationId};

/// Other end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// Rank at the same position of a stage.
    Stage(u32),
    /// Rank with the next part of the sequence.
    Next,
    /// Rank with the previous part of the sequence.
    Previous,
}

/// Message between two ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerMessage {
    pub(super) purpose: Purpose,
    pub(super) peer: Peer,
    pub(super) bytes: u64,
    pub(super) tag: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum StepKind {
    Compute {
        ns: u64,
        /// Layers whose experts determine a rank's part of the time; `None` if all ranks have the same.
        experts: Option<Layers>,
    },
    /// Membership in a collective: its index in the program's list of shapes.
    Collective {
        shape: u32,
    },
    Send(PeerMessage),
    Receive(PeerMessage),
}

/// Operation of a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    /// Pass that it belongs to; `None` for the end of the iteration.
    pub(super) slot: Option<Slot>,
    /// Layer, if it belongs to one.
    pub(super) layer: Option<u16>,
    pub(super) waits_for: u8,
    /// First of its dependents in the stage's list; the next step's is the end.
    pub(super) first: u32,
}

/// Operations of a stage with their dependents.
#[derive(Clone, Debug, Default)]
pub(super) struct Stage {
    pub(super) steps: Vec<Step>,
    after: Vec<OperationId>,
}

impl Stage {
    pub(super) fn after(&self, number: OperationId) -> &[OperationId] {
        let Some(step) = self.steps.get(number as usize) else {
            return &[];
        };
        let end = self.steps.get(number as usize + 1);
        &self.after[step.first as usize..end.map_or(self.after.len(), |next| next.first as usize)]
    }
}

/// Gradients that are ready to be exchanged.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    all: u64,
    experts: u64,
}

/// Tags of rings, which no pipeline uses.
const RING_TAGS: u32 = 1 << 31;

pub(super) struct Builder<'a> {
    plan: &'a Plan,
    layout: &'a Layout,
    stage: u32,
    shapes: &'a mut Vec<Communication>,
    steps: Vec<Step>,
    /// Pairs of an operation and one that waits for it.
    edges: Vec<(OperationId, OperationId)>,
    /// Last operation of the chain of computations and collectives that wait for each other.
    last: Option<OperationId>,
    /// Last exchange of gradients, which run one after another.
    exchange: Option<OperationId>,
    ready: Ready,
    slot: Option<Slot>,
    layer: Option<u16>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        layout: &'a Layout,
        stage: u32,
        shapes: &'a mut Vec<Communication>,
    ) -> Self {
        Self {
            plan,
            layout,
            stage,
            shapes,
            steps: Vec::new(),
            edges: Vec::new(),
            last: None,
            exchange: None,
            ready: Ready::default(),
            slot: None,
            layer: None,
        }
    }

    /// Returns the operations of an iteration.
    pub(super) fn build(mut self) -> Stage {
        let pipeline = Pipeline {
            stages: self.plan.parallel.pipeline,
            parts: self.plan.training.interleave,
            micro_batches: self.plan.micro_batches(),
        };
        for slot in order(self.plan.training.schedule, pipeline, self.stage) {
            self.slot = Some(slot);
            self.pass(slot);
        }
        (self.slot, self.layer) = (None, None);
        self.end_of_step();
        self.finish()
    }

    fn add(&mut self, kind: StepKind, before: &[Option<OperationId>]) -> OperationId {
        let number = self.steps.len() as OperationId;
        let mut waits_for = 0;
        for before in before.iter().flatten() {
            self.edges.push((*before, number));
            waits_for += 1;
        }
        self.steps.push(Step {
            kind,
            slot: self.slot,
            layer: self.layer,
            waits_for,
            first: 0,
        });
        number
    }

    /// Adds an operation to the chain.
    fn chain(&mut self, kind: StepKind) {
        self.last = Some(self.add(kind, &[self.last]));
    }

    /// Returns the membership in a collective; `None` if its group has one rank, or it has no bytes.
    fn shape(&mut self, one: Communication) -> Option<StepKind> {
        if self.layout.size(one.group) < 2 || one.bytes == 0 {
            return None;
        }
        let known = self.shapes.iter().position(|known| *known == one);
        let shape = known.unwrap_or_else(|| {
            self.shapes.push(one);
            self.shapes.len() - 1
        });
        Some(StepKind::Collective { shape: shape as u32 })
    }

    fn pass(&mut self, slot: Slot) {
        let plan = self.plan;
        let virtual_stage = slot.part * plan.parallel.pipeline + self.stage;
        let last_stage = plan.virtual_stages() - 1;
        let is_like_aicb = plan.training.like_aicb;
        let has_head = virtual_stage == last_stage || is_like_aicb;
        let layers = plan.layers_of(virtual_stage);
        let tag =
            |to: u32, backward: bool| 2 * (slot.micro_batch * (last_stage + 1) + to) + u32::from(backward);
        let message = |to: u32, from: u32, backward: bool, is_send: bool| PeerMessage {
            purpose: if backward {
                Purpose::InputGradients
            } else {
                Purpose::Activations
            },
            peer: Peer::Stage(if is_send { to } else { from } % plan.parallel.pipeline),
            bytes: plan.pipeline(),
            tag: tag(to, backward),
        };
        match slot.pass {
            Pass::Forward => {
                if virtual_stage > 0 {
                    let message = message(virtual_stage, virtual_stage - 1, false, false);
                    self.chain(StepKind::Receive(message));
                }
                self.items(Direction::Forward, |items| {
                    if virtual_stage == 0 {
                        items.embedding();
                    }
                });
                self.layers(Direction::Forward, layers, |_, _| {});
                if has_head {
                    self.items(Direction::Forward, |items| items.head());
                }
                if virtual_stage < last_stage {
                    let message = message(virtual_stage + 1, virtual_stage, false, true);
                    self.add(StepKind::Send(message), &[self.last]);
                }
            }
            Pass::Backward => {
                if virtual_stage < last_stage {
                    let message = message(virtual_stage, virtual_stage + 1, true, false);
                    self.chain(StepKind::Receive(message));
                }
                if has_head {
                    self.items(Direction::Backward, |items| items.head());
                }
                let has_weights = plan.training.schedule != Schedule::ZeroBubble;
                self.layers(Direction::Backward, layers, |builder, layer| {
                    if has_weights {
                        builder.layer_is_ready(slot, layer);
                    }
                });
                self.items(Direction::Backward, |items| {
                    if virtual_stage == 0 {
                        items.embedding();
                    }
                });
                if virtual_stage > 0 {
                    let message = message(virtual_stage - 1, virtual_stage, true, true);
                    self.add(StepKind::Send(message), &[self.last]);
                }
                if has_weights {
                    self.rest_is_ready(slot, virtual_stage);
                }
            }
            Pass::Weights => {
                if has_head {
                    self.items(Direction::Weights, |items| items.head());
                }
                self.layers(Direction::Weights, layers, |builder, layer| {
                    builder.layer_is_ready(slot, layer)
                });
                self.rest_is_ready(slot, virtual_stage);
            }
        }
    }

    /// Adds the layers of a pass, one by one or merged; `then` is called after each.
    fn layers(
        &mut self,
        direction: Direction,
        layers: std::ops::Range<u32>,
        mut then: impl FnMut(&mut Self, u32),
    ) {
        let all: Vec<u32> = match direction {
            Direction::Forward => layers.collect(),
            _ => layers.rev().collect(),
        };
        match self.plan.training.granularity {
            Granularity::Layer => {
                for layer in all {
                    self.layer = Some(layer as u16);
                    self.items(direction, |items| items.layer(layer));
                    then(self, layer);
                }
                self.layer = None;
            }
            Granularity::Stage => {
                self.items(direction, |items| {
                    all.iter().for_each(|&layer| items.layer(layer));
                    items.merge();
                });
                all.into_iter().for_each(|layer| then(self, layer));
            }
        }
    }

    fn items(&mut self, direction: Direction, fill: impl FnOnce(&mut Items<'_>)) {
        let mut items = Items::new(self.plan, direction);
        fill(&mut items);
        for item in items.list {
            match item {
                Item::Compute { ns, experts } => self.chain(StepKind::Compute { ns, experts }),
                Item::Collective(one) => {
                    if let Some(kind) = self.shape(one) {
                        self.chain(kind);
                    }
                }
                Item::Ring { ns, bytes } => self.ring(direction, ns, bytes),
            }
        }
    }

    /// Adds the ring of a sequence: a rank passes on the keys and values that it works on.
    fn ring(&mut self, direction: Direction, ns: u64, bytes: u64) {
        let ranks = self.plan.parallel.context;
        let backward = u32::from(direction == Direction::Backward);
        for step in 0..ranks {
            let message = |peer| PeerMessage {
                purpose: Purpose::KeysAndValues,
                peer,
                bytes,
                tag: RING_TAGS + 2 * step + backward,
            };
            let is_last = step + 1 == ranks;
            if !is_last {
                self.add(StepKind::Send(message(Peer::Next)), &[self.last]);
            }
            self.chain(StepKind::Compute {
                ns: ns / u64::from(ranks),
                experts: None,
            });
            if !is_last {
                self.chain(StepKind::Receive(message(Peer::Previous)));
            }
        }
    }

    fn is_last_pass(&self, slot: Slot) -> bool {
        slot.micro_batch + 1 == self.plan.micro_batches()
    }

    /// Counts the gradients of a layer, which are complete after the last micro-batch.
    fn layer_is_ready(&mut self, slot: Slot, layer: u32) {
        if self.is_last_pass(slot) {
            self.ready.all += self.plan.layer_weights(layer);
            self.ready.experts += self.plan.expert_weights(layer);
            self.exchange_buckets();
        }
    }

    /// Counts the gradients of embedding, positions and head.
    fn rest_is_ready(&mut self, slot: Slot, virtual_stage: u32) {
        if self.is_last_pass(slot) {
            self.ready.all += self.plan.outer_weights(virtual_stage);
            self.exchange_buckets();
        }
    }

    /// Exchanges whole buckets of gradients while the backward pass goes on.
    fn exchange_buckets(&mut self) {
        if !self.plan.training.overlap {
            return;
        }
        let bucket = (self.plan.training.bucket / 4).max(1);
        while self.ready.all >= bucket {
            self.ready.all -= bucket;
            self.gradients(Purpose::Gradients, GroupKind::Data, bucket, true);
        }
        while self.ready.experts >= bucket {
            self.ready.experts -= bucket;
            self.gradients(Purpose::ExpertGradients, GroupKind::ExpertData, bucket, true);
        }
    }

    /// Exchanges the gradients of this many weights.
    fn gradients(&mut self, purpose: Purpose, group: GroupKind, weights: u64, is_beside: bool) {
        let kind = match self.plan.training.optimizer_sharding {
            true => CollectiveKind::ReduceScatter,
            false => CollectiveKind::AllReduce,
        };
        let bytes = 4 * weights;
        let Some(kind) = self.shape(Communication {
            purpose,
            kind,
            group,
            bytes,
            experts: None,
        }) else {
            return;
        };
        if is_beside {
            self.exchange = Some(self.add(kind, &[self.last, self.exchange]));
        } else {
            self.chain(kind);
        }
    }

    /// Adds what follows the last micro-batch: remaining gradients, the optimizer, and the new weights.
    fn end_of_step(&mut self) {
        let plan = self.plan;
        let (all, experts) = plan.weights(self.stage);
        if plan.training.like_aicb {
            let embedding = 2 * u64::from(plan.model.vocabulary) * u64::from(plan.model.hidden);
            self.tensor_all_reduce(Purpose::AicbEmbedding, embedding);
            for _ in 0..4 {
                self.tensor_all_reduce(Purpose::AicbOptimizer, 4);
            }
            // Its files count the experts' gradients here, too.
            self.ready.all += experts;
        } else if plan.model.tied && (self.stage == 0 || self.stage + 1 == plan.parallel.pipeline) {
            self.collective(Communication {
                purpose: Purpose::SharedEmbedding,
                kind: CollectiveKind::AllReduce,
                group: GroupKind::Embedding,
                bytes: plan.shared_embedding(),
                experts: None,
            });
        }
        let ready = self.ready;
        let is_beside = plan.training.overlap;
        self.gradients(Purpose::Gradients, GroupKind::Data, ready.all, is_beside);
        self.gradients(
            Purpose::ExpertGradients,
            GroupKind::ExpertData,
            ready.experts,
            is_beside,
        );
        let ns = plan.optimizer(self.stage);
        self.last = Some(self.add(
            StepKind::Compute { ns, experts: None },
            &[self.last, self.exchange],
        ));
        if plan.training.optimizer_sharding {
            let all = all + if plan.training.like_aicb { experts } else { 0 };
            for (purpose, group, weights) in [
                (Purpose::Weights, GroupKind::Data, all),
                (Purpose::ExpertWeights, GroupKind::ExpertData, experts),
            ] {
                self.collective(Communication {
                    purpose,
                    kind: CollectiveKind::AllGather,
                    group,
                    bytes: 2 * weights,
                    experts: None,
                });
            }
        }
    }

    fn tensor_all_reduce(&mut self, purpose: Purpose, bytes: u64) {
        self.collective(Communication {
            purpose,
            kind: CollectiveKind::AllReduce,
            group: GroupKind::Tensor,
            bytes,
            experts: None,
        });
    }

    fn collective(&mut self, one: Communication) {
        if let Some(kind) = self.shape(one) {
            self.chain(kind);
        }
    }

    /// Sorts the dependents by the operations that they wait for.
    fn finish(self) -> Stage {
        let Self { mut steps, edges, .. } = self;
        let mut firsts = vec![0_u32; steps.len() + 1];
        for &(before, _) in &edges {
            firsts[before as usize + 1] += 1;
        }
        for index in 1..firsts.len() {
            firsts[index] += firsts[index - 1];
        }
        for (step, first) in steps.iter_mut().zip(&firsts) {
            step.first = *first;
        }
        let mut after = vec![0; edges.len()];
        for (before, later) in edges {
            let index = &mut firsts[before as usize];
            after[*index as usize] = later;
            *index += 1;
        }
        Stage { steps, after }
    }
}
