mod common;
use common::*;
#[test]
fn dbg() {
    for name in ["hpcc", "timely", "dctcp", "dcqcn"] {
        let mut spec = star(3, scheme(name));
        spec.record.rtt_samples = true;
        add_flow(&mut spec, 1, 3, 2_000_000, 2_000_000_000);
        add_flow(&mut spec, 2, 3, 1_000_000, 2_000_004_999);
        let o = run(spec);
        println!("{name} {:?} {:?}", fcts(&o), o.counters);
        let f = std::fs::File::create(format!("/tmp/rtt_{name}")).unwrap();
        use std::io::Write;
        let mut f = std::io::BufWriter::new(f);
        for s in &o.rtt_samples { writeln!(f, "{} {} {} {}", s.at.as_ns(), s.flow + 1, s.seq, s.rtt.as_ns()).unwrap(); }
    }
}
