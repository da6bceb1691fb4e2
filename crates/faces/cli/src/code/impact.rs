//! `tutti code impact`: changes of nodes' catalogs between two versions. Main function: [`run`].
//!
//! The server compiles some nodes for each request; this client merges the groups of all requests.
//!
//! Invariant: each node is in one group or counted as equal, however the nodes were divided.

use std::collections::BTreeMap;

use api_types::defaults::IMPACT_NODES_MAX;
use api_types::kinds::UNAVAILABLE;
use api_types::{CodeImpactCommand, CodeImpactGroup, CodeImpactReply};

use super::code_route;
use crate::client::ApiClient;
use crate::defaults::{IMPACT_RETRIES, IMPACT_RETRY_WAIT};
use crate::failure::usage;
use crate::impact_groups::print_impact;
use crate::present::OutputOptions;
use crate::{
    CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, Result, VerbResult, targets, terminal,
};

/// Arguments of `tutti code impact`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code deploy production --dry-run && tutti code impact production@3f2a9c
  tutti code impact feature_x --against production --nodes 'web*'
  tutti code impact production@3f2a9c --sample 100 --format json

Every node whose facts the server knows is compiled with both versions. Nodes with the same changed \
resources and attributes are one group. Nodes that cannot be compiled come first. Values are not shown; \
`tutti catalog diff` shows them.

Exit codes: 0 all catalogs are equal; 1 some differ, or cannot be compiled; 2 wrong usage, or the service \
could not do it.")]
pub struct Options {
    /// Environment with the change, and first digits of its version [default: the live one]
    #[arg(value_name = "ENVIRONMENT[@VERSION]")]
    changed: String,
    /// Environment and version to compare with [default: the live version of the same environment]
    #[arg(long, value_name = "ENVIRONMENT[@VERSION]")]
    against: Option<String>,
    /// Certnames or patterns, separated by commas [default: all known nodes]
    #[arg(long, short = 'n', value_name = "NODES")]
    nodes: Option<String>,
    /// Compile only this number of the nodes, spread over the list of their names
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Groups by whether they have an error and by their changes.
#[derive(Default)]
struct MergedImpact {
    reply: CodeImpactReply,
    groups: BTreeMap<(bool, Vec<String>), Vec<String>>,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let command = command(options)?;
    let typed = options.nodes.as_deref().unwrap_or("*");
    let all = targets::nodes_of_inventory(client, typed).await?;
    let nodes = sample(&all, options.sample);
    let mut merged = MergedImpact::default();
    let mut compiled = 0;
    for chunk in nodes.chunks(IMPACT_NODES_MAX) {
        let command = CodeImpactCommand {
            nodes: chunk.to_vec(),
            ..command.clone()
        };
        merged.add(request(client, &command).await?);
        compiled += chunk.len();
        show_progress(compiled, nodes.len());
    }
    let reply = merged.into_reply();
    if !options.shown.format.print_json(&reply) {
        print_impact(&reply.groups, reply.equal, nodes.len());
    }
    Ok(match reply.groups.is_empty() {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    })
}

fn command(options: &Options) -> Result<CodeImpactCommand> {
    let (environment, version) = split_version(&options.changed)?;
    let against = options.against.as_deref().map(split_version).transpose()?;
    let (against_environment, against_version) = match against {
        Some((environment, version)) => (Some(environment), version),
        None => (None, None),
    };
    if version.is_none() && options.against.is_none() {
        return usage(format!(
            "name two versions: `tutti code impact {environment}@VERSION`, or --against another environment; `tutti \
             code versions {environment}` lists versions"
        ));
    }
    Ok(CodeImpactCommand {
        environment,
        version,
        against_environment,
        against_version,
        nodes: Vec::new(),
    })
}

/// Environment and version of `ENVIRONMENT[@VERSION]`.
fn split_version(text: &str) -> Result<(String, Option<String>)> {
    match text.split_once('@') {
        None => Ok((text.to_owned(), None)),
        Some((environment, version)) if !version.is_empty() => {
            Ok((environment.to_owned(), Some(version.to_owned())))
        }
        Some((environment, _)) => usage(format!(
            "no version follows the @ of `{environment}@`; write its first digits"
        )),
    }
}

/// `number` of the nodes at equal distances, or all.
fn sample(nodes: &[String], number: Option<u32>) -> Vec<String> {
    let number = number.map_or(nodes.len(), |it| it as usize);
    if number >= nodes.len() {
        return nodes.to_vec();
    }
    let index = |position: usize| position * nodes.len() / number;
    (0..number).map(|it| nodes[index(it)].clone()).collect()
}

/// Sends a request, and again while the server has no room for it.
async fn request(client: &ApiClient, command: &CodeImpactCommand) -> Result<CodeImpactReply> {
    let path = code_route("impact");
    for _ in 0..IMPACT_RETRIES {
        match client.post_long(&path, command).await {
            Err(CommandFailure::Refused { kind, .. }) if kind == UNAVAILABLE.name => {
                tokio::time::sleep(IMPACT_RETRY_WAIT).await;
            }
            answer => return answer,
        }
    }
    client.post_long(&path, command).await
}

fn show_progress(compiled: usize, total: usize) {
    if terminal::is_watched() {
        let end = if compiled == total { "\n" } else { "" };
        anstream::eprint!("\r{compiled} of {total} nodes compiled{end}");
    }
}

impl MergedImpact {
    fn add(&mut self, reply: CodeImpactReply) {
        for group in reply.groups {
            let key = (group.error, group.changes);
            self.groups.entry(key).or_default().extend(group.nodes);
        }
        self.reply.equal += reply.equal;
        self.reply.code_id = reply.code_id;
        self.reply.against_code_id = reply.against_code_id;
    }

