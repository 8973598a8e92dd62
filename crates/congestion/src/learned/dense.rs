//! Matrix products with sums in a fixed order: the same bits on every machine, regardless of its vector width.

/// Rows and columns of a block whose sums stay in registers. Lanes are outputs, so their number changes no
/// bit.
const ROWS: usize = 4;
const LANES: usize = 8;

/// Sizes of a product of matrices.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Rows of the first matrix and of the product.
    pub rows: usize,
    /// Columns of the first matrix, and rows of the second.
    pub inner: usize,
    /// Columns of the second matrix and of the product.
    pub columns: usize,
}

/// Adds `a` (rows x inner) times `b` (inner x columns) to `out` (rows x columns), all in row-major order.
/// Each sum starts from the present value and adds products in the order of `inner`; multiplications and
/// additions are not fused.
///
/// # Panics
/// If a slice has another size.
pub fn product(shape: Shape, a: &[f32], b: &[f32], out: &mut [f32]) {
    let Shape { rows, inner, columns } = shape;
    assert!(
        a.len() == rows * inner && b.len() == inner * columns && out.len() == rows * columns,
        "matrices of {}, {} and {} numbers are not {rows} x {inner} x {columns}",
        a.len(),
        b.len(),
        out.len()
    );
    let blocks = (out.chunks_mut(ROWS * columns)).zip(a.chunks(ROWS * inner));
    for (out, a) in blocks {
        let mut from = 0;
        while from + LANES <= columns {
            if out.len() == ROWS * columns {
                block::<ROWS>(columns, from, a, b, out);
            } else {
                for (out, a) in out.chunks_mut(columns).zip(a.chunks(inner)) {
                    block::<1>(columns, from, a, b, out);
                }
            }
            from += LANES;
        }
        for (out, a) in out.chunks_mut(columns).zip(a.chunks(inner)) {
            for column in from..columns {
                for (k, a) in a.iter().enumerate() {
                    out[column] += a * b[k * columns + column];
                }
            }
        }
    }
}

/// Multiplies `R` rows by [`LANES`] columns.
fn block<const R: usize>(columns: usize, from: usize, a: &[f32], b: &[f32], out: &mut [f32]) {
    let inner = a.len() / R;
    let mut sums = [[0.0f32; LANES]; R];
    for (row, sums) in sums.iter_mut().enumerate() {
        sums.copy_from_slice(&out[row * columns + from..][..LANES]);
    }
    let rows: [&[f32]; R] = std::array::from_fn(|row| &a[row * inner..(row + 1) * inner]);
    for (k, b) in b.chunks_exact(columns).enumerate() {
        let b = &b[from..from + LANES];
        for (sums, row) in sums.iter_mut().zip(rows) {
            let a = row[k];
            for lane in 0..LANES {
                sums[lane] += a * b[lane];
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        out[row * columns + from..][..LANES].copy_from_slice(sums);
    }
}

/// Returns the transpose of a row-major matrix of `rows` by `columns`.
pub fn transposed(rows: usize, columns: usize, a: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; rows * columns];
    for (row, values) in a.chunks_exact(columns).enumerate() {
        for (column, value) in values.iter().enumerate() {
            out[column * rows + row] = *value;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(transposed(2, 3, &a), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    /// Covers all code paths: full blocks, fewer rows, and columns after the last full block.
    #[test]
    fn blocks_are_sums_in_order() {
        for (rows, inner, columns) in [(1, 3, 1), (4, 5, 16), (6, 7, 37), (9, 2, 15), (8, 30, 128)] {
            let number = |k: usize| ((k * 37 % 101) as f32 - 50.0) / 64.3;
            let a: Vec<f32> = (0..rows * inner).map(number).collect();
            let b: Vec<f32> = (0..inner * columns).map(|k| number(k + 11)).collect();
            let start: Vec<f32> = (0..rows * columns).map(|k| number(k + 5)).collect();
            let mut out = start.clone();
            product(Shape { rows, inner, columns }, &a, &b, &mut out);
            for row in 0..rows {
                for column in 0..columns {
                    let mut sum = start[row * columns + column];
                    for k in 0..inner {
                        sum += a[row * inner + k] * b[k * columns + column];
                    }
                    assert_eq!(out[row * columns + column].to_bits(), sum.to_bits());
                }
            }
        }
    }
}
