//! `tutti node-group create`, `edit`, `delete` and `import`.

use std::path::{Path, PathBuf};

use api_types::Object;
use api_types::classifier::{NodeGroup, NodeGroupDelta, NodeGroupInput};
use reqwest::Method;
use serde_json::Value;
use uuid::Uuid;

use super::{find, rule_arguments};
use crate::client::ApiClient;
use crate::input::read_limited;
use crate::terminal::escape_control;
use crate::{CommandFailure, EXIT_SUCCESS};

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

/// Arguments of `tutti node-group delete`.
#[derive(Debug, clap::Args)]
pub struct DeleteOptions {
    /// Name or id of the group
    group: String,
}

/// Arguments of `tutti node-group import`.
#[derive(Debug, clap::Args)]
pub struct ImportOptions {
    /// File with an array of groups
    file: PathBuf,
}

pub(super) async fn create(
    options: CreateOptions,
    client: &ApiClient,
) -> Result<u8, CommandFailure> {
    let parent = match &options.parent {
        Some(called) => find::resolve_id(client, called).await?,
        None => ROOT.to_owned(),
    };
    let parts = options.parts;
    let variables = objects(&parts.variables, rule_arguments::variable)?;
    let id = Uuid::new_v4().to_string();
    let input = NodeGroupInput {
        name: options.name,
        parent,
        classes: objects(&parts.classes, rule_arguments::class)?,
        id: Some(id.clone()),
        description: parts.description,
        environment: parts.environment,
        environment_trumps: options.environment_trumps.then_some(true),
        rule: parts
            .rule
            .as_deref()
            .map(rule_arguments::rule)
            .transpose()?,
        config_data: None,
        variables: (!variables.is_empty()).then_some(variables),
        serial_number: None,
    };
    let group: NodeGroup = client.put(&path(&id), &input).await?;
    say!(
        "Made node group {} ({})",
        escape_control(&group.name),
        escape_control(&group.id)
    );
    Ok(EXIT_SUCCESS)
}

pub(super) async fn edit(options: EditOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let id = find::resolve_id(client, &options.group).await?;
    let mut delta = Object::new();
    let mut set = |key: &str, value: Option<Value>| {
        delta.extend(value.map(|value| (key.to_owned(), value)));
    };
    let parts = options.parts;
    set("name", options.name.map(Value::from));
    set("environment", parts.environment.map(Value::from));
    set("description", parts.description.map(Value::from));
    set(
        "environment_trumps",
        options.environment_trumps.map(Value::from),
    );
    if let Some(parent) = &options.parent {
        set(
            "parent",
            Some(find::resolve_id(client, parent).await?.into()),
        );
    }
    match parts.rule {
        Some(rule) => set("rule", Some(rule_arguments::rule(&rule)?)),
        None => set("rule", options.no_rule.then_some(Value::Null)),
    }
    let mut classes = objects(&parts.classes, rule_arguments::class)?;
    classes.extend(
        options
            .no_classes
            .into_iter()
            .map(|name| (name, Value::Null)),
    );
    let mut variables = objects(&parts.variables, rule_arguments::variable)?;
    variables.extend(
        options
            .no_variables
            .into_iter()
            .map(|name| (name, Value::Null)),
    );
    for (key, object) in [("classes", classes), ("variables", variables)] {
        set(key, (!object.is_empty()).then_some(Value::Object(object)));
    }
    if delta.is_empty() {
        return Err(CommandFailure::Usage(
            "name at least one change; see --help".to_owned(),
        ));
    }
    let group: NodeGroup = client.post(&path(&id), &NodeGroupDelta(delta)).await?;
    say!("Changed node group {}", escape_control(&group.name));
    Ok(EXIT_SUCCESS)
}

pub(super) async fn delete(one: &DeleteOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let id = find::resolve_id(client, &one.group).await?;
    client.delete(&path(&id)).await?;
    say!("Deleted node group {}", escape_control(&one.group));
    Ok(EXIT_SUCCESS)
}

pub(super) async fn import(
    options: &ImportOptions,
    client: &ApiClient,
) -> Result<u8, CommandFailure> {
    let groups = groups(&options.file)?;
    let path = ["classifier-api", "v1", "import-hierarchy"];
    client
        .send_without_content(Method::POST, &path, &groups)
        .await?;
    say!(
        "All groups are replaced by the {} of {}",
        groups.len(),
        options.file.display()
    );
    Ok(EXIT_SUCCESS)
}

fn groups(file: &Path) -> Result<Vec<Value>, CommandFailure> {
    decode_errors::json::from_str(&read_limited(file)?).map_err(|error| CommandFailure::Content {
        place: file.display().to_string(),
        what: format!("it must be an array of groups: {error}"),
    })
}

/// Applies `part` to each text and collects the results into an object.
fn objects(
    texts: &[String],
    part: impl Fn(&str) -> Result<(String, Value), CommandFailure>,
) -> Result<Object, CommandFailure> {
    texts.iter().map(|text| part(text)).collect()
}

fn path(id: &str) -> [&str; 4] {
    let [service, version, groups] = find::GROUPS;
    [service, version, groups, id]
}
