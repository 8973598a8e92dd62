//! Export of a forest as a C99 header with integer arithmetic only and without a library.

use std::fmt::{Display, Write as _};

use paceline_congestion::learned::forest::{Forest, Scale};

/// Error for forests that integer C code cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "feature {number}, `{name}`, is a 32-bit floating-point number, with {thresholds} thresholds; expected each on a \
     grid of 16 bits (`paceline forest import --fraction 13` takes them onto one)"
)]
pub struct NotWhole {
    number: usize,
    name: String,
    thresholds: usize,
}

/// Size and work of a forest in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Size of its tables in bytes.
    pub bytes: usize,
    /// Comparisons per decision, each with a shift and a bitwise OR.
    pub comparisons: usize,
    /// Reads of tables and features per decision.
    pub reads: usize,
    /// Additions of leaves per decision.
    pub additions: usize,
}

/// Computes the size and work of a forest in C.
pub fn cost(forest: &Forest) -> Cost {
    let trees = &forest.parts().trees;
    let splits: usize = trees.iter().map(|tree| tree.splits.len()).sum();
    let leaves: usize = trees.iter().map(|tree| tree.leaves.len()).sum();
    Cost {
        // A threshold takes two bytes and a feature index one. There is a table of depths only if they
        // differ.
        bytes: 3 * splits + leaf_bytes(forest) * leaves + usize::from(depth(forest).is_none()) * trees.len(),
        comparisons: splits,
        reads: 3 * splits + trees.len() * (1 + usize::from(depth(forest).is_none())),
        additions: trees.len(),
    }
}

fn leaf_bytes(forest: &Forest) -> usize {
    let leaves = forest.parts().trees.iter().flat_map(|tree| &tree.leaves);
    let mut leaves = leaves.map(|leaf| i16::try_from(*leaf).is_ok());
    if leaves.all(|fits| fits) { 2 } else { 4 }
}

/// Returns the common depth of all trees; `None` if depths differ or there are no trees.
fn depth(forest: &Forest) -> Option<usize> {
    let mut depths = forest.parts().trees.iter().map(|tree| tree.splits.len());
    let first = depths.next()?;
    depths.all(|depth| depth == first).then_some(first)
}

/// Returns a bound of the absolute value of all sums, including partial ones.
fn reach(forest: &Forest) -> i64 {
    let leaves = |leaves: &[i32]| {
        leaves
            .iter()
            .map(|leaf| i64::from(*leaf).abs())
            .max()
            .unwrap_or(0)
    };
    let trees = forest.parts().trees.iter().map(|tree| leaves(&tree.leaves));
    forest.parts().start.abs() + trees.sum::<i64>()
}

/// Returns the C header of a forest.
///
/// # Errors
/// A feature is a floating-point number.
pub fn header(forest: &Forest) -> Result<String, NotWhole> {
    let parts = forest.parts();
    for (number, feature) in parts.features.iter().enumerate() {
        if feature.scale == Scale::Float {
            let splits = parts.trees.iter().flat_map(|tree| &tree.splits);
            return Err(NotWhole {
                number,
                name: feature.name.clone(),
                thresholds: splits.filter(|split| split.feature == number).count(),
            });
        }
    }
    let id = identifier(&parts.name);
    let upper = id.to_uppercase();
    let widest = parts.limits.map_or(0, |[low, high]| low.abs().max(high.abs()));
    // The narrowest type that holds all sums, including partial ones.
    let sum = if reach(forest).max(widest) <= i64::from(i32::MAX) {
        "int32_t"
    } else {
        "int64_t"
    };
    let mut text = comment(forest, &id);
    let _ = write!(
        text,
        "#ifndef PACELINE_{upper}_H\n#define PACELINE_{upper}_H\n\n#include <stdint.h>\n\n\
         #define {upper}_FEATURES {}\n#define {upper}_FRACTION {}\n\n",
        parts.features.len(),
        parts.fraction,
    );
    let splits = || parts.trees.iter().flat_map(|tree| &tree.splits);
    table(
        &mut text,
        "uint8_t",
        &format!("{id}_feature"),
        splits().map(|split| split.feature),
    );
    table(
        &mut text,
        "int16_t",
        &format!("{id}_above"),
        splits().map(|split| split.above),
    );
    if depth(forest).is_none() {
        let depths = parts.trees.iter().map(|tree| tree.splits.len());
        table(&mut text, "uint8_t", &format!("{id}_depth"), depths);
    }
    let leaves = parts.trees.iter().flat_map(|tree| &tree.leaves);
    let kind = if leaf_bytes(forest) == 2 {
        "int16_t"
    } else {
        "int32_t"
    };
    table(&mut text, kind, &format!("{id}_leaf"), leaves);
    text.push_str(&function(forest, &id, sum));
    let _ = writeln!(text, "\n#endif");
    Ok(text)
}

