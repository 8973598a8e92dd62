//! Dependence of a run on its seed.
//!
//! Every random stream belongs to a seed, a purpose and an entity, and each number drawn moves its stream on. A run
//! that leaves all its streams as they started has drawn nothing: with the same flows it is the same run under any
//! other seed. That is a proof, which two equal runs are not: a rare event may have happened in neither.

use crate::run::simulation::Simulation;
use paceline_run::spec::TieOrder;

impl Simulation {
    /// Returns true if a number was drawn from a stream of the seed, a switch chose a path by its hash, or the seed
    /// decides the order of arrivals.
    pub(super) fn hangs_on_seed(&self) -> bool {
        let seed = self.world.spec.seed;
        self.world.spec.ties == TieOrder::Drawn
            || self.kind.draws()
            || self.hosts.have_drawn(&self.world)
            || self.world.routing.chose_by_seed()
            || self.core.have_links_drawn()
            || self.switches.have_drawn(seed)
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::{Bytes, Span};

    use crate::common::{add_flow, natural, scheme, scheme_with, star};
    use crate::run::simulation::Simulation;
    use paceline_run::outcome::Outcome;
    use paceline_run::spec::*;

    fn run(mut spec: RunSpec, seed: u64) -> Outcome {
        spec.seed = seed;
        let mut simulation = Simulation::new(spec).unwrap();
        while !simulation.advance(1_000_000).done {}
        simulation.finish()
    }

    fn incast(name: &str) -> RunSpec {
        let mut spec = natural(star(3, scheme(name)));
        add_flow(&mut spec, 1, 3, 200_000, 0);
        add_flow(&mut spec, 2, 3, 200_000, 0);
        spec
    }

    /// A run that claims not to depend on the seed has the same digest under all seeds. Runs that differ between seeds
    /// never claim it.
    #[track_caller]
    fn check(spec: &RunSpec, hangs: bool) {
        let runs: Vec<Outcome> = (1..6).map(|seed| run(spec.clone(), seed)).collect();
        assert!(runs.iter().all(|outcome| outcome.hangs_on_seed == hangs));
        let same = runs.windows(2).all(|pair| pair[0].digest == pair[1].digest);
        assert_eq!(same, !hangs);
    }

    #[test]
    fn without_anything_random() {
        check(&incast("none"), false);
        check(&incast("hpcc"), false);
    }

    #[test]
    fn marks_on_the_ramp_are_drawn() {
        let mut spec = incast("dctcp");
        spec.switch.ecn.truncate(1);
        let curve = &mut spec.switch.ecn[0];
        (curve.kmin, curve.kmax) = (Bytes::new(30_000), Bytes::new(30_000));
        check(&spec, false);
        spec.switch.ecn[0].kmax = Bytes::new(300_000);
        check(&spec, true);
    }

    #[test]
    fn lossy_links_draw() {
        let mut spec = incast("none");
        spec.nic.rto = Some(Span::from_us(100));
        spec.links[0].error_rate = 0.05;
        check(&spec, true);
    }

    #[test]
    fn schemes_draw() {
        check(&incast("hpcc-pint"), true);
        check(&incast("qcn"), true);
    }

    /// A queue pair is used again by a flow that draws nothing: the first flow's draw is remembered.
    #[test]
    fn what_drew_is_remembered() {
        let noisy = |noise| {
            let mut spec = incast("none");
            let dx = scheme("dx");
            spec.schemes
                .push(scheme_with("dx", dx.window, &[("noise", noise)]));
            (spec.flows[0].scheme, spec.flows[1].scheme) = (1, 1);
            for host in [1, 2] {
                add_flow(&mut spec, host, 3, 20_000, 500_000);
            }
            spec
        };
        check(&noisy("200ns"), true);
        check(&noisy("0ns"), false);
    }
}
