//! Random experiments over Ultra Ethernet's transport, with all options of its simulator. Either every flow ends, or
//! the run gives the reason for which the simulator would abort. The same experiment also ends in fidelity `exact`,
//! within a stated factor of that time.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use paceline_fabric::outcome::FlowStatus;
use paceline_lab::run::{Control, Finished, RunError, RunErrorKind, execute};
use paceline_scenario::{Overrides, load_text};

/// SplitMix64, so that experiments do not depend on a library's generator.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// An experiment for both fidelities.
struct Case {
    topology: String,
    connections: String,
    arguments: String,
    exact: String,
}

/// Number of hosts, hosts per first-tier switch and its uplinks; then first-tier switches per pod, uplinks of the
/// second tier, and pods. Trees of two tiers only have the first-tier switches.
const TREES: [(u64, u64, u64, &[u64]); 6] = [
    (8, 2, 2, &[4]),
    (18, 3, 3, &[6]),
    (32, 4, 4, &[8]),
    (32, 8, 2, &[4]),
    (16, 2, 2, &[2, 2, 4]),
    (54, 3, 3, &[3, 3, 6]),
];

fn tree(draw: &mut Draw, gbps: u64) -> (u64, u64, u64, String) {
    let (hosts, down, up, rest) = draw.one(&TREES);
    let tiers = if rest.len() == 1 { 2 } else { 3 };
    let latency = draw.one(&[100, 500, 1000, 1000, 5000]);
    let switch = draw.one(&[0, 0, 100, 500]);
    let pod = if tiers == 2 { hosts } else { down * rest[0] };
    let mut text = format!("Nodes {hosts}\nTiers {tiers}\nPodsize {pod}\n");
    let mut tier = |number: u64, down: u64, up: Option<u64>| {
        let up = up.map_or(String::new(), |up| format!("Radix_Up {up}\n"));
        let over = if number == 0 && hosts == 32 && pod == 32 && down == 8 {
            4
        } else {
            1
        };
        let _ = write!(
            text,
            "Tier {number}\nDownlink_speed_Gbps {gbps}\nRadix_Down {down}\n{up}Downlink_Latency_ns {latency}\n\
             Switch_Latency_ns {switch}\nOversubscribed {over}\n"
        );
    };
    tier(0, down, Some(up));
    match rest {
        [tors] => tier(1, *tors, None),
        [tors, up, pods] => {
            tier(1, *tors, Some(*up));
            tier(2, *pods, None);
        }
        _ => unreachable!("two or three tiers"),
    }
    let diameter = 2 * tiers * latency + (2 * tiers - 1) * switch;
    (hosts, tiers, diameter, text)
}

/// Draws connections: incast, outcast, a ring of hosts, or random pairs. Some wait for others.
fn connections(draw: &mut Draw, hosts: u64, payload: u64, messages: bool) -> String {
    let count = draw.one(&[1, 2, 4, 8, 15]).min(hosts - 1);
    let (shape, first) = (draw.below(4), draw.below(hosts));
    let each = (draw.one(&[100, 1000, 3000]) * payload / count).max(1);
    let (mut lines, mut triggers) = (String::new(), 0);
    let mut total = 0;
    for flow in 1..=count {
        let other = (first + flow) % hosts;
        let (src, dst) = match shape {
            0 => (other, first),
            1 => (first, other),
            2 => (other, (other + 1) % hosts),
            _ => (other, (other + 1 + draw.below(hosts - 1)) % hosts),
        };
        let size = |draw: &mut Draw| match draw.below(4) {
            0 => draw.one(&[1, payload]),
            _ => 1 + draw.below(2 * each),
        };
        if messages {
            // All messages of a connection start together: the simulator aborts if one is finished before the next
            // one starts.
            for message in 1..=1 + draw.below(4) {
                total += 1;
                let size = size(draw);
                let _ = writeln!(
                    lines,
                    "{src}->{dst} id {flow} msg {message} start {flow} size {size}"
                );
            }
            continue;
        }
        total += 1;
        let _ = match triggers < flow / 2 && draw.chance(30) {
            // The previous connection starts it.
            true => {
                triggers += 1;
                lines.pop();
                let size = size(draw);
                writeln!(
                    lines,
                    " send_done_trigger {flow}\n{src}->{dst} id {flow} trigger {flow} size {size}"
                )
            }
            false => {
                let (start, size) = (draw.one(&[0, 0, 0, 7, 40]), size(draw));
                writeln!(lines, "{src}->{dst} start {start} size {size}")
            }
        };
    }
    let ids: Vec<String> = lines
        .split(" send_done_trigger ")
        .skip(1)
        .filter_map(|rest| Some(format!("trigger id {} oneshot\n", rest.lines().next()?)))
        .collect();
    format!(
        "Nodes {hosts}\nConnections {total}\nTriggers {}\n{lines}{}",
        ids.len(),
        ids.concat()
    )
}

