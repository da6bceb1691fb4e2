//! `tutti node-group create`, `edit`, `delete` and `import`.

use std::path::Path;

use api_types::Object;
use api_types::classifier::{NodeGroup, NodeGroupDelta, NodeGroupInput};
use serde_json::Value;
use uuid::Uuid;

use super::{find, rule_arguments};
use crate::client::ApiClient;
use crate::failure::usage;
use crate::input::read_limited;
use crate::terminal::escape_control;
use crate::{CommandFailure, EXIT_SUCCESS, Result, VerbResult};

/// The id of the root group, the same in every classifier.
const ROOT: &str = "00000000-0000-4000-8000-000000000000";

/// Arguments of `tutti node-group create`.
#[derive(Debug, clap::Args)]
pub struct CreateOptions {
    /// Name of the new group
    name: String,
    /// Parent group, by its name or id [default: All Nodes]
    #[arg(long, value_name = "GROUP")]
    parent: Option<String>,
    /// Override the environments of other groups
    #[arg(long)]
    environment_trumps: bool,
    #[command(flatten)]
    parts: GroupParts,
}

/// Arguments of `tutti node-group edit`.
#[derive(Debug, clap::Args)]
pub struct EditOptions {
    /// Name or id of the group
    group: String,
    /// New name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// New parent group, by its name or id
    #[arg(long, value_name = "GROUP")]
    parent: Option<String>,
    /// Whether its environment overrides those of other groups
    #[arg(long, value_name = "BOOL")]
    environment_trumps: Option<bool>,
    /// Remove the rule
    #[arg(long, conflicts_with = "rule")]
    no_rule: bool,
    /// Remove a class; may be given several times
    #[arg(long = "no-class", value_name = "CLASS")]
    no_classes: Vec<String>,
    /// Remove a variable; may be given several times
    #[arg(long = "no-variable", value_name = "NAME")]
    no_variables: Vec<String>,
    #[command(flatten)]
    parts: GroupParts,
}

/// The parts of a group.
#[derive(Debug, clap::Args)]
struct GroupParts {
    /// Environment of its nodes
    #[arg(long, short = 'e', value_name = "NAME")]
    environment: Option<String>,
    /// Free text that describes the group
    #[arg(long)]
    description: Option<String>,
    /// Rule that selects its nodes: JSON, or @FILE that contains it
    #[arg(long, value_name = "JSON")]
    rule: Option<String>,
    /// Class, optionally with its parameters as a JSON object; may be given several times
    #[arg(long = "class", value_name = "CLASS[=JSON]")]
    classes: Vec<String>,
    /// Top-scope variable; may be given several times
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    variables: Vec<String>,
}

pub(super) async fn create(options: CreateOptions, client: &ApiClient) -> VerbResult {
    let parent = match &options.parent {
        Some(called) => find::resolve_id(client, called).await?,
        None => ROOT.to_owned(),
    };
    let parts = options.parts;
    let variables = objects(&parts.variables, rule_arguments::variable)?;
    let rule = parts.rule.as_deref();
    let id = Uuid::new_v4().to_string();
    let input = NodeGroupInput {
        name: options.name,
        parent,
        classes: objects(&parts.classes, rule_arguments::class)?,
        id: Some(id.clone()),
        description: parts.description,
        environment: parts.environment,
        environment_trumps: options.environment_trumps.then_some(true),
        rule: rule.map(rule_arguments::rule).transpose()?,
        config_data: None,
        variables: (!variables.is_empty()).then_some(variables),
        serial_number: None,
    };
    let group: NodeGroup = client.put(&find::route([&id]), &input).await?;
    say!(
        "Made node group {} ({})",
        escape_control(&group.name),
        escape_control(&group.id)
    );
    Ok(EXIT_SUCCESS)
}

pub(super) async fn edit(options: EditOptions, client: &ApiClient) -> VerbResult {
    let id = find::resolve_id(client, &options.group).await?;
    let mut delta = Object::new();
    let mut set = |key: &str, value: Option<Value>| {
        delta.extend(value.map(|value| (key.to_owned(), value)));
    };
    let parts = options.parts;
    set("name", options.name.map(Value::from));
    set("environment", parts.environment.map(Value::from));
    set("description", parts.description.map(Value::from));
    let trumps = options.environment_trumps;
    set("environment_trumps", trumps.map(Value::from));
    if let Some(parent) = &options.parent {
        let parent = find::resolve_id(client, parent).await?;
        set("parent", Some(parent.into()));
    }
    match parts.rule {
        Some(rule) => set("rule", Some(rule_arguments::rule(&rule)?)),
        None => set("rule", options.no_rule.then_some(Value::Null)),
    }
    let removed = |names: Vec<String>| names.into_iter().map(|name| (name, Value::Null));
    let mut classes = objects(&parts.classes, rule_arguments::class)?;
    classes.extend(removed(options.no_classes));
    let mut variables = objects(&parts.variables, rule_arguments::variable)?;
    variables.extend(removed(options.no_variables));
    for (key, object) in [("classes", classes), ("variables", variables)] {
        set(key, (!object.is_empty()).then_some(Value::Object(object)));
    }
    if delta.is_empty() {
        return usage("name at least one change; see --help");
    }
    let group: NodeGroup = client
        .post(&find::route([&id]), &NodeGroupDelta(delta))
        .await?;
    say!("Changed node group {}", escape_control(&group.name));
    Ok(EXIT_SUCCESS)
}

pub(super) async fn delete(called: &str, client: &ApiClient) -> VerbResult {
    let id = find::resolve_id(client, called).await?;
    client.delete(&find::route([&id])).await?;
    say!("Deleted node group {}", escape_control(called));
    Ok(EXIT_SUCCESS)
}

pub(super) async fn import(file: &Path, client: &ApiClient) -> VerbResult {
    let parsed = decode_errors::json::from_str(&read_limited(file)?);
    let groups: Vec<Value> = parsed.map_err(|error| {
        let what = format!("it must be an array of groups: {error}");
        CommandFailure::content(file.display(), what)
    })?;
    let path = ["classifier-api", "v1", "import-hierarchy"];
    client.command(&path, &groups).await?;
    let count = groups.len();
    say!(
        "All groups are replaced by the {count} of {}",
        file.display()
    );
    Ok(EXIT_SUCCESS)
}

/// Applies `part` to each text and collects the results into an object.
fn objects(texts: &[String], part: impl Fn(&str) -> Result<(String, Value)>) -> Result<Object> {
    texts.iter().map(|text| part(text)).collect()
}
