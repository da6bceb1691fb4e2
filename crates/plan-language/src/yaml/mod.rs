//! Plans in YAML. Main type: [`YamlPlan`]; [`find`] reads one, `run` carries it out.
//!
//! The rule that must hold: a plan with an unknown key or a step that is not one action is refused before its
//! first step. Of a key that is written twice the last counts, as in Bolt, and the plan is told so.

mod run;
mod step;
mod text;

use evaluator::{CodeFile, Eval, Evaluator, Host as _, Level, Owner, Place, Unwind};
use pcore::Type;
use psych::Node;

pub(crate) use self::run::run;
use self::step::Step;
use crate::failure;
use crate::host::PlanHost;

/// A plan as its file says.
pub(crate) struct YamlPlan {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) parameters: Vec<Parameter>,
    steps: Vec<Step>,
    give: Option<Node>,
}

/// A parameter of a plan.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) default: Option<Node>,
}

const KEYS: &[&str] = &[
    "description",
    "parameters",
    "private",
    "steps",
    "return",
    "version",
];
const PARAMETER_KEYS: &[&str] = &["type", "default", "description"];

/// The plan of a name, if it is one in YAML.
pub(crate) fn find(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    name: &str,
) -> Eval<Option<YamlPlan>> {
    let (module, rest) = name.split_once("::").unwrap_or((name, "init"));
    let path = format!("plans/{}.yaml", rest.replace("::", "/"));
    let file = host.code().read(Owner::Module(module), &path);
    match file {
        Ok(Some(file)) => read(host, evaluator, (name, &file)).map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(failure::plain("bolt/invalid-plan", error.to_string())),
    }
}

fn read(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    (name, file): (&str, &CodeFile),
) -> Eval<YamlPlan> {
    let reading = Reading { file: &file.path };
    let text = std::str::from_utf8(&file.bytes);
    let text = text.map_err(|error| {
        let at = error.valid_up_to();
        reading.refuse(None, &format!("it is not UTF-8 (at byte {at})"))
    })?;
    let document = psych::load(text, psych::Options::PLAN);
    let document = document.map_err(|error| reading.refuse(None, &error.to_string()))?;
    for twice in &document.warnings {
        let place = Place {
            file: Some(file.path.clone()),
            line: twice.line,
            column: twice.column,
        };
        let psych::Warning {
            key, first_line, ..
        } = twice;
        let what = format!("the key `{key}` stands in line {first_line} too; the last one counts");
        host.log(Level::Warning, &what, &place);
    }
    let Some(root) = document.root else {
        return Err(reading.refuse(None, "it is empty; a plan is a mapping with `steps`"));
    };
    reading.keys(&root, KEYS, "a plan")?;
    let Some(steps) = root.get("steps").and_then(Node::as_sequence) else {
        return Err(reading.refuse(Some(&root), "a plan needs `steps`, a list"));
    };
    let parameters = reading.parameters(evaluator, root.get("parameters"))?;
    let mut names: Vec<String> = parameters.iter().map(|it| it.name.clone()).collect();
    let mut read = Vec::with_capacity(steps.len());
    for node in steps {
        let step = Step::read(&reading, node)?;
        if let Some(name) = &step.name {
            if names.contains(name) {
                let what = format!("`{name}` is the name of a parameter or of a step before");
                return Err(reading.refuse(Some(node), &what));
            }
            names.push(name.clone());
        }
        read.push(step);
    }
    Ok(YamlPlan {
        name: name.to_owned(),
        file: file.path.to_string(),
        parameters,
        steps: read,
        give: root.get("return").cloned(),
    })
}

/// A file that is read.
pub(super) struct Reading<'a> {
    file: &'a str,
}

impl Reading<'_> {
    /// The plan is not what a plan is.
    #[cold]
    pub(super) fn refuse(&self, node: Option<&Node>, what: &str) -> Box<Unwind> {
        let place = match node {
            Some(node) => format!(
                " (file: {}, line: {}, column: {})",
                self.file, node.line, node.column
            ),
            None => format!(" (file: {})", self.file),
        };
        failure::plain(
            "bolt/invalid-plan",
            format!("the plan cannot be read: {what}{place}"),
        )
    }

    /// A mapping that has no other keys than these.
    pub(super) fn keys(&self, node: &Node, known: &[&str], what: &str) -> Eval<()> {
        let Some(mapping) = node.as_mapping() else {
            return Err(self.refuse(Some(node), &format!("{what} is a mapping")));
        };
        for key in mapping.keys() {
            if !key.as_str().is_some_and(|key| known.contains(&key)) {
                let shown = key.as_str().unwrap_or("this");
                let what = format!("`{shown}` is no key of {what}; it has {}", known.join(", "));
                return Err(self.refuse(Some(key), &what));
            }
        }
        Ok(())
    }

    /// A name that a variable may have.
    pub(super) fn variable(&self, node: &Node) -> Eval<String> {
        let is_name = |name: &&str| {
            let mut bytes = name.bytes();
            let first = bytes.next();
            first.is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
                && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        let name = node.as_str().filter(is_name).ok_or_else(|| {
            self.refuse(
                Some(node),
                "a name has lower-case letters, digits and underscores, and does not begin with a digit",
            )
        })?;
        Ok(name.to_owned())
    }

    fn parameters(
        &self,
        evaluator: &mut Evaluator<'_>,
        node: Option<&Node>,
    ) -> Eval<Vec<Parameter>> {
        let Some(node) = node.filter(|node| !matches!(node.value, psych::Value::Null)) else {
            return Ok(Vec::new());
        };
        let Some(mapping) = node.as_mapping() else {
            return Err(self.refuse(Some(node), "`parameters` is a mapping of names"));
        };
        let mut parameters = Vec::with_capacity(mapping.len());
        for (name, about) in mapping {
            let is_bare = matches!(about.value, psych::Value::Null);
            if !is_bare {
                self.keys(about, PARAMETER_KEYS, "a parameter")?;
            }
            let ty = match about.get("type") {
                None => Type::any(),
                Some(text) => {
                    let text = text.as_str().unwrap_or_default();
                    let parsed = evaluator.parse_type(text, &[]);
                    parsed.map_err(|_| {
                        self.refuse(about.get("type"), &format!("`{text}` is no type"))
                    })?
                }
            };
            parameters.push(Parameter {
                name: self.variable(name)?,
                ty,
                default: about.get("default").cloned(),
            });
        }
        Ok(parameters)
    }
}
