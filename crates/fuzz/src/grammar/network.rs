//! Section `[network]` of a random scenario.

use super::{Draft, Family};
use crate::mutate::Mutator;

impl Draft {
    pub(super) fn network(&mut self, chance: &mut Mutator) {
        match self.family {
            Family::Omnet => return self.omnet(chance),
            Family::BoltNs3 => {
                self.line("[network]\nflow-control = \"none\"");
                return self.perhaps(
                    chance,
                    &["[parity.bolt-ns3]\nports = \"between-switches\"\nstrikes = 3"],
                );
            }
            Family::TcdNs3 => {
                self.line("[network]");
                self.perhaps(
                    chance,
                    &["pfc.static = { xoff = \"329600B\", xon = \"327540B\" }"],
                );
                return self.perhaps(
                    chance,
                    &["[parity.tcd-ns3]\nack-interval = 64\nlisten-until = \"90us\""],
                );
            }
            Family::Lossy => self.line("[network]\nflow-control = \"none\""),
            Family::Lanes => self.line("[network]\nflow-control = \"credits\""),
            Family::Pfc | Family::Ns3 => {
                self.line("[network]");
                self.perhaps(
                    chance,
                    &["lossless = [3, 4, 5]", "lossless = [3]", "flow-control = \"pfc\""],
                );
            }
        }
        self.packets(chance);
        self.nics(chance);
        self.balancing(chance);
        match self.family {
            Family::Lanes => self.lanes(chance),
            Family::Lossy => self.loss(chance),
            _ => self.pauses(chance),
        }
        self.faults(chance);
        self.tiers(chance);
    }

    fn packets(&mut self, chance: &mut Mutator) {
        self.perhaps(
            chance,
            &[
                "mtu = \"500B\"",
                "mtu = \"4096B\"",
                "mtu = \"1024B\"\ndata-header = \"60B\"",
            ],
        );
        self.perhaps(
            chance,
            &[
                "buffer = \"4MB\"",
                "buffer = \"200KB\"",
                "buffer = \"12MiB\"\nport-reserve = \"2KB\"",
            ],
        );
        self.perhaps(
            chance,
            &["framing = \"24B\"", "scheme-headers = false", "cnp = \"80B\""],
        );
        self.perhaps(
            chance,
            &[
                "ack.every-packets = 4",
                "ack.every-bytes = \"8KB\"",
                "ack-class = \"flow\"",
            ],
        );
        self.perhaps(
            chance,
            &["error-rate = 0.0001", "int-multi = 16", "global-rtt = false"],
        );
    }

    fn nics(&mut self, chance: &mut Mutator) {
        self.perhaps(
            chance,
            &[
                "recovery = \"irn\"",
                "recovery = \"rud\"",
                "recovery = \"irn\"\nreceiver-order = \"in-order\"",
                "nack-interval = \"20us\"",
            ],
        );
        self.perhaps(
            chance,
            &["rto = \"200us\"", "back-to-chunk = \"4000B\"", "rto = \"off\""],
        );
        self.perhaps(
            chance,
            &[
                "qp-scheduling = \"max-min\"",
                "qp-scheduling = \"quantum\"\nqp-quantum = \"8KB\"",
            ],
        );
        self.perhaps(chance, &["idle-reset = \"20us\"", "pacing = false"]);
    }

    fn balancing(&mut self, chance: &mut Mutator) {
        self.perhaps(
            chance,
            &[
                "load-balancing = \"spray\"",
                "load-balancing = \"adaptive\"",
                "load-balancing = \"flowlet\"\nflowlet = { gap = \"5us\", entries = 64 }",
                "load-balancing = \"adaptive\"\nadaptive.per = \"flowlet\"",
                "load-balancing = \"mrc\"\nmrc = { in-use = 4, probe-interval = \"20us\" }",
                "load-balancing = \"reps\"\nplanes = 2",
                "planes = 2",
                "ecmp-hash = \"shared\"",
                "ecmp-hash = \"per-switch\"",
            ],
        );
        self.perhaps(
            chance,
            &[
                "endpoint = { delay = \"300ns\" }",
                "endpoint = { per-packet = \"50ns\", rate = \"80Gbps\", jitter = \"100ns\" }",
            ],
        );
        self.perhaps(
            chance,
            &[
                "ecn = { kmin = \"5KB\", kmax = \"50KB\", pmax = 0.2, reference-rate = \"100Gbps\" }",
                "ecn.kmin = \"20KB\"",
                "ecn.curves = []",
            ],
        );
    }

