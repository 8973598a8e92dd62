//! Passes of a micro-batch through a layer, and through what is before the first and behind the last.

use super::communication::{Communication, Purpose};
use super::experts::Layers;
use super::layout::GroupKind;
use super::plan::{Plan, Schedule};
use super::times::{Part, PartTime};
use crate::program::CollectiveKind;

/// Pass of a micro-batch, by what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
    /// Gradients of weights alone.
    Weights,
}

/// Step of a pass. Each waits for the one before.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Compute {
        ns: u64,
        /// Layers whose experts compute, if they get different numbers of tokens.
        experts: Option<Layers>,
    },
    Collective(Communication),
    /// Computation in parts, during which keys and values go round the ring of a sequence.
    Ring {
        ns: u64,
        bytes: u64,
    },
}

/// Items of a pass.
#[derive(Debug)]
pub(super) struct Items<'a> {
    plan: &'a Plan,
    direction: Direction,
    /// Layers of the experts whose items are added, if they get different numbers of tokens.
    experts: Option<Layers>,
    pub(super) list: Vec<Item>,
}

impl<'a> Items<'a> {
    pub(super) fn new(plan: &'a Plan, direction: Direction) -> Self {
        Self {
            plan,
            direction,
            experts: None,
            list: Vec::new(),
        }
    }

    /// Adds the embedding, before the first layer.
    pub(super) fn embedding(&mut self) {
        if !self.plan.training.like_aicb {
            self.leave(Purpose::Embedding, self.plan.activations());
        }
    }

    /// Adds a layer's computations and collectives.
    pub(super) fn layer(&mut self, layer: u32) {
        let has_experts = self.plan.model.has_experts(layer);
        match self.direction {
            Direction::Forward => {
                self.attention(layer);
                if has_experts {
                    self.experts(layer)
                } else {
                    self.mlp(layer)
                }
            }
            Direction::Backward => {
                if has_experts {
                    self.experts(layer)
                } else {
                    self.mlp(layer)
                }
                self.attention(layer);
            }
            Direction::Weights => {
                self.attention(layer);
                self.compute(self.plan.forward(Part::Mlp, layer));
                if has_experts {
                    self.of_experts(layer, |items| {
                        items.compute(items.plan.forward(Part::Experts, layer));
                    });
                }
            }
        }
    }

    /// Adds the head and the loss, behind the last layer.
    pub(super) fn head(&mut self) {
        let plan = self.plan;
        let is_forward = self.direction == Direction::Forward;
        let losses = |items: &mut Self| {
            for _ in 0..if is_forward { 3 } else { 0 } {
                items.collective(
                    Purpose::Loss,
                    CollectiveKind::AllReduce,
                    GroupKind::Tensor,
                    plan.loss(),
                );
            }
        };
        if plan.training.like_aicb && !is_forward {
            return self.compute(plan.forward(Part::Head, 0));
        }
        match self.direction {
            Direction::Forward | Direction::Weights => {
                self.enter(Purpose::Head, plan.activations());
                self.compute(plan.forward(Part::Head, 0));
                losses(self);
            }
            Direction::Backward => {
                self.compute(plan.forward(Part::Head, 0));
                self.enter(Purpose::Head, plan.activations());
            }
        }
    }

    fn attention(&mut self, layer: u32) {
        let bytes = self.plan.activations();
        self.open(Purpose::AttentionIn, Purpose::AttentionOut, bytes);
        let time = self.plan.forward(Part::Attention, layer);
        self.compute(PartTime { core: 0, ..time });
        let (core, kv) = (time.core, self.plan.keys_and_values());
        let is_ring = self.plan.parallel.context > 1;
        match self.direction {
            Direction::Weights => {}
            Direction::Forward if is_ring => self.list.push(Item::Ring { ns: core, bytes: kv }),
            // The gradients of keys and values go round with them.
            Direction::Backward if is_ring => self.list.push(Item::Ring {
                ns: 2 * core,
                bytes: 2 * kv,
            }),
            _ => self.compute(PartTime { weights: 0, core }),
        }
        self.close(Purpose::AttentionIn, Purpose::AttentionOut, bytes);
    }

    fn mlp(&mut self, layer: u32) {
        let bytes = self.plan.activations();
        self.open(Purpose::MlpIn, Purpose::MlpOut, bytes);
        self.compute(self.plan.forward(Part::Mlp, layer));
        self.close(Purpose::MlpIn, Purpose::MlpOut, bytes);
    }

    fn experts(&mut self, layer: u32) {
        use CollectiveKind::{AllGather, AllToAll, ReduceScatter};
        let plan = self.plan;
        let to_all = |items: &mut Self, purpose, bytes| {
            items.of_experts(layer, |items| {
                items.collective(purpose, AllToAll, GroupKind::Expert, bytes);
            });
        };
        let at_experts =
            |items: &mut Self, before: (Purpose, CollectiveKind), after: (Purpose, CollectiveKind)| {
                items.of_experts(layer, |items| {
                    items.collective(before.0, before.1, GroupKind::Tensor, plan.expert_tensor());
                    items.compute(plan.forward(Part::Experts, layer));
                    items.collective(after.0, after.1, GroupKind::Tensor, plan.expert_tensor());
                });
            };
        let (dispatch, combine) = (plan.dispatch(), plan.combine());
        let shared = plan.forward(Part::Mlp, layer);
        let (gather, scatter) = (Purpose::ExpertsIn, Purpose::ExpertsOut);
        if self.direction == Direction::Forward {
            self.collective(Purpose::Router, AllGather, GroupKind::TensorExpert, plan.router());
            self.compute(shared);
            to_all(self, Purpose::Dispatch, dispatch);
            at_experts(self, (gather, AllGather), (scatter, ReduceScatter));
            to_all(self, Purpose::Combine, combine);
        } else {
            // Gradients of results take the way of tokens, and gradients of tokens that of results.
            to_all(self, Purpose::Dispatch, dispatch);
            at_experts(self, (scatter, AllGather), (gather, ReduceScatter));
            to_all(self, Purpose::Combine, combine);
            self.compute(shared);
        }
    }

