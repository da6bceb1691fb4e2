//! Logins and tokens against real stores, on SQLite and on PostgreSQL.
#![cfg(test)]

mod directories;
mod escalation;
mod first_start;
mod logins;
mod passwords;
mod tokens;
mod world;
