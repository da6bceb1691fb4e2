//! The steps of a lookup, as `puppet lookup --explain` prints them. Main type: [`LookupExplainer`].

use std::fmt::Write as _;

use pcore::{Hash, Value};

/// A step, with its subject.
#[derive(Debug)]
pub(crate) enum ExplainStep {
    Root,
    /// The search for a key.
    Top(String),
    InvalidKey(String),
    MergeSource,
    Provider {
        name: String,
        config: Option<String>,
    },
    Location {
        uri: bool,
        place: String,
        original: String,
    },
    Interpolate(String),
    Merge {
        name: &'static str,
        options: Hash,
    },
    Module(String),
    Scope(String),
    SubLookup(String),
    Segment,
}

#[derive(Debug, PartialEq)]
pub(crate) enum ExplainEvent {
    None,
    Found(&'static str),
    NotFound,
    LocationNotFound,
    Result,
    ModuleNotFound,
    ModuleProviderNotFound,
}

#[derive(Debug)]
pub(crate) struct ExplainNode {
    pub(crate) step: ExplainStep,
    pub(crate) event: ExplainEvent,
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) texts: Vec<String>,
    pub(crate) branches: Vec<usize>,
    parent: usize,
}

/// Collects the steps of one lookup.
#[derive(Debug)]
pub struct LookupExplainer {
    pub(crate) nodes: Vec<ExplainNode>,
    current: usize,
    only_options: bool,
}

impl Default for LookupExplainer {
    fn default() -> Self {
        Self::new(false)
    }
}

impl LookupExplainer {
    /// Creates an explainer. With `only_options`, only the search for `lookup_options` is carried
    /// out.
    #[must_use]
    pub fn new(only_options: bool) -> Self {
        let mut explainer = Self {
            nodes: Vec::new(),
            current: 0,
            only_options,
        };
        explainer.nodes.push(ExplainNode::of(ExplainStep::Root, 0));
        explainer
    }

    pub(crate) fn only_options(&self) -> bool {
        self.only_options
    }

    pub(crate) fn push(&mut self, step: ExplainStep) {
        let index = self.nodes.len();
        self.nodes.push(ExplainNode::of(step, self.current));
        self.nodes[self.current].branches.push(index);
        self.current = index;
    }

    pub(crate) fn pop(&mut self) {
        self.current = self.nodes[self.current].parent;
    }

    pub(crate) fn record_found(&mut self, key: &str, value: &Value, place: &'static str) {
        let node = &mut self.nodes[self.current];
        node.event = ExplainEvent::Found(place);
        node.key = key.to_owned();
        node.value = value.clone();
    }

    pub(crate) fn record_not_found(&mut self, key: &str) {
        let node = &mut self.nodes[self.current];
        node.event = ExplainEvent::NotFound;
        node.key = key.to_owned();
    }

    pub(crate) fn record_missing_location(&mut self) {
        self.nodes[self.current].event = ExplainEvent::LocationNotFound;
    }

    pub(crate) fn record_result(&mut self, value: &Value) {
        let node = &mut self.nodes[self.current];
        node.event = ExplainEvent::Result;
        node.value = value.clone();
    }

    pub(crate) fn record_missing_module(&mut self, module: &str, provider_only: bool) {
        self.push(ExplainStep::Module(module.to_owned()));
        self.nodes[self.current].event = match provider_only {
            true => ExplainEvent::ModuleProviderNotFound,
            false => ExplainEvent::ModuleNotFound,
        };
        self.pop();
    }

    /// Adds a line at the current step of the lookup.
    pub fn record_text(&mut self, text: impl Into<String>) {
        self.nodes[self.current].texts.push(text.into());
    }

