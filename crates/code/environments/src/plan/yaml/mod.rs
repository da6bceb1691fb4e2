//! The parser of plans in YAML. Main type: [`YamlPlan`], created by [`YamlPlan::read`].
//!
//! Invariant: a plan without errors can be run. Unknown keys, steps with not exactly one action and
//! code with syntax errors are all reported here, before the first step runs.

mod code;
mod metadata;
mod step;

use std::fmt;

use psych::{DuplicateKeyWarning, YamlTreeNode};

pub use self::code::embedded_code;
pub(super) use self::metadata::parse_metadata;
pub use self::step::{YamlAction, YamlStep};

/// A plan as written in its file.
#[derive(Clone, Debug)]
pub struct YamlPlan {
    pub description: Option<String>,
    /// True if only other plans may run it.
    pub private: bool,
    /// Parameters in the order of the file.
    pub parameters: Vec<YamlParameter>,
    pub steps: Vec<YamlStep>,
    /// The value of the key `return`.
    pub result: Option<YamlTreeNode>,
    /// Warnings about duplicate keys, of which the last one is used.
    pub warnings: Vec<DuplicateKeyWarning>,
}

/// A parameter of a plan in YAML.
#[derive(Clone, Debug)]
pub struct YamlParameter {
    pub name: String,
    /// The text of the parameter's type; `None` if there is none.
    pub kind: Option<YamlTreeNode>,
    pub default: Option<YamlTreeNode>,
    pub description: Option<String>,
}

/// An error in a plan, with its position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    pub message: String,
    /// Line, counted from 1; 0 for the file as a whole.
    pub line: u32,
    /// Column in characters, counted from 1; 0 for the file as a whole.
    pub column: u32,
}

const PLAN_KEYS: &[&str] = &[
    "description",
    "parameters",
    "private",
    "steps",
    "return",
    "version",
];
const PARAMETER_KEYS: &[&str] = &["type", "default", "description"];

// === impl YamlPlan ===

impl YamlPlan {
    /// Parses and checks a plan.
    ///
    /// # Errors
    /// All errors of the file, in its order; a single one if it is not YAML.
    pub fn read(text: &str) -> Result<Self, Vec<PlanProblem>> {
        let document = psych::load(text, psych::YamlLoadOptions::PLAN);
        let document =
            document.map_err(|error| vec![PlanProblem::without_position(error.to_string())])?;
        let Some(root) = document.root else {
            let what = "the file is empty; a plan is a mapping with `steps`";
            return Err(vec![PlanProblem::without_position(what)]);
        };
        let mut reading = YamlPlanReader::default();
        let mut plan = reading.read_plan(&root);
        plan.warnings = document.warnings;
        match reading.problems.is_empty() {
            true => Ok(plan),
            false => Err(reading.problems),
        }
    }
}

// === impl PlanProblem ===

impl PlanProblem {
    fn without_position(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            line: 0,
            column: 0,
        }
    }
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(
                f,
                "{} (line: {line}, column: {})",
                self.message, self.column
            ),
        }
    }
}

/// The state of parsing a plan, with the errors found so far.
#[derive(Default)]
struct YamlPlanReader {
    problems: Vec<PlanProblem>,
    /// Names of parameters and steps.
    names: Vec<String>,
}

// === impl YamlPlanReader ===

impl YamlPlanReader {
    fn refuse(&mut self, node: &YamlTreeNode, message: impl Into<String>) {
        self.problems.push(PlanProblem {
            message: message.into(),
            line: node.line,
            column: node.column,
        });
    }

    fn read_plan(&mut self, root: &YamlTreeNode) -> YamlPlan {
        let mut plan = YamlPlan {
            description: None,
            private: false,
            parameters: Vec::new(),
            steps: Vec::new(),
            result: root.get("return").cloned(),
            warnings: Vec::new(),
        };
        if root.as_mapping().is_none() {
            self.refuse(root, "a plan is a mapping with `steps`");
            return plan;
        }
        self.check_keys(root, PLAN_KEYS, "a plan");
        plan.description = root
            .get("description")
            .and_then(|node| self.read_text(node));
        if let Some(node) = root.get("private") {
            match node.value {
                psych::YamlValue::Bool(flag) => plan.private = flag,
                _ => self.refuse(node, "`private` is true or false"),
            }
        }
        if let Some(node) = root.get("parameters") {
            plan.parameters = self.read_parameters(node);
        }
        match root.get("steps").and_then(YamlTreeNode::as_sequence) {
            None => self.refuse(root, "a plan needs `steps`, a list"),
            Some(steps) => {
                let steps = steps.iter().filter_map(|node| self.read_step(node));
                plan.steps = steps.collect();
            }
        }
        if let Some(node) = &plan.result {
            self.check_code(node);
        }
        plan
    }

    fn read_parameters(&mut self, node: &YamlTreeNode) -> Vec<YamlParameter> {
        if is_null(node) {
            return Vec::new();
        }
        let Some(mapping) = node.as_mapping() else {
            let what =
                "`parameters` is a mapping of names to their `type`, `default` and `description`";
            self.refuse(node, what);
            return Vec::new();
        };
        let parameters = mapping.iter();
        parameters
            .filter_map(|(name, about)| self.read_parameter(name, about))
            .collect()
    }

    fn read_parameter(
        &mut self,
        name: &YamlTreeNode,
        about: &YamlTreeNode,
    ) -> Option<YamlParameter> {
        let name = self.read_name(name)?;
        if !is_null(about) {
            self.check_keys(about, PARAMETER_KEYS, &format!("the parameter `{name}`"));
        }
        let kind = about.get("type").cloned();
        if let Some(node) = &kind {
            self.read_text(node);
        }
        let description = about
            .get("description")
            .and_then(|node| self.read_text(node));
        Some(YamlParameter {
            name,
            kind,
            default: about.get("default").cloned(),
            description,
        })
    }

    /// Checks that a name is valid for a variable and unused by other parameters and steps.
    fn read_name(&mut self, node: &YamlTreeNode) -> Option<String> {
        let Some(name) = node.as_str().filter(|name| is_name(name)) else {
            let what = "a name has lower-case letters, digits and underscores, and does not begin with a digit";
            self.refuse(node, what);
            return None;
        };
        if self.names.iter().any(|known| known == name) {
            let what = format!("`{name}` is the name of a parameter or of a step before");
            self.refuse(node, what);
        }
        self.names.push(name.to_owned());
        Some(name.to_owned())
    }

    fn read_text(&mut self, node: &YamlTreeNode) -> Option<String> {
        let text = node.as_str().map(str::to_owned);
        if text.is_none() {
            self.refuse(node, "expected text here");
        }
        text
    }

    /// Reports each key of a mapping that is not in `known`.
    fn check_keys(&mut self, node: &YamlTreeNode, known: &[&str], owner: &str) {
        let Some(mapping) = node.as_mapping() else {
            return self.refuse(node, format!("{owner} is a mapping"));
        };
        for key in mapping.keys() {
            let Some(name) = key.as_str() else {
                self.refuse(key, format!("keys of {owner} are texts"));
                continue;
            };
            if !known.contains(&name) {
                let known = known.join(", ");
                let what = format!("`{name}` is no key of {owner}; it has {known}");
                self.refuse(key, what);
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next();
    first.is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn is_null(node: &YamlTreeNode) -> bool {
    matches!(node.value, psych::YamlValue::Null)
}
