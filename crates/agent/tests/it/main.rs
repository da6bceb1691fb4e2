//! The agent from outside: one binary for all integration tests.

mod engine;
