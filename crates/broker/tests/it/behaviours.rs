//! What a PCP broker does on the wire, by number: [`BEHAVIOURS`].
//!
//! Each was seen on a pcp-broker 1.8.0; the numbers B1 to B48 stand in that order and do not change. Where
//! this broker does otherwise on purpose, the name of the test says so. The numbers A1 to A79 of agents are
//! in `crates/actions/tests/it/behaviours_list.rs`.

use std::collections::BTreeSet;
use std::path::Path;

/// The behaviour, and the test of it (the first, where several have its number).
const BEHAVIOURS: [(&str, &str); 48] = [
    // B1
    (
        "a connection without a client certificate is closed with 4003",
        "b01_without_certificate_4003",
    ),
    // B2
    (
        "the client type server is closed with 4002",
        "b02_type_server_4002",
    ),
    // B3
    ("an unknown path is 404", "b03_unknown_path_404"),
    // B4
    (
        "a GET without an upgrade is 404",
        "b04_a_plain_get_is_not_found",
    ),
    // B5
    (
        "the broker says nothing on connect",
        "b05_silent_on_connect",
    ),
    // B6
    (
        "/pcp2 is the type agent",
        "b06_to_b09_the_default_type_is_agent",
    ),
    // B7
    (
        "/pcp2/ is the type agent",
        "b06_to_b09_the_default_type_is_agent",
    ),
    // B8
    (
        "/pcp2/agent is the type agent",
        "b06_to_b09_the_default_type_is_agent",
    ),
    // B9
    (
        "a query string is ignored",
        "b06_to_b09_the_default_type_is_agent",
    ),
    // B10
    (
        "the type is taken from the path undecoded",
        "b10_the_type_is_taken_raw",
    ),
    // B11
    (
        "the common name counts also behind another RDN",
        "b11_the_common_name_counts_wherever_it_stands",
    ),
    // B12
    (
        "text that is not JSON (the other broker closes with 1011)",
        "b12_not_json_is_answered_and_does_not_close",
    ),
    // B13
    ("JSON that is not an object", "b13_not_an_object"),
    // B14
    ("an unknown key of the envelope", "b14_unknown_key"),
    // B15
    ("an id that is not a UUID", "b15_id_is_no_uuid"),
    // B16
    ("an id in capitals is kept", "b16_an_upper_case_id_is_kept"),
    // B17
    ("a binary frame on PCP 2", "b17_binary_on_v2"),
    // B18
    (
        "a text frame on PCP 1",
        "b18_text_on_v1_is_answered_and_does_not_close",
    ),
    // B19
    ("zero bytes on PCP 1", "b19_zero_bytes_on_v1"),
    // B20
    ("another version byte on PCP 1", "b20_unknown_version_byte"),
    // B21
    ("a sender with another common name", "b21_foreign_sender"),
    // B22
    (
        "a sender with its own common name and another type",
        "b22_own_name_with_another_type_is_refused_too",
    ),
    // B23
    ("a message to the sender itself", "b23_to_itself"),
    // B24
    ("a target that is not connected", "b24_not_connected"),
    // B25
    ("a wildcard as the target", "b25_wildcard"),
    // B26
    ("a target that is not an address", "b26_target_is_no_uri"),
    // B27
    ("a blank in the message type", "b27_blank_in_the_type"),
    // B28
    ("a blank in the target", "b28_blank_in_the_target"),
    // B29
    (
        "an unknown message to the broker is not answered",
        "b29_an_unknown_server_message_is_not_answered",
    ),
    // B30
    (
        "an inventory request with bad data",
        "b30_to_b32_bad_data_gives_one_line",
    ),
    // B31
    (
        "an inventory request without data",
        "b30_to_b32_bad_data_gives_one_line",
    ),
    // B32
    (
        "an inventory request with more keys",
        "b30_to_b32_bad_data_gives_one_line",
    ),
    // B33
    (
        "an associate request on PCP 2",
        "b33_associate_on_v2_is_answered",
    ),
    // B34
    (
        "an associate request of another type is refused and closed with 4002",
        "b34_associate_with_another_type_is_refused_and_closed",
    ),
    // B35
    (
        "an associate request on the PCP 1 path",
        "b35_b36_v1_associate_on_both_forms_of_the_path",
    ),
    // B36
    (
        "an associate request on the PCP 1 path with a type",
        "b35_b36_v1_associate_on_both_forms_of_the_path",
    ),
    // B37
    (
        "an expired PCP 1 message is delivered",
        "b37_an_expired_message_is_delivered",
    ),
    // B38
    ("debug chunks are dropped", "b38_debug_chunks_are_dropped"),
    // B39
    ("two targets are refused", "b39_two_targets"),
    // B40
    (
        "destination_report is ignored",
        "b40_destination_report_is_ignored",
    ),
    // B41
    ("a PCP 1 message without expires", "b41_expires_is_required"),
    // B42
    ("fields between PCP 1 and PCP 2", "b42_v1_to_v2"),
    // B43
    (
        "a newer connection supersedes, and subscribers see it go and come",
        "b43_superseding_is_seen_as_gone_and_come",
    ),
    // B44
    (
        "subscribers get updates in order, flaps included",
        "b44_subscribers_are_told_in_order_and_flaps_are_kept",
    ),
    // B45
    (
        "a message beyond the limit is closed with 1009",
        "b45_a_message_that_is_too_large_closes_1009",
    ),
    // B46
    (
        "an idle connection is closed with 1001",
        "b46_idle_closes_1001",
    ),
    // B47
    ("the status page", "b47_status_when_running"),
    // B48
    (
        "no rule is a denial, and rules on the target decide",
        "b48_a_rule_on_the_target_decides_and_so_does_one_on_targets",
    ),
];

