//! Groups as clients send them. Main types: [`GroupInput`], [`GroupDelta`].
//!
//! Invariants: input of a wrong shape is refused with its position (`classes.apache.port`); a null
//! value counts as absent, so that no class, parameter or variable is ever null.

mod fields;

use std::collections::BTreeMap;

use serde_json::Value;

use self::fields::GroupFields;
use super::{ClassifierGroup, DEFAULT_ENVIRONMENT, GroupClasses, GroupId, GroupParameters};
use crate::NodeGroupRule;

pub use self::fields::SchemaError;

/// A whole group, for `POST groups` and `PUT groups/:id`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupInput {
    /// Id of the group; `None` if the client sends none.
    pub id: Option<GroupId>,
    /// The value for [`ClassifierGroup::name`].
    pub name: String,
    /// The value for [`ClassifierGroup::description`].
    pub description: Option<String>,
    /// The value for [`ClassifierGroup::environment`].
    pub environment: String,
    /// The value for [`ClassifierGroup::environment_trumps`].
    pub environment_trumps: bool,
    /// The value for [`ClassifierGroup::parent`].
    pub parent: GroupId,
    /// The value for [`ClassifierGroup::rule`].
    pub rule: Option<NodeGroupRule>,
    /// The value for [`ClassifierGroup::classes`].
    pub classes: GroupClasses,
    /// The value for [`ClassifierGroup::config_data`].
    pub config_data: GroupClasses,
    /// The value for [`ClassifierGroup::variables`].
    pub variables: GroupParameters,
    /// The serial number that the client expects; `None` skips the check.
    pub serial_number: Option<i64>,
}

/// Changes of classes: `None` removes a class or a parameter.
pub type ClassesDelta = BTreeMap<String, Option<ParametersDelta>>;

/// Changes of parameters or variables: `None` removes one.
pub type ParametersDelta = BTreeMap<String, Option<Value>>;

/// A change of a group, for `POST groups/:id`. Absent fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupDelta {
    /// Id in the body; if present, it must be the group's id.
    pub id: Option<GroupId>,
    /// The new name; `None` keeps the current one.
    pub name: Option<String>,
    /// The new description; `Some(None)` removes it, `None` keeps the current one.
    pub description: Option<Option<String>>,
    /// The new environment; `None` keeps the current one.
    pub environment: Option<String>,
    /// The new value of the flag; `None` keeps the current one.
    pub environment_trumps: Option<bool>,
    /// The new parent; `None` keeps the current one.
    pub parent: Option<GroupId>,
    /// The new rule; `Some(None)` removes it, `None` keeps the current one.
    pub rule: Option<Option<NodeGroupRule>>,
    /// Changes that are merged into the group's classes.
    pub classes: ClassesDelta,
    /// Changes that are merged into the group's configuration data.
    pub config_data: ClassesDelta,
    /// Changes that are merged into the group's variables.
    pub variables: ParametersDelta,
    /// The serial number that the client expects; `None` skips the check.
    pub serial_number: Option<i64>,
}

/// The groups of a dump (`GET groups` of this or Puppet Enterprise's classifier), for `POST
/// import-hierarchy`. Unknown keys are ignored, because dumps of other versions have more.
///
/// # Errors
/// The dump is invalid; the error has the position, for example `[3].rule[1]`, and the reason.
pub fn parse_import(json: &Value, now_ms: i64) -> Result<Vec<ClassifierGroup>, SchemaError> {
    let Value::Array(groups) = json else {
        return Err(SchemaError::new("", "an array of groups is expected"));
    };
    let each = groups.iter().enumerate();
    each.map(|(index, json)| {
        let mut fields = GroupFields::new(json, &format!("[{index}]"))?;
        let id = fields.take_id("id")?;
        let edited_ms = fields.take_time("last_edited")?.unwrap_or(now_ms);
        let serial_number = fields.take_integer("serial_number")?;
        let input = GroupInput::take_fields(&mut fields)?;
        let missing = || SchemaError::new(&format!("[{index}].id"), "a group's id is expected");
        Ok(ClassifierGroup {
            last_edited_ms: edited_ms,
            serial_number: serial_number.unwrap_or(1),
            ..input.into_group(id.ok_or_else(missing)?, now_ms)
        })
    })
    .collect()
}

