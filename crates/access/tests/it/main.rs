//! Logins and tokens against a real SQLite store.

mod first_start;
mod logins;
mod tokens;
mod world;
