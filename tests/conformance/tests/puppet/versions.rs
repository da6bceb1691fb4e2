//! Nodes whose Puppet is too old for a run on demand.

use conformance::site::Site;
use serde_json::json;

use crate::{NODE2, NODE3};

/// The fact that Puppet adds to Facter's; an external one of the same name wins.
const FACT: &str = "puppetversion";

pub(crate) async fn a_node_with_an_old_puppet_is_not_asked(site: &mut Site) {
    site.manifest("production", "notify { 'hello': }");
    site.give_fact(NODE3, FACT, "4.10.12").await;
    let ran = site.run(&[NODE2, NODE3], json!({})).await;
    ran.ended(NODE2, "finished");
    let error = &ran.ended(NODE3, "errored")["_error"];
    assert_eq!(error["kind"], "tutti/puppet-too-old", "{error:#}");
    let msg = error["msg"].as_str().expect("words for people");
    assert!(msg.contains("4.10.12") && msg.contains("5.0.0"), "{msg}");

    site.give_fact(NODE3, FACT, "7.23.0").await;
    let ran = site.run(&[NODE3], json!({})).await;
    ran.ended(NODE3, "finished");
}
