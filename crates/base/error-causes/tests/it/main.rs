//! Real failures of real connections, and the text for each.
#![expect(clippy::unwrap_used, reason = "tests stop where something is wrong")]

mod http;
mod wrapped;
