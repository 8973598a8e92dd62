//! Seeds and axes without effect are listed with their reasons, and have no intervals.

use super::*;

/// Runs the study and returns its data with the texts of the notes.
fn sweep(input: &str, over: &[&str], repeats: u32) -> (SweepData, Vec<String>) {
    let tmp = tempfile::tempdir().unwrap();
    let tiny = tmp.path().join("tiny.toml");
    fs::write(&tiny, TINY.replace("start-jitter = \"10us\"\n", "")).unwrap();
    let input = match input {
        "tiny" => tiny.display().to_string(),
        shipped => shipped.to_string(),
    };
    let overrides = Overrides {
        over: over.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    let lab = Lab {
        study: Study::new(input, overrides, Some(repeats)),
        tmp,
    };
    lab.run("out");
    let data = SweepData::read(&lab.path("out")).unwrap();
    let texts: Vec<String> = notes(&data).into_iter().map(|note| note.text).collect();
    let written = fs::read_to_string(lab.path("out/notes.json")).unwrap();
    assert!(
        texts
            .iter()
            .all(|text| written.contains(&text.replace('"', "\\\""))),
        "{written}"
    );
    assert!(
        texts
            .iter()
            .all(|text| super::super::table(&data).contains(text.as_str()))
    );
    (data, texts)
}

fn estimate(data: &SweepData, point: usize, metric: &str) -> Estimate {
    let all = estimates(data, point);
    all.into_iter().find(|(name, _)| name == metric).unwrap().1
}

/// Marks are drawn at random, but two of three schemes do not react to them: for these, five seeds count as one run.
#[test]
fn seeds_that_no_flow_acts_on_are_one_run() {
    let (data, texts) = sweep("incast-16", &["cc.scheme=hpcc,dcqcn,timely"], 5);
    assert_eq!(
        texts,
        [
            "At cc.scheme = hpcc, timely the 5 seeds are one run, without an interval: nothing acts on what is random \
             here, such as which packets are marked."
        ]
    );
    for point in [0, 2] {
        let one = estimate(&data, point, "fct_us.mean");
        assert_eq!((one.n, one.sd, one.ends), (1, None, None));
        assert_eq!(one.note, Some("one run: the seed changes no packet"));
    }
    let dcqcn = estimate(&data, 1, "fct_us.mean");
    assert!(dcqcn.n == 5 && dcqcn.sd > Some(0.0) && dcqcn.ends.is_some() && dcqcn.note.is_none());
    // The marks themselves are five samples; metrics that are zero in all five runs have no interval.
    assert!(estimate(&data, 0, "ecn.ce").ends.is_some());
    let drops = estimate(&data, 1, "drops");
    assert_eq!(
        (drops.n, drops.ends, drops.note),
        (5, None, Some("equal in all runs"))
    );
    let table = super::super::table(&data);
    assert!(!table.contains("±0 ") && !table.contains("±0.000"), "{table}");
    assert_eq!(table.matches("hpcc       1  ").count(), 1, "{table}");
}

#[test]
fn without_chance_the_seeds_are_one_run() {
    let (data, texts) = sweep("tiny", &["workload.burst.incast.size=10KB,20KB"], 3);
    let expected = "The 3 seeds of each point are one run, without an interval: nothing is random here.";
    assert_eq!(texts, [expected]);
    assert_eq!(data.seeds_at(0), Seeds::NothingDrawn);
    assert_eq!(
        estimate(&data, 0, "fct_us.mean").note,
        Some("one run: nothing is random")
    );
    // Without an axis, too.
    let (_, texts) = sweep("tiny", &[], 2);
    assert_eq!(
        texts,
        ["The 2 seeds are one run, without an interval: nothing is random here."]
    );
}

#[test]
fn an_axis_that_changes_nothing_is_told_with_its_reason() {
    // The parameter of another scheme.
    let (_, texts) = sweep("incast-16", &["cc.scheme=hpcc,dctcp", "cc.hpcc.eta=0.5,0.95"], 1);
    assert_eq!(
        texts,
        [
            "`cc.hpcc.eta` changes nothing at cc.scheme = dctcp: the scenarios there do not have this key. All 2 values \
          give the same results."
        ]
    );
    // A threshold that is never reached, and a timeout without a loss.
    let over = [
        "cc.scheme=dctcp",
        "network.ecn.kmax=500KB,600KB",
        "network.rto=1ms,2ms,3ms",
    ];
    let (_, texts) = sweep("tiny", &over, 1);
    assert_eq!(
        texts,
        [
            "`network.ecn.kmax` changes nothing: it is read, but no packet is marked in any of these runs. All 2 values \
             give the same results.",
            "`network.rto` changes nothing: it is read, but no packet is lost in any of these runs. All 3 values give \
             the same results.",
        ]
    );
    // Marks that no scheme reads.
    let (_, texts) = sweep(
        "incast-16",
        &["cc.scheme=timely", "network.ecn.kmax=500KB,600KB"],
        1,
    );
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].contains("`network.ecn.kmax` moves no packet") && texts[0].contains("only cnps, "),
        "{texts:?}"
    );
    // Axes with an effect have no note.
    let (_, texts) = sweep("tiny", &["workload.burst.incast.size=10KB,20KB"], 1);
    assert_eq!(texts, [""; 0]);
}
