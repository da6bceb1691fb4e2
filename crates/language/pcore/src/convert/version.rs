//! Versions and ranges of versions from texts, numbers and hashes.

use super::ConversionError;
use super::constructor::{Constructor, Parameters, key, named, structure};
use crate::types::{IntRange, Type};
use crate::value::{Regexp, SemVer, SemVerRange, Value};

const QUALIFIER: &str = r"\A(?<part>[0-9A-Za-z-]+)(?:\.\g<part>)*\Z";
const FULL: &str = r"\A(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z";

pub(super) fn semver() -> Constructor {
    let number = named("PositiveInteger", &Type::integer_in(IntRange::ANY_SIZE));
    let qualifier = Type::pattern(vec![Regexp::new(QUALIFIER)]);
    let qualifier = named("SemVerQualifier", &qualifier);
    let full = named("SemVerPattern", &Type::pattern(vec![Regexp::new(FULL)]));
    let hash = structure(
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
    Constructor::new("new_Version")
        .way(Parameters::one("str", full), |arguments| {
            let text = arguments
                .first()
                .and_then(Value::as_str)
                .unwrap_or_default();
            Ok(Value::SemVer(SemVer::parse(text)?.into()))
        })
        .way(
            Parameters::one("major", number.clone())
                .and("minor", number.clone())
                .and("patch", number)
                .optional("prerelease", qualifier.clone())
                .optional("build", qualifier),
            |arguments| Ok(of_parts(|index, _| arguments.get(index))),
        )
        .way(Parameters::one("hash_args", hash), |arguments| {
            Ok(of_parts(|_, name| key(arguments, name)))
        })
        .refusal(Parameters::one("str", Type::string()), |arguments| {
            let text = arguments.first().map(ToString::to_string);
            ConversionError::Text {
                text: text.unwrap_or_default(),
                to: "a SemVer",
            }
        })
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

pub(super) fn semver_range() -> Constructor {
    let end = Type::variant_of(vec![Type::default_type(), Type::semver()]);
    let hash = structure(
        &[("min", end.clone())],
        &[("max", end.clone()), ("exclude_max", Type::boolean())],
    );
    let hash = named("SemVerRangeHash", &hash);
    let text = named("SemVerRangeString", &Type::non_empty_string());
    Constructor::new("new_VersionRange")
        .way(Parameters::one("str", text), |arguments| {
            let text = arguments
                .first()
                .and_then(Value::as_str)
                .unwrap_or_default();
            Ok(Value::SemVerRange(SemVerRange::parse(text)?.into()))
        })
        .way(
            Parameters::one("min", end.clone())
                .and("max", end)
                .optional("exclude_max", Type::boolean()),
            |arguments| {
                Ok(between(
                    arguments.first(),
                    arguments.get(1),
                    arguments.get(2),
                ))
            },
        )
        .way(Parameters::one("hash_args", hash), |arguments| {
            let value = |name| key(arguments, name);
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
