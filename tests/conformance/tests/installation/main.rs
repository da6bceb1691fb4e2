//! Installation as documented: the commands of the documents are typed as root in machines with a real systemd.
//!
//! The rule: what is typed comes from the documents; a test adds what a person sees and waits for between the
//! blocks. Where machines cannot be booted, the tests are skipped with the reason.
#![cfg(test)]

mod beside_puppetserver;
mod code;
mod getting_started;
mod server;
mod site;
