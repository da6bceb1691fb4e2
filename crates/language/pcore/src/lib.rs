//! Puppet's values and type system: values, types, instance checks, conversion, comparison,
//! printing and serialization.
//!
//! The crate is independent of evaluation: the evaluator passes values and types to it.
//!
//! - [`Value`] is any value of the language: immutable, cheap to clone, shared between threads.
//! - [`Type`] is any type of the language; [`TypeKind`] is its kind with its parameters.
//! - [`PuppetObject`] is the behaviour of native objects (a target, a result) and of instances of
//!   `Object` types.
//!
//! Invariant: every result (assignability, instance checks, texts, errors) is that of real Puppet;
//! docs/language.md lists each exception with its reason.

mod access;
mod check;
mod convert;
mod data;
mod defaults;
mod describe;
mod fast_hash;
mod format;
mod parse;
mod text;
mod time;
mod types;
mod value;

pub use access::{AccessError, ruby_class};
pub use convert::{ConversionError, new_instance};
pub use data::RichDataError;
pub use defaults::{CONVERTED_ELEMENTS_MAX, FORMATTED_WIDTH_MAX};
pub use describe::{
    CallSignature, TypeMismatch, assert_instance, describe_call, describe_mismatch,
    describe_parameters,
};
pub use fast_hash::{FastHashMap, FastHashSet, FastIndexMap};
pub use format::{FormatError, format_value};
pub use parse::{AliasFile, TypeLookup, TypeTextError};
pub use text::{REDACTED, double_quote, quote, ruby_float, ruby_inspect};
pub use time::TimeError;
pub use types::{
    AliasError, AttributeKind, CallableType, EnumType, FloatRange, InitType, IntRange,
    NamedTypeAlias, ObjectAttribute, ObjectBody, ObjectFunction, ObjectTypeDefinition,
    ObjectTypeError, RuntimeName, RuntimeType, StringType, StructElement, TimeRange, TupleType,
    Type, TypeKind, TypeParameter, TypeSetType, unresolved_reference,
};
pub use value::{
    Binary, CompareError, Hash, HashKey, ObjectError, ObjectInstance, PuppetObject,
    PuppetTimestamp, PuppetUriError, Regexp, SemVer, SemVerError, SemVerRange, SemVerRangeError,
    Timespan, Uri, Value,
};
