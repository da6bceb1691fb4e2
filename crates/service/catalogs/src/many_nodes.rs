//! Comparisons of the catalogs of many nodes, in parallel: [`compare_nodes`], [`NodeOutcome`].
//!
//! Invariant: at most as many nodes are compared at a time as there are workers, and their catalogs
//! are dropped as soon as they are compared.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::comparison::{CatalogDifference, compare_catalogs};
use crate::shadow::CatalogOutcome;

/// Result of the comparison of a node's two catalogs.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeOutcome {
    /// The catalogs are equal, or both compilations fail with the same message.
    Equal,
    Different(CatalogDifference),
    /// Message of the first compilation; the second gave a catalog.
    FirstFailed(String),
    /// Message of the second compilation; the first gave a catalog.
    SecondFailed(String),
    /// Both compilations fail, with these messages.
    BothFailed(String, String),
    /// The second compiler gave no answer, for this reason.
    NoAnswer(String),
}

impl NodeOutcome {
    /// Compares the results of two compilations of a node.
    #[must_use]
    pub fn of(first: &CatalogOutcome, second: &CatalogOutcome) -> Self {
        match (first, second) {
            (Ok(first), Ok(second)) => {
                let difference = compare_catalogs(first, second);
                match difference.is_empty() {
                    true => Self::Equal,
                    false => Self::Different(difference),
                }
            }
            (Err(error), Ok(_)) => Self::FirstFailed(error.clone()),
            (Ok(_), Err(error)) => Self::SecondFailed(error.clone()),
            (Err(first), Err(second)) => match without_places(first) == without_places(second) {
                true => Self::Equal,
                false => Self::BothFailed(first.clone(), second.clone()),
            },
        }
    }
}

/// The message of a compilation without the name of the node at its end.
pub(crate) fn without_node(message: &str) -> &str {
    match message.rsplit_once(" on node ") {
        Some((message, certname)) if !certname.contains(' ') => message,
        _ => message,
    }
}

/// The same without places in files, which differ between two directories.
fn without_places(message: &str) -> String {
    let message = without_node(message);
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (file: ") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

/// Compares nodes with `compare` on `workers` threads, and passes each result with the number of its
/// node to `add`, in the order in which they are ready, until `add` breaks.
///
/// # Errors
/// The error of the first node whose comparison failed; the others are not begun then.
pub fn compare_nodes<E: Send>(
    certnames: &[String],
    workers: usize,
    compare: impl Fn(&str) -> Result<NodeOutcome, E> + Sync,
    add: impl FnMut(usize, NodeOutcome) -> ControlFlow<()> + Send,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let is_ended = AtomicBool::new(false);
    let state = Mutex::new((add, None::<(usize, E)>));
    let work = || {
        while !is_ended.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(certname) = certnames.get(index) else {
                return;
            };
            let result = compare(certname);
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (add, failure) = &mut *state;
            match result {
                Ok(outcome) => {
                    if add(index, outcome).is_break() {
                        is_ended.store(true, Ordering::Relaxed);
                    }
                }
                Err(error) => {
                    is_ended.store(true, Ordering::Relaxed);
                    if failure.as_ref().is_none_or(|(first, _)| index < *first) {
                        *failure = Some((index, error));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers.min(certnames.len()) {
            scope.spawn(work);
        }
        work();
    });
    let (_, failure) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use serde_json::json;

    use super::{NodeOutcome, compare_nodes, without_places};

    #[test]
    fn every_node_is_compared_once() {
        let certnames: Vec<String> = (0..100).map(|it| format!("n{it}")).collect();
        let mut seen = vec![0; certnames.len()];
        let compared = compare_nodes(
            &certnames,
            4,
            |_| Ok::<_, ()>(NodeOutcome::Equal),
            |index, _| {
                seen[index] += 1;
                ControlFlow::Continue(())
            },
        );
        assert_eq!(compared, Ok(()));
        assert!(seen.iter().all(|it| *it == 1));
    }

    #[test]
    fn comparisons_end_at_an_error_or_a_break() {
        let certnames: Vec<String> = (0..100).map(|it| format!("n{it}")).collect();
        let mut count = 0;
        let end = |_, _| {
            count += 1;
            ControlFlow::Break(())
        };
        let compared = compare_nodes(&certnames, 1, |_| Ok::<_, ()>(NodeOutcome::Equal), end);
        assert_eq!((compared, count), (Ok(()), 1));
        let fail = |name: &str| match name {
            "n1" => Err("n1"),
            _ => Ok(NodeOutcome::Equal),
        };
        let compared = compare_nodes(&certnames, 1, fail, |_, _| ControlFlow::Continue(()));
        assert_eq!(compared, Err("n1"));
    }

    #[test]
    fn equal_errors_are_equal_outcomes() {
        let message = "Evaluation Error: x (file: /a/site.pp, line: 1, column: 2) on node a.b";
        let other = "Evaluation Error: x (file: /b/site.pp, line: 1) on node a.b";
        assert_eq!(without_places(message), "Evaluation Error: x");
        let (first, second) = (Err(message.to_owned()), Err(other.to_owned()));
        assert_eq!(NodeOutcome::of(&first, &second), NodeOutcome::Equal);
        let catalog = Ok(json!({"resources": [], "edges": []}));
        assert_eq!(
            NodeOutcome::of(&first, &catalog),
            NodeOutcome::FirstFailed(message.to_owned())
        );
    }
}