impl GroupInput {
    /// Parses a whole group.
    ///
    /// # Errors
    /// The input is invalid; the error has the position and the reason.
    pub fn parse(json: &Value) -> Result<Self, SchemaError> {
        let mut fields = GroupFields::new(json, "")?;
        let (id, serial_number) = (fields.take_id("id")?, fields.take_integer("serial_number")?);
        let input = Self::take_fields(&mut fields)?;
        // Clients send back the keys that they received.
        fields.ignore_keys(&["deleted", "last_edited"]);
        fields.finish()?;
        Ok(Self {
            id,
            serial_number,
            ..input
        })
    }

    fn take_fields(fields: &mut GroupFields<'_>) -> Result<Self, SchemaError> {
        let environment = fields.take_name("environment")?;
        let input = Self {
            id: None,
            name: fields.require(GroupFields::take_name, "name")?,
            description: fields.take_description("description")?.flatten(),
            environment: environment.unwrap_or_else(|| DEFAULT_ENVIRONMENT.to_owned()),
            environment_trumps: fields.take_boolean("environment_trumps")?.unwrap_or(false),
            parent: fields.require(GroupFields::take_id, "parent")?,
            rule: fields.take_rule("rule")?.flatten(),
            classes: without_null_classes(fields.require(GroupFields::take_classes, "classes")?),
            config_data: without_null_classes(
                fields.take_classes("config_data")?.unwrap_or_default(),
            ),
            variables: without_nulls(fields.take_parameters("variables")?.unwrap_or_default()),
            serial_number: None,
        };
        fields.check_size()?;
        Ok(input.without_empty_data())
    }

    /// Removes classes without parameters from the configuration data, where they have no effect.
    fn without_empty_data(mut self) -> Self {
        self.config_data
            .retain(|_, parameters| !parameters.is_empty());
        self
    }

    /// The input as a new group.
    pub(crate) fn into_group(self, id: GroupId, now_ms: i64) -> ClassifierGroup {
        ClassifierGroup {
            id,
            name: self.name,
            description: self.description,
            environment: self.environment,
            environment_trumps: self.environment_trumps,
            parent: self.parent,
            rule: self.rule,
            classes: self.classes,
            config_data: self.config_data,
            variables: self.variables,
            last_edited_ms: now_ms,
            serial_number: 1,
        }
    }
}

impl GroupDelta {
    /// Parses a change of a group.
    ///
    /// # Errors
    /// The input is invalid; the error has the position and the reason.
    pub fn parse(json: &Value) -> Result<Self, SchemaError> {
        let mut fields = GroupFields::new(json, "")?;
        let delta = Self {
            id: fields.take_id("id")?,
            name: fields.take_name("name")?,
            description: fields.take_description("description")?,
            environment: fields.take_name("environment")?,
            environment_trumps: fields.take_boolean("environment_trumps")?,
            parent: fields.take_id("parent")?,
            rule: fields.take_rule("rule")?,
            classes: fields.take_classes("classes")?.unwrap_or_default(),
            config_data: fields.take_classes("config_data")?.unwrap_or_default(),
            variables: fields.take_parameters("variables")?.unwrap_or_default(),
            serial_number: fields.take_integer("serial_number")?,
        };
        fields.check_size()?;
        fields.ignore_keys(&["deleted", "last_edited"]);
        fields.finish()?;
        Ok(delta)
    }

    /// The group after the change.
    pub(crate) fn apply(self, mut group: ClassifierGroup) -> ClassifierGroup {
        if let Some(name) = self.name {
            group.name = name;
        }
        if let Some(description) = self.description {
            group.description = description;
        }
        if let Some(environment) = self.environment {
            group.environment = environment;
        }
        if let Some(trumps) = self.environment_trumps {
            group.environment_trumps = trumps;
        }
        if let Some(parent) = self.parent {
            group.parent = parent;
        }
        if let Some(rule) = self.rule {
            group.rule = rule;
        }
        apply_class_delta(&mut group.classes, self.classes);
        apply_class_delta(&mut group.config_data, self.config_data);
        group
            .config_data
            .retain(|_, parameters| !parameters.is_empty());
        apply_parameter_delta(&mut group.variables, self.variables);
        group
    }
}

fn apply_class_delta(classes: &mut GroupClasses, delta: ClassesDelta) {
    for (name, parameters) in delta {
        match parameters {
            None => {
                classes.remove(&name);
            }
            Some(parameters) => apply_parameter_delta(classes.entry(name).or_default(), parameters),
        }
    }
}

