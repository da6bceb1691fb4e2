//! Equality of hash keys, Ruby's `eql?`. Main type: [`HashKey`].
//!
//! Invariant: equal keys have equal hashes, and a text has the hash of the string value of that
//! text, so that a hash is searched by `&str` without creating a value.

use std::hash::{Hash, Hasher};

use indexmap::Equivalent;

use super::Value;

/// A value as the key of a hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HashKey(pub Value);

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undef, Self::Undef) | (Self::Default, Self::Default) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Hash(a), Self::Hash(b)) => a == b,
            (Self::Regexp(a), Self::Regexp(b)) => a == b,
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Sensitive(a), Self::Sensitive(b)) => a == b,
            (Self::Binary(a), Self::Binary(b)) => a == b,
            (Self::SemVer(a), Self::SemVer(b)) => a == b,
            (Self::SemVerRange(a), Self::SemVerRange(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Timespan(a), Self::Timespan(b)) => a == b,
            (Self::Uri(a), Self::Uri(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a.equals(b.as_ref()),
            _ => false,
        }
    }
}

impl Eq for Value {}

/// The first byte of the hash of a string, so that `'1'` and `1` rarely collide.
const STRING: u8 = 5;

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Undef => state.write_u8(0),
            Self::Default => state.write_u8(1),
            Self::Bool(flag) => state.write_u8(2 + u8::from(*flag)),
            Self::Int(number) => number.hash(state),
            // both zeros are one key, and so are all NaNs
            Self::Float(number) if *number == 0.0 => state.write_u64(0),
            Self::Float(number) if number.is_nan() => state.write_u64(u64::MAX),
            Self::Float(number) => state.write_u64(number.to_bits()),
            Self::Str(text) => hash_text(text, state),
            Self::Array(elements) => elements.hash(state),
            // entries are equal in any order, so only their number, which does not depend on it, is
            // hashed
            Self::Hash(entries) => state.write_usize(entries.len()),
            Self::Regexp(regexp) => regexp.hash(state),
            Self::Type(ty) => ty.hash(state),
            Self::Sensitive(inner) => inner.hash(state),
            Self::Binary(bytes) => bytes.hash(state),
            Self::SemVer(version) => version.hash(state),
            Self::SemVerRange(range) => range.hash(state),
            Self::Timestamp(time) => time.hash(state),
            Self::Timespan(span) => span.hash(state),
            Self::Uri(uri) => uri.hash(state),
            Self::Object(object) => state.write_u64(object.hash_code()),
        }
    }
}

fn hash_text<H: Hasher>(text: &str, state: &mut H) {
    state.write_u8(STRING);
    text.hash(state);
}

/// A text with which a hash is searched.
pub(super) struct TextKey<'a>(pub(super) &'a str);

impl Hash for TextKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_text(self.0, state);
    }
}

impl Equivalent<HashKey> for TextKey<'_> {
    fn equivalent(&self, key: &HashKey) -> bool {
        matches!(&key.0, Value::Str(text) if **text == *self.0)
    }
}

/// A value with which a hash is searched, without cloning it.
pub(super) struct ValueKey<'a>(pub(super) &'a Value);

impl Hash for ValueKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Equivalent<HashKey> for ValueKey<'_> {
    fn equivalent(&self, key: &HashKey) -> bool {
        key.0 == *self.0
    }
}
