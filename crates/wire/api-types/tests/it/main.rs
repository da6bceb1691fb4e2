//! The types against what real clients send, and the list of routes against itself.

mod document;
mod input;
mod output;
