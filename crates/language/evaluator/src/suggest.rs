//! Suggestions for "did you mean": the most similar of several names.

use crate::defaults::SUGGESTION_CANDIDATES_MAX;

/// Maximum length of a compared name in letters.
const LETTERS_MAX: usize = 64;

/// The known name most similar to an unknown one, if any is similar enough.
pub(crate) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let letters = name.chars().count();
    let allowed = match letters {
        0..=2 => return None,
        3..=5 => 1,
        6..=9 => 2,
        _ => 3,
    };
    known
        .take(SUGGESTION_CANDIDATES_MAX)
        .filter(|it| it.chars().count().abs_diff(letters) <= allowed && *it != name)
        .map(|it| (distance(name, it), it))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, it)| it.to_owned())
}

/// Edit distance: changed, inserted, deleted letters, and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(LETTERS_MAX).collect();
    let b: Vec<char> = b.chars().take(LETTERS_MAX).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = last;
        last = row;
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_far_ones_are_not() {
        let known = ["run_task", "run_command", "notice", "join"];
        assert_eq!(
            similar("run_taks", known.into_iter()),
            Some("run_task".to_owned())
        );
        assert_eq!(
            similar("notise", known.into_iter()),
            Some("notice".to_owned())
        );
        assert_eq!(similar("flatten", known.into_iter()), None);
        assert_eq!(similar("x", known.into_iter()), None);
    }
}
