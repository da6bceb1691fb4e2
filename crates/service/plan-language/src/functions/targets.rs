//! `get_targets`, `get_target`, `add_to_group`, `remove_from_group`, and the resolution of the
//! targets of all actions. Main function: [`of`].
//!
//! A string is a certname, a URI, a list of them separated by commas, a glob over the known nodes,
//! `all`, a group that the plan created, a node group of the classifier by name or as `group:NAME`,
//! or a PQL query. Invariant: each target occurs once, in the order in which it was first named.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, EvalUnwind, Evaluator, SourceLocation};
use pcore::{Type, Value};
use plans::{LocalEffect, StepOutcome, StepWork};
use serde_json::{Value as Json, json};

use super::plan_function::PlanFunctionBody;
use crate::defaults::{TARGETS_DEPTH, TARGETS_MAX};
use crate::error_object::error_from_json;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, UnknownResult};
use crate::world::{NodeQueries, NodesError, PlanOwner};

const SPEC: &str = "Boltlib::TargetSpec";
const INVALID: &str = "bolt.inventory/validation-error";

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new(
            "get_targets",
            &[FunctionDispatch::host(&[one(SPEC, "names")]).returning("Array[Target]")],
        ),
        get_targets,
    ),
    (
        FunctionSpec::new(
            "get_target",
            &[FunctionDispatch::host(&[one(SPEC, "name")]).returning("Target")],
        ),
        get_target,
    ),
    (
        FunctionSpec::new(
            "add_to_group",
            &[FunctionDispatch::host(&[
                one(SPEC, "targets"),
                one("String[1]", "group"),
            ])],
        ),
        add_to_group,
    ),
    (
        FunctionSpec::new(
            "remove_from_group",
            &[FunctionDispatch::host(&[
                one(SPEC, "target"),
                one("String[1]", "group"),
            ])],
        ),
        remove_from_group,
    ),
];

/// The PuppetDB entities with which a query for targets may begin.
const ENTITIES: &[&str] = &[
    "nodes",
    "inventory",
    "facts",
    "fact_contents",
    "resources",
    "reports",
    "catalogs",
    "factsets",
];

/// Resolves a target specification.
pub(crate) fn of(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    spec: &Value,
) -> EvalResult<Vec<PlanTarget>> {
    let mut found = FoundTargets::default();
    collect(host, place, spec, TARGETS_DEPTH, &mut found)?;
    Ok(found.targets)
}

#[derive(Default)]
struct FoundTargets {
    targets: Vec<PlanTarget>,
    names: HashSet<Arc<str>>,
}

impl FoundTargets {
    fn add(&mut self, target: PlanTarget) -> EvalResult<()> {
        if self.targets.len() >= TARGETS_MAX {
            let msg = format!("these are more than {TARGETS_MAX} targets");
            return Err(failure::plain_error(INVALID, msg));
        }
        if self.names.insert(target.name().clone()) {
            self.targets.push(target);
        }
        Ok(())
    }
}

fn collect(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    spec: &Value,
    depth: usize,
    found: &mut FoundTargets,
) -> EvalResult<()> {
    if let Some(target) = spec.downcast_object::<PlanTarget>() {
        return found.add(target.clone());
    }
    if let Some(unknown) = spec.downcast_object::<UnknownResult>() {
        return found.add(PlanTarget::of_unknown(unknown));
    }
    match spec {
        Value::Str(text) => add_named(host, place, text, found),
        Value::Array(_) if depth == 0 => {
            let msg = format!("lists of targets are nested more than {TARGETS_DEPTH} deep");
            Err(failure::plain_error(INVALID, msg))
        }
        Value::Array(elements) => elements
            .iter()
            .try_for_each(|element| collect(host, place, element, depth - 1, found)),
        other => {
            let ty = Type::infer(other).generalize();
            let msg =
                format!("targets are names, Targets and lists of them, not a value of type {ty}");
            Err(failure::plain_error(INVALID, msg))
        }
    }
}

