//! `tutti audit verify`. Main functions: [`verify`], [`verify_store`].
//!
//! Invariant: the hashes are computed here; of the service, the file or the store only the rows are
//! trusted.

use error_causes::chain;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use audit::{ChainFault, ChainHead, ChainReport, ChainVerifier, ExpectedChain, HeadFileHeads};
use serde_json::json;
use store::{Store, StoreConfig};

use cli::audit::{AuditPages, AuditVerification, AuditVerifyOptions, RecordedHead};
use cli::present::Fields;
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, say, terminal};

use crate::defaults::AUDIT_LINE_BYTES;

/// Checks the entries that a server or a file has.
pub(crate) async fn verify(verification: &AuditVerification) -> Result<u8, CommandFailure> {
    let options = &verification.options;
    let verifier = ChainVerifier::new(expected(options)?);
    let verified = match &options.file {
        Some(path) => verify_file(verifier, path)?,
        None => service(verifier, &AuditPages::open(&verification.connection)?).await?,
    };
    Ok(print_report(options, verified))
}

/// The heads that the entries must have.
fn expected(options: &AuditVerifyOptions) -> Result<ExpectedChain, CommandFailure> {
    let mut expected = ExpectedChain::default();
    for RecordedHead { seq, hash } in &options.expect_head {
        match seq {
            Some(seq) => expected.heads.push(ChainHead {
                seq: *seq,
                hash: *hash,
            }),
            None if expected.hash.is_none() => expected.hash = Some(*hash),
            None => {
                let what = "--expect-head takes one hash without a number";
                return Err(CommandFailure::Usage(what.to_owned()));
            }
        }
    }
    Ok(expected)
}