/// The names of all functions in the files beside this one.
fn functions() -> BTreeSet<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let files = std::fs::read_dir(here).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let texts = files
        .filter(|path| path.is_file() && !path.ends_with("behaviours.rs"))
        .map(|path| std::fs::read_to_string(path).unwrap());
    texts.flat_map(|text| names(&text)).collect()
}

fn names(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")?.split('(').next()
    });
    lines.map(str::to_owned).collect()
}

/// The numbers in the name of a test: `b35_b36_…`, `b06_to_b09_…`.
fn numbers(name: &str) -> Vec<usize> {
    let number = |part: &str| part.strip_prefix('b')?.parse::<usize>().ok();
    let mut parts = name.split('_').peekable();
    let mut found = Vec::new();
    while let Some(part) = parts.next() {
        match (number(part), found.last()) {
            (Some(number), _) => found.push(number),
            (None, Some(first)) if part == "to" => {
                let Some(last) = parts.peek().and_then(|part| number(part)) else {
                    break;
                };
                found.extend(first + 1..last);
            }
            _ => break,
        }
    }
    found
}

#[test]
fn every_behaviour_has_a_test_that_bears_its_number() {
    let there = functions();
    for (index, (behaviour, test)) in BEHAVIOURS.iter().enumerate() {
        let number = index + 1;
        assert!(
            there.contains(*test),
            "B{number}, {behaviour}: no test {test}"
        );
        assert!(
            numbers(test).contains(&number),
            "B{number}, {behaviour}: {test} is of other numbers"
        );
    }
}

#[test]
fn every_number_of_a_test_is_in_the_list() {
    let of_tests = functions().iter().flat_map(|name| numbers(name)).collect();
    let listed: BTreeSet<usize> = (1..=BEHAVIOURS.len()).collect();
    let of_tests: BTreeSet<usize> = of_tests;
    assert_eq!(of_tests, listed);
}

#[test]
fn numbers_are_read_from_names() {
    assert_eq!(numbers("b35_b36_both"), [35, 36]);
    assert_eq!(numbers("b06_to_b09_all"), [6, 7, 8, 9]);
    for other in ["both", "a_b01_test", "bytes"] {
        assert_eq!(numbers(other), Vec::<usize>::new(), "{other}");
    }
}
