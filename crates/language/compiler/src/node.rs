//! The node block of a node, and the classes that the classifier assigns to it.

use std::sync::Arc;

use evaluator::{
    BuiltInVariables, CatalogScopeId, EvalResult, Evaluator, NodeHost, ResourceAttribute,
    SourceLocation, VariableScope, raise,
};

use pcore::{FastHashMap, Hash, Value};

use crate::catalog::{CatalogResource, ResourceKind, ResourceSource};
use crate::classes::unknown_class;
use crate::compilation::Compilation;
use crate::environment::NodeDefinition;
use crate::scope::{CompileScope, ScopeKind};

/// The node block of a node.
struct ChosenNode<'n> {
    node: &'n Arc<NodeDefinition>,
    /// Title of the resource that stands for the block.
    name: String,
    /// Groups of the pattern by which the block was chosen; `None` without a pattern.
    groups: Option<Vec<Option<Arc<str>>>>,
}

impl Compilation<'_> {
    /// Evaluates the node block of the node. An environment without node blocks needs none.
    pub(crate) fn evaluate_node_block(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let site = Arc::clone(&self.state().site);
        let nodes: Vec<&Arc<NodeDefinition>> =
            site.iter().flat_map(|manifest| &manifest.nodes).collect();
        if nodes.is_empty() {
            return Ok(());
        }
        let certname = self.request.certname.to_lowercase();
        let Some(ChosenNode { node, name, groups }) = choose(&nodes, &certname)? else {
            return raise(format!(
                "Could not find node statement with name 'default' or '{}'",
                self.request.certname
            ));
        };
        let scope = {
            let mut state = self.state();
            let source = state.source_named(&format!("node {name}"), None);
            let kind = ResourceKind::Node(Arc::clone(node));
            let owner = (CatalogScopeId::TOP, source);
            let mut resource =
                CatalogResource::new("Node".into(), name.as_str().into(), kind, owner);
            resource.is_evaluated = true;
            resource.add_own_tags();
            state.catalog.tags.merge(&resource.tags);
            drop(state);
            let id = self.add_resource(CatalogScopeId::TOP, resource)?;
            let mut state = self.state();
            state.add_scope_tags(id)?;
            if let Err(error) = state.catalog.add_class(&name.as_str().into()) {
                return raise(error.to_string());
            }
            let scope = state.add_scope(node_scope(source, id));
            state.node_scope = scope;
            scope
        };
        let built_in = BuiltInVariables {
            title: Value::from(name.as_str()),
            name: Value::from(name.as_str()),
            module_name: Some(Value::from("")),
            caller_module_name: Some(Value::from("")),
        };
        let top = VariableScope::top();
        let variables = evaluator.open_scope(&node.code, &top, scope, built_in, true);
        self.state().scope_mut(scope).variables = variables.clone();
        evaluator.run_catalog_code(&node.code, &variables, groups)
    }

    /// Adds the classes of the classifier: those with parameters first, as Puppet does. They are
    /// evaluated with the defined types.
    pub(crate) fn add_classified_classes(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let scope = self.state().node_scope;
        let (with, without): (Vec<_>, Vec<_>) = self
            .request
            .classes
            .iter()
            .partition(|class| !class.parameters.is_empty());
        for class in with.into_iter().chain(without) {
            let Some(found) = self.find_class(evaluator, &class.name)? else {
                return Err(unknown_class(&class.name, &self.request.certname).into());
            };
            if class.parameters.is_empty() {
                if !self.state().class_scopes.contains_key(&found.name) {
                    self.ensure_class(evaluator, scope, &found)?;
                }
                continue;
            }
            // Puppet looks the parameters up by the name of the class, which is lower case
            let parameters = match *class.name == *found.name {
                true => class.parameters.clone(),
                false => Hash::new(),
            };
            let attributes = parameters.iter().map(|(name, value)| ResourceAttribute {
                name: name.to_string().into(),
                value: value.clone(),
                is_added: false,
                location: SourceLocation::default(),
            });
            let resource = self.new_class(scope, &found, attributes.collect())?;
            self.add_class_resource(evaluator, scope, &found, resource)?;
        }
        Ok(())
    }
}

fn node_scope(source: ResourceSource, id: crate::catalog::ResourceId) -> CompileScope {
    CompileScope {
        parent: Some(CatalogScopeId::TOP),
        kind: ScopeKind::Node,
        source,
        resource: id,
        variables: VariableScope::top(),
        defaults: FastHashMap::default(),
        module: Some("".into()),
    }
}

/// The node block for a certname: one with its name, else the first pattern that matches, else
/// `default`.
fn choose<'n>(
    nodes: &[&'n Arc<NodeDefinition>],
    certname: &str,
) -> EvalResult<Option<ChosenNode<'n>>> {
    let hosts = || {
        nodes
            .iter()
            .flat_map(|node| node.hosts.iter().map(move |host| (*node, host)))
    };
    for (node, host) in hosts() {
        if matches!(host, NodeHost::Name(name) if **name == *certname) {
            return Ok(Some(ChosenNode {
                node,
                name: certname.to_owned(),
                groups: None,
            }));
        }
    }
    for (node, host) in hosts() {
        let NodeHost::Pattern(pattern) = host else {
            continue;
        };
        let regex = match ruby_regex::Regex::new(pattern.source()) {
            Ok(regex) => regex,
            Err(error) => return raise(error.to_string()),
        };
        match regex.captures(certname) {
            Ok(Some(found)) => {
                let groups = found.iter().map(|group| group.map(Arc::from)).collect();
                return Ok(Some(ChosenNode {
                    node,
                    name: pattern_name(pattern.source()),
                    groups: Some(groups),
                }));
            }
            Ok(None) => {}
            Err(error) => return raise(error.to_string()),
        }
    }
    let default = hosts().find(|(_, host)| matches!(host, NodeHost::Default));
    Ok(default.map(|(node, _)| ChosenNode {
        node,
        name: "default".to_owned(),
        groups: None,
    }))
}

/// Puppet's name of a node block with a pattern: the letters of the pattern that a name may have.
fn pattern_name(source: &str) -> String {
    let lower = source.to_lowercase();
    let mut text = String::new();
    let mut rest = lower.as_str();
    while let Some(start) = rest.find("(?") {
        let end = rest[start..]
            .find(')')
            .map_or(rest.len(), |end| start + end + 1);
        text.push_str(&rest[..start]);
        for letter in rest[start..end].chars() {
            match letter {
                '(' => text.push_str("LP"),
                '?' => text.push_str("QU"),
                '<' => text.push_str("LT"),
                '>' => text.push_str("GT"),
                '!' => text.push_str("EX"),
                '=' => text.push_str("EQ"),
                ')' => text.push_str("RP"),
                other => text.push(other),
            }
        }
        rest = &rest[end..];
    }
    text.push_str(rest);
    text.retain(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'));
    format!("__node_regexp__{}", text.trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::pattern_name;

    #[test]
    fn patterns_have_names_of_letters() {
        assert_eq!(
            pattern_name(r"^web\d+\.Example$"),
            "__node_regexp__webd.example"
        );
        assert_eq!(pattern_name("a(?=b)c"), "__node_regexp__aLPQUEQbRPc");
    }
}
