//! Shapes of the data in a graph. Operators that would reorder the numbers are refused.

use super::proto::Tensor;

/// Returns the number of elements of a shape.
pub(super) fn size(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Returns the length of a shape that is one row, or `None` otherwise.
pub(super) fn row(shape: &[usize]) -> Option<usize> {
    match shape {
        [before @ .., last] if size(before) == 1 => Some(*last),
        _ => None,
    }
}

/// Broadcasts a constant to a shape as ONNX does; returns `None` if it does not fit or would enlarge the shape.
pub(super) fn spread(constant: &Tensor, shape: &[usize]) -> Option<Vec<f32>> {
    let missing = shape.len().checked_sub(constant.dims.len())?;
    let fits = |(own, size): (&u64, &usize)| *own == 1 || *own == *size as u64;
    if !constant.dims.iter().zip(&shape[missing..]).all(fits) {
        return None;
    }
    let number = |mut index: usize| {
        let (mut at, mut step) = (0, 1);
        for (own, size) in constant.dims.iter().zip(&shape[missing..]).rev() {
            if *own != 1 {
                at += index % size * step;
                step *= size;
            }
            index /= size;
        }
        constant.values[at]
    };
    Some((0..size(shape)).map(number).collect())
}

/// Returns the index of an axis in `rank` dimensions; negative ones count from the last.
fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let rank = rank as i64;
    match axis {
        0.. if axis < rank => Ok(axis as usize),
        ..0 if axis >= -rank => Ok((axis + rank) as usize),
        _ => Err(format!("axis {axis} of {rank} dimensions")),
    }
}

pub(super) fn flatten(shape: &[usize], at: i64) -> Result<Vec<usize>, String> {
    let at = match at == shape.len() as i64 {
        true => shape.len(),
        false => axis(at, shape.len())?,
    };
    Ok(vec![size(&shape[..at]), size(&shape[at..])])
}

pub(super) fn squeeze(shape: &[usize], axes: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let mut goes: Vec<bool> = shape.iter().map(|size| axes.is_none() && *size == 1).collect();
    for at in axes.unwrap_or(&[]) {
        let at = axis(*at, shape.len())?;
        if shape[at] != 1 {
            return Err(format!("axis {at} of {shape:?} is not of size 1"));
        }
        goes[at] = true;
    }
    let left = shape.iter().zip(goes).filter(|(_, goes)| !goes);
    Ok(left.map(|(size, _)| *size).collect())
}

pub(super) fn unsqueeze(shape: &[usize], axes: &[i64]) -> Result<Vec<usize>, String> {
    if axes.is_empty() {
        return Err("it has no axes".into());
    }
    let mut new = vec![false; shape.len() + axes.len()];
    for at in axes {
        let at = axis(*at, new.len())?;
        if std::mem::replace(&mut new[at], true) {
            return Err(format!("axis {at} twice"));
        }
    }
    let mut old = shape.iter();
    let sizes = new.into_iter().map(|new| if new { None } else { old.next() });
    Ok(sizes.map(|size| size.copied().unwrap_or(1)).collect())
}

pub(super) fn transpose(shape: &[usize], perm: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let reversed: Vec<i64> = (0..shape.len() as i64).rev().collect();
    let perm = perm.unwrap_or(&reversed);
    let mut sorted = perm.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    if sorted != reversed {
        return Err(format!("perm {perm:?} of {} dimensions", shape.len()));
    }
    let order = perm.iter().map(|at| *at as usize);
    let wide: Vec<usize> = order.clone().filter(|at| shape[*at] != 1).collect();
    if !wide.is_sorted() {
        return Err(format!(
            "perm {perm:?} of {shape:?} moves numbers; expected one that moves dimensions of one"
        ));
    }
    Ok(order.map(|at| shape[at]).collect())
}

pub(super) fn reshape(shape: &[usize], sizes: &[i64], zero: bool) -> Result<Vec<usize>, String> {
    let wrong = || format!("the shape {sizes:?} for numbers of shape {shape:?}");
    let (mut new, mut open) = (Vec::new(), None);
    for (index, size) in sizes.iter().enumerate() {
        new.push(match size {
            0 if !zero => *shape.get(index).ok_or_else(wrong)?,
            -1 if open.replace(index).is_none() => 1,
            1.. => usize::try_from(*size).map_err(|_| wrong())?,
            _ => return Err(wrong()),
        });
    }
    let (found, product) = (
        size(shape),
        new.iter().try_fold(1, |a: usize, b| a.checked_mul(*b)),
    );
    let product = product.ok_or_else(wrong)?;
    match open {
        Some(index) if found.is_multiple_of(product) => new[index] = found / product,
        None if found == product => {}
        _ => return Err(wrong()),
    }
    Ok(new)
}

/// Returns the shape after taking the only element of an axis of size one with an index of `rank` dimensions.
pub(super) fn gather(shape: &[usize], at: i64, rank: usize) -> Result<Vec<usize>, String> {
    let at = axis(at, shape.len())?;
    if shape[at] != 1 {
        return Err(format!("it takes one of {} numbers", shape[at]));
    }
    Ok([&shape[..at], &vec![1; rank][..], &shape[at + 1..]].concat())
}
