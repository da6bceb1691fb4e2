//! The connection against a broker of another make.

mod association;
mod endings;
mod failover;
mod input;
mod keepalive;
mod sending;
mod support;
mod trust;
