//! Builds without guests explain what to install for each of them.

use std::fs;

use super::common::run;

const CONFIG: &str = "ENABLE_QCN 1\nUSE_DYNAMIC_PFC_THRESHOLD 0\nENABLE_ROOTECN 1\nENABLE_ROOTECNCC 1\nROOTECN_INTERVAL 97\n\
                      TOPOLOGY_FILE t\nFLOW_FILE f\n";

#[test]
fn what_is_left_out_is_said_with_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let star = "[topology.star]\nhosts = 3\nrate = '100Gbps'\n[[workload]]\nincast = { receiver = 1, fan-in = 2, size = '1KB' }\n[cc]\nscheme = 'hpcc'\n";
    for fidelity in ["bolt-ns3", "tcd-ns3", "ib-omnet", "uet-htsim"] {
        let name = fidelity.split('-').next().unwrap();
        write(
            &format!("{name}.toml"),
            &format!("fidelity = '{fidelity}'\n{star}"),
        );
        write(
            &format!("{name}-key.toml"),
            &format!("{star}[parity.{fidelity}]\nlog = true\n"),
        );
    }
    write("star.toml", star);
    write("config.txt", CONFIG);
    write("t", "3 1 2\n2\n0 2 40Gbps 0.004ms 0\n1 2 40Gbps 0.004ms 0\n");
    write("f", "1\n0 1 3 64000 2.0 2.5\n");
    for (feature, args) in [
        ("training", "train pidnn --scenario star.toml"),
        ("training", "forest prove decc-tree-100"),
        ("training", "run star.toml --upload met"),
        ("training", "explain adpg-tree-100 --page x.html"),
        ("parity", "run star.toml --fidelity uet-htsim"),
        ("parity", "run bolt.toml"),
        ("parity", "check tcd.toml"),
        ("parity", "run ib-key.toml"),
        ("parity", "sweep uet.toml --over network.buffer=8MB,9MB"),
        ("parity", "run infiniband-demo"),
        ("parity", "run config.txt"),
        ("parity", "run star.toml --set record.measures=['ib-steps']"),
        ("parity", "reproduce bolt-b1"),
        ("parity", "reproduce tcd-victims"),
        ("parity", "reproduce ib-traces --check"),
        ("parity", "explain ib-equal"),
        ("parity", "explain parity.tcd-ns3.log"),
        ("parity", "explain ib_steps"),
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        let output = run(folder.path(), &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {said}");
        let expected = format!(
            "this paceline was built without `{feature}`: `cargo install --path crates/cli --features {feature}`"
        );
        assert!(said.contains(&expected), "{args}: {said}");
    }
}

/// Items that need no guest are available.
#[test]
fn lists_have_what_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["list", "reproductions"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for words in ["thesis-table6 ", "bolt-b1 ", "without `parity`"] {
        assert!(said.contains(words), "{said}");
    }
}
