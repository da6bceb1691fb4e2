//! Description of wrong parameters of a class, defined type, task or plan: [`describe_parameters`].

use super::describer::describe;
use super::mismatch::{MismatchKind, TypeMismatchDetail};
use super::path::MismatchPathStep;
use super::{TypeMismatch, lines};
use crate::types::{StructElement, Type};
use crate::value::{Hash, Value};

/// Checks the given values against the parameters. `subject` (`Class[Foo]`) begins the message.
/// Optional parameters may be missing, and all may if `missing_ok`. Values for which `is_deferred`
/// is true have no known type yet and are not checked.
pub fn describe_parameters(
    subject: &str,
    parameters: &[StructElement],
    given: &Hash,
    missing_ok: bool,
    is_deferred: impl Fn(&Value) -> bool,
) -> Result<(), TypeMismatch> {
    let is_known = |name: &str| parameters.iter().any(|known| known.name() == name);
    let mut errors: Vec<TypeMismatchDetail> = given
        .keys()
        .map(ToString::to_string)
        .filter(|name| !is_known(name))
        .map(|name| TypeMismatchDetail::new(&[], MismatchKind::InvalidParameter(name)))
        .collect();
    for parameter in parameters {
        let name = || parameter.name().to_owned();
        match given.get_str(parameter.name()) {
            None if missing_ok || parameter.is_optional() => {}
            None => errors.push(TypeMismatchDetail::new(
                &[],
                MismatchKind::MissingParameter(name()),
            )),
            Some(value) if is_deferred(value) || parameter.value().is_instance(value) => {}
            Some(value) => errors.extend(describe(
                parameter.value(),
                &Type::infer_detailed(value),
                &[MismatchPathStep::Parameter(name())],
            )),
        }
    }
    refuse(subject, &errors)
}

fn refuse(subject: &str, errors: &[TypeMismatchDetail]) -> Result<(), TypeMismatch> {
    let message = match errors {
        [] => return Ok(()),
        [one] => format!("{subject}:{one}"),
        several => format!("{subject}:\n {}", lines(several)),
    };
    Err(TypeMismatch { message })
}
