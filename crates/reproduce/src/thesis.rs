//! What the experiments that train share with those of the thesis.

use super::choice::Choice;
use super::need::Input;
use super::reference::INCAST_20;
use paceline_report::decimate::{POINTS_MAX, extremes};

/// Its incast: the flows, and the network, of the reference run.
pub const INCAST: Input = Input::Reference(&INCAST_20);

/// What the shipped predictor was trained on, which every run with it depends on.
pub const ON_POLICY: Choice = Choice {
    what: "The shipped predictor learned from runs that it predicts in: two rounds of two runs after a training as the thesis's, \
           60 000 pairs, steps of 20 pairs whose size falls from 0.002 to nothing. The thesis trains on runs of TIMELY and of \
           its controller before that was tuned, and then runs with the tuned one.",
    tried: "the thesis's runs alone; these beside its own; pairs as often as they occur, of the simulator's fidelity and of the \
            exact one; steps of 10 pairs and of 0.001 throughout. One seed, six orders of events (201 to 206) that judge nothing \
            else.",
    changed: "The 99th percentile of round trips in those orders: 6.26 µs with the thesis's runs alone, 6.48 with these beside its \
              own, 6.25 and 6.52 with pairs as they occur, 6.05 with steps of 10 pairs, 6.07 as it ships, which takes half \
              the time.",
};

/// Of what the thesis trains on there is how much here.
pub const TRAINING_MIX: Choice = Choice {
    what: "The predictor learned from one run of the incast under TIMELY and 16 under the untuned controller, with \
           simultaneous events in other orders; the thesis names both schemes and not how much of each.",
    tried: "one run of each; one to eight",
    changed: "The predictor's error on test pairs: 9.7 % with one of each, 4.5 % with one to eight, 3.9 % with one to 16. \
              What it is worth in the controller's loop moves with that.",
};

/// As many points as a page should have, with every peak.
pub fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    extremes(points, POINTS_MAX)
}
