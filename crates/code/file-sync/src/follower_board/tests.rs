//! Tests of announcements and reports.

use super::*;

const LEASE: i64 = 60_000;

fn environment() -> EnvironmentName {
    "production".parse().unwrap()
}

fn signature(digit: char) -> VersionSignature {
    digit.to_string().repeat(40).parse().unwrap()
}

fn had(generation: i64, live: Option<char>, staged: Option<char>) -> FollowerReport {
    let had = ReportedEnvironment {
        generation,
        signature: live.map(signature),
        staged: staged.map(signature),
        failed: None,
    };
    FollowerReport::from([(environment(), had)])
}

fn names(late: &[LaggingFollower]) -> Vec<(&str, bool)> {
    let named = late.iter().map(|it| (it.name.as_str(), it.may_catch_up));
    named.collect()
}

fn announce(board: &mut FollowerBoard, digit: char) -> AnnouncedSwitch {
    let announced = AnnouncedSwitch {
        generation: board.next_generation(),
        signature: Some(signature(digit)),
    };
    board.announce(&environment(), announced.clone());
    announced
}

#[test]
fn all_living_followers_are_ready_before_one_is_told_to_switch() {
    let mut board = FollowerBoard::new(LEASE);
    announce(&mut board, 'a');
    for name in ["one", "two"] {
        board.check_in(name, had(1, Some('a'), None), 0).unwrap();
    }
    let before = board.change_count();
    board.offer(&environment(), &signature('b'));
    assert_ne!(board.change_count(), before);
    let unready =
        |board: &FollowerBoard, now| board.unready_followers(&environment(), &signature('b'), now);
    assert_eq!(names(&unready(&board, 1)), [("one", true), ("two", true)]);
    board
        .check_in("one", had(1, Some('a'), Some('b')), 2)
        .unwrap();
    assert_eq!(names(&unready(&board, 3)), [("two", true)]);
    // `two` is not living now: it is named and not waited for.
    board
        .check_in("one", had(1, Some('a'), Some('b')), LEASE)
        .unwrap();
    assert_eq!(names(&unready(&board, LEASE + 1)), [("two", false)]);
    let announced = announce(&mut board, 'b');
    assert!(board.offered().is_empty());
    let behind =
        |board: &FollowerBoard| board.lagging_followers(&environment(), &announced, LEASE + 2);
    assert_eq!(names(&behind(&board)), [("one", true), ("two", false)]);
    board
        .check_in("one", had(2, Some('b'), None), LEASE + 2)
        .unwrap();
    assert_eq!(names(&behind(&board)), [("two", false)]);
    let states = board.followers(LEASE + 2);
    assert_eq!(
        states.iter().map(|it| it.is_synced).collect::<Vec<_>>(),
        [true, false]
    );
    // `two` checks in again.
    board
        .check_in("two", had(2, Some('b'), None), LEASE + 3)
        .unwrap();
    assert_eq!(behind(&board), []);
}

#[test]
fn who_cannot_have_a_version_is_not_waited_for_but_only_for_that_one() {
    let mut board = FollowerBoard::new(LEASE);
    let mut report = had(0, None, None);
    let failed = (signature('b'), "its disk is full".to_owned());
    report.get_mut(&environment()).unwrap().failed = Some(failed);
    board.check_in("one", report, 0).unwrap();
    let late = board.unready_followers(&environment(), &signature('b'), 1);
    assert_eq!(names(&late), [("one", false)]);
    assert_eq!(late[0].why, "its disk is full");
    let late = board.unready_followers(&environment(), &signature('c'), 1);
    assert_eq!(names(&late), [("one", true)]);
}

#[test]
fn a_storage_that_counts_too_low_counts_on_from_its_followers() {
    let mut board = FollowerBoard::new(LEASE);
    announce(&mut board, 'a');
    let ahead = board.check_in("one", had(40, Some('b'), None), 0).unwrap();
    assert_eq!(ahead, [environment()]);
    assert_eq!(announce(&mut board, 'a').generation, 41);
    // An environment that this server does not have is ignored.
    let mut report = FollowerReport::new();
    report.insert(
        "other".parse().unwrap(),
        ReportedEnvironment {
            generation: 99,
            ..ReportedEnvironment::default()
        },
    );
    assert!(board.check_in("one", report, 0).unwrap().is_empty());
}

#[test]
fn what_was_taken_away_is_gone_when_nobody_has_it() {
    let mut board = FollowerBoard::new(LEASE);
    announce(&mut board, 'a');
    board.check_in("has", had(1, Some('a'), None), 0).unwrap();
    board.check_in("new", FollowerReport::new(), 0).unwrap();
    let announced = AnnouncedSwitch {
        generation: board.next_generation(),
        signature: None,
    };
    board.announce(&environment(), announced.clone());
    let behind = board.lagging_followers(&environment(), &announced, 1);
    assert_eq!(names(&behind), [("has", true)]);
    board.check_in("has", had(2, None, None), 2).unwrap();
    assert_eq!(board.lagging_followers(&environment(), &announced, 3), []);
    assert!(board.followers(3).iter().all(|it| it.is_synced));
    assert_eq!(board.published_versions().count(), 0);
}

#[test]
fn only_what_is_announced_or_offered_is_handed_out() {
    let mut board = FollowerBoard::new(LEASE);
    announce(&mut board, 'a');
    board.offer(&environment(), &signature('b'));
    let publishes =
        |board: &FollowerBoard, digit| board.is_published(&environment(), &signature(digit));
    assert!(publishes(&board, 'a') && publishes(&board, 'b') && !publishes(&board, 'c'));
    board.withdraw(&environment());
    assert!(publishes(&board, 'a') && !publishes(&board, 'b'));
    assert!(!board.is_published(&"staging".parse().unwrap(), &signature('a')));
}

#[test]
fn followers_are_bounded_and_forgotten() {
    let mut board = FollowerBoard::new(LEASE);
    for number in 0..FOLLOWERS {
        board
            .check_in(&number.to_string(), FollowerReport::new(), 0)
            .unwrap();
    }
    assert_eq!(
        board.check_in("more", FollowerReport::new(), 0),
        Err(FollowerLimitReached)
    );
    board
        .check_in("7", FollowerReport::new(), 1_000_000_000)
        .unwrap();
    assert_eq!(board.remove_expired(1_000_000_000).len(), FOLLOWERS - 1);
    board
        .check_in("more", FollowerReport::new(), 1_000_000_000)
        .unwrap();
    assert_eq!(board.report_of("more"), Some(&FollowerReport::new()));
}
