//! Puppet runs with the real puppet agent, puppetserver and PuppetDB, on three nodes.
//!
//! `cargo test -p conformance --test puppet -- NAME` runs the scenarios whose names contain NAME.
#![cfg(test)]

mod away;
mod code_ids;
mod ending;
mod environments;
mod options;
mod outcomes;
mod overhead;
mod scopes;
mod versions;
mod waiting;

use std::process::ExitCode;

use conformance::scenarios::Scenarios;
use conformance::site::SiteOptions;

const NODE1: &str = "node1.test";
const NODE2: &str = "node2.test";
const NODE3: &str = "node3.test";

/// Where reports are said to be shown.
const CONSOLE: &str = "https://console.test";

/// `.with("name", name)` for each.
macro_rules! scenarios {
    ($($module:ident: $($name:ident),+;)+) => {
        Scenarios::new()$($(.with(stringify!($name), |site| Box::pin($module::$name(site))))+)+
    };
}

fn main() -> ExitCode {
    let options = SiteOptions {
        nodes: [NODE1, NODE2, NODE3].map(str::to_owned).to_vec(),
        server: format!("[jobs]\nconsole_url = {CONSOLE:?}\n"),
    };
    scenarios! {
        outcomes: the_site_itself_works, changed_unchanged_and_failed, a_catalog_that_does_not_compile;
        waiting: a_run_in_progress_is_waited_for, the_wait_has_an_end, a_disabled_agent_says_why;
        options: noop_and_no_noop, tags_choose_resources;
        scopes: a_query_names_the_nodes, a_node_group_names_the_nodes;
        code_ids: the_code_ids_of_nodes_are_known;
        environments: nodes_of_another_environment_do_not_run, the_node_terminus_sends_another_environment,
            tutti_is_the_node_terminus;
        versions: a_node_with_an_old_puppet_is_not_asked;
        ending: a_killed_server_loses_nothing, a_forced_stop_ends_the_run, time_that_is_up_ends_the_run;
        away: a_puppetdb_that_is_down, a_puppetserver_that_is_down;
    }
    .on_request("overhead", |site| Box::pin(overhead::overhead(site)))
    .run(&options)
}

/// A manifest with a body for each node.
fn for_nodes(bodies: &[(&str, &str)]) -> String {
    let blocks = bodies.iter();
    let blocks: String = blocks
        .map(|(node, body)| format!("node '{node}' {{\n{body}\n}}\n"))
        .collect();
    blocks + "node default { }\n"
}

/// A file with this content.
fn file(path: &std::path::Path, content: &str) -> String {
    format!("file {{ '{}': content => '{content}' }}\n", path.display())
}
