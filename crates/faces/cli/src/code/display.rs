//! Formats versions and the differences between them for a terminal.

use api_types::{CodeChanges, CodeDeployment, Timestamp};

use crate::terminal::escape_control;

/// The first digits, enough to tell versions apart.
pub fn short(digits: &str) -> &str {
    let is_digits = digits.bytes().all(|b| b.is_ascii_hexdigit());
    match is_digits {
        true => digits.get(..10).unwrap_or(digits),
        false => digits,
    }
}

/// A timestamp, to the second.
pub(super) fn format_timestamp(time: &Timestamp) -> String {
    format!("{:.0}", time.0)
}

/// Prints the changes by module, one line each.
pub(super) fn print_changes(changes: Option<&CodeChanges>) {
    let Some(changes) = changes else {
        return;
    };
    let digits = |digits: &Option<String>| {
        let digits = digits.as_deref().unwrap_or("nothing");
        escape_control(short(digits))
    };
    if let Some(control) = &changes.control {
        say!(
            "    the control repository: {} → {}",
            digits(&control.from),
            digits(&control.to)
        );
    }
    for module in &changes.modules {
        let directory = escape_control(&module.directory);
        say!(
            "    {directory}: {} → {}",
            digits(&module.from),
            digits(&module.to)
        );
    }
}

/// Prints the warnings of a deployment.
pub(super) fn print_warnings(told: &CodeDeployment) {
    told.notes
        .iter()
        .for_each(|note| say!("    {}", escape_control(note)));
}

/// Megabytes with one decimal digit.
#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
