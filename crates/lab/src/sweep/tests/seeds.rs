//! Seeds without effect, and warnings about inputs.

use paceline_scenario::warning::Subject;

use super::*;

#[test]
fn seeds_that_change_nothing_are_run_once() {
    let mut lab = Lab::new(&GRID, 3);
    lab.study.overrides.set = vec!["workload.burst.start-jitter=0s".into()];
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("once"));
    let notes = Notes::default();
    let ran = lab.job(&plan, &folder).run(&notes).unwrap();
    assert_eq!((ran.completed, plan.runs().len()), (12, 12));
    // Only the first seeds of the four points were run.
    assert_eq!(notes.watched.lock().unwrap().len(), 4);
    // Made one by one they are the same, to the byte: rows, flows, scenarios.
    let apart = lab.path("apart");
    let mut watched = 0;
    for part in ["2/3", "3/3", "1/3"] {
        let (job, notes) = (
            Job {
                shard: part.parse().unwrap(),
                ..lab.job(&plan, &apart)
            },
            Notes::default(),
        );
        job.run(&notes).unwrap();
        watched += notes.watched.lock().unwrap().len();
    }
    assert!(watched > 4, "{watched}: first seeds came last");
    assert_eq!(results(&folder), results(&apart));
    for id in plan.points.iter().flat_map(|point| &point.runs) {
        for file in ["flows.csv", "scenario.toml"] {
            let read = |of: &Path| fs::read(of.join("runs").join(id).join(file)).unwrap();
            assert_eq!(read(&folder), read(&apart), "{id} {file}");
        }
        let rows = [&folder, &apart].map(|of| SweepData::read(of).unwrap().rows.remove(id).unwrap());
        let [a, b] = rows.map(|row| {
            (
                row.seed,
                row.draws_nothing,
                row.summary.map(|s| (s.seed, s.digest)),
            )
        });
        assert_eq!(a, b);
    }
    // If everything is kept, each run is made.
    let (more, every) = (lab.path("more"), Notes::default());
    let job = Job {
        keep: Keep::All,
        ..lab.job(&plan, &more)
    };
    assert_eq!(job.run(&every).unwrap().completed, 12);
    assert_eq!(every.watched.lock().unwrap().len(), 12);
}

#[test]
fn warnings_about_inputs_are_in_every_row() {
    let mut lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 2);
    lab.study.overrides.set = vec!["cc.timely.t-low=10us".into(), "cc.dctcp.g=0.1".into()];
    let plan = lab.study.plan(1).unwrap();
    // Rows do not have the place.
    let got: Vec<String> = plan
        .input_warnings
        .iter()
        .map(|warning| warning.text.clone())
        .collect();
    // The block of dctcp is there for the second point.
    assert!(
        got.len() == 1 && got[0].contains("[cc.timely] is not used"),
        "{got:?}"
    );
    let folder = lab.path("told");
    lab.job(&plan, &folder).run(&Notes::default()).unwrap();
    let data = SweepData::read(&folder).unwrap();
    assert_eq!(data.rows.len(), 4);
    for row in data.rows.values() {
        let warnings = &row.summary.as_ref().unwrap().warnings;
        let of_input = warnings.iter().filter(|warning| warning.about == Subject::Input);
        assert_eq!(
            of_input.map(|warning| &warning.text).collect::<Vec<_>>(),
            got.iter().collect::<Vec<_>>()
        );
    }
}