    fn pauses(&mut self, chance: &mut Mutator) {
        self.perhaps(
            chance,
            &[
                "pfc.static = { xoff = \"40KB\", xon = \"38KB\" }\nheadroom.fixed = \"100KB\"",
                "pfc.dynamic = { shift = 2 }\npfc.resume-offset = \"2KB\"",
                "pfc = { mode = \"quanta\", pause = \"3us\" }",
                "pfc = { reaction-time = \"500ns\", reaction-jitter = \"200ns\" }",
            ],
        );
        if self.family == Family::Pfc {
            self.perhaps(
                chance,
                &[
                    "[network.detection]\nkind = \"tcd\"",
                    "[network.detection]\nkind = \"tcd\"\nvariant = \"adaptive\"\nepsilon = 0.1\nmax-ton = \"20us\"\ntimes = 3\n\
                     class = [{ priority = 5, kind = \"np-ecn\" }]",
                    "[network.detection]\nkind = \"np-ecn\"",
                    "[network.detection]\nkind = \"red\"",
                ],
            );
            let host = self.host(chance);
            self.perhaps(
                chance,
                &[&format!(
                    "[[network.pause-storm]]\nnode = {host}\nat = \"10us\"\nuntil = \"40us\""
                )],
            );
        }
    }

    fn loss(&mut self, chance: &mut Mutator) {
        self.perhaps(
            chance,
            &[
                "[network.drop]\npolicy = \"tail\"\npackets = 20",
                "[network.drop]\npolicy = \"tail\"\nlimit = \"50KB\"\ntrim = true\nheaders = \"10KB\"",
                "[network.drop]\npolicy = \"dynamic\"\nalpha = 0.5",
            ],
        );
        // Without that recovery these keys are refused.
        if self.text.contains("recovery = \"irn\"") {
            self.perhaps(
                chance,
                &[
                    "[network.irn]\nreordering = 9\nbdp-cap = false",
                    "[network.irn]\nrto-low = \"50us\"\nrto-high = \"400us\"\nlow-packets = 2",
                ],
            );
        }
    }

    fn lanes(&mut self, chance: &mut Mutator) {
        self.line("[network.credit]");
        self.perhaps(
            chance,
            &[
                "binding = \"cbfc\"",
                "binding = \"cbfc\"\ndelay = \"200ns\"\nunit = \"256B\"",
                "binding = \"ib\"\nphase = \"per-port\"",
                "period = \"2us\"",
            ],
        );
        self.perhaps(
            chance,
            &[
                "lanes = 2",
                "lanes = 3\nhigh = [[2, 10]]\nlow = [[0, 64], [1, 32]]\nlimit = 3",
                "lanes = 2\nsl-to-vl = [0, 0, 1, 1, 0, 0, 1]",
            ],
        );
        self.perhaps(
            chance,
            &["buffer = \"64KB\"", "buffer = \"auto\"", "update = \"16B\""],
        );
        self.perhaps(
            chance,
            &[
                "forwarding = \"store-and-forward\"",
                "header = \"40B\"",
                "release = \"end\"",
            ],
        );
        self.perhaps(
            chance,
            &[
                "[network.detection]\nkind = \"tcd\"\nexit = \"formula\"",
                "[network.detection]\nkind = \"tcd\"\nexit = \"periods\"\nperiods = 3",
            ],
        );
    }

    fn faults(&mut self, chance: &mut Mutator) {
        let link = chance.below(self.links as usize);
        self.perhaps(
            chance,
            &[
                &format!("[[network.failure]]\nlink = {link}\nat = \"20us\"\nuntil = \"60us\""),
                &format!("[[network.failure]]\nlink = {link}\nat = \"20us\""),
            ],
        );
    }

    fn tiers(&mut self, chance: &mut Mutator) {
        if self.tiers.is_empty() || self.family == Family::Lanes {
            return;
        }
        let tier = *chance.one(self.tiers);
        self.perhaps(
            chance,
            &[
                &format!("[network.tier.{tier}]\nbuffer = \"9MB\""),
                &format!("[network.tier.{tier}]\necn.kmin = \"50KB\""),
                &format!("[network.tier.{tier}]\necn.curves = []"),
            ],
        );
    }

    fn omnet(&mut self, chance: &mut Mutator) {
        self.line("[parity.ib-omnet]");
        self.perhaps(
            chance,
            &[
                "lanes = 1\nweights = [1]",
                "buffer = 8",
                "period = \"2us\"",
                "output-queue = 3",
            ],
        );
        self.perhaps(
            chance,
            &[
                "marking-rate = \"2\"",
                "stall-every = \"off\"",
                "host-packet = \"300ns\"",
            ],
        );
        let host = self.host(chance);
        self.perhaps(
            chance,
            &[
                "control = \"ibcc\"",
                "control = \"rrcc\"",
                "control = \"ibcc\"\n[parity.ib-omnet.ibcc]\nlimit = 50\ntimer = \"10us\"",
                "control = \"rrcc\"\n[parity.ib-omnet.rrcc]\nwindow = \"4us\"\nthreshold = 0.5\nafter = 2",
                &format!("control = \"rrcc\"\ncontrolled = \"all except {host}\"\nnotified = \"all\""),
            ],
        );
    }
}
