//! Encoder of protobuf messages.

/// Protobuf message in its binary encoding, to which fields are appended.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    /// Appends a number without a field, as in lengths.
    pub(super) fn varint(mut self, mut number: u64) -> Self {
        while number > 127 {
            self.0.push(number as u8 | 128);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    pub(super) fn number(self, field: u64, number: u64) -> Self {
        self.varint(field << 3).varint(number)
    }

    pub(super) fn bytes(self, field: u64, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        let mut own = self.varint(field << 3 | 2).varint(bytes.len() as u64);
        own.0.extend(bytes);
        own
    }

    pub(super) fn float(self, field: u64, value: f32) -> Self {
        let mut own = self.varint(field << 3 | 5);
        own.0.extend(value.to_le_bytes());
        own
    }
}