fn add_named(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    text: &str,
    found: &mut FoundTargets,
) -> EvalResult<()> {
    if is_query(text) {
        return add_all(
            host,
            found,
            ask(host, place, &TargetQuery::Query(json!(text)))?,
        );
    }
    if host.is_node_group(text.trim()) {
        return group_members(host, place, text.trim(), found);
    }
    for part in text.split(|c: char| c == ',' || c.is_whitespace()) {
        let made = host.run.made.borrow().get(part).cloned();
        if host.run.groups.borrow().contains_key(part) || host.is_node_group(part) {
            group_members(host, place, part, found)?;
        } else if let Some(target) = made {
            host.reads_shared();
            found.add(target)?;
        } else if part == "all" {
            add_all(
                host,
                found,
                ask(host, place, &TargetQuery::Query(json!(ALL)))?,
            )?;
            host.reads_shared();
            let made = host.run.made.borrow().clone();
            made.into_values()
                .try_for_each(|target| found.add(target))?;
        } else if let Some(group) = part.strip_prefix("group:") {
            add_all(
                host,
                found,
                ask(host, place, &TargetQuery::Group(group.to_owned()))?,
            )?;
        } else if part.contains(['*', '?', '[', ']', '{', '}']) && !part.contains("://") {
            add_matching(host, place, part, found)?;
        } else if !part.is_empty() {
            found.add(PlanTarget::new(part))?;
        }
    }
    Ok(())
}

/// Adds groups, nodes and targets of the plan whose names match the glob, ignoring case.
fn add_matching(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    glob: &str,
    found: &mut FoundTargets,
) -> EvalResult<()> {
    let glob_bytes = glob.to_ascii_lowercase();
    let fits = |name: &str| matches(glob_bytes.as_bytes(), name.to_ascii_lowercase().as_bytes());
    let before = found.targets.len();
    let made_groups: Vec<Arc<str>> = host.run.groups.borrow().keys().cloned().collect();
    let node_groups = host.run.launch.node_groups.iter().map(|name| name.as_str());
    let mut groups: Vec<&str> = made_groups.iter().map(|name| &**name).collect();
    groups.extend(node_groups);
    let mut is_any = false;
    for group in groups.into_iter().filter(|name| fits(name)) {
        is_any = true;
        group_members(host, place, group, found)?;
    }
    let known = ask(host, place, &TargetQuery::Query(json!(ALL)))?;
    add_all(
        host,
        found,
        known.into_iter().filter(|name| fits(name)).collect(),
    )?;
    let made = host.run.made.borrow().clone();
    if !made.is_empty() {
        host.reads_shared();
    }
    for (name, target) in made.iter().filter(|(name, _)| fits(name)) {
        is_any |= !name.is_empty();
        found.add(target.clone())?;
    }
    if found.targets.len() == before && !is_any {
        let msg = format!("Found 0 targets matching wildcard pattern {glob}");
        return Err(failure::plain_error("bolt.inventory/wildcard-error", msg));
    }
    Ok(())
}

/// Adds the members of a group that the plan created, or else of a node group.
fn group_members(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    group: &str,
    found: &mut FoundTargets,
) -> EvalResult<()> {
    host.reads_shared();
    let members = members(host, place, group)?.unwrap_or_default();
    members.into_iter().try_for_each(|target| found.add(target))
}

const ALL: &str = "nodes[certname] { order by certname }";

fn add_all(host: &PlanHost<'_>, found: &mut FoundTargets, names: Vec<String>) -> EvalResult<()> {
    let made = host.run.made.borrow();
    names.iter().try_for_each(|name| {
        let made = made.get(name.as_str()).cloned();
        found.add(made.unwrap_or_else(|| PlanTarget::new(name)))
    })
}

fn is_query(text: &str) -> bool {
    let text = text.trim();
    let entity = text.split(['[', '{', ' ', '\n']).next().unwrap_or_default();
    text.ends_with('}') && text.contains('{') && ENTITIES.contains(&entity)
}

