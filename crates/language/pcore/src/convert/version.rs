//! Versions and version ranges from texts, numbers and hashes.

use super::ConversionError;
use super::constructor::{
    ConstructorParameters, ValueConstructor, hash_argument, named, struct_type,
};
use crate::types::{IntRange, Type};
use crate::value::{Regexp, SemVer, SemVerRange, Value};

const QUALIFIER: &str = r"\A(?<part>[0-9A-Za-z-]+)(?:\.\g<part>)*\Z";
const FULL: &str = r"\A(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z";

pub(super) fn semver() -> ValueConstructor {
    let number = named("PositiveInteger", &Type::integer_in(IntRange::ANY_SIZE));
    let qualifier = Type::pattern(vec![Regexp::new(QUALIFIER)]);
    let qualifier = named("SemVerQualifier", &qualifier);
    let full = named("SemVerPattern", &Type::pattern(vec![Regexp::new(FULL)]));
    let hash = struct_type(
        &[
            ("major", number.clone()),
            ("minor", number.clone()),
            ("patch", number.clone()),
        ],
        &[
            ("prerelease", qualifier.clone()),
            ("build", qualifier.clone()),
        ],
    );
    let hash = named("SemVerHash", &hash);
    ValueConstructor::new("new_Version")
        .with_signature(ConstructorParameters::one("str", full), |arguments| {
            let text = arguments
                .first()
                .and_then(Value::as_str)
                .unwrap_or_default();
            Ok(Value::SemVer(SemVer::parse(text)?.into()))
        })
        .with_signature(
            ConstructorParameters::one("major", number.clone())
                .with_required("minor", number.clone())
                .with_required("patch", number)
                .with_optional("prerelease", qualifier.clone())
                .with_optional("build", qualifier),
            |arguments| Ok(of_parts(|index, _| arguments.get(index))),
        )
        .with_signature(ConstructorParameters::one("hash_args", hash), |arguments| {
            Ok(of_parts(|_, name| hash_argument(arguments, name)))
        })
        .with_refusal(
            ConstructorParameters::one("str", Type::string()),
            |arguments| {
                let text = arguments.first().map(ToString::to_string);
                ConversionError::Text {
                    text: text.unwrap_or_default(),
                    to: "a SemVer",
                }
            },
        )
}

fn of_parts<'a>(part: impl Fn(usize, &str) -> Option<&'a Value>) -> Value {
    let number = |index, name| {
        let number = part(index, name).and_then(Value::as_int);
        number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
    };
    let text = |index, name| part(index, name).and_then(Value::as_str);
    let version = SemVer::of_parts(
        [number(0, "major"), number(1, "minor"), number(2, "patch")],
        text(3, "prerelease"),
        text(4, "build"),
    );
    Value::SemVer(version.into())
}

pub(super) fn semver_range() -> ValueConstructor {
    let end = Type::variant_of(vec![Type::default_type(), Type::semver()]);
    let hash = struct_type(
        &[("min", end.clone())],
        &[("max", end.clone()), ("exclude_max", Type::boolean())],
    );
    let hash = named("SemVerRangeHash", &hash);
    let text = named("SemVerRangeString", &Type::non_empty_string());
    ValueConstructor::new("new_VersionRange")
        .with_signature(ConstructorParameters::one("str", text), |arguments| {
            let text = arguments
                .first()
                .and_then(Value::as_str)
                .unwrap_or_default();
            Ok(Value::SemVerRange(SemVerRange::parse(text)?.into()))
        })
        .with_signature(
            ConstructorParameters::one("min", end.clone())
                .with_required("max", end)
                .with_optional("exclude_max", Type::boolean()),
            |arguments| {
                Ok(between(
                    arguments.first(),
                    arguments.get(1),
                    arguments.get(2),
                ))
            },
        )
        .with_signature(ConstructorParameters::one("hash_args", hash), |arguments| {
            let value = |name| hash_argument(arguments, name);
            Ok(between(value("min"), value("max"), value("exclude_max")))
        })
}

fn between(min: Option<&Value>, max: Option<&Value>, exclude: Option<&Value>) -> Value {
    let version = |end: Option<&'_ Value>| match end {
        Some(Value::SemVer(version)) => Some(version.clone()),
        _ => None,
    };
    let (min, max) = (version(min), version(max));
    let exclude = exclude.is_some_and(Value::is_truthy);
    let range = SemVerRange::from_ends(min.as_deref(), max.as_deref(), exclude);
    Value::SemVerRange(range.into())
}
