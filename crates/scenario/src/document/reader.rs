//! Deserializer from a TOML value into the types of a schema.
//!
//! The schema has about a hundred tables and lists. `toml`'s own deserializers compile each of them several times:
//! for tables, for positions, for dates and for each path to a value. That took most of this crate's build time and
//! megabytes of the program. Here there is one path to each.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{self, DeserializeSeed, Deserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Parses one value that this program has as text: TOML, or else a plain string. The value has no position.
pub(crate) fn read_value<T: de::DeserializeOwned>(text: &str) -> Result<T, String> {
    let line = format!("value = {text}");
    let table = DeTable::parse(&line).map(Spanned::into_inner);
    let value = table.ok().and_then(|table| table.into_iter().next());
    let value = value.map_or(DeValue::String(Cow::Borrowed(text)), |(_, value)| {
        value.into_inner()
    });
    T::deserialize(Reader::of(value, 0..0)).map_err(|error| error.to_string())
}

/// Message about a single table instead of a list.
pub(super) const ONE_TABLE: &str = "expected a list, found one table";

/// Error in a value, with its position.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
    span: Option<Range<usize>>,
}

impl Error {
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn span(&self) -> Option<Range<usize>> {
        self.span.clone()
    }

    pub(crate) fn at(message: impl fmt::Display, span: &Range<usize>) -> Self {
        Self {
            message: message.to_string(),
            span: Some(span.clone()),
        }
    }

    /// Creates the error about a key that is not in `known`.
    pub(crate) fn unknown_key(key: &Spanned<Cow<'_, str>>, known: &'static [&'static str]) -> Self {
        let error: Self = de::Error::unknown_field(key.get_ref(), known);
        error.placed(&key.span())
    }

    /// Adds the position of the value that was read, unless a position within it is known.
    pub(crate) fn placed(mut self, span: &Range<usize>) -> Self {
        self.span.get_or_insert_with(|| span.clone());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            span: None,
        }
    }
}

/// Input of a [`Reader`].
enum Input<'de> {
    Toml(DeValue<'de>),
    /// Start or end of a position, which [`Spanned`] reads along with the value.
    Position(usize),
}

/// Value and its position.
pub(crate) struct Reader<'de> {
    held: Input<'de>,
    span: Range<usize>,
}

impl<'de> From<Spanned<DeTable<'de>>> for Reader<'de> {
    fn from(table: Spanned<DeTable<'de>>) -> Self {
        let span = table.span();
        Self::of(DeValue::Table(table.into_inner()), span)
    }
}

impl<'de> From<Spanned<DeValue<'de>>> for Reader<'de> {
    fn from(value: Spanned<DeValue<'de>>) -> Self {
        let span = value.span();
        Self::of(value.into_inner(), span)
    }
}

impl<'de> Reader<'de> {
    fn of(value: DeValue<'de>, span: Range<usize>) -> Self {
        Self {
            held: Input::Toml(value),
            span,
        }
    }

    /// Returns the keys of a table with their values, or an error for any other value.
    pub(crate) fn entries(self) -> Result<DeTable<'de>, Error> {
        match self.held {
            Input::Toml(DeValue::Table(table)) => Ok(table),
            _ => {
                let error: Error = de::Error::invalid_type(self.kind(), &"a table");
                Err(error.placed(&self.span))
            }
        }
    }

    /// Passes the value to the visitor.
    fn give<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.held {
            Input::Position(at) => visitor.visit_u64(at as u64),
            Input::Toml(DeValue::String(Cow::Borrowed(text))) => visitor.visit_borrowed_str(text),
            Input::Toml(DeValue::String(Cow::Owned(text))) => visitor.visit_string(text),
            Input::Toml(DeValue::Boolean(value)) => visitor.visit_bool(value),
            Input::Toml(DeValue::Integer(digits)) => {
                let (digits, radix) = (digits.as_str(), digits.radix());
                if let Ok(value) = i64::from_str_radix(digits, radix) {
                    visitor.visit_i64(value)
                } else if let Ok(value) = u64::from_str_radix(digits, radix) {
                    visitor.visit_u64(value)
                } else if let Ok(value) = i128::from_str_radix(digits, radix) {
                    visitor.visit_i128(value)
                } else {
                    Err(Error::at("integer number overflowed", &self.span))
                }
            }
            Input::Toml(DeValue::Float(digits)) => match digits.as_str().parse() {
                // Parsing turns a number that is too large into infinity.
                Ok(value) if f64::is_infinite(value) && !digits.as_str().contains("inf") => {
                    Err(Error::at("floating-point number overflowed", &self.span))
                }
                Ok(value) => visitor.visit_f64(value),
                Err(_) => Err(Error::at("this is not a number", &self.span)),
            },
            Input::Toml(DeValue::Datetime(_)) => {
                Err(de::Error::invalid_type(Unexpected::Other("a date"), &visitor))
            }
            Input::Toml(DeValue::Array(list)) => visitor.visit_seq(Elements(list.into_iter())),
            Input::Toml(DeValue::Table(table)) => visitor.visit_map(Fields::of(table)),
        }
    }

    fn kind(&self) -> Unexpected<'_> {
        match &self.held {
            Input::Position(at) => Unexpected::Unsigned(*at as u64),
            Input::Toml(DeValue::String(text)) => Unexpected::Str(text),
            Input::Toml(DeValue::Boolean(value)) => Unexpected::Bool(*value),
            Input::Toml(DeValue::Integer(digits)) => digits
                .as_str()
                .parse()
                .map_or(Unexpected::Other("integer"), Unexpected::Signed),
            Input::Toml(DeValue::Float(digits)) => {
                Unexpected::Float(digits.as_str().parse().unwrap_or(f64::NAN))
            }
            Input::Toml(DeValue::Datetime(_)) => Unexpected::Other("a date"),
            Input::Toml(DeValue::Array(_)) => Unexpected::Seq,
            Input::Toml(DeValue::Table(_)) => Unexpected::Map,
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let span = self.span.clone();
        self.give(visitor).map_err(|error| error.placed(&span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Reads a list. A single table gets an error that shows how to write it as a list.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.held {
            Input::Toml(DeValue::Table(_)) => Err(Error::at(ONE_TABLE, &self.span)),
            _ => self.deserialize_any(visitor),
        }
    }

    /// Reads a table, or a [`Spanned`] value with its position. A list is an error, regardless of its elements.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let span = self.span.clone();
        let fields = if serde_spanned::de::is_spanned(name) {
            Fields::Location {
                names: fields.iter(),
                value: Some(self),
            }
        } else {
            match self.held {
                Input::Toml(DeValue::Table(table)) => Fields::of(table),
                _ => {
                    return Err(Error::placed(
                        de::Error::invalid_type(self.kind(), &"a table"),
                        &span,
                    ));
                }
            }
        };
        visitor.visit_map(fields).map_err(|error| error.placed(&span))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let span = self.span;
        let variant = match self.held {
            Input::Toml(DeValue::String(name)) => Variant {
                name: Key(name, span.clone()),
                value: None,
            },
            Input::Toml(DeValue::Table(table)) => {
                let mut entries = table.into_iter();
                let (Some((key, value)), None) = (entries.next(), entries.next()) else {
                    return Err(Error::at("expected a table with exactly one key", &span));
                };
                Variant {
                    name: Key::of(key),
                    value: Some(Self::from(value)),
                }
            }
            _ => return Err(Error::at("expected a text or a table", &span)),
        };
        visitor.visit_enum(variant).map_err(|error| error.placed(&span))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string
        bytes byte_buf map unit ignored_any unit_struct tuple_struct tuple identifier
    }
}

