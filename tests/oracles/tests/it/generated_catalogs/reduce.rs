//! Removes lines of a program as long as its answers differ: [`reduced`].

use anyhow::Result;

use super::differences;
use super::program::Program;

/// Rounds, each of which asks Puppet once.
const ROUNDS: usize = 30;

/// The smallest program that was found to differ, and its differences.
pub(super) fn reduced(program: &Program, found: &[String]) -> Result<(Program, Vec<String>)> {
    let (mut program, mut found) = (program.clone(), found.to_vec());
    for _ in 0..ROUNDS {
        let smaller = program.smaller();
        let (_, all) = differences(&smaller)?;
        let still = smaller.into_iter().zip(all);
        let kind = kind_of(&found);
        match still
            .filter(|it| kind_of(&it.1) == kind)
            .min_by_key(|it| it.0.size())
        {
            Some((next, differences)) => (program, found) = (next, differences),
            None => break,
        }
    }
    Ok((program, found))
}

/// The first word of the first difference: an error, an outcome, or a resource.
fn kind_of(found: &[String]) -> Option<&str> {
    let first = found.first()?;
    first.split([' ', '[', ':']).next()
}