fn apply_parameter_delta(parameters: &mut GroupParameters, delta: ParametersDelta) {
    for (name, value) in delta {
        match value {
            None => parameters.remove(&name),
            Some(value) => parameters.insert(name, value),
        };
    }
}

fn without_null_classes(classes: ClassesDelta) -> GroupClasses {
    let mut all = GroupClasses::new();
    apply_class_delta(&mut all, classes);
    all
}

fn without_nulls(parameters: ParametersDelta) -> GroupParameters {
    let mut all = GroupParameters::new();
    apply_parameter_delta(&mut all, parameters);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROOT: &str = "00000000-0000-4000-8000-000000000000";

    #[test]
    fn the_documented_delta_gives_the_documented_group() {
        let before = json!({
            "name": "Webservers", "environment": "staging", "parent": ROOT,
            "rule": ["~", ["trusted", "certname"], "www"],
            "classes": {
                "apache": {"serveradmin": "a@example.com", "keepalive_timeout": 5},
                "ssl": {"keystore": "/etc/ssl/keystore"},
            },
            "variables": {"ntp_servers": ["0", "1"]},
        });
        let delta = json!({
            "name": "Production Webservers", "environment": "production",
            "classes": {"apache": {"serveradmin": "b@example.com", "keepalive_timeout": null}, "ssl": null},
            "variables": {"dns_servers": ["dns"]},
        });
        let group = GroupInput::parse(&before).unwrap();
        let group = group.into_group(GroupId::random(), 0);
        let after = GroupDelta::parse(&delta).unwrap().apply(group.clone());
        assert_eq!(after.name, "Production Webservers");
        assert_eq!(after.environment, "production");
        assert_eq!(after.rule, group.rule);
        assert_eq!(
            json!(after.classes),
            json!({"apache": {"serveradmin": "b@example.com"}})
        );
        assert_eq!(
            json!(after.variables),
            json!({"dns_servers": ["dns"], "ntp_servers": ["0", "1"]})
        );
        let delta = GroupDelta::parse(&json!({"rule": null, "description": null})).unwrap();
        let after = delta.apply(after);
        assert_eq!((after.rule, after.description), (None, None));
    }

    #[test]
    fn what_is_not_of_the_shape_is_refused_with_its_place() {
        let whole = |key: &str, value: Value| {
            let mut group = json!({"name": "a", "parent": ROOT, "classes": {}});
            group[key] = value;
            group
        };
        for (json, place) in [
            (json!([]), ""),
            (json!({"parent": ROOT, "classes": {}}), "name"),
            (json!({"name": "a", "classes": {}}), "parent"),
            (json!({"name": "a", "parent": ROOT}), "classes"),
            (whole("name", json!("")), "name"),
            (whole("name", json!("a\u{0}")), "name"),
            (whole("name", json!(5)), "name"),
            (whole("parent", json!("../x")), "parent"),
            (whole("id", json!("x")), "id"),
            (whole("environment", json!("a/../b")), "environment"),
            (
                whole("environment_trumps", json!("true")),
                "environment_trumps",
            ),
            (whole("classes", json!({"a": 5})), "classes.a"),
            (whole("variables", json!([])), "variables"),
            (whole("rule", json!(["=", "name"])), "rule"),
            (whole("serial_number", json!(1.5)), "serial_number"),
            (whole("clases", json!({})), "clases"),
        ] {
            let error = GroupInput::parse(&json).expect_err(place);
            assert_eq!(error.place, place, "{json}: {error}");
        }
        let error =
            parse_import(&json!([{"name": "a", "parent": ROOT, "classes": {}}]), 0).unwrap_err();
        assert_eq!(error.place, "[0].id");
        let error = parse_import(&json!([5]), 0).unwrap_err();
        assert_eq!(error.place, "[0]");
    }

    #[test]
    fn nulls_are_no_values_and_data_without_parameters_is_none() {
        let group = json!({
            "name": "a", "parent": ROOT, "classes": {"x": {"p": null}, "y": null},
            "config_data": {"q": {}}, "variables": {"v": null}, "rule": null,
        });
        let group = GroupInput::parse(&group).unwrap();
        assert_eq!(json!(group.classes), json!({"x": {}}));
        assert!(group.config_data.is_empty() && group.variables.is_empty());
    }
}
