//! A run gives the same bytes from any working directory, including its own folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{assert_same, command, files};

const RANKS: &str = "num_ranks 2\nrank 0 {\nc: calc 500\ns: send 8b to 1 tag 0\ns requires c\n}\nrank 1 {\nr: recv 8b from 0 tag 0\n}\n";
const LATER: &str =
    "num_ranks 2\nrank 0 {\ns: send 9000b to 1 tag 7\n}\nrank 1 {\nr: recv 9000b from 0 tag 7\n}\n";
const WORKLOAD: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 4 \
     checkpoints: 0 checkpoint_initiates: 0\n1\n\
     layer0\t-1\t100\tALLREDUCE\t8192\t1\tNONE\t0\t1\tNONE\t0\t100\n";
const FLOWS: &str = "src,dst,size_bytes,start_us,label\n1,2,20000,0,table\n3,2,20000,1,table\n";
const SIZES: &str = "1000 0\n2000 50\n30000 100\n";

fn star(hosts: u32, rest: &str) -> String {
    format!("duration = '1ms'\ntopology.star.hosts = {hosts}\nrecord.operations = true\n{rest}")
}

fn data(crate_: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(crate_);
    folder.join("tests/data").join(name)
}

/// Copies the files of a folder, without subfolders.
fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// Runs an input from its folder, from one below, by an absolute path, by a detour, and from the first run's folder.
/// All files are equal to those of the first run.
fn same_from_anywhere(fill: impl FnOnce(&Path), input: &str) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let below = home.join("below");
    let elsewhere = folder.path().join("elsewhere");
    for made in [&below, &elsewhere] {
        fs::create_dir_all(made).unwrap();
    }
    fill(&home);
    let absolute = home.join(input);
    let ways: [(&Path, String); 6] = [
        (&home, input.to_string()),
        (&below, format!("../{input}")),
        (&elsewhere, absolute.display().to_string()),
        (&elsewhere, format!("../home/below/../{input}")),
        (folder.path(), "out-0".to_string()),
        (&elsewhere, "../out-0".to_string()),
    ];
    for (number, (from, named)) in ways.iter().enumerate() {
        let out = folder.path().join(format!("out-{number}"));
        let mut command = command(from);
        command.args(["run", named, "-q", "--out"]).arg(&out);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{named}: {said}");
        assert_same(&folder.path().join("out-0"), &out);
    }
    // No file contains the folder's path.
    let place = folder.path().display().to_string();
    for (name, content) in files(&folder.path().join("out-0")) {
        let is_there = String::from_utf8_lossy(&content).contains(&place);
        assert!(!is_there, "{input}: {}", name.display());
    }
}

#[test]
fn jobs_by_goal() {
    let fill = |home: &Path| {
        fs::write(home.join("a.goal"), RANKS).unwrap();
        fs::write(home.join("b.goal"), LATER).unwrap();
        fs::copy(data("traces", "goal/ping.bin"), home.join("p.bin")).unwrap();
        let text = "cc.scheme = 'dcqcn'\n[[job]]\ngoal = 'a.goal'\nhosts = [1, 2]\n[[job]]\ngoal = 'b.goal'\nhosts = [3, 4]\n\
                    [[job]]\ngoal = 'p.bin'\nhosts = [5, 6]\n[[job]]\ngoal = 'b.goal'\nhosts = [7, 8]\nnetwork = 'loggops'\n";
        fs::write(home.join("s.toml"), star(9, text)).unwrap();
    };
    same_from_anywhere(fill, "s.toml");
}

#[test]
fn jobs_by_chakra() {
    let fill = |home: &Path| {
        copy_all(&data("traces", "chakra/two_sites"), home);
        copy_all(&data("traces", "chakra/broadcast_4"), home);
        let links = data("traces", "chakra/networks/Ring_4npus.yml");
        fs::copy(links, home.join("links.yml")).unwrap();
        let text = "[cc]\nscheme = 'hpcc'\n[[job]]\nchakra = 'm'\nhosts = '1..4'\nrules = { groups = 'groups.json' }\n\
                    [[job]]\nchakra = 'b'\nhosts = '5..8'\n\
                    [[job]]\nchakra = 'b'\nhosts = '9..12'\nnetwork = 'chunks'\nrules = { links = 'links.yml' }\n";
        fs::write(home.join("s.toml"), star(12, text)).unwrap();
    };
    same_from_anywhere(fill, "s.toml");
}

#[test]
fn jobs_by_simai() {
    let fill = |home: &Path| {
        fs::write(home.join("w.txt"), WORKLOAD).unwrap();
        let text = "cc.scheme = 'dcqcn'\n[[job]]\nsimai = 'w.txt'\nhosts = '1..4'\nrules = { gpus-per-server = 2 }\n";
        fs::write(home.join("s.toml"), star(4, text)).unwrap();
    };
    same_from_anywhere(fill, "s.toml");
}

#[test]
fn tables_of_flows_sizes_and_models() {
    let fill = |home: &Path| {
        fs::write(home.join("f.csv"), FLOWS).unwrap();
        fs::write(home.join("sizes.txt"), SIZES).unwrap();
        copy_all(&data("scenario", "policies"), home);
        let text = "[cc]\nscheme = 'policy'\n[cc.policy]\nmodel = 'mlp.json'\n[[workload]]\ntrace = { file = 'f.csv' }\n\
                    [[workload]]\npoisson = { sizes = 'sizes.txt', load = 0.2 }\n";
        fs::write(home.join("s.toml"), star(4, text)).unwrap();
    };
    same_from_anywhere(fill, "s.toml");
}

#[test]
fn configurations_of_other_simulators() {
    let fill = |home: &Path| copy_all(&data("scenario", "c_incast16"), home);
    same_from_anywhere(fill, "hpcc.txt");
}
