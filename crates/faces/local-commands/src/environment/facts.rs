//! The facts of the node, and the variables that Hiera data may use.

use std::path::Path;

use compiler::{trusted_data, with_agent_facts};
use pcore::{Hash, Value};

use cli::CommandFailure;
use cli::input::read_limited;

/// Reads facts from a file; empty without a file.
pub(crate) fn of(path: Option<&Path>) -> Result<Hash, CommandFailure> {
    let Some(path) = path else {
        return Ok(Hash::new());
    };
    let text = read_limited(path)?;
    let extension = path
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    let facts = match extension {
        "json" => hiera::json_value(&text),
        "yml" | "yaml" => hiera::yaml_value(&text),
        _ => hiera::json_value(&text).or_else(|_| hiera::yaml_value(&text)),
    };
    match facts {
        Ok(Value::Hash(facts)) => Ok(Hash::clone(&facts)),
        Err(what) if !extension.is_empty() => Err(CommandFailure::Content {
            place: path.display().to_string(),
            what,
        }),
        _ => Err(CommandFailure::Usage(format!(
            "Incorrectly formatted data in {} given via the --facts flag (only accepts yaml and json \
             files)",
            path.display()
        ))),
    }
}

/// The variables for interpolation: every fact, `facts`, `trusted`, `server_facts` and
/// `environment`.
pub(crate) fn variables(
    facts: &Hash,
    node: Option<&str>,
    environment: &str,
) -> Vec<(String, Value)> {
    let mut variables: Vec<(String, Value)> = facts
        .iter()
        .filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value.clone())))
        .collect();
    let certname = match (node, facts.get_str("clientcert")) {
        (Some(node), _) => node.to_owned(),
        (None, Some(Value::Str(name))) => name.to_string(),
        _ => read_host_name(),
    };
    let trusted = trusted_data(&certname, "local", None);
    for (name, value) in [
        ("facts", Value::hash(facts.clone())),
        ("trusted", Value::hash(trusted)),
        ("server_facts", Value::hash(Hash::new())),
        ("environment", Value::from(environment)),
    ] {
        variables.push((name.to_owned(), value));
    }
    variables
}

/// Facts of a node: those of a file, with those that the agent itself adds if the file has none. A
/// file that `puppet facts find` wrote has them below `values`.
pub(crate) fn of_node(path: Option<&Path>, certname: &str) -> Result<Hash, CommandFailure> {
    let read = of(path)?;
    let facts = match (read.get_str("name"), read.get_str("values")) {
        (Some(Value::Str(_)), Some(Value::Hash(values))) => Hash::clone(values),
        _ => read,
    };
    Ok(with_agent_facts(facts, certname))
}

fn read_host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}
