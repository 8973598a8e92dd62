//! Packet-hops per second of the engine.

mod workloads;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use paceline_fabric::Simulation;
use workloads::{WORKLOADS, simulate};

fn engine(c: &mut Criterion) {
    let mut group = c.benchmark_group("packet-hops");
    group.sample_size(20);
    for (name, spec) in WORKLOADS {
        let build = || Simulation::new(spec()).expect("a network that can be built");
        let (hops, _) = simulate(&mut build());
        if hops > 10_000_000 {
            // Would take minutes, for what one run shows as well.
            continue;
        }
        group.throughput(Throughput::Elements(hops));
        group.bench_function(name, |b| {
            b.iter_batched_ref(build, simulate, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, engine);
criterion_main!(benches);
