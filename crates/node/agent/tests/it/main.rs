//! The agent from outside: one binary for all integration tests.

mod bootstrap;
mod config;
mod connection;
mod crl;
mod fake_ca;
mod pidfile;