/// Checks the store at `url` against the head in `head_file`, without a server.
///
/// # Errors
/// The head file or the store cannot be read.
pub async fn verify_store(
    options: &AuditVerifyOptions,
    url: String,
    head_file: &Path,
) -> Result<u8, CommandFailure> {
    let mut expected = expected(options)?;
    let failed = |error: &(dyn std::error::Error + 'static)| CommandFailure::Usage(chain(error));
    let kept = HeadFileHeads::read(head_file).map_err(|error| failed(&error))?;
    expected.heads.extend(kept.all());
    let store = Store::open_read_only(&StoreConfig::new(url)).await;
    let store = store.map_err(|error| failed(&error))?;
    let verified = audit::verify_store(&store, expected).await;
    store.close().await;
    let verified = verified.map_err(|error| failed(&error))?;
    if kept.head.is_none() {
        anstream::eprintln!(
            "{} there is no {}, so only the database says where the chain ends",
            terminal::style_warning("warning:"),
            head_file.display()
        );
    }
    Ok(print_report(options, verified))
}

async fn service(
    mut verifier: ChainVerifier,
    pages: &AuditPages,
) -> Result<Result<ChainReport, ChainFault>, CommandFailure> {
    let answer = |what: String| CommandFailure::Answer {
        url: "/audit/v1/entries".to_owned(),
        what,
    };
    let first = pages.page(0, 0).await?;
    let head = |page: &api_types::audit::AuditHead| {
        audit::wire::to_head(page).map_err(|error| answer(error.to_string()))
    };
    verifier.expect(head(&first.head)?);
    // The head that the server keeps outside its database.
    if let Some(kept) = &first.kept {
        for kept in kept.head.iter().chain(&kept.contradicted) {
            verifier.expect_kept(head(kept)?);
        }
    }
    let mut from = 0;
    loop {
        let page = pages.next_page(from).await?;
        let head = head(&page.head)?;
        if page.items.is_empty() {
            return Ok(verifier.finish(head));
        }
        for entry in page.items {
            let row = audit::wire::to_row(entry).map_err(|error| answer(error.to_string()))?;
            if let Err(fault) = verifier.feed(&row) {
                return Ok(Err(fault));
            }
        }
        verifier.expect(head);
        from = verifier.next_number();
    }
}

/// Checks an export. A file has no head of its own: truncation at its end is found with
/// `--expect-head` only.
fn verify_file(
    mut verifier: ChainVerifier,
    path: &Path,
) -> Result<Result<ChainReport, ChainFault>, CommandFailure> {
    let read = |source| CommandFailure::Read {
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::new(File::open(path).map_err(read)?);
    let mut last = ChainHead {
        seq: 0,
        hash: [0; 32],
    };
    let mut line = String::new();
    for number in 1_u64.. {
        line.clear();
        let mut one = reader.by_ref().take(AUDIT_LINE_BYTES);
        let bytes = one.read_line(&mut line).map_err(read)?;
        if bytes == 0 {
            break;
        }
        let content = |what: String| CommandFailure::Content {
            place: format!("line {number} of {}", path.display()),
            what,
        };
        let entry =
            decode_errors::json::from_str(&line).map_err(|error| content(error.to_string()))?;
        let row = audit::wire::to_row(entry).map_err(|error| content(error.to_string()))?;
        if let Err(fault) = verifier.feed(&row) {
            return Ok(Err(fault));
        }
        last = ChainHead {
            seq: row.seq,
            hash: row.hash,
        };
    }
    Ok(verifier.finish(last))
}

fn print_report(options: &AuditVerifyOptions, verified: Result<ChainReport, ChainFault>) -> u8 {
    let format = options.shown.format;
    match verified {
        Ok(report) => {
            if !format.print_json(&json!({ "whole": true, "report": report })) {
                print(&report);
            }
            EXIT_SUCCESS
        }
        Err(fault) => {
            if !format.print_json(&json!({ "whole": false, "fault": fault.to_string() })) {
                let heading = terminal::style_failure("The chain is not whole:");
                say!("{heading} {fault}");
            }
            EXIT_NODES_FAILED
        }
    }
}

fn print(report: &ChainReport) {
    let heading = match report.compared_through {
        0 => terminal::style_warning(
            "The chain is whole in itself. It was not compared with a head that was noted down: if its end was \
             cut off, or all of it written anew, this does not show it.",
        ),
        _ => terminal::style_success("The chain is whole."),
    };
    say!("{heading}");
    let entries = format_args!("{} ({} to {})", report.entries, report.first, report.last);
    let pruned = Some(report.heads_pruned).filter(|count| *count > 0);
    Fields::default()
        .value("entries", entries)
        .value("refusals", report.denied)
        .value("without result", describe_without_result(report))
        .value("head", &report.head)
        .value("compared", describe_comparison(report))
        .optional(
            "other heads",
            pruned.map(|count| format!("{count} not compared: older than what was kept")),
        )
        .print();
}

fn describe_comparison(report: &ChainReport) -> String {
    match report.compared_through {
        0 => "with nothing; note the head down and give it with --expect-head".to_owned(),
        seq => format!("with a head that was noted down, up to entry {seq}"),
    }
}

fn describe_without_result(report: &ChainReport) -> String {
    let count = report.without_result;
    if count == 0 {
        return "0 commands".to_owned();
    }
    let named: Vec<_> = report
        .without_result_first
        .iter()
        .map(i64::to_string)
        .collect();
    let more = if count > named.len() as u64 {
        ", …"
    } else {
        ""
    };
    format!(
        "{count} commands (entries {}{more}): under way, or the server was killed",
        named.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_that_was_changed_is_not_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let mut rows = Vec::new();
        let mut prev = [0; 32];
        for seq in 1..=3 {
            let entry = store::NewAudit {
                phase: "event".to_owned(),
                times: 1,
                ..store::NewAudit::default()
            };
            let hash = entry.hash(store::AUDIT_VERSION, seq, &prev);
            let version = store::AUDIT_VERSION;
            let row = store::AuditRow {
                seq,
                version,
                entry,
                prev,
                hash,
            };
            prev = row.hash;
            rows.push(row);
        }
        let written = |rows: &[store::AuditRow]| {
            let entries = rows.iter().cloned().map(audit::wire::to_api_entry);
            let lines: Vec<_> = entries
                .map(|entry| serde_json::json!(entry).to_string())
                .collect();
            std::fs::write(&path, lines.join("\n")).unwrap();
            verify_file(ChainVerifier::new(ExpectedChain::default()), &path).unwrap()
        };
        assert_eq!(written(&rows).unwrap().entries, 3);
        rows.swap(1, 2);
        assert_eq!(written(&rows), Err(ChainFault::Missing { seq: 2, next: 3 }));
        rows.swap(1, 2);
        rows[1].entry.times = 7;
        assert_eq!(written(&rows), Err(ChainFault::Edited { seq: 2 }));
        std::fs::write(&path, "{}\n").unwrap();
        let said = verify_file(ChainVerifier::new(ExpectedChain::default()), &path).unwrap_err();
        assert!(said.to_string().contains("line 1 of"), "{said}");
    }
}
