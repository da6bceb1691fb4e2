//! The API over real mutual TLS, as agents and administrators use it.

#![cfg(test)]

mod audit;
mod authority;
mod autosign;
mod bootstrap;
mod files;
mod site;
mod slow;
