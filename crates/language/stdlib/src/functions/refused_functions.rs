//! Functions that only make sense on the machine of Puppet's server. Each returns an error with the
//! reason and the alternative.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any};
use evaluator::{EvalResult, Evaluator, raise};

macro_rules! refused {
    ($($name:literal => $why:literal;)+) => {
        &[$(FunctionSpec::new($name, &[FunctionDispatch::new(&[any("Any", "args")], {
            fn refuse(_: &mut Evaluator<'_>, _: CallArguments<'_>) -> EvalResult {
                raise(concat!($name, "(): ", $why))
            }
            refuse
        })])),+]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = refused! {
    "glob" => "the files of the server are not looked at, since a program that is evaluated again must see the same: list them in a task";
    "pry" => "there is no Ruby here that could be stopped: write values with notice() or out::message()";
    "validate_augeas" => "augeas is not here: check the file in a task, or with validate_cmd of the file resource";
    "validate_cmd" => "commands do not run while a program is evaluated: use validate_cmd of the file resource";
    "validate_x509_rsa_key_pair" => "certificates are not checked while a program is evaluated: check them in a task";
};
