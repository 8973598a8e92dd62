//! Services: pools, requests, and what is refused.

use std::fs;

use paceline_scenario::{Overrides, Resolved, load, load_text};

const POOLS: &str = "prefill = { hosts = '1-2', rate = 1000000 }\ndecode = { hosts = '3-4' }\n";
const REQUESTS: &str = "requests = { rate = 1000, count = 50, prompt = 300, output = 20 }\n";

fn load_service(rest: &str) -> Result<Resolved, String> {
    let text =
        format!("duration = '1s'\ncc.scheme = 'none'\n[topology.star]\nhosts = 8\n[[inference]]\n{rest}\n");
    load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

/// A service that a run writes is the same again, with the same requests.
#[test]
fn a_resolved_service_is_the_same() {
    for service in [
        format!("model = 'llama-3-70b'\n{POOLS}{REQUESTS}"),
        format!("token-size = '70272B'\nnetwork = 'divided'\n{POOLS}{REQUESTS}slo = {{ ttft = '1s' }}\n"),
        format!(
            "model = 'kimi-k2.5'\n{REQUESTS}prefill = {{ ranks = 2, placement = 'random' }}\n\
             decode = {{ ranks = 4, instance = 2, room = 4000 }}\ntransfer = {{ mode = 'push', layers = 61 }}\n"
        ),
    ] {
        let run = load_service(&service).unwrap();
        let again = load_text("again.toml", &run.toml, &Overrides::default()).unwrap();
        assert_eq!((&again.toml, &again.services), (&run.toml, &run.services));
        assert_eq!(again.run, run.run);
    }
}

/// The mean rate of arrivals and the shares of lengths are those that were asked for; bursts arrive together.
#[test]
fn requests_are_as_asked_for() {
    let requests = "requests = { rate = 1000, count = 40000, burst = 4, prompt = [{ tokens = 10, share = 0.25 }, \
                    { tokens = 30, share = 0.75 }], output = 7 }\n";
    let run = load_service(&format!("token-size = '1B'\n{POOLS}{requests}")).unwrap();
    let all = &run.services[0].requests;
    let last = all.last().unwrap().arrival.as_secs_f64();
    assert!((last / 40.0 - 1.0).abs() < 0.03, "{last}");
    let short = all.iter().filter(|request| request.prompt == 10).count();
    assert!((short as f64 / 40_000.0 - 0.25).abs() < 0.01, "{short}");
    assert!(all.iter().all(|request| request.output == 7));
    assert!(
        all.chunks(4)
            .all(|burst| burst.iter().all(|one| one.arrival == burst[0].arrival))
    );
}

#[test]
fn traces_of_requests() {
    let folder = tempfile::tempdir().unwrap();
    let text = |trace: &str| {
        format!(
            "duration = '10s'\ncc.scheme = 'none'\n[topology.star]\nhosts = 8\n[[inference]]\ntoken-size = '1KB'\n{POOLS}\
             requests = {{ trace = '{trace}', start = '1ms' }}\n"
        )
    };
    let scenario = folder.path().join("s.toml");
    let run = |name: &str, content: &str| {
        fs::write(folder.path().join(name), content).unwrap();
        fs::write(&scenario, text(name)).unwrap();
        load(scenario.to_str().unwrap(), &Overrides::default()).map_err(|error| error.to_string())
    };
    let csv = run("a.csv", "output,prompt,arrival_ms\n5,100,2.5\n6,200,1\n").unwrap();
    let json = run(
        "a.jsonl",
        "{\"timestamp\": 1, \"input_length\": 200, \"output_length\": 6, \"hash_ids\": [1]}\n\
         {\"timestamp\": 2.5, \"input_length\": 100, \"output_length\": 5}\n",
    )
    .unwrap();
    assert_eq!(csv.services[0].requests, json.services[0].requests);
    let first = csv.services[0].requests[0];
    assert_eq!(
        (first.arrival.as_ns(), first.prompt, first.output),
        (2_000_000, 200, 6)
    );
    for (content, expected) in [
        ("prompt,output\n1,2\n", "no column `arrival_s`"),
        (
            "arrival_s,prompt,output\n1,2,3\n1,2,x\n",
            "bad.csv:3:1: `x`: expected a number",
        ),
        ("arrival_s,prompt,output\n1,0,2\n", "a prompt of 0 tokens"),
        ("arrival_s,prompt,output\n-1,1,2\n", "an arrival at -1"),
        (
            "{\"timestamp\": 1, \"input_length\": 200}\n",
            "no number `output` or `output_length`",
        ),
        ("", "the trace is empty"),
        ("arrival_s,prompt,output\n", "the service has no requests"),
    ] {
        let said = run("bad.csv", content).unwrap_err();
        assert!(said.contains(expected), "{content}: {said}");
    }
}

#[test]
fn what_is_refused() {
    let whole = format!("model = 'llama-3-70b'\n{POOLS}{REQUESTS}");
    for (from, to, expected) in [
        ("llama-3-70b", "lama-3-70b", "`llama-3-70b`"),
        ("model = 'llama-3-70b'", "", "either a `model` or a `token-size`"),
        (
            "'3-4'",
            "'2-3'",
            "host 2 is in the pool `inference-0/prefill` too",
        ),
        (
            "hosts = '3-4'",
            "hosts = '3-5', instance = 2",
            "the decode pool has 3 GPUs",
        ),
        (
            "hosts = '3-4'",
            "hosts = '3-4', room = 200",
            "room for 200 tokens: the longest request needs 320",
        ),
        (
            "hosts = '3-4'",
            "ranks = 7",
            "7 ranks: there are 6 hosts that no other pool has",
        ),
        (
            "hosts = '3-4'",
            "",
            "a pool has either `hosts`, or `ranks` and a `placement`",
        ),
        ("rate = 1000,", "rate = 0,", "0 requests per second"),
        ("rate = 1000,", "", "have no `rate`"),
        ("prompt = 300", "prompt = 0", "0 tokens"),
        (
            "prompt = 300",
            "prompt = [{ tokens = 3, share = 0.4 }]",
            "add up to 0.4",
        ),
        (
            "prompt = 300",
            "prompt = [{ tokens = 3, share = 1.5 }, { tokens = 4, share = -0.5 }]",
            "a share of 1.5",
        ),
        ("rate = 1000000", "rate = 0", "no tokens per second"),
        (
            "hosts = '3-4'",
            "hosts = '3-4', step = '0s'",
            "a step of decode takes no time",
        ),
        ("model =", "routing = 'lest'\nmodel =", "`least`"),
    ] {
        assert!(whole.contains(from), "{from}");
        let said = load_service(&whole.replace(from, to)).err().unwrap_or_default();
        assert!(said.contains(expected), "{from} -> {to}: {said}");
    }
}
