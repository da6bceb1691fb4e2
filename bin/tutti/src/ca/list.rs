//! Output of `tutti ca list`. Main function: [`print`].
//!
//! Invariant: text of a request cannot move the cursor.

use api_types::CertificateStatus;
use cli::{escape_control, say};
use owo_colors::OwoColorize as _;

/// Prints requests, and with `all` also certificates.
pub(super) fn print(mut entries: Vec<CertificateStatus>, all: bool) {
    entries.retain(|entry| all || entry.state == "requested");
    let names = entries.iter().map(|entry| entry.name.chars().count());
    let width = names.max().unwrap_or(0);
    for entry in &entries {
        print_entry(entry, width);
    }
    if entries.is_empty() {
        say!(
            "{}",
            if all {
                "No requests and no certificates."
            } else {
                "No requests are waiting."
            }
        );
    }
}

fn print_entry(entry: &CertificateStatus, width: usize) {
    let state = match entry.state.as_str() {
        "requested" => "requested".yellow().to_string(),
        "signed" => "signed   ".green().to_string(),
        _ => "revoked  ".red().to_string(),
    };
    let until = entry.not_after.as_ref().map_or_else(String::new, |end| {
        let day: String = end.chars().take(10).collect();
        format!("  until {}", escape_control(&day))
    });
    let pad = " ".repeat(width - entry.name.chars().count());
    say!(
        "{state}  {}{pad}{until}  (SHA256) {}",
        escape_control(&entry.name).bold(),
        escape_control(&entry.fingerprint).dimmed()
    );
    if let Some(extras) = extra_names_and_rights(entry) {
        say!("           {extras}");
    }
}

/// Names and rights beyond the certname; escaped, since any client may send a request with any
/// text.
fn extra_names_and_rights(entry: &CertificateStatus) -> Option<String> {
    let rights = entry
        .authorization_extensions
        .iter()
        .map(|(oid, text)| format!("{oid}={text}"));
    let names = entry.subject_alt_names.iter().cloned();
    let extras: Vec<_> = names.chain(rights).collect();
    let verb = match entry.state.as_str() {
        "requested" => "asks for",
        _ => "with",
    };
    (!extras.is_empty()).then(|| escape_control(&format!("{verb} {}", extras.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_asks_for_cannot_move_the_cursor() {
        let mut entry = CertificateStatus {
            name: "web1".to_owned(),
            state: "requested".to_owned(),
            dns_alt_names: Vec::new(),
            subject_alt_names: vec!["DNS:other".to_owned()],
            authorization_extensions: [("1.3.6".to_owned(), "a\x1b[2K\rsigned".to_owned())].into(),
            fingerprint: String::new(),
            fingerprints: Default::default(),
            serial_number: None,
            not_before: None,
            not_after: None,
        };
        let shown = extra_names_and_rights(&entry).unwrap();
        assert_eq!(
            shown,
            "asks for DNS:other, 1.3.6=a\u{241b}[2K\u{240d}signed"
        );
        entry.subject_alt_names.clear();
        entry.authorization_extensions.clear();
        assert_eq!(extra_names_and_rights(&entry), None);
    }
}
