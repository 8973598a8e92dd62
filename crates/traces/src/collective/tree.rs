//! Trees over the members of a group.

/// Returns the number of children of a member in a binomial tree over `n`: member v has v + 1, v + 2, v + 4, ...
/// below its lowest bit.
pub(crate) fn binomial_children(n: u32, member: u32) -> u32 {
    let limit = if member == 0 { 32 } else { member.trailing_zeros() };
    (0..limit)
        .take_while(|k| u64::from(member) + (1_u64 << k) < u64::from(n))
        .count() as u32
}

/// Returns the size of a member's subtree, itself included.
pub(crate) fn binomial_size(n: u32, member: u32) -> u32 {
    let most = if member == 0 {
        n
    } else {
        1 << member.trailing_zeros()
    };
    most.min(n - member)
}

/// Returns the parent of a member in a tree over `n`: binomial, or one of two binary ones.
pub(crate) fn parent(double: bool, n: u32, channel: u32, member: u32) -> Option<u32> {
    if !double {
        return (member > 0).then(|| member & (member - 1));
    }
    let index = turned(n, channel, member);
    parent_of_place(n, index).map(|p| turned_back(n, channel, p))
}

/// Returns the parent of a member in the first or the second of two binary trees over `n` members.
pub fn binary_parent(n: u32, second: bool, member: u32) -> Option<u32> {
    parent(true, n, second.into(), member)
}

/// Returns the children of a member in a tree over `n`.
pub(crate) fn children(double: bool, n: u32, channel: u32, member: u32) -> impl Iterator<Item = u32> {
    let index = if double {
        turned(n, channel, member)
    } else {
        member
    };
    let count = if double { 2 } else { binomial_children(n, member) };
    (0..count).filter_map(move |k| {
        if double {
            binary_child(n, index, k == 1).map(|c| turned_back(n, channel, c))
        } else {
            Some(member + (1 << k))
        }
    })
}

/// Returns the position of a member in a binary tree. The second tree is the first with its members shifted by one if
/// their number is odd, and in reverse order if it is even, so that inner members of one are leaves of the other.
fn turned(n: u32, channel: u32, member: u32) -> u32 {
    match (channel, n % 2) {
        (0, _) => member,
        (_, 0) => n - 1 - member,
        _ => (member + n - 1) % n,
    }
}

fn turned_back(n: u32, channel: u32, index: u32) -> u32 {
    match (channel, n % 2) {
        (0, _) => index,
        (_, 0) => n - 1 - index,
        _ => (index + 1) % n,
    }
}

/// Returns the parent in an in-order binary tree: odd positions are leaves, position 0 is the root with one child.
fn parent_of_place(n: u32, index: u32) -> Option<u32> {
    if index == 0 {
        return None;
    }
    let bit = 1_u64 << index.trailing_zeros();
    let at = u64::from(index);
    let up = (at ^ bit) | (bit << 1);
    Some(if up >= u64::from(n) { at ^ bit } else { up } as u32)
}

fn binary_child(n: u32, index: u32, right: bool) -> Option<u32> {
    let n = u64::from(n);
    let at = u64::from(index);
    if index == 0 {
        // The largest power of two below n.
        let mut bit = 1_u64;
        while bit << 1 < n {
            bit <<= 1;
        }
        return (right && bit < n).then_some(bit as u32);
    }
    let mut half = (1_u64 << index.trailing_zeros()) >> 1;
    if !right {
        return (half > 0).then(|| (at - half) as u32);
    }
    // If n is no power of two, the right subtree shrinks until its root exists.
    while half > 0 && at + half >= n {
        half >>= 1;
    }
    (half > 0).then(|| (at + half) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_and_children_agree_and_reach_everybody_once() {
        for n in 1..70_u32 {
            for (double, channel) in [(false, 0), (true, 0), (true, 1)] {
                let mut seen = vec![0; n as usize];
                let mut edges = 0;
                for member in 0..n {
                    for child in children(double, n, channel, member) {
                        assert_eq!(
                            parent(double, n, channel, child),
                            Some(member),
                            "n {n} channel {channel} child {child}"
                        );
                        seen[child as usize] += 1;
                        edges += 1;
                    }
                }
                let roots = (0..n)
                    .filter(|&m| parent(double, n, channel, m).is_none())
                    .count();
                assert_eq!(roots, 1);
                assert_eq!(edges, n - 1);
                assert!(seen.iter().all(|&s| s <= 1));
            }
        }
    }

    #[test]
    fn subtrees_add_up() {
        for n in 1..70_u32 {
            for member in 0..n {
                let below: u32 = (0..binomial_children(n, member))
                    .map(|k| binomial_size(n, member + (1 << k)))
                    .sum();
                assert_eq!(binomial_size(n, member), below + 1);
            }
        }
    }
}
