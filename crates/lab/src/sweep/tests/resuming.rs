//! Folders with earlier results or other writers.

use super::*;

#[test]
fn what_is_finished_is_not_run_again() {
    let lab = Lab::new(&GRID, 2);
    let plan = lab.study.plan(1).unwrap();
    let whole = lab.run("whole");
    let folder = lab.path("out");
    let stopped = Notes {
        stop_after: Some(3),
        ..Notes::default()
    };
    let ran = lab.job(&plan, &folder).run(&stopped).unwrap();
    assert_eq!((ran.completed, ran.left), (3, 5));
    assert!(
        results(&folder)
            .lines()
            .filter(|line| line.contains(",missing,"))
            .count()
            == 5
    );
    // State after a kill: a missing row, and an unfinished folder and row.
    let lost = stopped.made()[0].clone();
    fs::remove_file(folder.join(format!("rows/{lost}.json"))).unwrap();
    let half = folder.join(format!("runs/.{lost}.partial-99999-0"));
    fs::create_dir(&half).unwrap();
    fs::write(half.join("summary.json"), "{").unwrap();
    fs::write(folder.join(format!("rows/.{lost}.json.partial-99999-1")), "{").unwrap();
    // Another process' business.
    fs::create_dir(folder.join("runs/.0123456789.partial-99999-0")).unwrap();
    let notes = Notes::default();
    let ran = lab.job(&plan, &folder).run(&notes).unwrap();
    assert_eq!((ran.there, ran.completed), (2, 6));
    let made = notes.made();
    assert!(made.contains(&lost));
    assert!(
        stopped
            .made()
            .iter()
            .filter(|id| **id != lost)
            .all(|id| !made.contains(id))
    );
    assert_eq!(results(&folder), whole);
    assert_eq!(names(&folder.join("runs")).len(), 8 + 1);
    assert_eq!(names(&folder.join("rows")).len(), 8);
    // A damaged row counts as none.
    fs::write(folder.join(format!("rows/{lost}.json")), "").unwrap();
    let notes = Notes::default();
    lab.job(&plan, &folder).run(&notes).unwrap();
    assert_eq!(notes.made(), std::slice::from_ref(&lost));
    // A loss of power leaves names without a content.
    fs::write(folder.join(format!("runs/{lost}/summary.json")), "").unwrap();
    let notes = Notes::default();
    lab.job(&plan, &folder).run(&notes).unwrap();
    assert_eq!(notes.made(), [lost]);
    assert_eq!(results(&folder), whole);
}

#[test]
fn a_scenario_that_changes_meanwhile_stops_the_sweep() {
    let lab = Lab::new(&GRID, 1);
    let plan = lab.study.plan(1).unwrap();
    fs::write(lab.path("tiny.toml"), TINY.replace("hosts = 3", "hosts = 4")).unwrap();
    let error = lab
        .job(&plan, &lab.path("out"))
        .run(&Notes::default())
        .unwrap_err();
    assert!(
        error.to_string().contains("has changed since the sweep started"),
        "{error}"
    );
    assert!(names(&lab.path("out/rows")).is_empty());
}