    /// The groups: errors first, then by number of nodes.
    fn into_reply(self) -> CodeImpactReply {
        let groups = self.groups.into_iter();
        let mut groups: Vec<CodeImpactGroup> = groups
            .map(|((error, changes), nodes)| CodeImpactGroup {
                error,
                changes,
                nodes,
            })
            .collect();
        groups.sort_by_key(|group| (!group.error, std::cmp::Reverse(group.nodes.len())));
        CodeImpactReply {
            groups,
            ..self.reply
        }
    }
}

#[cfg(test)]
mod tests {
    use api_types::{CodeImpactGroup, CodeImpactReply};

    use super::{MergedImpact, sample, split_version};

    fn reply(equal: usize, groups: &[(bool, &str, &[&str])]) -> CodeImpactReply {
        let groups = groups.iter().map(|(error, change, nodes)| CodeImpactGroup {
            error: *error,
            changes: vec![(*change).to_owned()],
            nodes: nodes.iter().map(|it| (*it).to_owned()).collect(),
        });
        CodeImpactReply {
            equal,
            groups: groups.collect(),
            ..CodeImpactReply::default()
        }
    }

    #[test]
    fn groups_of_several_requests_are_merged() {
        let mut merged = MergedImpact::default();
        merged.add(reply(2, &[(false, "~ A", &["a"]), (true, "fails", &["b"])]));
        merged.add(reply(
            1,
            &[(false, "+ B", &["c", "d", "e"]), (false, "~ A", &["f"])],
        ));
        let expected = reply(
            3,
            &[
                (true, "fails", &["b"]),
                (false, "+ B", &["c", "d", "e"]),
                (false, "~ A", &["a", "f"]),
            ],
        );
        assert_eq!(merged.into_reply(), expected);
    }

    #[test]
    fn a_sample_is_spread_over_all_nodes() {
        let nodes: Vec<String> = (0..10).map(|it| it.to_string()).collect();
        assert_eq!(sample(&nodes, Some(3)), ["0", "3", "6"]);
        assert_eq!(sample(&nodes, Some(10)), nodes);
        assert_eq!(sample(&nodes, Some(99)), nodes);
        assert_eq!(sample(&nodes, None), nodes);
        assert!(sample(&[], Some(3)).is_empty());
    }

    #[test]
    fn a_version_follows_the_environment() {
        let split = |text| split_version(text).ok();
        assert_eq!(split("test"), Some(("test".to_owned(), None)));
        assert_eq!(
            split("test@3f"),
            Some(("test".to_owned(), Some("3f".to_owned())))
        );
        assert_eq!(split("test@"), None);
    }
}