fn case(seed: u64) -> Case {
    let draw = &mut Draw(seed);
    let gbps = draw.one(&[25, 50, 100, 100, 200, 400, 800, 1600]);
    let mtu = draw.one(&[256, 512, 1024, 2048, 4150, 4150, 9000]);
    let payload = mtu - 64;
    let (hosts, tiers, diameter, topology) = tree(draw, gbps);
    let messages = draw.chance(10);
    let connections = connections(draw, hosts, payload, messages);
    let (control, scheme) = draw.one(&[
        ("-sender_cc_only", "nscc"),
        ("-receiver_cc_only", "rccc"),
        ("-sender_cc -receiver_cc", "nscc-rccc"),
        ("-sender_cc_only -sender_cc_algo dctcp", "dctcp"),
        ("-sender_cc_only -sender_cc_algo constant", "nscc"),
    ]);
    let balancing = draw.one(&["bitmap", "reps", "reps_legacy", "oblivious", "mixed"]);
    let trims = draw.chance(70);
    // Round trip in the simulator's ps, and bandwidth-delay product in packets.
    let transmission = 2 * tiers * (mtu + 64) * 8000 / gbps;
    let round_trip = 2 * diameter * 1000 + transmission;
    let bdp = (round_trip * gbps / 8000).div_ceil(mtu);
    let mut queue = bdp * if trims { 1 } else { 5 };
    let mut marks = ((bdp * 2).div_ceil(10), (bdp * 8).div_ceil(10));
    let mut arguments = format!(
        "-linkspeed {}000 -mtu {mtu} {control} -load_balancing_algo {balancing}",
        gbps
    );
    let mut add = |option: String| {
        arguments.push(' ');
        arguments.push_str(&option);
    };
    if !trims {
        add("-disable_trim".to_string());
    }
    if draw.chance(30) {
        queue = draw.one(&[5, 8, 10, 20, 50, 100]);
        marks = (draw.below(queue / 2), queue / 2 + draw.below(queue / 2));
        add(format!("-q {queue} -ecn {} {}", marks.0, marks.1));
    } else if draw.chance(20) {
        queue = bdp * 2;
        add("-queue_size_bdp_factor 2".to_string());
    }
    let choices = [
        (20, format!("-cwnd {}", draw.one(&[1, 2, 5, 50]))),
        (40, format!("-paths {}", 1 << draw.below(10))),
        (25, format!("-failed {}", 1 + draw.below(4))),
        (
            15,
            format!("-strat {}", draw.one(&["ecmp_rr", "ecmp_ar", "ecmp_host_ar"])),
        ),
        (15, format!("-sack_threshold {}", draw.one(&[1, 4096, 40_000]))),
        (15, "-enable_accurate_base_rtt".to_string()),
        (15, "-disable_base_rtt_update_on_nack".to_string()),
        (if scheme == "rccc" { 0 } else { 20 }, "-sleek".to_string()),
        (
            if scheme == "rccc" { 0 } else { 10 },
            format!("-qa_gate {}", draw.below(5)),
        ),
        (
            if trims { 10 } else { 0 },
            format!("-trimsize {}", draw.one(&[64, 100, 128])),
        ),
        (if messages { 100 } else { 0 }, "-conn_reuse".to_string()),
    ];
    for (percent, option) in choices {
        if draw.chance(percent) {
            add(option);
        }
    }
    add(format!("-seed {}", 1 + draw.below(1000)));
    let (limit, low, high) = (queue * mtu, marks.0 * mtu, marks.1 * mtu);
    let drop = match trims {
        true => format!("limit = \"{limit}B\", trim = true, headers = \"{}B\"", 2 * limit),
        false => format!("limit = \"{limit}B\""),
    };
    let exact = format!(
        "[network]\nmtu = \"{payload}B\"\ndata-header = \"64B\"\nack-header = \"64B\"\nack.every-bytes = \"16384B\"\n\
         flow-control = \"none\"\nload-balancing = \"{}\"\nrecovery = \"rud\"\ndrop = {{ policy = \"tail\", {drop} }}\n\
         ecn = {{ kmin = \"{low}B\", kmax = \"{high}B\", pmax = 1.0, reference-rate = \"{gbps}Gbps\" }}\n\
         [cc]\nscheme = \"{scheme}\"\n",
        if balancing == "reps_legacy" {
            "reps"
        } else {
            balancing
        },
    );
    Case {
        topology,
        connections,
        arguments,
        exact: if messages { String::new() } else { exact },
    }
}

