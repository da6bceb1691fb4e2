//! Formats versions and the differences between them for a terminal.

use api_types::{CodeChanges, CodeDeployment, ErrorBody, Timestamp};

use crate::present::print_indented;
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
        let (from, to) = (digits(&control.from), digits(&control.to));
        say!("    the control repository: {from} → {to}");
    }
    for module in &changes.modules {
        let directory = escape_control(&module.directory);
        let (from, to) = (digits(&module.from), digits(&module.to));
        say!("    {directory}: {from} → {to}");
    }
}

/// Prints the warnings of a deployment.
pub(super) fn print_warnings(told: &CodeDeployment) {
    told.notes
        .iter()
        .for_each(|note| say!("    {}", escape_control(note)));
}

/// Prints the error of a deployment, if there is one.
pub(super) fn print_error(error: Option<&ErrorBody>) {
    print_indented(error.map_or("", |error| &error.msg));
}

/// The action of a deployment, and whether it is a dry run.
pub(super) fn describe_action(told: &CodeDeployment) -> String {
    let dry = if told.dry_run { " (dry run)" } else { "" };
    format!("{}{dry}", escape_control(&told.action))
}

/// Megabytes with one decimal digit.
#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
