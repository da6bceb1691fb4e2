//! Messages about documents that cannot be read: input and the whole message, for every kind of
//! error.

#![cfg(test)]

mod json;
mod no_library_wording;
mod toml;
