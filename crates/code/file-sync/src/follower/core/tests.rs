//! Tests of the decisions of a follower.

use api_types::FileSyncSubmodule;

use super::*;
use crate::{FollowerStatus, LeaseKnowledge, SyncState};

fn environment() -> EnvironmentName {
    "production".parse().unwrap()
}

fn signature(digit: char) -> VersionSignature {
    digit.to_string().repeat(40).parse().unwrap()
}

fn told(live: Option<(i64, Option<char>)>, offered: Option<char>) -> CheckedIn {
    let live = live.map(|(generation, digit)| {
        let commit = digit.map(|digit| signature(digit).to_string());
        (
            "production".to_owned(),
            FileSyncSubmodule { commit, generation },
        )
    });
    let offered = offered.map(|it| ("production".to_owned(), signature(it).to_string()));
    CheckedIn {
        environments: live.into_iter().collect(),
        staging: offered.into_iter().collect(),
        cursor: "1".to_owned(),
        ..CheckedIn::default()
    }
}

/// A follower that was started with a live version and has compared it.
fn at(generation: i64, digit: char) -> FollowerCore {
    let mut core = started(generation, digit);
    core.mark_staged(&environment(), &signature(digit));
    core
}

fn started(generation: i64, digit: char) -> FollowerCore {
    FollowerCore::new(vec![(environment(), signature(digit), generation)])
}

#[test]
fn a_version_that_was_live_at_the_start_is_compared_once() {
    let mut core = started(1, 'a');
    assert_eq!(
        core.next_steps(),
        [],
        "the server's list of files is not known yet"
    );
    core.apply_check_in(told(Some((1, Some('a'))), None));
    let compare = FollowerStep::Stage(environment(), signature('a'));
    assert_eq!(core.next_steps(), std::slice::from_ref(&compare));
    assert_eq!(core.next_steps(), [], "it is under way");
    core.mark_failed(&environment(), &signature('a'), "no list".to_owned());
    assert_eq!(core.next_steps(), [], "not at once again");
    core.allow_retries();
    assert_eq!(core.next_steps(), [compare]);
    core.mark_staged(&environment(), &signature('a'));
    assert_eq!(core.next_steps(), []);
    let report = &core.to_report()["production"];
    assert_eq!((&report.staged, &report.error), (&None, &None));
    core.apply_check_in(told(Some((2, Some('b'))), None));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Stage(environment(), signature('b'))]
    );
}

#[test]
fn a_live_version_that_is_no_longer_wanted_is_not_compared() {
    let mut core = started(1, 'a');
    core.apply_check_in(told(Some((2, Some('b'))), None));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Stage(environment(), signature('b'))]
    );
    core.mark_staged(&environment(), &signature('b'));
    core.mark_switched(&environment(), &signature('b'), 2);
    assert_eq!(core.next_steps(), []);
}

#[test]
fn what_is_offered_is_got_and_switched_to_only_when_it_is_announced() {
    let mut core = at(1, 'a');
    core.apply_check_in(told(Some((1, Some('a'))), Some('b')));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Stage(environment(), signature('b'))]
    );
    assert_eq!(core.next_steps(), [], "it is on its way");
    core.mark_staged(&environment(), &signature('b'));
    assert_eq!(core.next_steps(), []);
    assert_eq!(
        core.to_report()["production"].staged,
        Some(signature('b').to_string())
    );
    core.apply_check_in(told(Some((2, Some('b'))), None));
    let switch = FollowerStep::Switch(environment(), signature('b'), 2);
    assert_eq!(core.next_steps(), [switch]);
    core.mark_switched(&environment(), &signature('b'), 2);
    assert_eq!(core.next_steps(), []);
    let report = core.to_report();
    assert_eq!(
        (
            report["production"].generation,
            &report["production"].staged
        ),
        (2, &None)
    );
}

#[test]
fn what_is_announced_and_not_here_is_got_first() {
    let mut core = FollowerCore::default();
    core.apply_check_in(told(Some((7, Some('a'))), None));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Stage(environment(), signature('a'))]
    );
    core.mark_failed(&environment(), &signature('a'), "no".to_owned());
    assert_eq!(core.next_steps(), [], "not at once again");
    assert_eq!(core.to_report()["production"].error.as_deref(), Some("no"));
    core.allow_retries();
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Stage(environment(), signature('a'))]
    );
    core.mark_staged(&environment(), &signature('a'));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Switch(environment(), signature('a'), 7)]
    );
}

#[test]
fn it_never_goes_back_to_a_lower_generation() {
    let mut core = at(9, 'b');
    core.apply_check_in(told(Some((8, Some('a'))), None));
    assert_eq!(core.next_steps(), []);
    core.apply_check_in(told(Some((3, None)), None));
    assert_eq!(core.next_steps(), []);
    core.apply_check_in(told(Some((10, Some('b'))), None));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Switch(environment(), signature('b'), 10)]
    );
}

