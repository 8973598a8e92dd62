//! Slowdown by flow size.

use super::{Column, render};
use crate::results::{Buckets, SizeBucket};
use crate::text::{number, short_bytes};

/// Formats the slowdown by size of several runs (a name and the result of [`Buckets::of`]): next to each other if their
/// buckets are the same and fit into `width` columns, otherwise one table below the other.
pub fn slowdown_by_size(runs: &[(String, Vec<SizeBucket>)], buckets: &Buckets, width: usize) -> String {
    let ranges = |run: &[SizeBucket]| -> Vec<_> { run.iter().map(|b| (b.lo, b.hi)).collect() };
    let alike = runs
        .windows(2)
        .all(|pair| ranges(&pair[0].1) == ranges(&pair[1].1));
    let wide = table(runs, buckets);
    let fits = wide.lines().all(|line| line.chars().count() <= width);
    let tables = if runs.len() == 1 || (alike && fits) {
        wide
    } else {
        let one = |run| table(std::slice::from_ref(run), buckets);
        runs.iter().map(one).collect::<Vec<_>>().join("\n")
    };
    format!("\nFCT slowdown by size of flow\n{tables}")
}

fn table(runs: &[(String, Vec<SizeBucket>)], buckets: &Buckets) -> String {
    let Some((_, first)) = runs.first() else {
        return String::new();
    };
    if runs.iter().all(|(_, run)| run.is_empty()) {
        return "no flow of these completed\n".to_string();
    }
    let column = |group: &str, name: &str, of: &[SizeBucket], text: &dyn Fn(&SizeBucket) -> String| {
        Column::right(group, name, of.iter().map(text).collect())
    };
    let mut columns = vec![column("", "size", first, &|bucket| range(bucket, buckets))];
    let flows = |run: &[SizeBucket]| -> Vec<u64> { run.iter().map(|bucket| bucket.flows).collect() };
    let same_flows = runs.iter().all(|(_, run)| flows(run) == flows(first));
    if same_flows {
        columns.push(column("", "flows", first, &|bucket| bucket.flows.to_string()));
    }
    for (name, run) in runs {
        if !same_flows {
            columns.push(column(name, "flows", run, &|bucket| bucket.flows.to_string()));
        }
        columns.push(column(name, "p50", run, &|bucket| number(bucket.p50)));
        columns.push(column(name, "p95", run, &|bucket| number(bucket.p95)));
        columns.push(column(name, "p99", run, &|bucket| number(bucket.p99)));
    }
    render(&columns)
}

/// Describes the sizes of a bucket.
fn range(bucket: &SizeBucket, buckets: &Buckets) -> String {
    let text = |size: u64| short_bytes(size);
    match (buckets, bucket.lo, bucket.hi) {
        (Buckets::Edges(_), 0, Some(hi)) => format!("below {}", text(hi)),
        (Buckets::Edges(_), lo, Some(hi)) => format!("{} to {}", text(lo), text(hi)),
        (_, lo, None) => format!("from {}", text(lo)),
        (Buckets::FctAnalysis { .. }, _, Some(hi)) => format!("up to {}", text(hi)),
        (Buckets::EqualCount(_), lo, Some(hi)) if lo == hi => text(lo),
        (Buckets::EqualCount(_), lo, Some(hi)) => format!("{} to {}", text(lo), text(hi)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(lo: u64, hi: Option<u64>, flows: u64, p50: f64) -> SizeBucket {
        SizeBucket {
            lo,
            hi,
            flows,
            mean: Some(p50),
            p50: Some(p50),
            p95: Some(2.0 * p50),
            p99: (flows > 1).then_some(3.0 * p50),
        }
    }

    #[test]
    fn side_by_side_or_one_by_one() {
        let edges = Buckets::Edges(vec![0, 1_000, 10_000]);
        let run = |name: &str, flows, p50| {
            let buckets = vec![
                bucket(0, Some(1_000), 3, p50),
                bucket(1_000, Some(10_000), flows, 1.5 * p50),
                bucket(10_000, None, 1, 2.0 * p50),
            ];
            (name.to_string(), buckets)
        };
        let (a, b, c) = (run("hpcc", 4, 1.0), run("dcqcn", 4, 1.25), run("timely", 2, 20.0));
        let text = [
            slowdown_by_size(&[a.clone(), b.clone()], &edges, 100),
            slowdown_by_size(&[a.clone(), c], &edges, 100),
            slowdown_by_size(&[a, b], &edges, 30),
        ];
        insta::assert_snapshot!("by_size", text.join("\n"));
    }

    #[test]
    fn sizes_in_words() {
        let whole = bucket(1_000, Some(2_500), 3, 1.0);
        assert_eq!(range(&whole, &Buckets::EqualCount(3)), "1 KB to 2.5 KB");
        assert_eq!(range(&whole, &crate::results::FCT_ANALYSIS), "up to 2.5 KB");
        assert_eq!(range(&bucket(7, Some(7), 1, 1.0), &Buckets::EqualCount(3)), "7 B");
        assert_eq!(
            slowdown_by_size(&[("hpcc".into(), Vec::new())], &Buckets::EqualCount(3), 80),
            "\nFCT slowdown by size of flow\nno flow of these completed\n"
        );
    }
}
