//! Combines a group's rule with those of its ancestors. Main function: [`and_inherited`].

use super::NodeGroupRule;

/// `["and", own, parent's, …, root's]`, or the single rule. A group without a rule of its own has
/// no members, and therefore no inherited rule either.
pub(crate) fn and_inherited<'a>(
    own: Option<&NodeGroupRule>,
    ancestors: impl Iterator<Item = &'a NodeGroupRule>,
) -> Option<NodeGroupRule> {
    let mut all = vec![own?.clone()];
    all.extend(ancestors.cloned());
    if all.len() == 1 {
        return all.pop();
    }
    Some(NodeGroupRule::And(all))
}
