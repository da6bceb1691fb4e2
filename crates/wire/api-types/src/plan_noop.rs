//! Noop mode of plans: [`PlanNoop`].
//!
//! In JSON it is `true`, `false` or `"run"`. Invariant: every other value is refused, and never
//! taken to mean a normal run.

use std::fmt;

use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

/// Noop mode of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanNoop {
    /// `false`: the plan runs normally.
    #[default]
    Off,
    /// `true`: the plan only shows its effects and makes no change.
    Show,
    /// `"run"`: tasks that support noop run in noop mode, and all other steps are only shown.
    Run,
}

const RUN: &str = "run";

impl PlanNoop {
    /// Returns true if the plan runs normally.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// Returns the schema of the `OpenAPI` document.
pub(crate) fn schema() -> Schema {
    let flag = ObjectBuilder::new().schema_type(Type::Boolean);
    let run = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([RUN]));
    let about = "`true`: what the plan would do is shown and not done; `\"run\"`: but tasks that support it \
                 run in noop mode.";
    let either = OneOfBuilder::new().item(flag).item(run);
    Schema::OneOf(either.description(Some(about)).build())
}

impl Serialize for PlanNoop {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => into.serialize_bool(false),
            Self::Show => into.serialize_bool(true),
            Self::Run => into.serialize_str(RUN),
        }
    }
}

impl<'de> Deserialize<'de> for PlanNoop {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Words)
    }
}

struct Words;

impl Visitor<'_> for Words {
    type Value = PlanNoop;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or \"run\"")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<PlanNoop, E> {
        Ok(match flag {
            true => PlanNoop::Show,
            false => PlanNoop::Off,
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PlanNoop, E> {
        match text {
            RUN => Ok(PlanNoop::Run),
            other => Err(E::invalid_value(Unexpected::Str(other), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn it_is_read_as_it_is_written_and_nothing_else_is() {
        for (noop, text) in [
            (PlanNoop::Off, json!(false)),
            (PlanNoop::Show, json!(true)),
            (PlanNoop::Run, json!("run")),
        ] {
            assert_eq!(to_value(noop).unwrap(), text);
            assert_eq!(from_value::<PlanNoop>(text).unwrap(), noop);
        }
        for (wrong, shown) in [
            (json!("show"), "\"show\""),
            (json!(1), "1"),
            (json!([]), "seq"),
        ] {
            let refused = from_value::<PlanNoop>(wrong).unwrap_err().to_string();
            assert!(refused.contains(shown), "{refused}");
            assert!(
                refused.contains("expected true, false or \"run\""),
                "{refused}"
            );
        }
    }
}