#[test]
fn another_plan_in_the_same_folder() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 2);
    lab.run("out");
    let folder = lab.path("out");
    // One that lacks some of these runs would replace the tables of the other.
    let before = results(&folder);
    let mut other = lab.study.clone();
    other.overrides.over = vec!["cc.scheme=hpcc,timely".to_string()];
    let plan = other.plan(1).unwrap();
    let job = Job {
        study: &other,
        ..lab.job(&plan, &folder)
    };
    let error = job.run(&Notes::default()).unwrap_err().to_string();
    assert!(error.contains("a sweep over another grid"), "{error}");
    assert_eq!(results(&folder), before);
    // A larger sweep reuses finished runs.
    let mut larger = lab.study.clone();
    larger.repeats = Some(3);
    let plan = larger.plan(1).unwrap();
    let notes = Notes::default();
    let ran = Job {
        study: &larger,
        ..lab.job(&plan, &folder)
    }
    .run(&notes)
    .unwrap();
    assert_eq!((ran.there, ran.completed), (4, 2));
    // Keeping more of each run requires another run, keeping less does not.
    let all = Job {
        study: &larger,
        keep: Keep::All,
        ..lab.job(&plan, &folder)
    };
    assert_eq!(all.run(&Notes::default()).unwrap().completed, 6);
    assert!(
        folder
            .join("runs")
            .join(&plan.points[0].runs[0])
            .join("series.parquet")
            .is_file()
    );
    let less = Job {
        study: &larger,
        ..lab.job(&plan, &folder)
    };
    assert_eq!(less.run(&Notes::default()).unwrap().there, 6);
    // Starting again is possible, and the only option for another version or scenario.
    let forced = Job {
        study: &larger,
        force: true,
        ..lab.job(&plan, &folder)
    };
    assert_eq!(forced.run(&Notes::default()).unwrap().completed, 6);
    for (from, to, expected) in [
        (
            "\"version\": \"",
            "\"version\": \"9",
            "holds a sweep by version 90.",
        ),
        (
            "\"scenario\": \"tiny",
            "\"scenario\": \"other",
            "holds a sweep of `other`",
        ),
    ] {
        let file = folder.join("sweep.json");
        let text = fs::read_to_string(&file).unwrap();
        // The digest is removed, so that this is not taken for an edit.
        let other = text
            .replacen(from, to, 1)
            .replacen("{\n  \"digest\"", "{\n  \"former\"", 1);
        fs::write(&file, other).unwrap();
        let error = less.run(&Notes::default()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("--force"), "{error}");
        fs::write(&file, text).unwrap();
    }
    // Folders other than those of sweeps are left alone.
    let thesis = lab.path("thesis");
    fs::create_dir(&thesis).unwrap();
    fs::write(thesis.join("chapter1.tex"), "years of work").unwrap();
    let forced = Job {
        force: true,
        ..lab.job(&plan, &thesis)
    };
    assert!(forced.run(&Notes::default()).is_err());
    assert_eq!(names(&thesis), ["chapter1.tex"]);
}

#[test]
fn a_whole_sweep_and_its_shards_keep_each_other_away() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 1);
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("out"));
    let open = |shard: &str| store::Store::open(&folder, &plan, shard.parse().unwrap(), false);
    let refused = |shard: &str| open(shard).unwrap_err().to_string();
    let whole = open("1/1").unwrap();
    assert!(refused("1/2").contains("a `paceline sweep` of the whole is running"));
    drop(whole);
    let (_one, _two) = (open("1/2").unwrap(), open("2/2").unwrap());
    assert!(refused("1/2").contains("another `paceline sweep --shard 1/2` is running"));
    assert!(refused("1/1").contains("another `paceline sweep` is running"));
}

#[test]
fn two_at_once_are_refused() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 1);
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("out"));
    let store = store::Store::open(&folder, &plan, Shard::WHOLE, false).unwrap();
    let error = lab.job(&plan, &folder).run(&Notes::default()).unwrap_err();
    assert!(
        error.to_string().contains("another `paceline sweep` is running"),
        "{error}"
    );
    drop(store);
    assert_eq!(
        lab.job(&plan, &folder).run(&Notes::default()).unwrap().completed,
        2
    );
}

/// An edit could assign runs to other points than they were made for.
#[test]
fn an_edited_plan_is_refused_and_so_is_a_row_of_another_version() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 1);
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("out"));
    lab.job(&plan, &folder).run(&Notes::default()).unwrap();
    let collected = || collect(std::slice::from_ref(&folder), &folder, false, false);
    assert!(collected().is_ok());
    let refused = |expected: &str| {
        for error in [
            lab.job(&plan, &folder).run(&Notes::default()).unwrap_err(),
            SweepData::read(&folder).unwrap_err(),
            collected().unwrap_err(),
        ] {
            assert!(error.to_string().contains(expected), "{error}");
        }
    };
    let changed = |file: &std::path::Path, from: &str, to: &str| {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(file, text.replacen(from, to, 1)).unwrap();
        text
    };
    let file = folder.join("sweep.json");
    let text = changed(&file, "\"dctcp\"", "\"dcqcn\"");
    refused("sweep.json was edited");
    fs::write(&file, text).unwrap();
    let row = folder
        .join("rows")
        .join(format!("{}.json", plan.points[0].runs[0]));
    changed(&row, crate::identity::version(), "0.0.1");
    refused("was edited");
    changed(&row, "{\n  \"digest\"", "{\n  \"former\"");
    refused("is by version 0.0.1");
    let mixed = collect(std::slice::from_ref(&folder), &folder, true, false).unwrap();
    assert!(
        mixed.tables.plan().version.starts_with("0.0.1, "),
        "{}",
        mixed.tables.plan().version
    );
}
