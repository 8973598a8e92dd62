use paceline_kernel::rng::Purpose;
use paceline_lab::run::{Resources, execute_on};
use paceline_scenario::{Overrides, load_text};

use super::*;
use crate::search::{Messages, Shape};

/// Runs 64 flows to one host in a network that `change` modifies.
pub(crate) fn ran(change: impl Fn(&mut Network)) -> (Network, Experience) {
    let mut network = Network::plain(Shape::Star(64));
    change(&mut network);
    let overrides = Overrides {
        scheme: Some("decc".into()),
        seed: Some(5),
        ..Overrides::default()
    };
    let input = load_text("drawn", &network.scenario(), &overrides).unwrap();
    let finished = execute_on(&input, Resources::ONE_THREAD, &mut |_| {
        paceline_lab::run::Control::Continue
    });
    let finished = finished.unwrap();
    let experience = Experience::of(&input, &finished.summary, &finished.flows).unwrap();
    (network, experience)
}

/// The experience of a run in one of the search's networks describes that network.
#[test]
fn what_was_met_is_the_network_of_the_run() {
    for change in [
        (|_: &mut Network| ()) as fn(&mut Network),
        |network| {
            (network.gbps, network.delay_us, network.mtu, network.buffer) = (800.0, 5.0, 4000, 3_000_000);
        },
        |network| network.late = 0.5,
        |network| network.shape = Shape::AllToAll(4, 3),
        |network| (network.shape, network.delay_us) = (Shape::LeafSpine(40), 1.0),
    ] {
        let (network, experience) = ran(change);
        let met = &experience.network;
        let again = met.network(met.flows.max);
        assert_eq!(again.shape, network.shape);
        assert_eq!(
            (again.gbps, again.mtu, again.buffer, again.pfc),
            (network.gbps, network.mtu, network.buffer, false)
        );
        assert!(
            (again.delay_us - network.delay_us).abs() < 0.02,
            "{network:?} {met:?}"
        );
        assert!((met.late - network.late).abs() < 0.05, "{met:?}");
        let went = &experience.result;
        assert!(
            went.goodput > 0.5 && went.goodput < 1.01 && went.p99_us > 4.0,
            "{went:?}"
        );
        assert!(went.jain > 0.3 && went.cost > 0.5, "{went:?}");
    }
}

/// Experience with messages draws messages in every second network; endless flows stay endless.
#[test]
fn messages_are_met_as_messages() {
    let (_, endless) = ran(|_| ());
    assert_eq!(endless.network.message, None);
    assert_eq!(endless.network.messages(8), None);
    let (_, met) = ran(|network| network.messages = Some(Messages::AtOnce(64_000)));
    assert_eq!(met.network.message, Some(64_000));
    assert!(
        met.summary().contains("flows of 64000 B to a host"),
        "{}",
        met.summary()
    );
    let gathered = Gathered {
        each: vec![met.clone()],
        ..Gathered::default()
    };
    let drawn = gathered.draw(&mut Rng::stream(1, Purpose::Training, 0), 6, MOST_FLOWS);
    let tried = gathered.trials(18, MOST_FLOWS);
    for networks in [&drawn, &tried] {
        let messages = networks.iter().filter(|network| network.messages.is_some());
        assert!((3..=9).contains(&messages.count()), "{networks:?}");
        assert!(networks.iter().all(|network| network.resolve(1).is_ok()));
    }
    // Large messages count as endless flows; sizes of many small ones are limited to save time.
    let mut large = met.network;
    large.message = Some(16_000_000);
    assert_eq!(large.messages(8), None);
    large.message = Some(1_000_000);
    let Some(Messages::AtOnce(bytes)) = large.messages(8192).and_then(|network| network.messages) else {
        panic!("{large:?}");
    };
    assert_eq!(bytes, 1_000_000_000 / 8192);
}

#[test]
fn flows_under_way_are_counted_by_time() {
    // Two flows from 0 to 10, one of them until 40; three more from 20 to 30.
    let one = vec![
        (0, 1),
        (10, -1),
        (0, 1),
        (40, -1),
        (20, 1),
        (30, -1),
        (20, 1),
        (30, -1),
        (20, 1),
        (30, -1),
    ];
    let spread = met::spread_of([one].into_iter());
    assert_eq!((spread.p10, spread.p50, spread.p90, spread.max), (1, 1, 4, 4));
    // A flow that ends when the next starts counts as one at a time.
    let spread = met::spread_of([vec![(0, 1), (10, -1), (10, 1), (20, -1)]].into_iter());
    assert_eq!((spread.p10, spread.max), (1, 1));
}

