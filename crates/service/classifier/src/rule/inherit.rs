//! Combines a group's rule with those of its ancestors. Main function: [`with_inherited`].

use super::Rule;

/// `["and", own, parent's, …, root's]`, or the single rule. A group without a rule of its own has
/// no members, and therefore no inherited rule either.
pub(crate) fn with_inherited<'a>(
    own: Option<&Rule>,
    ancestors: impl Iterator<Item = &'a Rule>,
) -> Option<Rule> {
    let mut all = vec![own?.clone()];
    all.extend(ancestors.cloned());
    if all.len() == 1 {
        return all.pop();
    }
    Some(Rule::And(all))
}
