//! Warnings about iterations: times that still rise, percentiles over few of them, and queue pairs per message.

use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::run::{Control, execute};
use paceline_lab::stats::{Rise, rise};
use paceline_scenario::{Overrides, WarningKind, load_text};

/// Returns the warnings about iterations in a run of four hosts.
fn got(rest: &str) -> Vec<String> {
    let text = format!("duration = '50ms'\n[topology.star]\nhosts = 4\n[cc]\nscheme = 'none'\n{rest}\n");
    let input = load_text("test.toml", &text, &Overrides::default()).unwrap();
    let done = execute(&input, &mut |_| Control::Continue).unwrap();
    let about = [
        WarningKind::RisingIterations,
        WarningKind::FewIterations,
        WarningKind::QueuePairPerMessage,
    ];
    let warnings = done.summary.warnings.into_iter();
    let ours = warnings.filter(|warning| about.contains(&warning.id));
    ours.map(|warning| warning.text).collect()
}

/// Returns a job one of whose hosts starts ever more flows to another host: one more every 80 us.
fn slowed(iterations: u32) -> String {
    let mut text = format!(
        "[[job]]\nlabel = 'slowed'\nhosts = '1..2'\niterations = {iterations}\n\
         [[job.step]]\ncompute = '10us'\nall-gather = {{ size = '400KB' }}\n"
    );
    for i in 0..iterations {
        let start = 80 * i;
        text += &format!(
            "[[workload]]\nincast = {{ senders = [2], receiver = 3, size = '4MB', start = '{start}us' }}\n"
        );
    }
    text
}

#[test]
fn iterations_that_take_longer_and_longer_are_told_of() {
    let rising = got(&slowed(12));
    assert!(
        rising[0].starts_with("The iterations of `slowed` take longer and longer"),
        "{rising:?}"
    );
    assert!(rising[0].contains("over the last 6 of 12"), "{rising:?}");
    let steady =
        "[[job]]\nlabel = 'a'\nhosts = 'all'\niterations = 30\n[[job.step]]\nall-reduce = { size = '100KB' }";
    assert_eq!(got(steady), Vec::<String>::new());
}

#[test]
fn percentiles_of_few_iterations_are_told_of() {
    let few = got(
        "[[job]]\nlabel = 'a'\nhosts = '1..2'\niterations = 3\n[[job.step]]\nall-gather = { size = '10KB' }\n\
         [[workload]]\nlabel = 'b'\nall-gather = { size = '10KB', iterations = 4 }\n\
         [[workload]]\nlabel = 'once'\nall-gather = { size = '10KB' }",
    );
    assert_eq!(
        few,
        [
            "The 99th percentiles of iteration times rest on few iterations, and lie between the two largest: `a` (3), \
          `b` (4)."
        ]
    );
}

/// Collectives with several messages per pair of hosts, each on its own queue pair, cause a warning; an all-to-all has
/// only one message per pair.
#[test]
fn queue_pairs_for_each_message_are_told_of() {
    let of = |block: &str| got(&format!("[[workload]]\nlabel = 'sum'\n{block}")).len();
    assert_eq!(
        of("all-reduce = { size = '100KB', connections = 'per-message' }"),
        1
    );
    assert_eq!(of("all-reduce = { size = '100KB' }"), 0);
    assert_eq!(
        of("all-to-all = { size = '100KB', connections = 'per-message' }"),
        0
    );
}

#[test]
fn what_rises_to_the_end_is_found() {
    assert_eq!(
        rise(&[2.1, 5.0, 10.0, 15.3]).map(|rise| rise.over),
        Some(4),
        "few, but steep"
    );
    let line: Vec<f64> = (0..20).map(|i| 2.0 + 0.5 * f64::from(i)).collect();
    assert_eq!(
        rise(&line),
        Some(Rise {
            over: 10,
            from: 7.0,
            to: 11.5
        })
    );
    // One value far off changes nothing of note.
    let mut off = line.clone();
    off[15] = 100.0;
    let found = rise(&off).unwrap();
    assert!(
        (found.from - 7.0).abs() < 0.5 && (found.to - 11.5).abs() < 0.5,
        "{found:?}"
    );
    // Larger and larger: by powers.
    let powers: Vec<f64> = (0..8).map(|i| 1.2_f64.powi(i)).collect();
    assert!(rise(&powers).is_some());
}

#[test]
fn what_stays_or_falls_is_not() {
    assert_eq!(rise(&[]), None);
    assert_eq!(rise(&[1.0, 2.0, 3.0]), None, "too few to tell");
    assert_eq!(rise(&[2.0; 30]), None);
    let falls: Vec<f64> = (0..20).map(|i| 20.0 - f64::from(i)).collect();
    assert_eq!(rise(&falls), None);
    // It starts low and has reached its final level.
    let start = (0..20).map(|i| {
        if i < 8 {
            1.0 + f64::from(i)
        } else {
            9.0 + f64::from(i % 3) / 100.0
        }
    });
    assert_eq!(rise(&start.collect::<Vec<_>>()), None);
    // It rises, by a hundredth in all.
    let flat: Vec<f64> = (0..40).map(|i| 100.0 + 0.025 * f64::from(i)).collect();
    assert_eq!(rise(&flat), None);
    // Alternate values.
    let saw: Vec<f64> = (0..31).map(|i| if i % 2 == 0 { 1.0 } else { 2.0 }).collect();
    assert_eq!(rise(&saw), None);
}

/// Values without a trend that differ by a fifth: reported in fewer than one of twenty runs, for any number of values.
#[test]
fn noise_is_seldom_taken_for_a_rise() {
    for count in [4, 5, 8, 12, 20, 100] {
        let mut rng = Rng::stream(7, Purpose::Workload, count);
        let mut series = || (0..count).map(|_| 1.0 + 0.2 * rng.next_f64()).collect::<Vec<_>>();
        let found = (0..2000).filter(|_| rise(&series()).is_some()).count();
        assert!(found < 100, "{count}: {found} of 2000");
    }
}
