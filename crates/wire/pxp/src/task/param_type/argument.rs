//! What stands between the brackets of a type.

use super::{ParamType, StructEntry};

/// A parameter of a type, with its position.
pub(super) struct Argument {
    pub(super) at: usize,
    pub(super) value: ArgumentValue,
}

pub(super) enum ArgumentValue {
    Type(ParamType),
    Text(String),
    Regex(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Default,
    Entries(Vec<StructEntry>),
}
