//! Logins and tokens against a real SQLite store.
#![cfg(test)]

mod directories;
mod escalation;
mod first_start;
mod logins;
mod passwords;
mod tokens;
mod world;