/// Returns true if a name matches a glob: `*`, `?`, `[a-z]`, `[!x]`.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // `retry` is the last star and the position in the name from which it matched; on a mismatch
    // the star takes one letter more.
    let (mut at, mut seen, mut retry) = (0, 0, None);
    loop {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at, seen));
                at += 1;
                continue;
            }
            None if seen == name.len() => return true,
            Some(_) if seen < name.len() => {
                if let Some(next) = one_letter(pattern, at, name[seen]) {
                    (at, seen) = (next, seen + 1);
                    continue;
                }
            }
            _ => {}
        }
        match retry {
            Some((star, from)) if from < name.len() => {
                retry = Some((star, from + 1));
                (at, seen) = (star + 1, from + 1);
            }
            _ => return false,
        }
    }
}

/// Returns the index after the part of the pattern that matches this letter; `None` if it does not
/// match.
fn one_letter(pattern: &[u8], at: usize, letter: u8) -> Option<usize> {
    match pattern.get(at)? {
        b'?' => Some(at + 1),
        b'[' => {
            let close = at + 2 + pattern.get(at + 2..)?.iter().position(|b| *b == b']')?;
            let mut set = &pattern[at + 1..close];
            let negated = matches!(set.first(), Some(b'!' | b'^'));
            if negated {
                set = &set[1..];
            }
            (contains(set, letter) != negated).then_some(close + 1)
        }
        exact => (*exact == letter).then_some(at + 1),
    }
}

fn contains(set: &[u8], letter: u8) -> bool {
    match set {
        [from, b'-', to, rest @ ..] => (*from..=*to).contains(&letter) || contains(rest, letter),
        [one, rest @ ..] => *one == letter || contains(rest, letter),
        [] => false,
    }
}

/// A query about nodes.
enum TargetQuery {
    Query(Json),
    Group(String),
}

/// Returns the certnames that a query finds; a step.
fn ask(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    question: &TargetQuery,
) -> EvalResult<Vec<String>> {
    let (arguments, question) = match question {
        TargetQuery::Query(query) => (json!({"query": query}), TargetQuery::Query(query.clone())),
        TargetQuery::Group(group) => (json!({"group": group}), TargetQuery::Group(group.clone())),
    };
    let nodes = Arc::clone(&host.run.world.nodes);
    let work = StepWork::RunLocalEffect(Arc::new(TargetQueryEffect {
        owner: host.run.owner(),
        nodes,
        question,
    }));
    let outcome = host.step("targets", place, arguments, work)?;
    if !outcome.ok {
        return Err(failure::raise(error_from_json(&outcome.value)));
    }
    let names = outcome.value.as_array().into_iter().flatten();
    Ok(names.filter_map(Json::as_str).map(str::to_owned).collect())
}

struct TargetQueryEffect {
    owner: PlanOwner,
    nodes: Arc<dyn NodeQueries>,
    question: TargetQuery,
}

#[async_trait]
impl LocalEffect for TargetQueryEffect {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn perform(&self) -> StepOutcome {
        let names = match &self.question {
            TargetQuery::Query(query) => self
                .nodes
                .query(&self.owner, query)
                .await
                .and_then(|rows| certnames(&rows)),
            TargetQuery::Group(group) => self.nodes.group(&self.owner, group).await,
        };
        match names {
            Ok(names) => StepOutcome::ok(Json::from(names)),
            Err(error) => StepOutcome::error(INVALID, &error.to_string()),
        }
    }
}

fn certnames(rows: &[Json]) -> Result<Vec<String>, NodesError> {
    let name = |row: &Json| row["certname"].as_str().map(str::to_owned);
    let names: Option<Vec<String>> = rows.iter().map(name).collect();
    names.ok_or_else(|| {
        NodesError("a query for targets must give certnames: nodes[certname] { … }".to_owned())
    })
}

fn get_targets(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let targets = of(host, &call.location(), call.get(0))?;
    Ok(Value::array(
        targets.into_iter().map(Value::object).collect(),
    ))
}