#[test]
fn files_are_read_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er");
    let (_, experience) = ran(|_| ());
    let file = experience.write(&path).unwrap();
    assert_eq!(
        experience.write(&path).unwrap(),
        file,
        "the same run replaces its own"
    );
    let gathered = Gathered::read(&path).unwrap();
    assert_eq!(gathered.each, std::slice::from_ref(&experience));
    assert!(gathered.warnings.is_empty());
    fs::write(path.join("note.txt"), "x").unwrap();
    // Starts are spread over 1 ms, so there are fewer flows at first.
    let low = experience.network.flows.p10;
    let mut many = experience;
    many.network.flows.max = 20_000;
    many.run.seed = 6;
    many.write(&path).unwrap();
    let more = Gathered::read(&path).unwrap();
    assert_ne!(more.sha256, gathered.sha256);
    assert_eq!(more.each.len(), 2);
    assert!(more.warnings.iter().any(|text| text.contains("at most 8192")));
    assert!(
        more.warnings
            .iter()
            .any(|text| text.contains("note.txt is not read"))
    );
    let drawn = more.draw(&mut Rng::stream(1, Purpose::Training, 0), 6, MOST_FLOWS);
    let flows: Vec<u32> = drawn.iter().map(Network::flows).collect();
    assert!(
        flows.iter().all(|&flows| (low..=8192).contains(&flows)),
        "{flows:?}"
    );
    let trials = more.trials(18, 32);
    assert_eq!(trials.len(), 18);
    assert!(
        trials.iter().all(|network| (low..=32).contains(&network.flows())),
        "{trials:?}"
    );
}

/// Networks with pauses get enough headroom, regardless of the recorded buffer.
#[test]
fn networks_that_pause_can_be_run() {
    let (_, mut experience) = ran(|_| ());
    experience.network.pfc = true;
    for (gbps, base_rtt_us) in [(10.0, 3.0), (400.0, 8.1), (800.0, 100.0)] {
        for both_ways in [false, true] {
            for links in [2, 4] {
                experience.network = Met {
                    gbps,
                    base_rtt_us,
                    both_ways,
                    links,
                    ..experience.network
                };
                let network = experience.network.network(70);
                let run = network.resolve(1).unwrap().run;
                assert!(matches!(run.switch.flow_control, FlowControl::Pfc(_)));
                assert!(
                    paceline_fabric::Simulation::new((*run).clone()).is_ok(),
                    "{network:?}"
                );
            }
        }
    }
}

#[test]
fn damaged_files_are_refused() {
    let (_, experience) = ran(|_| ());
    let text = serde_json::to_string_pretty(&experience).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let refused = |content: &str| {
        fs::write(path.join("a.json"), content).unwrap();
        Gathered::read(path).unwrap_err().to_string()
    };
    let cut = &text[..text.len() / 2];
    for (content, expected) in [
        (
            String::new(),
            "it is empty; expected a file as `paceline run --upload` writes it",
        ),
        (cut.to_string(), "EOF while parsing"),
        ("[1, 2]".to_string(), "expected"),
        (text.replace("\"gbps\": 400.0", "\"gbps\": NaN"), "line"),
        (text.replace("\"gbps\": 400.0", "\"gbps\": null"), "expected f64"),
        (
            text.replace("\"gbps\": 400.0", "\"gbps\": -1"),
            "`network.gbps` is -1; expected 0.001 to 100000",
        ),
        (
            text.replace("\"gbps\": 400.0", "\"gbps\": 99999")
                .replace("\"base_rtt_us\": ", "\"base_rtt_us\": 99"),
            "in packets of network.mtu` is",
        ),
        (
            text.replace("\"links\": 2", "\"links\": 7"),
            "`network.links` is 7; expected 2 to 4",
        ),
        (
            text.replace("\"format\": 1", "\"format\": 2"),
            "`format` is 2; expected 1",
        ),
        (text.replace("\"pfc\"", "\"pcf\""), "unknown field `pcf`"),
        (
            text.replace(paceline_lab::version(), "0.0.9"),
            "was recorded by version 0.0.9",
        ),
    ] {
        let message = refused(&content);
        assert!(message.contains(expected), "{expected}: {message}");
        assert!(message.contains("a.json"), "{message}");
    }
}
