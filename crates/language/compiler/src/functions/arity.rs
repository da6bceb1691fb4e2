//! Numbers of arguments of functions of Puppet's former interface.

use evaluator::{EvalResult, raise};

/// Refuses calls of functions of Puppet's former interface that have too few arguments.
pub(super) fn check_arity(name: &str, given: usize, least: usize) -> EvalResult<()> {
    if given >= least {
        return Ok(());
    }
    raise(format!(
        "{name}(): Wrong number of arguments given ({given} for minimum {least})"
    ))
}
