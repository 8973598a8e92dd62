//! Time series of the demo in bins of 100 us.

use paceline_fabric::spec::NodeId;
use paceline_parity::ib_omnet::CreditStep;

use super::{Count, HOSTS, Ran};

/// Width of a bin, ps, and number of bins.
const WIDTH: u64 = 100_000_000;
const BINS: usize = 300;
/// Rate of one packet per bin, Gbit/s.
const PACKET: f64 = 0.163_84;

/// Credits of the uplink's arbiter within a bin.
#[derive(Clone, Copy, Default)]
struct Credits {
    /// Integral of credits over time (credits × ps), and time without credits, ps.
    sum: f64,
    zero: f64,
    least: Option<u32>,
    most: u32,
}

impl Credits {
    /// Adds a time during which the number of credits was constant.
    fn pass(&mut self, credits: u32, time: u64) {
        self.see(credits);
        self.sum += f64::from(credits) * time as f64;
        self.zero += if credits == 0 { time as f64 } else { 0.0 };
    }

    fn see(&mut self, credits: u32) {
        self.least = Some(self.least.map_or(credits, |least| least.min(credits)));
        self.most = self.most.max(credits);
    }
}

/// Numbers of waiting packets that arriving packets found.
#[derive(Clone, Copy, Default)]
struct Queue {
    sum: u64,
    seen: u64,
    most: u32,
}

/// Values of one bin of time.
#[derive(Clone, Copy, Default)]
struct Bin {
    received: [u32; 3],
    uplink: u32,
    updates: u32,
    credits: Credits,
    queues: [Queue; 2],
    marks: [u32; 3],
    marked: [u32; 3],
    notified: [u32; 2],
    rates: [Option<f64>; 2],
}

/// Returns the index of a sender: host 1, host 2, or the bursts.
const fn who(host: u32) -> usize {
    match host {
        1 => 0,
        2 => 1,
        _ => 2,
    }
}

fn bins(ran: &Ran) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); BINS];
    let (uplink, to_h5, to_h3) = ((NodeId(HOSTS + 1), 2), (NodeId(HOSTS), 3), (NodeId(HOSTS), 0));
    let (mut since, mut credits) = (0, 0);
    let pass = |bins: &mut Vec<Bin>, since: &mut u64, until: u64, credits: u32| {
        while *since < until {
            let number = (*since / WIDTH) as usize;
            let end = until.min((number as u64 + 1) * WIDTH);
            if let Some(bin) = bins.get_mut(number) {
                bin.credits.pass(credits, end - *since);
            }
            *since = end;
        }
    };
    for event in ran.trace() {
        let at = event.at.as_ps();
        let index = (event.node, event.interface);
        let Some(bin) = bins.get_mut((at / WIDTH) as usize) else {
            break;
        };
        match event.what {
            CreditStep::Received { flow, marked, .. } => {
                let one = who(ran.message(flow).0);
                bin.received[one] += 1;
                bin.marked[one] += u32::from(marked);
            }
            CreditStep::Sent { .. } if index == uplink => bin.uplink += 1,
            CreditStep::Update { .. } if index == uplink => bin.updates += 1,
            CreditStep::Credits { credits: new } | CreditStep::Granted { credits: new, .. }
                if index == uplink =>
            {
                bin.credits.see(new);
                pass(&mut bins, &mut since, at, credits);
                credits = new;
            }
            CreditStep::Found { waiting } if index == uplink || index == to_h5 => {
                let queue = &mut bin.queues[usize::from(index == to_h5)];
                queue.sum += u64::from(waiting);
                queue.seen += 1;
                queue.most = queue.most.max(waiting);
            }
            CreditStep::Marked { .. } => {
                if let Some(port) = [uplink, to_h5, to_h3].iter().position(|port| *port == index) {
                    bin.marks[port] += 1;
                }
            }
            CreditStep::Notified { allowed, .. } if event.node.0 < 2 => {
                bin.notified[event.node.0 as usize] += 1;
                bin.rates[event.node.0 as usize] = Some(allowed);
            }
            _ => {}
        }
    }
    pass(&mut bins, &mut since, WIDTH * BINS as u64, credits);
    bins
}

impl Bin {
    /// Returns the columns of the reference's table after the time.
    fn columns(&self) -> [Option<f64>; 24] {
        let rate = |packets: u32| Some(f64::from(packets) * PACKET);
        let number = |count: u32| Some(f64::from(count));
        let mean = |queue: &Queue| Some(queue.sum as f64 / queue.seen.max(1) as f64);
        let credits = &self.credits;
        let [h1, h2, bursts] = self.received;
        [
            rate(h1),
            rate(h2),
            rate(bursts),
            rate(self.uplink),
            Some(0.0),
            number(self.updates),
            Some(credits.sum / WIDTH as f64),
            credits.least.map(f64::from),
            credits.least.and(number(credits.most)),
            Some(credits.zero / WIDTH as f64),
            mean(&self.queues[0]),
            number(self.queues[0].most),
            mean(&self.queues[1]),
            number(self.queues[1].most),
            number(self.marks[0]),
            number(self.marks[1]),
            number(self.marks[2]),
            number(self.marked[0]),
            number(self.marked[1]),
            number(self.marked[2]),
            number(self.notified[0]),
            number(self.notified[1]),
            self.rates[0],
            self.rates[1],
        ]
    }
}

/// Compares each value of each row, to the last digit written.
pub(super) fn compare(ran: &Ran, reference: &str) -> Count {
    let mut count = Count::default();
    let names: Vec<&str> = reference.lines().next().unwrap_or_default().split(',').collect();
    for (number, (bin, line)) in bins(ran).iter().zip(reference.lines().skip(1)).enumerate() {
        let theirs = names.iter().zip(line.split(',')).skip(1);
        for (ours, (name, theirs)) in bin.columns().into_iter().zip(theirs) {
            let what = || format!("bin {number}, {name}: {ours:?}, not {theirs}");
            let digits = theirs.split_once('.').map_or(0, |(_, digits)| digits.len());
            let unit = 0.1f64.powi(digits as i32);
            match (ours, theirs.parse::<f64>()) {
                (Some(ours), Ok(theirs)) => count.add((ours - theirs).abs() <= unit * 0.501, what),
                (None, Err(_)) => count.add(true, what),
                (None, Ok(_)) | (Some(_), Err(_)) => count.add(false, what),
            }
        }
    }
    count
}