/// Name of a key or of a variant, with its position.
struct Key<'de>(Cow<'de, str>, Range<usize>);

impl<'de> Key<'de> {
    fn of(key: Spanned<Cow<'de, str>>) -> Self {
        let span = key.span();
        Self(key.into_inner(), span)
    }
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let given = match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        };
        given.map_err(|error: Error| error.placed(&self.1))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq option newtype_struct struct enum
        bytes byte_buf map unit ignored_any unit_struct tuple_struct tuple identifier
    }
}

/// Keys of a table, or the parts of a [`Spanned`].
enum Fields<'de> {
    Table {
        rest: <DeTable<'de> as IntoIterator>::IntoIter,
        value: Option<Spanned<DeValue<'de>>>,
    },
    Location {
        /// Names of the fields for start, end and value, in this order.
        names: std::slice::Iter<'static, &'static str>,
        value: Option<Reader<'de>>,
    },
}

impl<'de> Fields<'de> {
    fn of(table: DeTable<'de>) -> Self {
        Self::Table {
            rest: table.into_iter(),
            value: None,
        }
    }

    fn next_value(&mut self) -> Option<Reader<'de>> {
        match self {
            Self::Table { value, .. } => value.take().map(Reader::from),
            Self::Location { names, value } => {
                let span = value.as_ref()?.span.clone();
                // The number of names left says which field is read: start, end, then the value.
                let position = match names.len() {
                    2 => span.start,
                    1 => span.end,
                    _ => return value.take(),
                };
                Some(Reader {
                    held: Input::Position(position),
                    span,
                })
            }
        }
    }
}

impl<'de> de::MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let key = match self {
            Self::Table { rest, value } => rest.next().map(|(key, next)| {
                *value = Some(next);
                Key::of(key)
            }),
            Self::Location { names, .. } => names.next().map(|name| Key(Cow::Borrowed(*name), 0..0)),
        };
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match self.next_value() {
            Some(value) => seed.deserialize(value),
            None => Err(de::Error::custom("a value was asked for before its key")),
        }
    }
}

/// Elements of a list.
struct Elements<'de>(<DeArray<'de> as IntoIterator>::IntoIter);

impl<'de> de::SeqAccess<'de> for Elements<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0
            .next()
            .map(|value| seed.deserialize(Reader::from(value)))
            .transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// Variant of an enum: a string, or a table with its name as the only key.
struct Variant<'de> {
    name: Key<'de>,
    value: Option<Reader<'de>>,
}

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'de>), Error> {
        Ok((seed.deserialize(self.name)?, Content(self.value)))
    }
}

/// Value of a variant, if it has one.
struct Content<'de>(Option<Reader<'de>>);

impl<'de> Content<'de> {
    fn expected(self, what: &'static str) -> Result<Reader<'de>, Error> {
        let nothing = || de::Error::invalid_type(Unexpected::UnitVariant, &what);
        self.0.ok_or_else(nothing)
    }
}

impl<'de> de::VariantAccess<'de> for Content<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            Some(value) => Err(Error::at("expected a text, found a table", &value.span)),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.expected("newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.expected("tuple variant")?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.expected("struct variant")?.deserialize_any(visitor)
    }
}
