//! Numbers derived from options and topology before a run.

use paceline_congestion::nscc::window::Constants;

use super::spec::{Options, Tree};

/// Size of a header and of a packet without payload, bytes.
pub(super) const HEADER: i64 = 64;

/// Parameters of a run that are computed once.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Rate of NICs, bit/s.
    pub(super) rate: u64,
    /// Size of a full data packet and of its payload, bytes.
    pub(super) packet: i64,
    pub(super) payload: i64,
    /// Base round-trip time of the longest path, ps.
    pub(super) rtt: u64,
    /// Transmission part of `rtt`, ps, rounded as in the simulator.
    pub(super) transmission: u64,
    /// Bandwidth-delay product in packets, rounded up.
    pub(super) bdp: u32,
    /// Size of a switch queue, bytes.
    pub(super) queue: u64,
    /// Retransmission timeout of all flows, ps.
    pub(super) rto: u64,
    /// Lower and upper ECN threshold, bytes.
    pub(super) ecn: (u64, u64),
    /// Lower limit of the receivers' pacing rate, as a share of the line rate; `None` if pacers do not adapt to
    /// congestion inside the network.
    pub oversubscribed: Option<f64>,
    pub(super) nscc: Constants,
}

/// A derived number that the simulator rejects or truncates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The option to change.
    pub flag: &'static str,
    /// Error text with the offending value.
    pub message: String,
    /// Error label: the accepted range.
    pub expected: String,
}

impl Derived {
    /// Computes the parameters of a run. Fails where the simulator would abort or truncate a number.
    pub fn new(options: &Options, tree: &Tree) -> Result<Self, Misfit> {
        let rate = options.linkspeed * 1_000_000;
        let packet = i64::from(options.mtu);
        let payload = packet - HEADER;
        // The formulas keep the simulator's order of operations: another one rounds differently.
        let gigabits = rate as f64 / 1e9;
        let hops = f64::from(2 * tree.tiers);
        let data = (((8 * packet) as f64 / gigabits) * hops) * 1000.0;
        let ack = ((512.0 / gigabits) * hops) * 1000.0;
        let rtt = ((2 * tree.diameter) as f64 + data + ack) as u64;
        let bdp = (((rtt as f64 / 1e12) * (rate / 8) as f64) / packet as f64).ceil() as u32;
        let packets = match options.queue {
            Some(packets) => u64::from(packets),
            None => {
                let usual = if options.trims { 1 } else { 5 };
                u64::from(bdp) * u64::from(options.queue_factor.unwrap_or(usual))
            }
        };
        let queue = packets * packet as u64;
        let fits = |flag: &'static str, what: &str, value: u64, most: u64| match value <= most {
            true => Ok(()),
            false => Err(Misfit {
                flag,
                message: format!("{what} is {value}"),
                expected: format!("expected at most {most}"),
            }),
        };
        // The simulator stores these numbers in 32 bits, and would truncate larger ones.
        let word = u64::from(u32::MAX);
        fits("-queue_size_bdp_factor", "the queue in packets", packets, word)?;
        let window = u64::from(options.cwnd) * packet as u64;
        fits("-cwnd", "the initial window in bytes", window, word)?;
        fits(
            "-trimsize",
            "a trimmed packet in bytes",
            options.trim_size.into(),
            packet as u64,
        )?;
        let rto = ((15.0 + (((queue as f64 * 6.0) * 8.0) * 1e6) / rate as f64) * 1e6) as u64;
        let threshold = |part: f64| ((f64::from(bdp) * part).ceil() * packet as f64).ceil() as u64;
        let ecn = match options.ecn {
            Some((low, high)) => (low * packet as u64, high * packet as u64),
            None => (threshold(0.2), threshold(0.8)),
        };
        fits(
            "-ecn",
            "the upper marking threshold in bytes",
            ecn.1,
            word.min(queue),
        )?;
        let is_narrow = tree.oversubscription > 1 && !options.sender_chosen && !options.never_oversubscribed;
        let oversubscribed = match (is_narrow, options.oversubscribed) {
            (true, _) => Some((0.9 / f64::from(tree.oversubscription)).max(0.01)),
            (false, true) => Some(0.01),
            (false, false) => None,
        };
        let target = match options.target_delay {
            // Without congestion control at the sender, only the average delay uses the target, and the simulator
            // ignores the option.
            _ if !options.sender_cc => 6_000_000,
            Some(us) => (us * 1e6) as u64,
            None if options.trims => (rtt as f64 * 0.75) as u64,
            None => rtt,
        };
        let nscc = Constants {
            gate: options.quick_gate,
            with_receiver: options.receiver_cc,
            wraps: true,
            ..Constants::new(rtt, rate, payload, packet, target)
        };
        Ok(Self {
            rate,
            packet,
            payload,
            rtt,
            transmission: (data + ack) as u64,
            bdp,
            queue,
            rto,
            ecn,
            oversubscribed,
            nscc,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns: rate, hosts, tiers, trimming; expected round trip, packets, queue, timeout and thresholds.
    #[test]
    fn they_are_the_simulators() {
        for (speed, hosts, tiers, trims, rtt, bdp, queue, rto, ecn) in [
            (
                100,
                16,
                3,
                true,
                14_022_720,
                43,
                178_450,
                100_656_000,
                (37_350, 145_250),
            ),
            (
                100,
                16,
                3,
                false,
                14_022_720,
                43,
                892_250,
                443_280_000,
                (37_350, 145_250),
            ),
            (
                100,
                8,
                2,
                true,
                9_348_480,
                29,
                120_350,
                72_768_000,
                (24_900, 99_600),
            ),
            (
                200,
                16,
                3,
                true,
                13_011_360,
                79,
                327_850,
                93_684_000,
                (66_400, 265_600),
            ),
            (
                400,
                16,
                3,
                true,
                12_505_680,
                151,
                626_650,
                90_198_000,
                (128_650, 502_150),
            ),
            (
                800,
                8,
                2,
                true,
                8_168_560,
                197,
                817_550,
                64_053_000,
                (166_000, 655_700),
            ),
        ] {
            let options = Options {
                linkspeed: speed * 1000,
                trims,
                ..Options::default()
            };
            let tree = Tree::plain(hosts, tiers, speed * 1_000_000_000, 1_000_000, 0).unwrap();
            let own = Derived::new(&options, &tree).unwrap();
            let found = (own.rtt, own.bdp, own.queue, own.rto, own.ecn);
            assert_eq!(found, (rtt, bdp, queue, rto, ecn));
        }
    }
}