    /// Adds items that depend on the tokens that the experts of a layer get.
    fn of_experts(&mut self, layer: u32, add: impl FnOnce(&mut Self)) {
        self.experts = self.plan.is_uneven().then(|| Layers::of(layer));
        add(self);
        self.experts = None;
    }

    /// Adds what tensor parallelism sends before a part of a layer.
    fn open(&mut self, into: Purpose, out_of: Purpose, bytes: u64) {
        match self.direction {
            Direction::Forward => self.enter(into, bytes),
            Direction::Backward => self.leave(out_of, bytes),
            Direction::Weights => {}
        }
    }

    /// Adds what tensor parallelism sends behind a part of a layer.
    fn close(&mut self, into: Purpose, out_of: Purpose, bytes: u64) {
        match self.direction {
            Direction::Forward => self.leave(out_of, bytes),
            Direction::Backward => self.enter(into, bytes),
            Direction::Weights => {}
        }
    }

    /// Adds a collective at the border where activations, split by tokens or not, become input of split weights.
    /// Without sequence parallelism, only their gradients are summed there.
    fn enter(&mut self, purpose: Purpose, bytes: u64) {
        let kind = match (self.direction, self.plan.training.sequence_parallel) {
            (Direction::Forward, true) => CollectiveKind::AllGather,
            (Direction::Backward, true) => CollectiveKind::ReduceScatter,
            (Direction::Backward, false) => CollectiveKind::AllReduce,
            _ => return,
        };
        self.tensor(purpose, kind, bytes);
    }

    /// Adds a collective at the border where results of split weights are summed.
    fn leave(&mut self, purpose: Purpose, bytes: u64) {
        let kind = match (self.direction, self.plan.training.sequence_parallel) {
            (Direction::Forward, true) => CollectiveKind::ReduceScatter,
            (Direction::Forward, false) => CollectiveKind::AllReduce,
            (Direction::Backward, true) => CollectiveKind::AllGather,
            _ => return,
        };
        self.tensor(purpose, kind, bytes);
    }

    fn tensor(&mut self, purpose: Purpose, kind: CollectiveKind, bytes: u64) {
        if self.direction == Direction::Forward || !self.plan.training.like_aicb {
            self.collective(purpose, kind, GroupKind::Tensor, bytes);
        }
    }

    pub(super) fn collective(
        &mut self,
        purpose: Purpose,
        kind: CollectiveKind,
        group: GroupKind,
        bytes: u64,
    ) {
        self.list.push(Item::Collective(Communication {
            purpose,
            kind,
            group,
            bytes,
            experts: self.experts,
        }));
    }

    fn compute(&mut self, time: PartTime) {
        // Backward, the gradients of inputs and of weights take as long as the pass forward each.
        let ns = match (self.direction, self.plan.training.schedule) {
            (Direction::Forward, _) => time.weights + time.core,
            (Direction::Backward, Schedule::ZeroBubble) => time.weights + 2 * time.core,
            (Direction::Backward, _) => 2 * (time.weights + time.core),
            (Direction::Weights, _) => time.weights,
        };
        if ns > 0 {
            let experts = self.experts;
            self.list.push(Item::Compute { ns, experts });
        }
    }

    /// Merges computations, rings, and collectives of one purpose, kind and group.
    pub(super) fn merge(&mut self) {
        let (mut compute, mut ring) = (0_u64, (0_u64, 0_u64));
        let mut of_experts: Option<(u64, Layers)> = None;
        let over = |known: Option<Layers>, one: Layers| known.map_or(one, |known| known.with(one));
        let mut collectives: Vec<Communication> = Vec::new();
        for item in self.list.drain(..) {
            match item {
                Item::Compute { ns, experts: None } => compute += ns,
                Item::Compute {
                    ns,
                    experts: Some(layers),
                } => {
                    let (sum, known) = of_experts.unzip();
                    of_experts = Some((sum.unwrap_or(0) + ns, over(known, layers)));
                }
                Item::Ring { ns, bytes } => ring = (ring.0 + ns, ring.1 + bytes),
                Item::Collective(one) => {
                    let same = |known: &&mut Communication| {
                        (known.purpose, known.kind, known.group) == (one.purpose, one.kind, one.group)
                    };
                    match collectives.iter_mut().find(same) {
                        Some(known) => {
                            known.bytes += one.bytes;
                            known.experts = one.experts.map(|layers| over(known.experts, layers));
                        }
                        None => collectives.push(one),
                    }
                }
            }
        }
        self.list.extend((compute > 0).then_some(Item::Compute {
            ns: compute,
            experts: None,
        }));
        self.list.extend(of_experts.map(|(ns, layers)| Item::Compute {
            ns,
            experts: Some(layers),
        }));
        let (ns, bytes) = ring;
        self.list.extend((bytes > 0).then_some(Item::Ring { ns, bytes }));
        self.list.extend(collectives.into_iter().map(Item::Collective));
    }
}