/// Result of a run.
enum Came {
    /// All flows have ended, the last one at this time, us.
    Ended(f64),
    /// The run reported the reason for which the simulator would abort.
    Aborted,
    /// The run exceeded the test's limit of events.
    Busy,
}

/// Runs a scenario with the files in `folder`.
fn run(folder: &Path, rest: &str) -> Result<Came, String> {
    let location = folder.to_str().ok_or("no folder")?;
    let text = format!(
        "duration = \"1s\"\ncheck = true\n{}",
        rest.replace("FOLDER", location)
    );
    let input = load_text("random.toml", &text, &Overrides::default()).map_err(|error| error.to_string())?;
    let mut calls = 0;
    let done = execute(&input, &mut |_| {
        calls += 1;
        if calls > MOST_CALLS {
            Control::Stop
        } else {
            Control::Continue
        }
    });
    let Finished { outcome, .. } = match done {
        Err(RunError {
            kind: RunErrorKind::Aborted { .. },
            ..
        }) => return Ok(Came::Aborted),
        done => done.map_err(|error| error.to_string())?,
    };
    let open = outcome
        .flows
        .iter()
        .filter(|flow| flow.status != FlowStatus::Completed)
        .count();
    if open > 0 && calls > MOST_CALLS {
        return Ok(Came::Busy);
    }
    if open > 0 {
        return Err(format!("{open} of {} flows do not end", outcome.flows.len()));
    }
    let ends = outcome
        .flows
        .iter()
        .map(|flow| (flow.start.as_ps() + flow.fct.as_ps()) as f64 / 1e6);
    Ok(Came::Ended(ends.fold(0.0, f64::max)))
}

/// Limit of calls that advance a run, each by some hundred thousand events.
const MOST_CALLS: u32 = 40;
/// Maximum ratio of the last flow's end in fidelity `exact` to that in the simulator; the maximum of a thousand
/// experiments is 6.6. There is no minimum, since the simulator waits for timeouts.
const LATEST: f64 = 8.0;

/// Options with which the simulator may also retransmit the same packets forever while queues stay full: SLEEK
/// retransmits presumed losses regardless of its window, a constant window does not shrink, and with receiver control
/// alone requests repeat.
const UNHEEDING: [&str; 3] = ["-sleek", "-sender_cc_algo constant", "-receiver_cc_only"];

/// In a thousand experiments, 962 runs end, 34 are aborted, and 4 run forever as described above. All others end in
/// fidelity `exact`.
#[test]
fn random_experiments_end() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("uet_random");
    fs::create_dir_all(&folder).unwrap();
    let mut found = Vec::new();
    for seed in 0..u64::from(paceline_testkit::cases(160)) {
        let case = case(seed);
        fs::write(folder.join("random.topo"), &case.topology).unwrap();
        fs::write(folder.join("random.cm"), &case.connections).unwrap();
        found.extend(judge(&folder, &case).err().map(|why| {
            let Case {
                arguments,
                topology,
                connections,
                ..
            } = case;
            format!("{seed}: {why}\n{arguments}\n{topology}\n{connections}")
        }));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Runs an experiment in both fidelities.
fn judge(folder: &Path, case: &Case) -> Result<(), String> {
    let arguments = &case.arguments;
    let own = format!(
        "fidelity = \"uet-htsim\"\n[parity.uet-htsim]\n\
         arguments = \"-tm FOLDER/random.cm -topo FOLDER/random.topo {arguments}\"\n"
    );
    let simulated = match run(folder, &own)? {
        Came::Ended(us) => us,
        Came::Aborted => f64::INFINITY,
        Came::Busy if UNHEEDING.iter().any(|option| arguments.contains(option)) => f64::INFINITY,
        Came::Busy => return Err("uet-htsim: too many events".to_string()),
    };
    if case.exact.is_empty() {
        return Ok(());
    }
    let files = "[topology]\nfile = \"FOLDER/random.topo\"\n[[workload]]\nfile = \"FOLDER/random.cm\"\n";
    match run(folder, &format!("{files}{}", case.exact)) {
        Ok(Came::Ended(us)) if us <= simulated * LATEST => Ok(()),
        Ok(Came::Ended(us)) => Err(format!(
            "exact: the last flow ends at {us} us, in uet-htsim at {simulated} us"
        )),
        Ok(_) => Err("exact: too many events".to_string()),
        Err(why) => Err(format!("exact: {why}")),
    }
}
