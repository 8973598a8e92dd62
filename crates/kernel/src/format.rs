//! Numbers of file formats.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Number of the format of a file that Paceline writes and reads again. Any other number is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFormat<const NUMBER: u32>;

impl<const NUMBER: u32> Serialize for FileFormat<NUMBER> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(NUMBER)
    }
}

impl<'de, const NUMBER: u32> Deserialize<'de> for FileFormat<NUMBER> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(Number::<NUMBER>)
    }
}

/// Reader of the number; its errors have the position of the value.
struct Number<const NUMBER: u32>;

impl<const NUMBER: u32> Visitor<'_> for Number<NUMBER> {
    type Value = FileFormat<NUMBER>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the number {NUMBER}")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        match number == i64::from(NUMBER) {
            true => Ok(FileFormat),
            false => Err(E::custom(format!(
                "format {number}: this version of Paceline reads format {NUMBER}"
            ))),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
