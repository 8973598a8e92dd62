//! Shards of a sweep, and their merging.

use super::*;

#[test]
fn jobs_and_shards_do_not_matter() {
    let lab = Lab::new(&GRID, 2);
    let plan = lab.study.plan(1).unwrap();
    let one = lab.run("one");
    let (four, apart) = (lab.path("four"), [lab.path("s1"), lab.path("s2"), lab.path("s3")]);
    Job {
        jobs: 4,
        ..lab.job(&plan, &four)
    }
    .run(&Notes::default())
    .unwrap();
    assert_eq!(results(&four), one);
    for (i, folder) in apart.iter().enumerate() {
        let shard = format!("{}/3", i + 1).parse().unwrap();
        let ran = Job {
            shard,
            ..lab.job(&plan, folder)
        }
        .run(&Notes::default())
        .unwrap();
        assert_eq!(ran.completed, [3, 3, 2][i]);
    }
    let all = lab.path("all");
    let collected = collect(&apart, &all, false, false).unwrap();
    assert!(collected.missing.is_empty());
    assert_eq!(fs::read_to_string(all.join("results.csv")).unwrap(), one);
    let parquet = |folder: &Path| fs::read(folder.join("results.parquet")).unwrap();
    assert!(parquet(&all) == parquet(&lab.path("one")));
    assert_eq!(&SweepData::read(&all).unwrap(), collected.tables.whole().unwrap());
    // The merged sweep has no runs left to make.
    let notes = Notes::default();
    let ran = lab.job(&plan, &all).run(&notes).unwrap();
    assert_eq!((ran.there, notes.made().len()), (8, 0));
    // Into one of them: the same.
    collect(&apart, &apart[1], false, false).unwrap();
    assert_eq!(fs::read_to_string(apart[1].join("results.csv")).unwrap(), one);
    assert_eq!(names(&apart[1].join("runs")), names(&all.join("runs")));
}

#[test]
fn what_does_not_belong_together_is_not_collected() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 2);
    let plan = lab.study.plan(1).unwrap();
    let [a, b] = ["a", "b"].map(|name| lab.path(name));
    for (i, folder) in [&a, &b].into_iter().enumerate() {
        let shard = format!("{}/2", i + 1).parse().unwrap();
        Job {
            shard,
            ..lab.job(&plan, folder)
        }
        .run(&Notes::default())
        .unwrap();
    }
    let both = [a.clone(), b.clone()];
    let refused = |folders: &[PathBuf]| {
        collect(folders, &lab.path("all"), false, false)
            .unwrap_err()
            .to_string()
    };
    let with = |folder: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(folder).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        // The digest is removed, so that this is not taken for an edit.
        let other = text
            .replacen(from, to, 1)
            .replacen("{\n  \"digest\"", "{\n  \"former\"", 1);
        fs::write(folder, other).unwrap();
        text
    };
    // Another plan.
    let other = Lab::new(&["cc.scheme=hpcc,none"], 2);
    other.run("out");
    let error = refused(&[a.clone(), other.path("out")]);
    assert!(
        error.contains("their axes differ") && error.contains(&*a.to_string_lossy()),
        "{error}"
    );
    // Another version.
    let sweep = b.join("sweep.json");
    let text = with(
        &sweep,
        &format!("\"version\": \"{}\"", plan.version),
        "\"version\": \"9.9.9\"",
    );
    let error = refused(&both);
    assert!(
        error.contains("9.9.9") && error.contains(&plan.version),
        "{error}"
    );
    assert!(
        error.contains(&*a.to_string_lossy()) && error.contains(&*b.to_string_lossy()),
        "{error}"
    );
    let mixed = collect(&both, &lab.path("mixed"), true, false).unwrap();
    assert_eq!(mixed.tables.whole().unwrap().rows.len(), 4);
    assert_eq!(
        mixed.tables.whole().unwrap().plan.version,
        format!("{}, 9.9.9", plan.version)
    );
    fs::write(&sweep, text).unwrap();
    // The same run with another result.
    collect(&both, &a, false, false).unwrap();
    let id = &plan.points[0].runs[1];
    with(
        &b.join(format!("rows/{id}.json")),
        "\"completed\": 2",
        "\"completed\": 1",
    );
    let error = refused(&both);
    assert!(error.contains("different results for the same run"), "{error}");
    // No sweep at all, and a damaged row.
    assert!(refused(&[lab.path("nowhere")]).contains("is not the folder of a sweep"));
    fs::write(b.join(format!("rows/{id}.json")), "{").unwrap();
    assert!(refused(&both).contains("is damaged"), "{}", refused(&both));
    assert!(!lab.path("all").exists());
}

#[test]
fn what_is_missing_is_named() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 2);
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("out"));
    let shard = "1/2".parse().unwrap();
    Job {
        shard,
        ..lab.job(&plan, &folder)
    }
    .run(&Notes::default())
    .unwrap();
    let collected = collect(std::slice::from_ref(&folder), &folder, false, false).unwrap();
    assert_eq!(collected.missing, [(0, 6), (1, 6)]);
    assert_eq!(collected.tables.whole().unwrap().describe(1), "cc.scheme=dctcp");
}

/// Several parts may create the folder: each finds a sweep's folder, or only the files that a new one has.
#[test]
fn parts_may_begin_at_the_same_time() {
    let lab = Lab::new(&GRID, 1);
    let plan = lab.study.plan(1).unwrap();
    for round in 0..200 {
        let folder = lab.path(&format!("round-{round}"));
        let barrier = std::sync::Barrier::new(4);
        let open = |part: usize| {
            let shard = format!("{part}/4").parse().unwrap();
            barrier.wait();
            store::Store::open(&folder, &plan, shard, false).map(drop)
        };
        std::thread::scope(|scope| {
            let parts: Vec<_> = (1..=4)
                .map(|part| {
                    let open = &open;
                    scope.spawn(move || open(part))
                })
                .collect();
            for part in parts {
                part.join().unwrap().unwrap();
            }
        });
    }
}
