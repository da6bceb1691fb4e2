//! Real failures of real connections, and the words for them.
#![expect(clippy::unwrap_used, reason = "tests stop where something is wrong")]

mod http;
mod wrapped;
