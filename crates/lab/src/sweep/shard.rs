//! Parts of a sweep, for job arrays on a cluster.

use std::fmt;
use std::str::FromStr;

/// Part `index` of `count`, from 1.
///
/// ```
/// let shard: paceline_lab::sweep::Shard = "2/3".parse().unwrap();
/// assert_eq!(shard.of(&[0, 1, 2, 3, 4]), [&1, &4]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Shard that contains all runs.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Returns the shard's elements of `all`. Neighbours, which take about equally long, go to different shards.
    pub fn of<T>(self, all: &[T]) -> Vec<&T> {
        all.iter().skip(self.index - 1).step_by(self.count).collect()
    }

    /// Returns the number of the shard, from 1.
    pub const fn index(self) -> usize {
        self.index
    }

    /// Returns the number of shards.
    pub const fn count(self) -> usize {
        self.count
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        match numbers {
            Some((index, count)) if 1 <= index && index <= count => Ok(Self { index, count }),
            Some((0, count)) if count > 0 => Err(format!(
                "shards count from 1: expected 1/{count} to {count}/{count}"
            )),
            Some((index, count)) => Err(format!("there is no shard {index} of {count}")),
            None => Err("expected the number of this shard and of all, such as 1/4".into()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let shard: Shard = "3/8".parse().unwrap();
        assert_eq!(
            (shard.index(), shard.count(), shard.to_string()),
            (3, 8, "3/8".into())
        );
        for (text, expected) in [
            ("0/4", "shards count from 1: expected 1/4 to 4/4"),
            ("5/4", "there is no shard 5 of 4"),
            ("0/0", "there is no shard 0 of 0"),
            ("1", "expected the number of this shard and of all, such as 1/4"),
            ("a/b", "expected the number of this shard and of all, such as 1/4"),
        ] {
            assert_eq!(text.parse::<Shard>().unwrap_err(), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn shards_are_a_partition(length in 0usize..200, count in 1usize..40) {
            let all: Vec<usize> = (0..length).collect();
            let parts = (1..=count).map(|index| Shard { index, count }.of(&all));
            let mut together: Vec<usize> = parts.flatten().copied().collect();
            together.sort_unstable();
            proptest::prop_assert_eq!(together, all);
            // None has more than one run more than another.
            let sizes: Vec<usize> = (1..=count).map(|index| Shard { index, count }.of(&(0..length).collect::<Vec<_>>()).len()).collect();
            proptest::prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
    }
}
