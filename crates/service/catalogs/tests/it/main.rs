//! The engine over directories with code, and catalogs with data of other nodes, also from programs that
//! are no PuppetDB.
#![cfg(test)]

mod applications;
mod applications_page;
mod embedded_capabilities;
mod embedded_exports;
mod engine;
mod fake_puppetdb;
mod foreign_capabilities;
mod hostile_names;
mod impact;
mod native_functions;
mod puppetdb;
mod shutdown;
mod site;
mod transports;
mod world;
