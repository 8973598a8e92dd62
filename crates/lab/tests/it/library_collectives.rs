//! Collectives as libraries execute them, message by message: times computed by hand, to the picosecond.

use paceline_fabric::outcome::FlowStatus;
use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Overrides, Resolved, load_text};
use proptest::prelude::*;

const HEAD: &str = "duration = '20ms'\ncheck = true\n[network]\nmtu = '1000B'\n[cc]\nscheme = 'none'\n";

/// Time in ps of a packet of 1000 bytes and 48 of headers at 100 Gbit/s.
const PACKET: u64 = 83_840;
/// Latency of such a packet over two links of 1 us each, in ps.
const WAY: u64 = 2 * (PACKET + 1_000_000);
/// Time in ps of an acknowledgement, which leaves before data.
const ACK: u64 = 4_800;

/// Run with its input.
struct Done {
    input: Resolved,
    finished: Finished,
}

fn run(rest: &str) -> Done {
    let input = load_text("test.toml", &format!("{HEAD}{rest}"), &Overrides::default());
    let input = input.unwrap_or_else(|error| panic!("{rest}: {error}"));
    let finished = execute(&input, &mut |_| Control::Continue).unwrap();
    Done { input, finished }
}

fn star(hosts: u32, keys: &str, steps: &str) -> Done {
    run(&format!(
        "[topology.star]\nhosts = {hosts}\n[[job]]\nlabel = 'x'\nranks = {hosts}\n{keys}\n{steps}"
    ))
}

/// Returns sender, receiver, start and arrival of each message.
fn messages(done: &Done) -> Vec<(u32, u32, u64, u64)> {
    let specs = &done.input.run.flows;
    let times = specs.iter().zip(&done.finished.outcome.flows);
    let mut all: Vec<_> = times
        .map(|(spec, flow)| {
            let received = flow.received.unwrap().as_ps();
            (spec.src.0, spec.dst.0, flow.start.as_ps(), received)
        })
        .collect();
    all.sort_unstable_by_key(|&(src, dst, start, received)| (start, src, dst, received));
    all
}

fn iterations_ps(done: &Done) -> Vec<u64> {
    let times = done.finished.summary.jobs[0].iterations_us.iter();
    times.map(|us| (us * 1e6).round() as u64).collect()
}

/// Four hosts, two chunks of 4 KB: every message is a packet. The second chunk leaves behind the first, and each step
/// of a chunk when its packet of the step before has arrived, after the acknowledgement of that.
#[test]
fn two_chunks_around_a_ring_of_four() {
    let done = star(
        4,
        "",
        "[[job.step]]\nall-reduce = { size = '8KB', chunk = '4KB' }\n",
    );
    let of_first: Vec<_> = messages(&done)
        .into_iter()
        .filter(|message| message.0 == 1)
        .collect();
    let first: Vec<u64> = (0..6)
        .map(|step| step * (WAY + ACK) - ACK * u64::from(step > 0))
        .collect();
    let mut second = vec![0, WAY + PACKET];
    // It waits for its own acknowledgement, for the packet of the first chunk, and for the acknowledgement of that.
    second.push(first[1] + ACK + PACKET + ACK + WAY);
    for step in 3..6 {
        second.push(second[step - 1] + WAY + ACK);
    }
    let mut starts = [first.clone(), second.clone()].concat();
    starts.sort_unstable();
    assert_eq!(
        of_first.iter().map(|message| message.2).collect::<Vec<_>>(),
        starts
    );
    assert_eq!(iterations_ps(&done), [second[5] + WAY + ACK]);
}

/// With one slot, chunks take as long as separate collectives in sequence.
#[test]
fn one_slot_is_no_pipeline() {
    let of = |keys: &str| {
        star(
            4,
            "",
            &format!("[[job.step]]\nall-reduce = {{ size = '8KB', {keys} }}\n"),
        )
    };
    let one = of("chunk = '4KB', slots = 1");
    let halves = star(
        4,
        "",
        "[[job.step]]\nlabel = 'a'\nall-reduce = { size = '4KB' }\n[[job.step]]\nlabel = 'b'\nall-reduce = { size = '4KB' }\n",
    );
    assert_eq!(iterations_ps(&one), iterations_ps(&halves));
    assert_eq!(messages(&one), messages(&halves));
    assert!(iterations_ps(&of("chunk = '4KB'")) < iterations_ps(&one));
}

