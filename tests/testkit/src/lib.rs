//! What tests and benches are made with: real services, whole installations, simulated agents.
//!
//! | module | what for |
//! |---|---|
//! | [`service`] | a real program as a child: started, awaited until ready, killed |
//! | [`installation`] | server, brokers and agents of an installation on loopback |
//! | [`client`] | a client of the API that lives through restarts |
//! | [`fleet`] | simulated agents over real sockets, by the ten thousand, with faults |
//! | [`engine`] | a test's database, and one test on both engines |
//! | [`identity_provider`] | an OpenID Connect provider |
//! | [`postgres`] | a private PostgreSQL server |
//! | [`door`] | a door in front of it that shuts at a commit |
//! | [`power_cut`] | a disk whose power is cut under the processes that live on it |
//! | [`peers`] | real puppetserver, PuppetDB and puppet agents |
//!
//! The rule: nothing here outlives its handle, and no load leaves the loopback addresses.

pub mod client;
pub mod door;
pub mod engine;
pub mod fleet;
pub mod identity_provider;
pub mod installation;
pub mod peers;
pub mod postgres;
pub mod power_cut;
pub mod service;
