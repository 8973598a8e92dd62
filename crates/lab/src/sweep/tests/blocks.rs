//! Blocks for workers, and the side that owns the folder.

use super::super::block::BlockPoint;
use super::*;

fn dispatch(lab: &Lab, folder: &Path) -> Dispatch {
    let plan = lab.study.plan(1).unwrap();
    let write = lab.job(&plan, folder).write;
    let how = (Shard::WHOLE, Keep::Summary, false);
    Dispatch::open(lab.study.clone(), plan, folder.to_path_buf(), how, write).unwrap()
}

/// Makes all blocks of a sweep, in this folder or in one of their own; returns the number of runs of each.
fn work(lab: &Lab, mine: &mut Dispatch, seconds: f64, shared: bool) -> Vec<usize> {
    let errand: Errand = serde_json::from_str(&serde_json::to_string(&mine.errand()).unwrap()).unwrap();
    let write = lab.job(mine.plan(), mine.folder()).write;
    let mut sizes = Vec::new();
    while let Some(block) = mine.take(seconds) {
        let text = serde_json::to_string(&block).unwrap();
        let block: Vec<BlockPoint> = serde_json::from_str(&text).unwrap();
        sizes.push(block.iter().map(|point| point.runs.len()).sum());
        let apart = tempfile::tempdir().unwrap();
        let folder = if shared { mine.folder() } else { apart.path() };
        let ran = errand
            .make(&lab.study, &block, folder, write, &Notes::default())
            .unwrap();
        if !shared {
            for id in &ran.ended {
                let run = apart.path().join("runs").join(id);
                let files = names(&run).into_iter();
                let files: Vec<(String, Vec<u8>)> = files
                    .map(|name| (name.clone(), fs::read(run.join(name)).unwrap()))
                    .collect();
                let row = fs::read_to_string(apart.path().join(format!("rows/{id}.json"))).unwrap();
                mine.accept(&row, &files).unwrap();
            }
        }
        mine.ended(&block, &ran, ran.wall_s).unwrap();
    }
    sizes
}

#[test]
fn blocks_give_the_results_of_one_process() {
    let lab = Lab::new(&GRID, 3);
    let whole = lab.run("whole");
    for (number, (seconds, shared)) in [(1e-9, true), (1e-9, false), (0.01, true), (1e3, false)]
        .into_iter()
        .enumerate()
    {
        let folder = lab.path(&number.to_string());
        let mut mine = dispatch(&lab, &folder);
        assert_eq!(mine.counts(), (12, 0));
        let sizes = work(&lab, &mut mine, seconds, shared);
        assert_eq!(sizes.iter().sum::<usize>(), 12);
        match seconds {
            1e3 => assert_eq!(sizes.len(), 1),
            1e-9 => assert_eq!(sizes.len(), 12),
            _ => {}
        }
        assert_eq!(mine.missing(), []);
        mine.close();
        assert_eq!(results(&folder), whole);
        assert_eq!(names(&folder.join("runs")), names(&lab.path("whole/runs")));
    }
}

/// The first seed goes ahead if seeds do not fit in one block, and where it shows that nothing is random the others are
/// no tasks.
#[test]
fn seeds_without_effect_are_made_by_the_owner() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 4);
    let path = lab.path("tiny.toml");
    fs::write(&path, TINY.replace("start-jitter = \"10us\"\n", "")).unwrap();
    let folder = lab.path("blocks");
    let mut mine = dispatch(&lab, &folder);
    let sizes = work(&lab, &mut mine, 1e-9, false);
    assert_eq!(sizes, [1, 1]);
    assert_eq!(mine.missing(), []);
    mine.close();
    assert_eq!(results(&folder), lab.run("whole"));
}

#[test]
fn what_is_finished_is_in_no_block_again() {
    let lab = Lab::new(&GRID, 2);
    let folder = lab.path("blocks");
    let mut mine = dispatch(&lab, &folder);
    let block = mine.take(1e-9).unwrap();
    let errand = mine.errand();
    let write = lab.job(mine.plan(), &folder).write;
    let make = || errand.make(&lab.study, &block, &folder, write, &Notes::default());
    let ran = make().unwrap();
    assert_eq!((ran.ended.len(), ran.failed), (1, 0));
    assert!(ran.packet_hops > 0);
    // A task that runs twice finds its row.
    let again = make().unwrap();
    assert_eq!((again.ended, again.packet_hops), (ran.ended, 0));
    assert_eq!(mine.missing().len(), 7);
    mine.close();
    let mut mine = dispatch(&lab, &folder);
    assert_eq!(mine.counts(), (7, 1));
    work(&lab, &mut mine, 1e3, true);
    assert_eq!(mine.missing(), []);
}

#[test]
fn what_does_not_fit_is_refused() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 2);
    let folder = lab.path("blocks");
    let mut mine = dispatch(&lab, &folder);
    let block = mine.take(1e-9).unwrap();
    let errand = mine.errand();
    let write = lab.job(mine.plan(), &folder).write;
    let apart = lab.path("apart");
    fs::create_dir(&apart).unwrap();
    let other = Errand {
        version: "9.9.9".into(),
        ..errand.clone()
    };
    let error = other.make(&lab.study, &block, &apart, write, &Notes::default());
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains("the sweep is by version 9.9.9: install the same"),
        "{text}"
    );
    // A scenario that is another one there.
    let changed = lab.path("changed.toml");
    fs::write(&changed, TINY.replace("hosts = 3", "hosts = 4")).unwrap();
    let study = Study {
        input: changed.display().to_string(),
        ..lab.study.clone()
    };
    let error = errand.make(&study, &block, &apart, write, &Notes::default());
    assert!(error.unwrap_err().to_string().contains("has changed"));
    // One that is not there has no row, and the owner, which can read it, says so.
    let study = Study {
        input: lab.path("missing.toml").display().to_string(),
        ..lab.study.clone()
    };
    let ran = errand
        .make(&study, &block, &apart, write, &Notes::default())
        .unwrap();
    assert_eq!((ran.ended.len(), ran.unreadable.len()), (0, 1));
    let text = mine.ended(&block, &ran, 0.0).unwrap_err().to_string();
    assert!(text.starts_with("a worker cannot read the scenario: "), "{text}");
    // Rows that a worker has damaged, or that are of another sweep, and files outside the folder.
    errand
        .make(&lab.study, &block, &apart, write, &Notes::default())
        .unwrap();
    let id = &block[0].runs[0].1;
    let row = fs::read_to_string(apart.join(format!("rows/{id}.json"))).unwrap();
    let refused = |row: &str, files: &[(String, Vec<u8>)]| mine.accept(row, files).unwrap_err().to_string();
    assert!(refused("{", &[]).contains("a damaged row"));
    assert!(refused(&row.replace("\"drops\": 0", "\"drops\": 1"), &[]).contains("digest does not fit"));
    let outside = [("../escaped".to_string(), Vec::new())];
    assert!(refused(&row, &outside).contains("a file with the name `../escaped`"));
    let digest = row.lines().find(|line| line.contains("\"digest\"")).unwrap();
    let other = row
        .replace(id, "00000000000000000000")
        .replacen(&format!("{digest}\n"), "", 1);
    assert!(refused(&other, &[]).contains("not of this sweep"));
    assert_eq!(names(&folder.join("rows")).len(), 0);
}