/// Ranks 0 to 3 are hosts 1 to 4. One tree leads from ranks 1 and 3 to 2 and from there to 0, the other from 0 and 2 to
/// 1 and from there to 3. Each has half of the data, a packet.
#[test]
fn two_trees_of_four() {
    let done = star(
        4,
        "",
        "[[job.step]]\nall-reduce = { algorithm = 'tree', size = '2KB' }\n",
    );
    // Two packets come together at each inner rank.
    let inner = WAY + PACKET;
    let root = inner + ACK + WAY;
    let back = root + ACK + WAY;
    let all: Vec<_> = messages(&done)
        .iter()
        .map(|&(src, dst, start, _)| (start, src, dst))
        .collect();
    let expected = [
        (0, 1, 2),
        (0, 2, 3),
        (0, 3, 2),
        (0, 4, 3),
        (inner, 2, 4),
        (inner, 3, 1),
        (root, 1, 3),
        (root, 4, 2),
        (back, 2, 1),
        (back, 2, 3),
        (back, 3, 2),
        (back, 3, 4),
    ];
    assert_eq!(all, expected);
    assert_eq!(iterations_ps(&done), [back + ACK + WAY + PACKET]);
}

/// Two servers of two GPUs, whose links inside are ten times as fast and a tenth as long: a packet to the other rail of
/// the other server goes over them first, and never through the spine.
#[test]
fn all_to_all_by_way_of_rails() {
    let of = |keys: &str| {
        run(&format!(
            "[topology.rail]\nservers = 2\ngpus = 2\nspines = 1\nrate = '100Gbps'\nserver-rate = '1Tbps'\n\
             server-delay = '100ns'\n[[job]]\nranks = 4\n[[job.step]]\nall-to-all = {{ size = '1KB'{keys} }}\n"
        ))
    };
    // The packet, and one behind another.
    let inside = 2 * (PACKET / 10 + 100_000);
    let behind = inside + PACKET / 10;
    let done = of(", pxn = true");
    let local = |a: u32, b: u32| a / 2 == b / 2;
    let rail = |a: u32, b: u32| a % 2 == b % 2;
    let all = messages(&done);
    assert!(
        all.iter()
            .all(|&(src, dst, ..)| local(src, dst) || rail(src, dst))
    );
    let forwarded: Vec<_> = all.iter().filter(|message| message.2 > 0).copied().collect();
    // GPU 0 of a server gets its neighbour's packet first, which that sends before its own to it; for GPU 1 the order is
    // reversed.
    let expected = [
        (0, 2, inside, inside + WAY),
        (2, 0, inside, inside + WAY),
        (1, 3, behind, behind + WAY),
        (3, 1, behind, behind + WAY),
    ];
    assert_eq!(forwarded, expected);
    assert_eq!(iterations_ps(&done), [behind + WAY]);
    let done = of(", pxn = true, aggregate = true");
    let sizes = done
        .input
        .run
        .flows
        .iter()
        .filter(|flow| rail(flow.src.0, flow.dst.0));
    assert!(sizes.map(|flow| flow.size.get()).eq([2_000; 4]));
    assert_eq!(iterations_ps(&done), [behind + WAY + PACKET]);
    // Without, four packets cross the spine.
    let crosses = |&(src, dst, ..): &(u32, u32, u64, u64)| !local(src, dst) && !rail(src, dst);
    assert_eq!(
        messages(&of(""))
            .iter()
            .filter(|message| crosses(message))
            .count(),
        4
    );
}

/// Stage 0 computes two microbatches forward, stage 1 each forward and backward, stage 0 each backward as its gradients
/// come.
#[test]
fn two_stages_and_two_microbatches() {
    let of = |schedule: &str| {
        star(
            2,
            "iterations = 2",
            &format!(
                "[[job.step]]\npipeline = {{ stages = 2, microbatches = 2, forward = '10us', backward = '20us', size = '1KB', \
                 schedule = '{schedule}' }}\n"
            ),
        )
    };
    const US: u64 = 1_000_000;
    let done = of("1f1b");
    let first = 10 * US + WAY;
    let gradients = [first + 30 * US, first + 60 * US];
    let end = gradients[1] + WAY + 20 * US;
    let expected = [
        (1, 2, 10 * US),
        (1, 2, 20 * US),
        (2, 1, gradients[0]),
        (2, 1, gradients[1]),
        (1, 2, end + 10 * US),
        (1, 2, end + 20 * US),
        (2, 1, end + gradients[0]),
        (2, 1, end + gradients[1]),
    ];
    let all = messages(&done);
    assert!(
        all.iter()
            .map(|message| (message.0, message.1, message.2))
            .eq(expected)
    );
    assert_eq!(iterations_ps(&done), [end, end]);
    let job = &done.finished.summary.jobs[0];
    assert_eq!(job.compute_us, 60.0);
    let exposed = job.exposed_us.unwrap();
    assert!((exposed - (end as f64 / 1e6 - 60.0)).abs() < 1e-6, "{exposed}");
    // Both forward first: the first gradients leave later, the last when they did.
    let all = messages(&of("gpipe"));
    let expected = [first + 40 * US, first + 60 * US];
    assert!(
        all.iter()
            .filter(|message| message.0 == 2)
            .take(2)
            .map(|message| message.2)
            .eq(expected)
    );
}

