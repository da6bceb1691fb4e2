//! Closed types whose values become paths.

use pxp::TransactionId;
use pxp::action::{FilePath, Sha256};
use pxp::task::TaskName;

#[test]
fn transaction_ids_cannot_leave_the_spool() {
    for good in [
        "1",
        "a-b_c.d",
        &"x".repeat(128),
        TransactionId::random().as_str(),
    ] {
        assert_eq!(good.parse::<TransactionId>().unwrap().as_str(), good);
    }
    for bad in [
        "", ".", "..", ".hidden", "../../x", "a/b", "a\\b", "a b", "ä", "a\0", "a\n",
    ] {
        assert!(bad.parse::<TransactionId>().is_err(), "{bad:?}");
    }
    assert!("x".repeat(129).parse::<TransactionId>().is_err());
    assert_ne!(TransactionId::random(), TransactionId::random());
}

#[test]
fn a_task_has_one_name() {
    let name: TaskName = "package::install".parse().unwrap();
    assert_eq!((name.module(), name.task()), ("package", "install"));
    let bare: TaskName = "package".parse().unwrap();
    assert_eq!((bare.module(), bare.task()), ("package", "init"));
    assert_eq!("package::init".parse::<TaskName>().unwrap(), bare);
    assert_eq!(TaskName::from_parts("package", "init").unwrap(), bare);
    assert_eq!(TaskName::from_parts("package", "install").unwrap(), name);
    let bad_names = [
        "", "::", "a::", "::a", "a::b::c", "A", "1a", "_a", "a-b", "a/b", "a::../x", "a:b", "ä",
    ];
    for bad in bad_names {
        assert!(bad.parse::<TaskName>().is_err(), "{bad:?}");
    }
    assert!("a".repeat(501).parse::<TaskName>().is_err());
}

#[test]
fn file_names_stay_below_their_directory() {
    for good in ["init.sh", "package/tasks/init.sh", "a/..b/c..", "münchen"] {
        assert_eq!(good.parse::<FilePath>().unwrap().as_str(), good);
    }
    assert_eq!("a/b/c.sh".parse::<FilePath>().unwrap().file_name(), "c.sh");
    for bad in [
        "", "/a", "a/", "a//b", "..", "../a", "a/../b", "./a", "a/.", "a\\b", "C:a", "a\0", "a\nb",
    ] {
        assert!(bad.parse::<FilePath>().is_err(), "{bad:?}");
    }
    assert!("x".repeat(1_025).parse::<FilePath>().is_err());
}

#[test]
fn digests_are_read_in_either_case() {
    let lower = "0123456789abcdef".repeat(4);
    let digest: Sha256 = lower.to_uppercase().parse().unwrap();
    assert_eq!(digest.to_string(), lower);
    assert_eq!(Sha256::from(*digest.as_bytes()), digest);
    for bad in [
        "",
        "00",
        &lower[1..],
        &lower.replacen('0', "g", 1),
        &format!("{lower}0"),
    ] {
        assert!(bad.parse::<Sha256>().is_err(), "{bad}");
    }
    assert!("ä".repeat(32).parse::<Sha256>().is_err());
}