/// Returns the header's comment with description, features and cost.
fn comment(forest: &Forest, id: &str) -> String {
    let parts = forest.parts();
    let cost = cost(forest);
    let mut text = format!(
        "/* {}: {} boosted oblivious trees that decide in whole numbers. C99; no floating point, no library.\n * Written \
         by Paceline {}; SHA-256 of the forest {}.\n *\n * Size: {} bytes of tables. A decision: {} comparisons (each \
         with a shift and an or), {} reads of tables and\n * features, {} additions; no multiplication, no division, no \
         branch that hangs on a feature.\n *\n",
        plain(&parts.name),
        parts.trees.len(),
        env!("CARGO_PKG_VERSION"),
        forest.sha256(),
        cost.bytes,
        cost.comparisons,
        cost.reads,
        cost.additions,
    );
    text.push_str(" * x[k] is a feature times two to the power of its bits, rounded to the nearest (the even of two), cut to -32767..32767:\n");
    for (k, feature) in parts.features.iter().enumerate() {
        if let Scale::Fixed(bits) = feature.scale {
            let _ = writeln!(text, " *   x[{k}]  {}, {bits} bits", plain(&feature.name));
        }
    }
    let _ = writeln!(
        text,
        " * {id}_decide(x) is {} times two to the power of {}. */\n",
        plain(&parts.output),
        parts.fraction,
    );
    text
}

/// Replaces characters that would end a C comment or its line.
fn plain(text: &str) -> String {
    text.replace("*/", "* /").replace(['\n', '\r'], " ")
}

/// Converts a name to a C identifier.
fn identifier(name: &str) -> String {
    let part = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(part).collect();
    match name.chars().next() {
        Some(first) if !first.is_ascii_digit() => name,
        _ => format!("forest_{name}"),
    }
}

/// Appends a C table with 16 values per line. An empty one gets a single 0, because C has no empty arrays.
fn table<T: Display>(text: &mut String, kind: &str, name: &str, values: impl Iterator<Item = T>) {
    let mut values: Vec<String> = values.map(|value| value.to_string()).collect();
    if values.is_empty() {
        values.push("0".into());
    }
    let _ = write!(text, "static const {kind} {name}[{}] = {{", values.len());
    for (k, value) in values.iter().enumerate() {
        let space = if k % 16 == 0 { "\n  " } else { " " };
        let _ = write!(text, "{space}{value},");
    }
    text.push_str("\n};\n\n");
}