/// Two overlapped all-gathers, of ten packets and of one: the second waits for the first although its rank is ready,
/// and the rank computes on until it needs the first.
#[test]
fn steps_that_overlap() {
    const US: u64 = 1_000_000;
    let of = |overlap: &str| {
        star(
            2,
            "iterations = 2",
            &format!(
                "[[job.step]]\nlabel = 'first'\ncompute = '10us'\n{overlap}\nall-gather = {{ size = '20KB' }}\n\
                 [[job.step]]\nlabel = 'second'\ncompute = '1us'\n{overlap}\nall-gather = {{ size = '2KB' }}\n\
                 [[job.step]]\ncompute = '2us'\n{}\n[[job.step]]\ncompute = '5us'\n",
                if overlap.is_empty() { "" } else { "wait = 'first'" }
            ),
        )
    };
    let done = of("overlap = true");
    let first = 10 * US + WAY + 9 * PACKET;
    let end = first + 7 * US;
    let starts: Vec<u64> = messages(&done)
        .iter()
        .filter(|message| message.0 == 1)
        .map(|message| message.2)
        .collect();
    assert_eq!(starts, [10 * US, first, end + 10 * US, end + first]);
    assert_eq!(iterations_ps(&done), [end, end]);
    let exposed = done.finished.summary.jobs[0].exposed_us.unwrap();
    assert!((exposed - (end as f64 / 1e6 - 18.0)).abs() < 1e-6, "{exposed}");
    // Without, all of both is exposed.
    let plain = of("");
    let end = first + US + WAY + 7 * US;
    assert_eq!(iterations_ps(&plain)[0], end);
}

/// A host of half the speed computes more slowly in pipelines, and after the last message of an iteration.
#[test]
fn slow_hosts_compute_slowly() {
    const US: u64 = 1_000_000;
    let slow = "[[network.slow-host]]\nhosts = 1\nat = '0s'\ncompute = 2.0\n";
    let of = |slow: &str| {
        run(&format!(
            "[topology.star]\nhosts = 2\n{slow}[[job]]\nranks = 2\n[[job.step]]\nall-gather = {{ size = '2KB' }}\n\
             [[job.step]]\ncompute = '5us'\n"
        ))
    };
    assert_eq!(iterations_ps(&of("")), [WAY + 5 * US]);
    assert_eq!(iterations_ps(&of(slow)), [WAY + 10 * US]);
    // Before the first message, too.
    let first = run(&format!(
        "[topology.star]\nhosts = 2\n{slow}[[job]]\nranks = 2\n[[job.step]]\ncompute = '5us'\n\
         all-gather = {{ size = '2KB' }}\n"
    ));
    assert_eq!(
        messages(&first)
            .iter()
            .map(|message| message.2)
            .collect::<Vec<_>>(),
        [5 * US, 10 * US]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Every message of a random job arrives, and iterations are no shorter than the computing of ranks.
    #[test]
    fn random_jobs_come_to_their_end(
        gpus in 1u32..4, servers in 2u32..4, inner in any::<bool>(), channels in 1u32..5, chunk in 1u64..9, slots in 1u32..4,
        steps in proptest::collection::vec((0usize..8, any::<bool>()), 1..5)
    ) {
        let ranks = gpus * servers;
        let server_rate = if inner { "server-rate = '400Gbps'\n" } else { "" };
        let mut text = format!(
            "[topology.rail]\nservers = {servers}\ngpus = {gpus}\nspines = 2\nrate = '100Gbps'\n{server_rate}\
             [[job]]\nlabel = 'x'\nranks = {ranks}\niterations = 2\n"
        );
        let cut = format!("channels = {channels}, chunk = '{chunk}KB', slots = {slots}");
        for (number, (kind, overlap)) in steps.iter().enumerate() {
            let block = match kind {
                0 => format!("all-reduce = {{ size = '40KB', {cut} }}"),
                1 => format!("all-reduce = {{ algorithm = 'tree', size = '40KB', {cut} }}"),
                2 => format!("reduce-scatter = {{ size = '30KB', {cut} }}"),
                3 => format!("all-gather = {{ size = '30KB', {cut} }}"),
                4 => format!("all-to-all = {{ size = '3KB', pxn = {inner} }}"),
                5 => format!("all-to-all = {{ size = '3KB', algorithm = 'pairwise', pxn = {inner} }}"),
                6 => format!("pipeline = {{ stages = {servers}, microbatches = {channels}, forward = '3us', size = '5KB' }}"),
                _ => "send = { distance = -1, size = '5KB', ring = true }".to_string(),
            };
            let overlap = if *overlap && *kind < 6 { "overlap = true\n" } else { "" };
            text += &format!("[[job.step]]\nlabel = 's{number}'\ncompute = '2us'\n{overlap}{block}\n");
        }
        let done = run(&text);
        prop_assert!(done.finished.outcome.flows.iter().all(|flow| flow.status == FlowStatus::Completed), "{text}");
        let job = &done.finished.summary.jobs[0];
        prop_assert_eq!(job.iterations.completed, 2);
        prop_assert!(job.iterations_us.iter().all(|&time| time >= job.compute_us), "{text}");
    }
}
