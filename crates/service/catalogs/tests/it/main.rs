//! Exported resources and rows of PuppetDB in catalogs, also from programs that are no PuppetDB.
#![cfg(test)]

mod fake_puppetdb;
mod puppetdb;
mod site;
