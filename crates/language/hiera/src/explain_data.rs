//! An explanation as data, with the keys of `puppet lookup`.

use pcore::{Hash, Value};

use crate::explain::{ExplainEvent, ExplainNode, ExplainStep, LookupExplainer};

impl LookupExplainer {
    /// All collected steps, without steps that only wrap one other step.
    pub(crate) fn to_value(&self) -> Value {
        let Some(root) = self.nodes.first() else {
            return Value::Undef;
        };
        match root.branches.as_slice() {
            [only] => self.node(*only),
            branches => {
                let mut hash = Hash::new();
                self.add_branches(&mut hash, branches);
                Value::hash(hash)
            }
        }
    }

    fn add_branches(&self, hash: &mut Hash, branches: &[usize]) {
        if !branches.is_empty() {
            let branches = branches.iter().map(|branch| self.node(*branch));
            hash.insert("branches", Value::array(branches.collect()));
        }
    }

    fn node(&self, index: usize) -> Value {
        let node = &self.nodes[index];
        if let (ExplainStep::Merge { .. }, [only]) = (&node.step, node.branches.as_slice()) {
            return self.node(*only);
        }
        let mut hash = Hash::new();
        if let ExplainStep::MergeSource = node.step {
            hash.insert("type", "merge_source");
            hash.insert("merge_source", "lookup_options");
            return Value::hash(hash);
        }
        self.add_branches(&mut hash, &node.branches);
        outcome(&mut hash, node);
        if !node.texts.is_empty() {
            let texts = node.texts.iter().map(|text| Value::from(text.as_str()));
            hash.insert("texts", Value::array(texts.collect()));
        }
        kind(&mut hash, &node.step);
        Value::hash(hash)
    }
}

fn outcome(hash: &mut Hash, node: &ExplainNode) {
    let key = match &node.step {
        ExplainStep::Top(key) | ExplainStep::InvalidKey(key) => key,
        _ => &node.key,
    };
    if !key.is_empty() {
        hash.insert("key", key.as_str());
    }
    if let ExplainEvent::Found(_) | ExplainEvent::Result = node.event {
        hash.insert("value", node.value.clone());
    }
    let event = match node.event {
        ExplainEvent::None => return,
        ExplainEvent::Found(" in overrides") => "found_in_overrides",
        ExplainEvent::Found(" in defaults") => "found_in_defaults",
        ExplainEvent::Found(_) => "found",
        ExplainEvent::NotFound => "not_found",
        ExplainEvent::LocationNotFound => "location_not_found",
        ExplainEvent::Result => "result",
        ExplainEvent::ModuleNotFound => "module_not_found",
        ExplainEvent::ModuleProviderNotFound => "module_provider_not_found",
    };
    hash.insert("event", event);
}

/// Adds the kind of a step and the properties of that kind.
fn kind(hash: &mut Hash, step: &ExplainStep) {
    let mut more = Hash::new();
    let name = match step {
        ExplainStep::Root | ExplainStep::Top(_) => "root",
        ExplainStep::InvalidKey(_) => "invalid_key",
        ExplainStep::MergeSource => "merge_source",
        ExplainStep::Module(_) => "module",
        ExplainStep::SubLookup(_) => "sub_key",
        ExplainStep::Segment => "segment",
        ExplainStep::Provider { name, config } => {
            more.insert("name", name.as_str());
            if let Some(config) = config {
                more.insert("configuration_path", config.as_str());
            }
            if let Some(module) = module_of(name) {
                more.insert("module", module);
            }
            "data_provider"
        }
        ExplainStep::Interpolate(text) => {
            more.insert("expression", text.as_str());
            "interpolate"
        }
        ExplainStep::Scope(name) => {
            more.insert("name", name.as_str());
            "scope"
        }
        ExplainStep::Merge { name, options } => {
            more.insert("merge", *name);
            if !options.is_empty() {
                more.insert("options", options.clone());
            }
            "merge"
        }
        ExplainStep::Location {
            uri,
            place,
            original,
        } => {
            let (kind, original_kind) = match uri {
                true => ("uri", "original_uri"),
                false => ("path", "original_path"),
            };
            more.insert(original_kind, original.as_str());
            more.insert(kind, place.as_str());
            kind
        }
    };
    hash.insert("type", name);
    hash.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
}

/// The module in the name of its data provider.
fn module_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("Module \"")?;
    Some(rest.split_once('"')?.0)
}
