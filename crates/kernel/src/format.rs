//! Numbers of file formats.

use serde::de::Error;
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
        match i64::deserialize(deserializer)? {
            number if number == i64::from(NUMBER) => Ok(Self),
            number => Err(D::Error::custom(format!(
                "format {number}: this version of Paceline reads format {NUMBER}"
            ))),
        }
    }
}
