//! Tools of tests and benches: real services, whole installations, simulated agents.
//!
//! | module | purpose |
//! |---|---|
//! | [`service`] | a real program as a child process: started, awaited until ready, killed |
//! | [`installation`] | server, brokers and agents of an installation on loopback |
//! | [`control_repository`] | a control repository, from which an installation deploys code |
//! | [`client`] | a client of the API that continues over restarts of the server |
//! | [`fleet`] | simulated agents over real sockets, tens of thousands, with faults |
//! | [`fairness`] | the latency of honest clients with and without an attack |
//! | [`engine`] | a test's database, and one test on both engines |
//! | [`forge_server`] | a Forge, and archives of modules |
//! | [`identity_provider`] | an OpenID Connect provider |
//! | [`postgres`] | a private PostgreSQL server |
//! | [`closable_port`] | a port in front of a server that takes long to start |
//! | [`door`] | a proxy in front of it that cuts connections at a commit |
//! | [`power_cut`] | a disk whose power is cut while processes use it |
//! | [`release_traffic`] | requests of agents during deployments, each answer checked |
//! | [`https_connection`], [`loopback`] | connections with a minimal client |
//! | [`agent_requests`] | requests of Puppet agents for it |
//! | [`booted_machine`] | machines with a real systemd, for installation tests |
//! | [`typed_document`] | the commands of a document, to be typed on such machines |
//! | [`fenced_blocks`] | the blocks of code of a document |
//! | [`machine`], [`figures`] | processor time, memory, the disk; percentiles |
//! | [`peers`] | real puppetserver, PuppetDB and puppet agents |
//!
//! Invariant: nothing here outlives its handle, and no load leaves the loopback addresses.

pub mod agent_requests;
pub mod booted_machine;
pub mod client;
pub mod closable_port;
pub mod control_repository;
pub mod door;
pub mod engine;
pub mod fairness;
pub mod fenced_blocks;
pub mod figures;
pub mod fleet;
pub mod forge_server;
pub mod https_connection;
pub mod identity_provider;
pub mod installation;
pub mod loopback;
pub mod machine;
pub mod peers;
pub mod postgres;
pub mod power_cut;
pub mod release_traffic;
pub mod service;
pub mod typed_document;
