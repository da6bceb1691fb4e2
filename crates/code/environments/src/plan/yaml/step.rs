//! The steps of plans in YAML. Main types: [`YamlStep`], [`YamlAction`].
//!
//! Invariant: a step has exactly one action, and no key that its action does not support.

use psych::YamlTreeNode;

use super::YamlPlanReader;

/// One step of a plan.
#[derive(Clone, Debug)]
pub struct YamlStep {
    /// Name of the variable that receives its value; `None`: the value is not stored.
    pub name: Option<String>,
    pub description: Option<YamlTreeNode>,
    pub action: YamlAction,
    /// The value of the action's key: the command, the task, the text.
    pub object: YamlTreeNode,
    /// The mapping with all keys of the step.
    pub node: YamlTreeNode,
}

/// The action of a step, determined by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlAction {
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

const COMMON_KEYS: &[&str] = &["name", "description", "targets"];

/// Keys of steps that act on nodes: concurrency, batches, and the number of tolerated failures.
const ROLLOUT_KEYS: &[&str] = &[
    "batch",
    "concurrency",
    "max_failures",
    "pause_between_batches",
    "splay",
];

const ACTIONS: &[YamlAction] = &[
    YamlAction::Command,
    YamlAction::Task,
    YamlAction::Script,
    YamlAction::Plan,
    YamlAction::Upload,
    YamlAction::Download,
    YamlAction::Resources,
    YamlAction::Message,
    YamlAction::Verbose,
    YamlAction::Eval,
];

// === impl YamlAction ===

impl YamlAction {
    fn key(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Task => "task",
            Self::Script => "script",
            Self::Plan => "plan",
            Self::Upload => "upload",
            Self::Download => "download",
            Self::Resources => "resources",
            Self::Message => "message",
            Self::Verbose => "verbose",
            Self::Eval => "eval",
        }
    }

    /// The keys that steps with this action may have, in addition to the common ones.
    fn own_keys(self) -> &'static [&'static str] {
        match self {
            Self::Command => &["catch_errors", "env_vars", "run_as"],
            Self::Task => &["parameters", "catch_errors", "noop", "run_as"],
            Self::Script => &[
                "arguments",
                "pwsh_params",
                "catch_errors",
                "env_vars",
                "run_as",
            ],
            Self::Plan => &["parameters", "catch_errors", "run_as"],
            Self::Upload | Self::Download => &["destination", "catch_errors", "run_as"],
            Self::Resources => &["catch_errors", "noop", "run_as"],
            Self::Message | Self::Verbose | Self::Eval => &[],
        }
    }

    /// The keys of actions on nodes, if this is one.
    fn rollout_keys(self) -> &'static [&'static str] {
        match self {
            Self::Command | Self::Task | Self::Script | Self::Upload | Self::Download => {
                ROLLOUT_KEYS
            }
            Self::Plan | Self::Resources | Self::Message | Self::Verbose | Self::Eval => &[],
        }
    }

    /// The keys that this action requires.
    fn required_keys(self) -> &'static [&'static str] {
        match self {
            Self::Plan | Self::Message | Self::Verbose | Self::Eval => &[],
            Self::Upload | Self::Download => &["destination", "targets"],
            Self::Command | Self::Task | Self::Script | Self::Resources => &["targets"],
        }
    }
}

// === impl YamlPlanReader ===

impl YamlPlanReader {
    pub(super) fn read_step(&mut self, node: &YamlTreeNode) -> Option<YamlStep> {
        let Some(mapping) = node.as_mapping() else {
            self.refuse(node, "a step is a mapping with one action");
            return None;
        };
        self.check_code(node);
        let name = node.get("name").and_then(|name| self.read_name(name));
        let found = ACTIONS
            .iter()
            .filter_map(|action| Some((*action, node.get(action.key())?)));
        let found: Vec<(YamlAction, &YamlTreeNode)> = found.collect();
        let [(action, object)] = found[..] else {
            let actions: Vec<&str> = ACTIONS.iter().map(|action| action.key()).collect();
            let keys = mapping.keys().filter_map(YamlTreeNode::as_str);
            let keys: Vec<&str> = keys.filter(|key| !COMMON_KEYS.contains(key)).collect();
            let what = format!(
                "a step has exactly one of {}; this one has {}",
                actions.join(", "),
                match keys.is_empty() {
                    true => "none of them".to_owned(),
                    false => keys.join(", "),
                }
            );
            self.refuse(node, what);
            return None;
        };
        let own = action.own_keys();
        let known: Vec<&str> = std::iter::once(action.key())
            .chain(COMMON_KEYS.iter().copied())
            .chain(own.iter().copied())
            .chain(action.rollout_keys().iter().copied())
            .collect();
        let step = format!("a step with `{}`", action.key());
        self.check_keys(node, &known, &step);
        for key in action.required_keys() {
            if node.get(key).is_none() {
                self.refuse(node, format!("{step} needs `{key}`"));
            }
        }
        self.check_parameters(node, own);
        Some(YamlStep {
            name,
            description: node.get("description").cloned(),
            action,
            object: object.clone(),
            node: node.clone(),
        })
    }

    /// Checks that `parameters` does not repeat the step's own keys.
    fn check_parameters(&mut self, node: &YamlTreeNode, own: &[&str]) {
        let Some(parameters) = node.get("parameters") else {
            return;
        };
        let Some(mapping) = parameters.as_mapping() else {
            return self.refuse(parameters, "`parameters` is a mapping of names to values");
        };
        for key in mapping.keys() {
            let name = key.as_str().and_then(|key| key.strip_prefix('_'));
            if let Some(name) = name.filter(|name| own.contains(name)) {
                let what = format!(
                    "write `{name}` as a key of the step, not `_{name}` among its parameters"
                );
                self.refuse(key, what);
            }
        }
    }
}