fn get_target(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let targets = of(host, &call.location(), call.get(0))?;
    match <[PlanTarget; 1]>::try_from(targets) {
        Ok([target]) => Ok(Value::object(target)),
        // The evaluator then reports that a Target was expected.
        Err(targets) if targets.is_empty() => Ok(Value::Undef),
        Err(targets) => {
            let spec = match call.get(0) {
                Value::Str(text) => text.to_string(),
                spec => targets_text(spec),
            };
            let msg = format!("'{spec}' refers to {} targets", targets.len());
            Err(invalid(&msg))
        }
    }
}

/// Formats a list of targets as Bolt does.
fn targets_text(spec: &Value) -> String {
    match spec {
        Value::Str(text) => pcore::ruby_inspect(text),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(targets_text).collect();
            format!("[{}]", elements.join(", "))
        }
        other => other.to_string(),
    }
}

/// Returns the members of a group that the plan created or changed, or else of a node group. `None`
/// if there is no such group.
fn members(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    group: &str,
) -> EvalResult<Option<Vec<PlanTarget>>> {
    let made = host.run.groups.borrow().get(group).cloned();
    if made.is_some() || !host.is_node_group(group) {
        return Ok(made);
    }
    let mut found = FoundTargets::default();
    add_all(
        host,
        &mut found,
        ask(host, place, &TargetQuery::Group(group.to_owned()))?,
    )?;
    Ok(Some(found.targets))
}

fn add_to_group(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let targets = of(host, &call.location(), call.get(0))?;
    if &*call.text(1) == "all" {
        let mut made = host.run.made.borrow_mut();
        for target in &targets {
            made.insert(target.name().clone(), target.clone());
        }
        let targets = targets.into_iter().map(Value::object);
        return Ok(Value::array(targets.collect()));
    }
    let mut members = members(host, &call.location(), &call.text(1))?.unwrap_or_default();
    for target in &targets {
        if !members.iter().any(|member| member.name() == target.name()) {
            members.push(target.clone());
        }
    }
    host.run.groups.borrow_mut().insert(call.text(1), members);
    Ok(Value::array(
        targets.into_iter().map(Value::object).collect(),
    ))
}

fn remove_from_group(
    host: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let targets = of(host, &call.location(), call.get(0))?;
    if targets.len() != 1 {
        let msg = format!(
            "'remove_from_group' expects a single Target, got {}",
            targets.len()
        );
        return Err(invalid(&msg));
    }
    let group = call.text(1);
    if &*group == "all" {
        return Err(invalid("Cannot remove Target from Group 'all'"));
    }
    let Some(mut members) = members(host, &call.location(), &group)? else {
        let msg = format!("Group {group} does not exist in inventory");
        return Err(invalid(&msg));
    };
    members.retain(|member| !targets.iter().any(|it| it.name() == member.name()));
    host.run.groups.borrow_mut().insert(group, members);
    Ok(Value::Undef)
}

/// Creates the error of an invalid target specification.
pub(super) fn invalid(msg: &str) -> Box<EvalUnwind> {
    let path = [("path", Value::array(Vec::new()))];
    failure::bolt_error(INVALID, msg, path.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_those_of_the_shell() {
        for (pattern, name, expected) in [
            ("web*", "web1.example.com", true),
            ("web*", "db1", false),
            ("*.example.com", "web1.example.com", true),
            ("web?", "web1", true),
            ("web?", "web12", false),
            ("web[1-3]*", "web2.x", true),
            ("web[1-3]", "web4", false),
            ("web[!1]", "web1", false),
            ("web[!1]", "web2", true),
            ("*a*b*c", "xxaxxbxxc", true),
            ("*a*b*c", "xxbxxaxxc", false),
            ("*", "", true),
            ("web[1", "web1", false),
            ("[", "[", false),
            (
                "a*a*a*a*a*a*a*b",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                false,
            ),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn a_query_is_told_from_a_name() {
        assert!(is_query("nodes[certname] { certname ~ 'web' }"));
        assert!(is_query(" inventory { facts.os.family = 'Debian' }"));
        for name in ["nodes", "web[1-3]*", "nodes[certname]", "a{b}", ""] {
            assert!(!is_query(name), "{name}");
        }
    }
}
