//! The steps of YAML plans. Main types: [`Step`], [`Action`].
//!
//! The rule that must hold: a step has exactly one action, and no key that its action does not have.

use evaluator::Eval;
use psych::Node;

use super::Reading;

/// A step.
pub(super) struct Step {
    /// The variable that gets its value.
    pub(super) name: Option<String>,
    pub(super) description: Option<Node>,
    pub(super) action: Action,
    /// What the action is about: the command, the task, the text.
    pub(super) object: Node,
    /// All its keys.
    pub(super) node: Node,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Command,
    Task,
    Script,
    Plan,
    Upload,
    Download,
    Resources,
    Message,
    Verbose,
    Eval,
}

const COMMON: &[&str] = &["name", "description", "targets"];

const ACTIONS: &[(&str, Action, &[&str])] = &[
    (
        "command",
        Action::Command,
        &["catch_errors", "env_vars", "run_as"],
    ),
    (
        "task",
        Action::Task,
        &["parameters", "catch_errors", "noop", "run_as"],
    ),
    (
        "script",
        Action::Script,
        &[
            "arguments",
            "pwsh_params",
            "catch_errors",
            "env_vars",
            "run_as",
        ],
    ),
    (
        "plan",
        Action::Plan,
        &["parameters", "catch_errors", "run_as"],
    ),
    (
        "upload",
        Action::Upload,
        &["destination", "catch_errors", "run_as"],
    ),
    (
        "download",
        Action::Download,
        &["destination", "catch_errors", "run_as"],
    ),
    (
        "resources",
        Action::Resources,
        &["catch_errors", "noop", "run_as"],
    ),
    ("message", Action::Message, &[]),
    ("verbose", Action::Verbose, &[]),
    ("eval", Action::Eval, &[]),
];

impl Action {
    /// Whether it cannot do without `targets`.
    fn needs_targets(self) -> bool {
        !matches!(
            self,
            Self::Plan | Self::Message | Self::Verbose | Self::Eval
        )
    }
}

impl Step {
    pub(super) fn read(reading: &Reading<'_>, node: &Node) -> Eval<Self> {
        let Some(mapping) = node.as_mapping() else {
            return Err(reading.refuse(Some(node), "a step is a mapping with one action"));
        };
        let named = |key: &Node| {
            let key = key.as_str()?;
            ACTIONS.iter().find(|(name, ..)| *name == key)
        };
        let mut found = mapping
            .iter()
            .filter_map(|(key, value)| Some((named(key)?, value)));
        let (Some(((name, action, own), object)), None) = (found.next(), found.next()) else {
            let names: Vec<&str> = ACTIONS.iter().map(|(name, ..)| *name).collect();
            let what = format!("a step has exactly one of {}", names.join(", "));
            return Err(reading.refuse(Some(node), &what));
        };
        let known: Vec<&str> = [*name]
            .into_iter()
            .chain(COMMON.iter().copied())
            .chain(own.iter().copied())
            .collect();
        reading.keys(node, &known, &format!("a step with `{name}`"))?;
        if action.needs_targets() && node.get("targets").is_none() {
            return Err(
                reading.refuse(Some(node), &format!("a step with `{name}` needs `targets`"))
            );
        }
        if matches!(action, Action::Upload | Action::Download) && node.get("destination").is_none()
        {
            return Err(reading.refuse(
                Some(node),
                &format!("a step with `{name}` needs `destination`"),
            ));
        }
        check_parameters(reading, node, own)?;
        Ok(Self {
            name: node
                .get("name")
                .map(|name| reading.variable(name))
                .transpose()?,
            description: node.get("description").cloned(),
            action: *action,
            object: object.clone(),
            node: node.clone(),
        })
    }
}

/// `parameters` do not say what the step's own keys say.
fn check_parameters(reading: &Reading<'_>, node: &Node, own: &[&str]) -> Eval<()> {
    let Some(parameters) = node.get("parameters") else {
        return Ok(());
    };
    let Some(mapping) = parameters.as_mapping() else {
        return Err(reading.refuse(
            Some(parameters),
            "`parameters` is a mapping of names to values",
        ));
    };
    for key in mapping.keys() {
        let name = key.as_str().and_then(|key| key.strip_prefix('_'));
        if let Some(name) = name.filter(|name| own.contains(name)) {
            let what =
                format!("write `{name}` as a key of the step, not `_{name}` among its parameters");
            return Err(reading.refuse(Some(key), &what));
        }
    }
    Ok(())
}
