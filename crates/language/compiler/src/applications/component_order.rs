//! Order of components, producers first: [`producers_first`].

use pcore::FastHashMap;

use super::links::ComponentCapabilities;
use crate::reference::CatalogReference;

/// State of a component in the walk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// Indices of the components in an order in which producers come before their consumers, and
/// components without such a relation keep their order. If components wait for each other, the result
/// is one such cycle, from producer to consumer, whose last component is its first.
///
/// The walk has its own list of open components, so a chain of any length is no recursion.
pub(super) fn producers_first(
    components: &[&ComponentCapabilities],
) -> Result<Vec<usize>, Vec<usize>> {
    let producers = producers_of(components);
    let mut visits = vec![Visit::New; components.len()];
    let mut order = Vec::with_capacity(components.len());
    for start in 0..components.len() {
        if visits[start] != Visit::New {
            continue;
        }
        visits[start] = Visit::Open;
        // each open component with the number of its producers that were looked at
        let mut open = vec![(start, 0)];
        while let Some((component, looked_at)) = open.last_mut() {
            let Some(producer) = producers[*component].get(*looked_at).copied() else {
                visits[*component] = Visit::Done;
                order.push(*component);
                open.pop();
                continue;
            };
            *looked_at += 1;
            match visits[producer] {
                Visit::Done => {}
                Visit::New => {
                    visits[producer] = Visit::Open;
                    open.push((producer, 0));
                }
                Visit::Open => return Err(cycle(&open, producer)),
            }
        }
    }
    Ok(order)
}

/// For each component, those that produce what it needs; a component does not wait for itself.
fn producers_of(components: &[&ComponentCapabilities]) -> Vec<Vec<usize>> {
    let mut producers: FastHashMap<&CatalogReference, usize> = FastHashMap::default();
    for (index, component) in components.iter().enumerate() {
        for export in &component.exports {
            producers.entry(export).or_insert(index);
        }
    }
    let needed = |(index, component): (usize, &&ComponentCapabilities)| {
        let needs = component.needs();
        let found = needs.filter_map(|need| producers.get(need).copied());
        found.filter(|producer| *producer != index).collect()
    };
    components.iter().enumerate().map(needed).collect()
}

/// The open components from `first` on: each consumes from the next one.
fn cycle(open: &[(usize, usize)], first: usize) -> Vec<usize> {
    let start = open.iter().position(|(index, _)| *index == first);
    let mut path: Vec<usize> = open[start.unwrap_or_default()..]
        .iter()
        .map(|(index, _)| *index)
        .collect();
    path.push(first);
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::producers_first;
    use crate::applications::links::ComponentCapabilities;
    use crate::reference::CatalogReference;

    fn capabilities(exports: &[usize], consumes: &[usize]) -> ComponentCapabilities {
        let references = |titles: &[usize]| {
            let titles = titles.iter();
            titles
                .map(|title| CatalogReference {
                    type_name: "Sql".into(),
                    title: title.to_string().into(),
                })
                .collect()
        };
        ComponentCapabilities {
            exports: references(exports),
            consumes: references(consumes),
            requires: Vec::new(),
        }
    }

    #[test]
    fn producers_come_first_and_the_rest_keeps_its_order() {
        let components = [
            capabilities(&[], &[2]),
            capabilities(&[], &[]),
            capabilities(&[1], &[]),
            capabilities(&[2], &[1]),
            capabilities(&[4], &[4]),
        ];
        let components: Vec<_> = components.iter().collect();
        assert_eq!(producers_first(&components), Ok(vec![2, 3, 0, 1, 4]));
    }

    #[test]
    fn a_long_chain_is_no_recursion_and_a_cycle_is_a_path() {
        const LENGTH: usize = 100_000;
        let chain: Vec<_> = (0..LENGTH)
            .map(|index| capabilities(&[index], &[index + 1]))
            .collect();
        let chain: Vec<_> = chain.iter().collect();
        let order = producers_first(&chain).expect("no cycle");
        assert!(order.iter().copied().eq((0..LENGTH).rev()));

        let cycle: Vec<_> = (0..50)
            .map(|index| capabilities(&[index], &[(index + 1) % 50]))
            .collect();
        let cycle: Vec<_> = cycle.iter().collect();
        let path = producers_first(&cycle).expect_err("a cycle");
        let expected: Vec<usize> = (0..50).rev().collect();
        assert_eq!(path.len(), 51);
        assert_eq!(path[0], 0);
        assert_eq!(path[1..], expected);
    }
}
