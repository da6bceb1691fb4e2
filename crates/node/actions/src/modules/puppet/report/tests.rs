//! Tests with reports in Puppet's current and past forms, and with invalid ones.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

/// A report of Puppet 7, shortened.
const REPORT: &str = r"--- !ruby/object:Puppet::Transaction::Report
host: web1.example.com
time: '2026-11-21T12:34:56.789012345+00:00'
configuration_version: 1763728496
transaction_uuid: 0b2f6d70-2f3c-4c5c-8f0a-4ac5c3f3b9d1
report_format: 12
puppet_version: 7.23.0
status: failed
transaction_completed: true
noop: false
noop_pending: false
environment: production
logs:
- level: info
  message: Applying configuration version '1763728496'
  source: Puppet
  tags:
  - info
  time: '2026-11-21T12:34:56.789012345+00:00'
  file:
  line:
- level: err
  message: |-
    Could not start Service[ntp]
    for a reason
  source: Puppet
metrics:
  time: !ruby/object:Puppet::Util::Metric
    name: time
    label: Time
    values:
    - - total
      - Total
      - 1.5
  resources: !ruby/object:Puppet::Util::Metric
    name: resources
    label: Resources
    values:
    - - total
      - Total
      - 10
    - - failed
      - Failed
      - 1
    - - ratio
      - Ratio
      - 0.5
resource_statuses:
  File[/etc/motd]: !ruby/object:Puppet::Resource::Status
    title: &1 /etc/motd
    file: &2 /etc/code/site.pp
    line: 7
    resource: File[/etc/motd]
    resource_type: File
    containment_path:
    - Stage[main]
    - Motd
    - File[/etc/motd]
    tags: !ruby/object:Puppet::Util::TagSet
      hash:
        file: true
    failed: false
    failed_to_restart: false
    changed: true
    out_of_sync: true
    corrective_change: true
    events:
    - !ruby/object:Puppet::Transaction::Event
      property: content
      previous_value: '{md5}a'
      message: content changed '{md5}a' to '{md5}b'
      name: content_changed
      status: success
  Service[ntp]:
    title: ntp
    file: *2
    line: 9
    resource_type: Service
    failed: true
    changed: false
    events:
    - property: ensure
      message: change from 'stopped' to 'running' failed
      status: failure
  Notify[x]:
    title: x
    resource_type: Notify
    failed: false
    changed: false
    events:
    - property: message
      message: current_value 'absent', should be 'x' (noop)
      status: noop
  Package[vim]:
    title: vim
    resource_type: Package
    failed: false
    changed: false
    events: []
corrective_change: true
code_id: urn:puppet:code-id:1:b4ed19a7ba0f72713aa68cf4481cc2292b73d424;production
cached_catalog_status: not_used
";

fn read(text: &str) -> Result<ParsedRunReport, ReportError> {
    ParsedRunReport::read(text.as_bytes())
}

#[test]
fn a_report_is_told() {
    let result = read(REPORT).unwrap().into_result();
    assert_eq!(result.status, "failed");
    assert_eq!(result.time, "2026-11-21T12:34:56.789012345+00:00");
    assert_eq!(
        result.transaction_uuid,
        "0b2f6d70-2f3c-4c5c-8f0a-4ac5c3f3b9d1"
    );
    assert_eq!(result.configuration_version.as_deref(), Some("1763728496"));
    assert_eq!(
        result.code_id.unwrap().as_str(),
        "urn:puppet:code-id:1:b4ed19a7ba0f72713aa68cf4481cc2292b73d424;production"
    );
    assert_eq!(
        (result.noop, result.corrective_change),
        (Some(false), Some(true))
    );
    assert_eq!(
        Value::Object(result.metrics),
        serde_json::json!({"total": 10, "failed": 1, "ratio": 0.5})
    );
    assert_eq!(
        result.errors,
        ["Could not start Service[ntp]\nfor a reason"]
    );
    let told: Vec<_> = result
        .resources
        .iter()
        .map(|it| {
            (
                it.resource_type.as_str(),
                it.status,
                it.file.as_deref(),
                it.line,
            )
        })
        .collect();
    let site = Some("/etc/code/site.pp");
    assert_eq!(
        told,
        [
            ("Service", PuppetResourceStatus::Failed, site, Some(9)),
            ("File", PuppetResourceStatus::Changed, site, Some(7)),
            ("Notify", PuppetResourceStatus::Noop, None, None),
        ]
    );
    assert_eq!(
        result.resources[0].messages,
        ["ensure: change from 'stopped' to 'running' failed"]
    );
    assert!(result.resources[1].corrective);
    assert_eq!(result.resources[1].containment.len(), 3);
    assert!(result.resources_omitted.is_empty());
}

