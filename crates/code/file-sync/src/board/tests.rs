//! What is decided for followers.

use super::*;

const LEASE: i64 = 60_000;

fn environment() -> EnvironmentName {
    "production".parse().unwrap()
}

fn signature(digit: char) -> VersionSignature {
    digit.to_string().repeat(40).parse().unwrap()
}

fn had(generation: i64, live: Option<char>, staged: Option<char>) -> Report {
    let had = Had {
        generation,
        signature: live.map(signature),
        staged: staged.map(signature),
        failed: None,
    };
    Report::from([(environment(), had)])
}

fn names(late: &[Late]) -> Vec<(&str, bool)> {
    let named = late.iter().map(|it| (it.name.as_str(), it.is_expected));
    named.collect()
}

fn announce(board: &mut Board, digit: char) -> AnnouncedSwitch {
    let announced = AnnouncedSwitch {
        generation: board.next_generation(),
        signature: Some(signature(digit)),
    };
    board.announce(&environment(), announced.clone());
    announced
}

#[test]
fn all_living_followers_are_ready_before_one_is_told_to_switch() {
    let mut board = Board::new(LEASE);
    announce(&mut board, 'a');
    for name in ["one", "two"] {
        board.check_in(name, had(1, Some('a'), None), 0).unwrap();
    }
    let before = board.news();
    board.offer(&environment(), &signature('b'));
    assert_ne!(board.news(), before);
    let unready = |board: &Board, now| board.unready(&environment(), &signature('b'), now);
    assert_eq!(names(&unready(&board, 1)), [("one", true), ("two", true)]);
    board
        .check_in("one", had(1, Some('a'), Some('b')), 2)
        .unwrap();
    assert_eq!(names(&unready(&board, 3)), [("two", true)]);
    // It is away now: named, and not waited for.
    board
        .check_in("one", had(1, Some('a'), Some('b')), LEASE)
        .unwrap();
    assert_eq!(names(&unready(&board, LEASE + 1)), [("two", false)]);
    let announced = announce(&mut board, 'b');
    assert!(board.offered().is_empty());
    let behind = |board: &Board| board.behind(&environment(), &announced, LEASE + 2);
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
    // It is back.
    board
        .check_in("two", had(2, Some('b'), None), LEASE + 3)
        .unwrap();
    assert_eq!(behind(&board), []);
}

#[test]
fn who_cannot_have_a_version_is_not_waited_for_but_only_for_that_one() {
    let mut board = Board::new(LEASE);
    let mut report = had(0, None, None);
    let failed = (signature('b'), "its disk is full".to_owned());
    report.get_mut(&environment()).unwrap().failed = Some(failed);
    board.check_in("one", report, 0).unwrap();
    let late = board.unready(&environment(), &signature('b'), 1);
    assert_eq!(names(&late), [("one", false)]);
    assert_eq!(late[0].why, "its disk is full");
    let late = board.unready(&environment(), &signature('c'), 1);
    assert_eq!(names(&late), [("one", true)]);
}

#[test]
fn a_storage_that_counts_too_low_counts_on_from_its_followers() {
    let mut board = Board::new(LEASE);
    announce(&mut board, 'a');
    let ahead = board.check_in("one", had(40, Some('b'), None), 0).unwrap();
    assert_eq!(ahead, [environment()]);
    assert_eq!(announce(&mut board, 'a').generation, 41);
    // What this server does not have is nothing to it.
    let mut report = Report::new();
    report.insert(
        "other".parse().unwrap(),
        Had {
            generation: 99,
            ..Had::default()
        },
    );
    assert!(board.check_in("one", report, 0).unwrap().is_empty());
}

#[test]
fn what_was_taken_away_is_gone_when_nobody_has_it() {
    let mut board = Board::new(LEASE);
    announce(&mut board, 'a');
    board.check_in("has", had(1, Some('a'), None), 0).unwrap();
    board.check_in("new", Report::new(), 0).unwrap();
    let announced = AnnouncedSwitch {
        generation: board.next_generation(),
        signature: None,
    };
    board.announce(&environment(), announced.clone());
    let behind = board.behind(&environment(), &announced, 1);
    assert_eq!(names(&behind), [("has", true)]);
    board.check_in("has", had(2, None, None), 2).unwrap();
    assert_eq!(board.behind(&environment(), &announced, 3), []);
    assert!(board.followers(3).iter().all(|it| it.is_synced));
    assert_eq!(board.published().count(), 0);
}

#[test]
fn only_what_is_announced_or_offered_is_handed_out() {
    let mut board = Board::new(LEASE);
    announce(&mut board, 'a');
    board.offer(&environment(), &signature('b'));
    let publishes = |board: &Board, digit| board.publishes(&environment(), &signature(digit));
    assert!(publishes(&board, 'a') && publishes(&board, 'b') && !publishes(&board, 'c'));
    board.withdraw(&environment());
    assert!(publishes(&board, 'a') && !publishes(&board, 'b'));
    assert!(!board.publishes(&"staging".parse().unwrap(), &signature('a')));
}

#[test]
fn followers_are_bounded_and_forgotten() {
    let mut board = Board::new(LEASE);
    for number in 0..FOLLOWERS {
        board
            .check_in(&number.to_string(), Report::new(), 0)
            .unwrap();
    }
    assert_eq!(board.check_in("more", Report::new(), 0), Err(Full));
    board.check_in("7", Report::new(), 1_000_000_000).unwrap();
    assert_eq!(board.forget(1_000_000_000).len(), FOLLOWERS - 1);
    board
        .check_in("more", Report::new(), 1_000_000_000)
        .unwrap();
    assert_eq!(board.told_by("more"), Some(&Report::new()));
}
