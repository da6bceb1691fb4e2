//! Users of a real OpenLDAP server. Without slapd on the machine nothing is tested, and each test
//! says so.
#![cfg(test)]

mod logins;
mod server;
mod trouble;
mod world;