    /// The text of all collected steps.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut out = String::new();
        self.branches(0, &mut out, "");
        self.texts(0, &mut out, "");
        out
    }

    fn branches(&self, node: usize, out: &mut String, indent: &str) {
        for branch in &self.nodes[node].branches {
            self.dump(*branch, out, indent);
        }
    }

    fn texts(&self, node: usize, out: &mut String, indent: &str) {
        for text in &self.nodes[node].texts {
            let _ = writeln!(out, "{indent}{text}");
        }
    }

    fn dump(&self, index: usize, out: &mut String, indent: &str) {
        let node = &self.nodes[index];
        let inner = format!("{indent}  ");
        let mut outcome = true;
        match &node.step {
            ExplainStep::Root => {}
            ExplainStep::Top(key) => {
                let _ = writeln!(out, "{indent}Searching for \"{key}\"");
                outcome = false;
            }
            ExplainStep::InvalidKey(key) => {
                let _ = writeln!(out, "{indent}Invalid key \"{key}\"");
                return;
            }
            ExplainStep::MergeSource => {
                let _ = writeln!(
                    out,
                    "{indent}Using merge options from \"lookup_options\" hash"
                );
                return;
            }
            ExplainStep::Module(module) => {
                let _ = match node.event {
                    ExplainEvent::ModuleNotFound => {
                        writeln!(out, "{indent}Module \"{module}\" not found")
                    }
                    _ => writeln!(
                        out,
                        "{indent}Module data provider for module \"{module}\" not found"
                    ),
                };
                return;
            }
            ExplainStep::Provider { name, config } => {
                let _ = writeln!(out, "{indent}{name}");
                if let Some(config) = config {
                    let _ = writeln!(out, "{inner}Using configuration \"{config}\"");
                }
            }
            ExplainStep::Interpolate(text) => {
                let _ = writeln!(out, "{indent}Interpolation on \"{text}\"");
                outcome = false;
            }
            ExplainStep::Scope(name) => {
                let _ = writeln!(out, "{indent}{name}");
            }
            ExplainStep::SubLookup(key) => {
                let _ = writeln!(out, "{indent}Sub key: \"{key}\"");
            }
            ExplainStep::Segment => return self.outcome(index, out, indent),
            ExplainStep::Location {
                uri,
                place,
                original,
            } => return self.location(index, out, indent, (*uri, place, original)),
            ExplainStep::Merge { name, options } => {
                return self.merge(index, out, indent, (name, options));
            }
        }
        self.branches(index, out, &inner);
        if outcome {
            self.outcome(index, out, &inner);
        }
    }

    fn location(
        &self,
        index: usize,
        out: &mut String,
        indent: &str,
        (uri, place, original): (bool, &str, &str),
    ) {
        let (kind, small) = if uri {
            ("URI", "uri")
        } else {
            ("Path", "path")
        };
        let inner = format!("{indent}  ");
        let _ = writeln!(out, "{indent}{kind} \"{place}\"");
        let _ = writeln!(out, "{inner}Original {small}: \"{original}\"");
        self.branches(index, out, &inner);
        if self.nodes[index].event == ExplainEvent::LocationNotFound {
            let _ = writeln!(out, "{inner}{kind} not found");
        }
        self.outcome(index, out, &inner);
    }

    /// Prints a merge. One with a single location is printed as if it had not merged.
    fn merge(&self, index: usize, out: &mut String, indent: &str, (name, options): (&str, &Hash)) {
        let node = &self.nodes[index];
        match node.branches.as_slice() {
            [] => return,
            [only] => return self.dump(*only, out, indent),
            _ => {}
        }
        let inner = format!("{indent}  ");
        let _ = writeln!(out, "{indent}Merge strategy {name}");
        if !options.is_empty() {
            let _ = write!(out, "{inner}Options: ");
            dump_hash(out, &inner, options);
            out.push('\n');
        }
        self.branches(index, out, &inner);
        if node.event == ExplainEvent::Result {
            let _ = write!(out, "{inner}Merged result: ");
            dump_value(out, &inner, &node.value);
            out.push('\n');
        }
    }

    fn outcome(&self, index: usize, out: &mut String, indent: &str) {
        let node = &self.nodes[index];
        match node.event {
            ExplainEvent::NotFound => {
                let _ = writeln!(out, "{indent}No such key: \"{}\"", node.key);
            }
            ExplainEvent::Found(place) => {
                let _ = write!(out, "{indent}Found key: \"{}\" value: ", node.key);
                dump_value(out, indent, &node.value);
                let _ = writeln!(out, "{place}");
            }
            _ => {}
        }
        self.texts(index, out, indent);
    }
}

impl ExplainNode {
    fn of(step: ExplainStep, parent: usize) -> Self {
        Self {
            step,
            event: ExplainEvent::None,
            key: String::new(),
            value: Value::Undef,
            texts: Vec::new(),
            branches: Vec::new(),
            parent,
        }
    }
}

fn dump_value(out: &mut String, indent: &str, value: &Value) {
    match value {
        Value::Hash(hash) => dump_hash(out, indent, hash),
        Value::Array(items) if !items.is_empty() => {
            let inner = format!("{indent}  ");
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "[\n" } else { ",\n" });
                out.push_str(&inner);
                dump_value(out, &inner, item);
            }
            let _ = write!(out, "\n{indent}]");
        }
        other => out.push_str(&inspect(other)),
    }
}

fn dump_hash(out: &mut String, indent: &str, hash: &Hash) {
    if hash.is_empty() {
        out.push_str("{}");
        return;
    }
    let inner = format!("{indent}  ");
    for (index, (key, value)) in hash.iter().enumerate() {
        out.push_str(if index == 0 { "{\n" } else { ",\n" });
        out.push_str(&inner);
        dump_value(out, &inner, key);
        out.push_str(" => ");
        dump_value(out, &inner, value);
    }
    let _ = write!(out, "\n{indent}}}");
}

/// The value as Ruby's `inspect` prints it.
pub(crate) fn inspect(value: &Value) -> String {
    match value {
        Value::Undef => "nil".to_owned(),
        Value::Str(text) => pcore::ruby_inspect(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inspect).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Hash(hash) => {
            let entries = hash.iter();
            let entries: Vec<String> = entries
                .map(|(key, value)| format!("{}=>{}", inspect(key), inspect(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => plain_text(other),
    }
}

/// The value as Ruby's `to_s` prints it.
#[must_use]
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::Undef => String::new(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => pcore::ruby_float(*number),
        Value::Str(text) => text.to_string(),
        Value::Array(_) | Value::Hash(_) => inspect(value),
        other => other.to_string(),
    }
}
