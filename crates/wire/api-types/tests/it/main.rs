//! Tests of the types with the messages of real clients, and of the consistency of the routes.

mod document;
mod input;
mod output;