#[test]
fn only_what_was_taken_away_by_name_goes() {
    let mut core = at(4, 'a');
    core.apply_check_in(told(None, None));
    assert_eq!(
        core.next_steps(),
        [],
        "a storage that knows nothing takes nothing"
    );
    core.apply_check_in(told(Some((5, None)), None));
    assert_eq!(core.next_steps(), [FollowerStep::Remove(environment(), 5)]);
    core.mark_removed(&environment(), 5);
    assert_eq!(core.next_steps(), []);
    assert_eq!(core.live_environments().count(), 0);
    core.sync_with_disk(&[(environment(), signature('a'))]);
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Remove(environment(), 5)],
        "nobody brings it back"
    );
}

#[test]
fn what_was_withdrawn_comes_back_only_when_it_is_told_again() {
    let mut core = at(4, 'a');
    core.apply_check_in(told(Some((4, Some('a'))), Some('b')));
    core.discard_announcements();
    core.sync_with_disk(&[]);
    assert_eq!(core.next_steps(), []);
    assert_eq!(core.to_report()["production"].version, None);
    core.apply_check_in(told(Some((4, Some('a'))), None));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Stage(environment(), signature('a'))]
    );
    core.mark_staged(&environment(), &signature('a'));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Switch(environment(), signature('a'), 4)]
    );
}

#[test]
fn what_somebody_changed_is_put_right() {
    let mut core = at(4, 'b');
    core.apply_check_in(told(Some((4, Some('a'))), None));
    assert_eq!(
        core.next_steps(),
        [FollowerStep::Stage(environment(), signature('a'))]
    );
}

/// In any order of events generations grow, and switches are made to announced versions only.
#[test]
fn any_order_of_events_keeps_the_rules() {
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let digit = |number: u64| char::from(b'a' + u8::try_from(number).unwrap());
    for _ in 0..500 {
        let mut core = FollowerCore::default();
        let mut highest = 0;
        for _ in 0..40 {
            let generation = i64::try_from(random(12)).unwrap();
            let live = (random(5) > 0).then(|| digit(random(4)));
            let offered = (random(2) > 0).then(|| digit(random(4)));
            core.apply_check_in(told(Some((generation, live)), offered));
            for step in core.next_steps() {
                match step {
                    FollowerStep::Stage(of, it) if random(3) == 0 => {
                        core.mark_failed(&of, &it, String::new())
                    }
                    FollowerStep::Stage(of, it) => core.mark_staged(&of, &it),
                    FollowerStep::Switch(of, it, number) => {
                        assert!(number >= highest && Some(it.clone()) == live.map(signature));
                        assert_eq!(number, generation);
                        highest = number;
                        core.mark_switched(&of, &it, number);
                    }
                    FollowerStep::Remove(of, number) => {
                        assert!(number >= highest && live.is_none());
                        highest = number;
                        core.mark_removed(&of, number);
                    }
                }
            }
            if random(4) == 0 {
                core.allow_retries();
            }
        }
    }
}

#[test]
fn who_watches_sees_what_is_live_and_what_should_be() {
    let shown = |core: &FollowerCore| {
        let following = FollowerStatus {
            heard_ms: None,
            knowledge: match core.has_announcements() {
                true => LeaseKnowledge::Current,
                false => LeaseKnowledge::Unknown,
            },
            environments: core.environment_status(),
        };
        let sync = following.sync_state();
        (following.environments[&environment()].clone(), sync)
    };
    let had = |generation, digit, is_behind, cause: Option<&str>| FollowedVersion {
        generation,
        live: Some(signature(digit)),
        is_behind,
        cause: cause.map(str::to_owned),
    };
    let mut core = at(1, 'a');
    let now = (had(1, 'a', false, None), SyncState::NewCommits);
    assert_eq!(shown(&core), now, "it may be old");
    core.apply_check_in(told(Some((1, Some('a'))), Some('b')));
    let now = (had(1, 'a', false, None), SyncState::Ok);
    assert_eq!(shown(&core), now);
    core.next_steps();
    // A failure of a version that is not live yet does not change the status.
    core.mark_failed(&environment(), &signature('b'), "full".to_owned());
    assert_eq!(shown(&core), now);
    core.apply_check_in(told(Some((2, Some('b'))), None));
    let why = (had(1, 'a', true, Some("full")), SyncState::Error);
    assert_eq!(shown(&core), why);
    core.apply_check_in(told(Some((3, Some('c'))), None));
    let now = (had(1, 'a', true, None), SyncState::NewCommits);
    assert_eq!(shown(&core), now);
    core.mark_staged(&environment(), &signature('c'));
    core.mark_switched(&environment(), &signature('c'), 3);
    assert_eq!(shown(&core), (had(3, 'c', false, None), SyncState::Ok));
    core.apply_check_in(told(Some((4, None)), None));
    assert_eq!(shown(&core).1, SyncState::NewCommits);
    core.mark_removed(&environment(), 4);
    let gone = FollowedVersion {
        generation: 4,
        ..FollowedVersion::default()
    };
    assert_eq!(shown(&core), (gone, SyncState::Ok));
    core.discard_announcements();
    assert!(!core.has_announcements());
    // An environment that the follower has never had counts as behind.
    let mut core = FollowerCore::default();
    core.apply_check_in(told(Some((1, Some('a'))), None));
    assert!(shown(&core).0.is_behind);
}
