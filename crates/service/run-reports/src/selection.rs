//! Choice of the resources and messages that are kept: [`select_resources`] and [`select_logs`].
//!
//! Invariant: kept items stay in their order, and together have no more bytes than the limit.

use std::collections::VecDeque;

use crate::report::{ReportedResource, RunLogEntry};

/// Keeps resources of `limit` bytes together, failed ones first. Returns the number that was left
/// out.
pub(crate) fn select_resources(resources: &mut Vec<ReportedResource>, limit: usize) -> usize {
    let before = resources.len();
    let mut left = limit;
    let mut keep = vec![false; before];
    for failed in [true, false] {
        for (resource, keep) in resources.iter().zip(&mut keep) {
            if resource.is_failed() == failed && resource.size() <= left {
                left -= resource.size();
                *keep = true;
            }
        }
    }
    let mut keep = keep.into_iter();
    resources.retain(|_| keep.next().unwrap_or(false));
    before - resources.len()
}

/// Keeps messages of `limit` bytes together: three quarters from the beginning, the others from the
/// end. Returns the number that was left out.
pub(crate) fn select_logs(logs: &mut Vec<RunLogEntry>, limit: usize) -> usize {
    let before = logs.len();
    let mut rest: VecDeque<RunLogEntry> = std::mem::take(logs).into();
    let mut left = limit / 4 * 3;
    while let Some(log) = rest.pop_front_if(|log| log.size() <= left) {
        left -= log.size();
        logs.push(log);
    }
    let mut last = Vec::new();
    left += limit / 4;
    while let Some(log) = rest.pop_back_if(|log| log.size() <= left) {
        left -= log.size();
        last.push(log);
    }
    logs.extend(last.into_iter().rev());
    before - logs.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(title: &str, failed: bool) -> ReportedResource {
        ReportedResource {
            title: title.to_owned(),
            failed,
            changed: !failed,
            ..ReportedResource::default()
        }
    }

    fn log(message: &str) -> RunLogEntry {
        RunLogEntry {
            message: message.to_owned(),
            ..RunLogEntry::default()
        }
    }

    #[test]
    fn failed_resources_are_kept_before_others_and_all_in_their_order() {
        let all = [
            resource("a", false),
            resource("b", true),
            resource("c", false),
            resource("d", true),
        ];
        let size = all[0].size();
        let kept = |limit| {
            let mut kept = all.to_vec();
            let left_out = select_resources(&mut kept, limit);
            let titles: String = kept.iter().map(|it| it.title.as_str()).collect();
            (titles, left_out)
        };
        assert_eq!(kept(size * 4), ("abcd".to_owned(), 0));
        assert_eq!(kept(size * 3), ("abd".to_owned(), 1));
        assert_eq!(kept(size * 2), ("bd".to_owned(), 2));
        assert_eq!(kept(size - 1), (String::new(), 4));
    }

    #[test]
    fn the_end_of_a_long_log_is_kept_too() {
        let all: Vec<RunLogEntry> = "abcdefgh".chars().map(|it| log(&it.to_string())).collect();
        let size = all[0].size();
        let kept = |limit| {
            let mut kept = all.clone();
            let left_out = select_logs(&mut kept, limit);
            let text: String = kept.iter().map(|it| it.message.as_str()).collect();
            (text, left_out)
        };
        assert_eq!(kept(size * 8), ("abcdefgh".to_owned(), 0));
        assert_eq!(kept(size * 4), ("abch".to_owned(), 4));
        assert_eq!(kept(0), (String::new(), 8));
    }
}
