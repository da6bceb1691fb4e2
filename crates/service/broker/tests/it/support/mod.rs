//! Fixtures of the tests: a certificate authority, a broker, clients, controllers.

mod client;
mod controller;
mod world;

pub(crate) use client::{Client, Closed, V1Message, guard, id_text, message, text_of, tls_stream};
pub(crate) use controller::{FakeController, Peer};
pub(crate) use world::{TestBroker, World, open_policy};
