//! Jobs whose messages inside servers have prices: closed forms, and how close they are to packets.

use paceline_lab::results::{JobTimes, PricedMessages};
use paceline_lab::run::{Control, Finished, execute};
use paceline_scenario::{Overrides, Resolved, WarningKind, load_text};
use proptest::prelude::*;

fn loaded(text: &str) -> Resolved {
    let input = load_text("test.toml", text, &Overrides::default());
    input.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(text: &str) -> Finished {
    execute(&loaded(text), &mut |_| Control::Continue).unwrap()
}

fn job(done: &Finished) -> &JobTimes {
    let [job] = &done.summary.jobs[..] else {
        panic!("{:?}", done.summary.jobs)
    };
    assert_eq!(job.iterations.completed, job.iterations.total);
    job
}

const MODEL: &str = "model = { layers = 2, hidden = 512, heads = 8, vocabulary = 1024 }\n";

/// A star of 8 hosts, of 400 Gbit/s and 200 ns to the switch.
fn star(rest: &str) -> String {
    format!(
        "duration = '10s'\n[topology.star]\nhosts = 8\nrate = '400Gbps'\ndelay = '200ns'\n[network]\nmtu = '4096B'\n\
         [cc]\nscheme = 'none'\n[[job]]\nlabel = 'x'\n{rest}"
    )
}

/// The network of [`star`] without headers: 400 Gbit/s, and twice 200 ns.
const LOCAL: &str = "local = { rate = '400Gbps', latency = '400ns' }\nrules.gpus-per-server = 8\n";

/// A gather of M over a ring of 8 takes seven steps of the latency and M / 8 each.
#[test]
fn a_ring_of_eight_takes_seven_latencies_and_seven_parts() {
    let training = "parallel.tensor = 8\ntraining = { global-batch = 1, sequence = 4096 }\n";
    let text = star(&format!("{MODEL}{training}{LOCAL}"));
    let done = run(&text);
    assert_eq!(done.flows.rows().count(), 0);
    assert_eq!(done.outcome.counters.data_hops, 0);
    let part = 2 * 4096 * 512 / 8;
    let expected = 7.0 * (0.4 + part as f64 / 50_000.0);
    let gather = done
        .summary
        .collectives
        .iter()
        .find(|one| one.label == "x/all-gather");
    let us = gather.unwrap().time_us.unwrap();
    assert!((us - expected).abs() < 0.001, "{us} {expected}");
}

/// What was counted before the run is what it sends, inside servers and between them.
#[test]
fn messages_are_counted_before_the_run() {
    let text = "duration = '1s'\n[topology.rail]\nservers = 4\ngpus = 4\nspines = 1\nserver-rate = '900Gbps'\n\
                [cc]\nscheme = 'dcqcn'\n[[job]]\nlabel = 'x'\n\
                model = { layers = 4, hidden = 64, heads = 4, vocabulary = 512, experts = 8, top-k = 2, expert-ffn = 64 }\n\
                parallel = { tensor = 2, pipeline = 2, expert = 4 }\n\
                training = { global-batch = 8, sequence = 64, experts-skew = 1.0 }\niterations = 2\n";
    let priced = format!("{text}local = {{ rate = '900Gbps' }}\n");
    let input = loaded(&priced);
    let messages = input.jobs[0].local.unwrap().messages;
    let done = run(&priced);
    let sent = job(&done).priced.unwrap();
    assert_eq!(
        sent,
        PricedMessages {
            messages: 2 * messages.inside.messages,
            bytes: 2 * messages.inside.bytes
        }
    );
    let flows: u64 = done.flows.rows().map(|flow| flow.size_bytes).sum();
    assert_eq!(done.flows.rows().count() as u64, 2 * messages.between.messages);
    assert_eq!(flows, 2 * messages.between.bytes);
    // All messages of hosts of one server are priced, those of experts as well.
    assert!(done.flows.rows().all(|flow| flow.src / 4 != flow.dst / 4));
    assert!(messages.inside.messages > 0 && messages.between.messages > 0);
    let headline = job(&done).headline();
    let said = format!("{} messages inside servers", sent.messages);
    assert!(headline.contains(&said), "{headline}");
    // The number of rings changes no sum of bytes but for rounding.
    let packets: u64 = run(text).flows.rows().map(|flow| flow.size_bytes).sum();
    let all = sent.bytes + flows;
    assert!(packets.abs_diff(all) < all / 50, "{packets} {all}");
    assert_eq!(job(&run(text)).priced, None);
}

#[test]
fn prices_that_no_message_has_are_said_to_have_no_effect() {
    let text = star(&format!(
        "{MODEL}parallel.data = 8\ntraining = {{ global-batch = 8, sequence = 64 }}\n\
         local = {{ rate = '400Gbps' }}\nrules.gpus-per-server = 1\n"
    ));
    let input = loaded(&text);
    let said = input
        .warnings
        .iter()
        .find(|one| one.id == WarningKind::UnusedSetting);
    assert!(said.unwrap().text.contains("sends no messages inside servers"));
}

/// Traces of other formats have prices, too.
#[test]
fn a_trace_has_prices() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../traces/tests/data/goal/dissemination_16.goal"
    );
    let text = format!(
        "duration = '1s'\n[topology.star]\nhosts = 16\n[cc]\nscheme = 'none'\n[[job]]\ngoal = '{folder}'\n\
         local = {{ rate = '900Gbps' }}\nrules.gpus-per-server = 4\n"
    );
    let done = run(&text);
    let priced = job(&done).priced.unwrap();
    // Rounds of 1 and 2 stay in a server, but for its last ranks: 3 and 2 of 4.
    assert_eq!(priced.messages, 4 * (3 + 2));
    assert_eq!(done.flows.rows().count() as u64 + priced.messages, 64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Where packets have a switch between all ranks, a job with prices takes as long but for headers and
    /// acknowledgements (48 and 60 of 4096 bytes), and a packet's time at the switch for each message of the critical
    /// path. With a pipeline, different messages share a port: packets take turns there, and prices keep the order.
    #[test]
    fn prices_agree_with_packets(
        tensor in prop::sample::select(vec![2_u32, 4, 8]),
        pipeline in prop::sample::select(vec![1_u32, 2]),
        sequence in 1..5_u32,
        batch in 1..3_u32,
        schedule in prop::sample::select(vec!["1f1b", "gpipe"]),
    ) {
        prop_assume!(tensor * pipeline <= 8);
        let data = 8 / (tensor * pipeline);
        let training = format!(
            "parallel = {{ tensor = {tensor}, pipeline = {pipeline} }}\n\
             training = {{ global-batch = {}, sequence = {}, schedule = '{schedule}' }}\n",
            batch * data, 256 * sequence
        );
        let packets = run(&star(&format!("{MODEL}{training}")));
        let priced = run(&star(&format!("{MODEL}{training}{LOCAL}")));
        let (with, without) = (job(&packets), job(&priced));
        let [with_us, without_us] = [with, without].map(|job| job.iterations_us[0]);
        let path = with.path.as_ref().unwrap();
        let steps: u64 = path.sums.iter().filter(|one| one.what != "computing").map(|one| one.count).sum();
        let packet_us = 4144.0 * 8.0 / 400e3;
        let turns = if pipeline > 1 { 0.08 } else { 0.0 };
        let most = without_us * (1.0 + (48.0 + 60.0) / 4096.0 + turns) + steps as f64 * packet_us;
        prop_assert!(with_us >= without_us - 0.001, "{} {}", with_us, without_us);
        prop_assert!(with_us <= most, "{} {} {}", with_us, without_us, most);
        prop_assert_eq!(priced.flows.rows().count(), 0);
    }
}
