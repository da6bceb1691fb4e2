//! The connection against a broker of another make.

mod announcing;
mod association;
mod behaviours_wire;
mod endings;
mod failover;
mod input;
mod keepalive;
mod sending;
mod support;
mod trust;
