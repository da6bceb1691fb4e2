//! Integration tests of the agent in one binary.

mod bootstrap;
mod config;
mod connection;
mod crl;
mod fake_ca;
mod pidfile;
