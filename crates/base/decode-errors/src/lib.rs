//! Errors of JSON and TOML readers, worded for the author of the document. Main type:
//! [`DecodeError`].
//!
//! The libraries word their errors for Rust programmers: names of Rust types, "map" for an object,
//! values of the document. Invariant: a [`DecodeError`] contains nothing of that wording; its text
//! has the needed value, the kind of the value that was found (never a string of the document,
//! which may be a secret), and the place.

mod defaults;
mod error;
mod mismatch;
mod vocabulary;

pub mod json;
pub mod toml;

pub use error::{DecodeError, DocumentFormat};

/// Fragments of the messages of serde, serde_json and toml. No message for users has one of them.
pub const LIBRARY_WORDING: &[&str] = &[
    "invalid type:",
    "invalid value:",
    "invalid length ",
    "missing field",
    "duplicate field",
    "unknown field",
    "unknown variant",
    "expected value at",
    "expected ident at",
    "expected struct ",
    "trailing characters",
    "trailing comma",
    "EOF while parsing",
    "at line 1 column",
    "TOML parse error",
    "did not match any variant",
];
