//! The list of routes, with one file for each service. A new route needs a handler and tests: the
//! router and the tests iterate over [`ALL`].

mod activity;
mod catalogs;
mod certificates;
mod classifier;
mod code;
mod connections;
mod controllers;
mod directories;
mod environments;
mod file_sync;
mod group;
mod orchestrator;
mod permissions;
mod plans;
mod puppetdb;
mod rbac;
mod reports;
mod schedules;
mod status;
mod webhooks;

use self::group::group;
use crate::route::Route;

pub use self::activity::*;
pub use self::catalogs::*;
pub use self::certificates::*;
pub use self::classifier::*;
pub use self::code::*;
pub use self::connections::*;
pub use self::controllers::*;
pub use self::directories::*;
pub use self::environments::*;
pub use self::file_sync::*;
pub use self::orchestrator::*;
pub use self::plans::*;
pub use self::puppetdb::*;
pub use self::rbac::*;
pub use self::reports::*;
pub use self::schedules::*;
pub use self::status::*;
pub use self::webhooks::*;

/// All routes of the API.
pub const ALL: &[Route] = &joined::<{ count(GROUPS) }>(GROUPS);

/// Route groups, one for each file of this module.
const GROUPS: &[&[Route]] = &[
    activity::GROUP,
    catalogs::GROUP,
    certificates::GROUP,
    classifier::GROUP,
    code::GROUP,
    connections::GROUP,
    controllers::GROUP,
    directories::GROUP,
    environments::GROUP,
    file_sync::GROUP,
    orchestrator::GROUP,
    plans::GROUP,
    puppetdb::GROUP,
    rbac::GROUP,
    reports::GROUP,
    schedules::GROUP,
    status::GROUP,
    webhooks::GROUP,
];

const fn count(groups: &[&[Route]]) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < groups.len() {
        sum += groups[i].len();
        i += 1;
    }
    sum
}

const fn joined<const N: usize>(groups: &[&[Route]]) -> [Route; N] {
    let mut all = [groups[0][0]; N];
    let (mut at, mut i) = (0, 0);
    while i < groups.len() {
        let mut j = 0;
        while j < groups[i].len() {
            all[at] = groups[i][j];
            at += 1;
            j += 1;
        }
        i += 1;
    }
    all
}
