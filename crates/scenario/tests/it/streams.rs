//! Streamed flows equal the list that they replace.

use paceline_fabric::spec::FlowSpec;
use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, Resolved, load_text};

fn scenario(workloads: &str) -> String {
    format!("duration = '2ms'\n[topology.fat-tree]\nk = 4\n{workloads}\n[cc]\nscheme = 'hpcc'\n")
}

const POISSON: &str = "[[workload]]\nlabel = 'web'\npoisson = { load = 0.4, sizes = 'websearch' }\n";
const INCASTS: &str =
    "[[workload]]\npriority = 4\nincast-poisson = { load = 0.1, fan-in = 5, size = '20KB', to = '1ms' }\n";
const FIXED: &str =
    "[[workload]]\nlabel = 'short'\npoisson = { load = 0.01, sizes = [{ size = '1KB', share = 1.0 }] }\n";

/// Workloads that need no stream; some flows start together with others, some after the end of the run.
const TOLD: &str = "[[workload]]\nlabel = 'all'\nstart-jitter = '1us'\npermutation = { size = '1MB' }\n[[workload]]\n\
    incast = { fan-in = 3, receiver = 2, size = '9KB', rounds = 4, period = '700us' }\n[[workload]]\npriority = 5\n\
    flows = [{ src = 4, dst = 1, size = '5KB', start = '3ms' }, { src = 5, dst = 1, size = '5KB' }]\n";

fn resolve(workloads: &str, streams: bool) -> Resolved {
    let overrides = Overrides {
        streams,
        ..Overrides::default()
    };
    load_text("test.toml", &scenario(workloads), &overrides).unwrap()
}

#[test]
fn a_stream_is_its_list() {
    for workloads in [
        POISSON.to_string(),
        INCASTS.to_string(),
        [POISSON, INCASTS, FIXED].concat(),
        [INCASTS, FIXED, POISSON].concat(),
        [TOLD, POISSON].concat(),
        [POISSON, TOLD, INCASTS].concat(),
    ] {
        let (list, stream) = (resolve(&workloads, false), resolve(&workloads, true));
        let arrivals = stream.run.arrivals.as_ref().unwrap();
        let drawn: Vec<FlowSpec> = arrivals.flows(stream.seed).collect();
        assert!(drawn.len() > 50 && drawn == list.run.flows);
        assert!(list.run.arrivals.is_none() && stream.run.flows.is_empty());
        assert_eq!(stream.run.flow_count(), list.run.flows.len());
        assert_eq!(stream.run.first_start(), list.run.first_start());
        assert_eq!(stream.run.last_start(), list.run.last_start());
        // Nothing else differs, and the stream can be written and read.
        assert_eq!((&stream.toml, &stream.run.labels), (&list.toml, &list.run.labels));
        let text = toml::to_string(&*stream.run).unwrap();
        assert!(toml::from_str::<paceline_fabric::RunSpec>(&text).unwrap() == *stream.run);
    }
}

/// Flows with dependencies or jitter, or without any random ones, are listed even if a stream is requested.
#[test]
fn what_cannot_stream_is_a_list() {
    let jittered = POISSON.replace("label", "start-jitter = '1us'\nlabel");
    let waiting = [POISSON, "[[workload]]\nall-gather = { size = '1MB' }\n"].concat();
    let got = "[[workload]]\npermutation = { size = '1MB' }\n".to_string();
    for workloads in [jittered, waiting, got] {
        let (list, stream) = (resolve(&workloads, false), resolve(&workloads, true));
        assert!(stream.run == list.run && !stream.run.flows.is_empty());
    }
}

/// Errors are the same as for lists.
#[test]
fn mistakes_are_told() {
    let late = POISSON.replace("sizes", "from = '3ms', to = '4ms', sizes");
    for streams in [false, true] {
        let overrides = Overrides {
            streams,
            ..Overrides::default()
        };
        let error = load_text("test.toml", &scenario(&late), &overrides).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("every flow starts after the end of the run at 2ms")
        );
    }
}

/// One workload starts after the end of the run, and the other generates nothing before it: no flows, but no error
/// either, streamed or not.
#[test]
fn a_draw_may_be_empty() {
    let late = POISSON.replace("sizes", "from = '3ms', to = '4ms', sizes");
    let rare = POISSON
        .replace("load = 0.4", "load = 0.000001")
        .replace("web'", "rare'");
    let [list, stream] = [false, true].map(|streams| resolve(&[late.as_str(), &rare].concat(), streams));
    assert_eq!((list.run.flow_count(), stream.run.flow_count()), (0, 0));
    assert_eq!(lines(&list.warnings), lines(&stream.warnings));
    let told = lines(&list.warnings);
    assert!(told.iter().any(|text| text.contains("no flows")), "{told:?}");
}

/// Arrivals after the end of the run are not generated, which causes a warning; everything else is unchanged.
#[test]
fn nothing_is_drawn_that_the_run_ends_before() {
    let whole = [POISSON, INCASTS].concat();
    let beyond = whole.replace("to = '1ms'", "from = '1ms', to = '9s'");
    let later = format!(
        "{POISSON}{}",
        INCASTS.replace("to = '1ms'", "from = '3ms', to = '4ms'")
    );
    let alone = resolve(POISSON, true);
    for streams in [false, true] {
        let run = resolve(&beyond, streams).run;
        assert!(run.last_start().unwrap() < run.stop && run.flow_count() > alone.run.flow_count());
        let found = resolve(&later, streams);
        assert_eq!(found.run.flow_count(), alone.run.flow_count());
        let got = "arrivals go on until 4ms, and the run ends at 2ms: those after that are left out";
        assert!(
            lines(&found.warnings).iter().any(|text| text.contains(got)),
            "{:?}",
            lines(&found.warnings)
        );
    }
}