fn function(forest: &Forest, id: &str, sum: &str) -> String {
    let parts = forest.parts();
    let upper = id.to_uppercase();
    let depth = depth(forest).map_or_else(|| format!("{id}_depth[t]"), |depth| depth.to_string());
    let cut = match parts.limits {
        Some([low, high]) => format!("  if (sum < {low}) sum = {low};\n  if (sum > {high}) sum = {high};\n"),
        None => String::new(),
    };
    format!(
        "static inline {sum} {id}_decide(const int16_t x[{upper}_FEATURES]) {{\n  \
         {sum} sum = {start};\n  uint32_t split = 0, first = 0;\n  \
         for (uint32_t t = 0; t < {trees}u; t++) {{\n    const uint32_t depth = {depth};\n    uint32_t leaf = 0;\n    \
         for (uint32_t k = 0; k < depth; k++, split++)\n      \
         leaf |= (uint32_t)(x[{id}_feature[split]] > {id}_above[split]) << k;\n    \
         sum += {id}_leaf[first + leaf];\n    first += (uint32_t)1 << depth;\n  }}\n{cut}  return sum;\n}}\n",
        start = parts.start,
        trees = parts.trees.len(),
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use paceline_congestion::learned::shipped;
    use paceline_congestion::testkit::forests;
    use paceline_kernel::rng::{Purpose, Rng};

    use super::*;

    /// Returns a C program that reads rows of 16-bit numbers and writes 64-bit sums.
    fn program(id: &str) -> String {
        format!(
            "#include \"policy.h\"\n#include <stdio.h>\nint main(void) {{\n  int16_t x[{0}_FEATURES];\n  \
             while (fread(x, sizeof x, 1, stdin) == 1) {{\n    int64_t y = {id}_decide(x);\n    \
             fwrite(&y, sizeof y, 1, stdout);\n  }}\n  return 0;\n}}\n",
            id.to_uppercase()
        )
    }

    /// Compiles the header and returns its outputs for these rows.
    fn compiled(forest: &Forest, rows: &[Vec<i32>]) -> Vec<i64> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("policy.h"), header(forest).unwrap()).unwrap();
        std::fs::write(at("main.c"), program(&identifier(&forest.parts().name))).unwrap();
        let compile = Command::new("cc")
            .args([
                "-std=c99",
                "-pedantic",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-O2",
                "-o",
            ])
            .args([at("main"), at("main.c")])
            .output()
            .expect("a C compiler");
        assert!(
            compile.status.success(),
            "{}",
            String::from_utf8_lossy(&compile.stderr)
        );
        let mut run = Command::new(at("main"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let bytes: Vec<u8> = rows
            .iter()
            .flatten()
            .flat_map(|x| (*x as i16).to_ne_bytes())
            .collect();
        let mut to = run.stdin.take().unwrap();
        let writer = std::thread::spawn(move || to.write_all(&bytes).unwrap());
        let output = run.wait_with_output().unwrap().stdout;
        writer.join().unwrap();
        output
            .as_chunks::<8>()
            .0
            .iter()
            .map(|y| i64::from_ne_bytes(*y))
            .collect()
    }

    fn positions(rng: &mut Rng, forest: &Forest) -> Vec<i32> {
        let splits: Vec<_> = forest
            .parts()
            .trees
            .iter()
            .flat_map(|tree| &tree.splits)
            .collect();
        // Half of the positions are close to a threshold.
        let count = forest.parts().features.len();
        let mut row: Vec<i32> = (0..count).map(|_| rng.below(65_535) as i32 - 32_767).collect();
        for _ in 0..count {
            let split = splits[rng.below(splits.len() as u64) as usize];
            row[split.feature] = split.above + rng.below(2) as i32;
        }
        row
    }

    fn compare(
        mut parts: paceline_congestion::learned::forest::Parts,
        limits: Option<[i64; 2]>,
        rows: usize,
    ) {
        parts.limits = limits;
        parts.start = -321;
        let forest = Forest::new(parts).unwrap();
        let mut rng = Rng::stream(7, Purpose::Training, 9);
        let rows: Vec<Vec<i32>> = (0..rows).map(|_| positions(&mut rng, &forest)).collect();
        let ours: Vec<i64> = rows.iter().map(|row| forest.sum_at(row)).collect();
        assert!(compiled(&forest, &rows) == ours);
    }

    #[test]
    fn a_hundred_thousand_decisions_are_the_same_in_c() {
        let scales = [Scale::Fixed(13); 30];
        // Trees with common and different depths, leaves of 16 and 32 bits, sums of 32 and 64 bits.
        let parts = forests::random(300, &scales, 6, 1);
        compare(parts.clone(), Some([-9000, 9000]), 100_000);
        let mut parts = forests::random(60, &scales, 1, 2);
        parts.name = "3 little/trees".into();
        compare(parts.clone(), None, 10_000);
        for tree in &mut parts.trees {
            tree.leaves.iter_mut().for_each(|leaf| *leaf *= 2_000_000);
        }
        compare(parts, None, 10_000);
    }

    #[test]
    fn built_in_policies_are_the_same_in_c() {
        for name in ["decc-tree-100", "decc-tree-300", "adpg-tree-300"] {
            let model = shipped::find(name).unwrap();
            let forest = model.forest().unwrap();
            let mut rng = Rng::stream(11, Purpose::Training, 9);
            let rows: Vec<Vec<i32>> = (0..100_000).map(|_| positions(&mut rng, forest)).collect();
            let ours: Vec<i64> = rows.iter().map(|row| forest.sum_at(row)).collect();
            assert!(compiled(forest, &rows) == ours, "{name}");
        }
    }

    #[test]
    fn its_header_says_what_it_costs() {
        let mut parts = forests::random(2, &[Scale::Fixed(13); 3], 1, 2);
        parts.name = "Two */ trees".into();
        parts.limits = Some([-8, 8]);
        let forest = Forest::new(parts).unwrap();
        insta::assert_snapshot!(header(&forest).unwrap());
        let float = Forest::new(forests::random(5, &[Scale::Fixed(8), Scale::Float], 3, 1)).unwrap();
        insta::assert_snapshot!(
            header(&float).unwrap_err().to_string(),
            @"feature 1, `f1`, is a 32-bit floating-point number, with 11 thresholds; expected each on a grid of 16 bits (`paceline forest import --fraction 13` takes them onto one)"
        );
    }
}