#[test]
fn what_is_no_code_id_is_left_out() {
    let read = |value: &str| {
        let report = read(&format!(
            "status: changed\ntransaction_uuid: x\ncode_id: {value}\nenvironment: test\n"
        ));
        let result = report.unwrap().into_result();
        assert_eq!(result.environment, "test", "what follows is read");
        serde_json::to_value(result)
            .unwrap()
            .get("code_id")
            .cloned()
    };
    for (value, id) in [("12345678", "12345678"), ("'v:1;test'", "v:1;test")] {
        assert_eq!(read(value), Some(id.into()));
    }
    let long = "x".repeat(100_000);
    for none in [
        "",
        "~",
        "null",
        "''",
        "'a b'",
        "../../etc/shadow",
        "\"a\\0b\"",
        "\"\\e[2J\"",
        "größe",
        "[a, b]",
        "{a: b}",
        &long,
    ] {
        assert_eq!(read(none), None, "{none}");
    }
    let without = ParsedRunReport::read(&b"status: changed\ntransaction_uuid: x\n"[..]);
    assert_eq!(without.unwrap().code_id, None);
}

#[test]
fn errors_that_repeat_do_not_crowd_out_the_last() {
    let mut text = String::from("transaction_uuid: x\nstatus: failed\nlogs:\n");
    for index in 0..REPORTED_ERRORS * 2 {
        let _ = write!(
            text,
            "- level: err\n  message: same\n- level: err\n  message: m{index}\n"
        );
    }
    let errors = read(&text).unwrap().errors;
    assert_eq!(errors.len(), REPORTED_ERRORS);
    assert_eq!((errors[0].as_str(), errors[1].as_str()), ("same", "m0"));
    assert_eq!(
        errors.last().unwrap(),
        &format!("m{}", REPORTED_ERRORS * 2 - 1)
    );
}

#[test]
fn old_symbols_are_words() {
    let text = "transaction_uuid: x\nstatus: changed\nlogs:\n- level: :err\n  message: m\nmetrics:\n  \
                resources:\n    values:\n    - - :total\n      - Total\n      - 3\n";
    let report = read(text).unwrap();
    assert_eq!(report.errors, ["m"]);
    assert_eq!(report.metrics["total"], 3);
}

#[test]
fn a_report_that_is_cut_is_refused_wherever_it_is_cut() {
    let whole = read(REPORT).unwrap();
    for cut in 0..REPORT.len() {
        if let Ok(report) = read(&REPORT[..cut]) {
            // Puppet replaces its report atomically; one that is cut between two lines looks whole.
            assert!(REPORT[..cut].ends_with('\n'), "cut at {cut}");
            assert_eq!(report.status, whole.status);
            assert_eq!(report.transaction_uuid, whole.transaction_uuid);
        }
    }
    for (text, expected) in [
        ("", "it ends in the middle"),
        ("--- []", "it is not a mapping"),
        ("status: failed\n", "it lacks \"transaction_uuid\""),
        ("transaction_uuid: x\n", "it lacks \"status\""),
        ("transaction_uuid: x\nstatus: fine\n", "it lacks \"status\""),
        (
            "transaction_uuid: x\nstatus: failed",
            "it ends in the middle",
        ),
        ("a: [", "it is no YAML"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn what_has_no_room_is_counted() {
    let mut text = String::from("status: changed\ntransaction_uuid: x\nresource_statuses:\n");
    let long = "x".repeat(REPORTED_TEXT_BYTES * 3);
    for index in 0..REPORTED_RESOURCES + 5 {
        let _ = write!(
            text,
            "  R[{index}]:\n    title: {index}{long}\n    resource_type: R\n    changed: true\n"
        );
    }
    let result = read(&text).unwrap().into_result();
    assert_eq!(result.resources.len(), REPORTED_RESOURCES);
    assert_eq!(result.resources_omitted.changed, 5);
    assert!(result.resources[0].title.len() < REPORTED_TEXT_BYTES + 8);
}

/// A reader of a report with many resources, none of which exists in memory.
struct Endless {
    pending: Vec<u8>,
    at: usize,
    resources: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.pending.len() {
            if self.resources == 0 {
                return Ok(0);
            }
            self.resources -= 1;
            self.at = 0;
            self.pending = format!(
                "  R[{0}]:\n    title: '{0}'\n    changed: true\n    events:\n    - message: m{0}\n      status: success\n",
                self.resources
            )
            .into_bytes();
        }
        let size = buffer.len().min(self.pending.len() - self.at);
        buffer[..size].copy_from_slice(&self.pending[self.at..self.at + size]);
        self.at += size;
        Ok(size)
    }
}

#[test]
fn a_large_report_goes_by_as_a_stream() {
    let report = ParsedRunReport::read(Endless {
        pending: b"status: changed\ntransaction_uuid: x\nresource_statuses:\n".to_vec(),
        at: 0,
        resources: 20_000,
    });
    let result = report.unwrap().into_result();
    assert_eq!(result.resources_omitted.changed, 19_900);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = ParsedRunReport::read(&bytes[..]);
    }

    #[test]
    fn no_damage_makes_it_panic(
        at in 0..REPORT.len(),
        put in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b':'), Just(b'\n'), Just(b'*'), Just(b'['), Just(b'-')], 0..6),
        drop in 0usize..40,
    ) {
        let mut bytes = REPORT.as_bytes().to_vec();
        let end = (at + drop).min(bytes.len());
        bytes.splice(at..end, put);
        let _ = ParsedRunReport::read(&bytes[..]);
    }
}
