//! Tests of the connection against a broker with an independent implementation.

mod announcing;
mod association;
mod behaviours_wire;
mod endings;
mod failover;
mod input;
mod keepalive;
mod sending;
mod sleeping;
mod support;
mod trust;
