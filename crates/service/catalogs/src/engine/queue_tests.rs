use std::collections::{HashMap, VecDeque};

use environments::EnvironmentName;
use proptest::prelude::*;

use super::CompilePriority::{Background, Foreground};
use super::{
    CompileCaller, CompileOrigin, CompilePriority, CompileQueue, CompileQueueFull, CompileTicket,
    QueueBounds,
};

fn queue(slots: usize) -> CompileQueue {
    CompileQueue::new(QueueBounds {
        slots,
        waiting_max: 8,
        waiting_each_max: 5,
        waiting_of_caller_max: 4,
        waiting_bytes_max: 100,
        waiting_bytes_of_caller_max: 60,
    })
}

/// A compilation of a user with this name.
fn of(user: &str, priority: CompilePriority) -> CompileOrigin {
    CompileOrigin {
        caller: CompileCaller::Client(user.to_owned()),
        priority,
    }
}

fn name(text: &str) -> EnvironmentName {
    text.parse().unwrap()
}

#[test]
fn environments_take_turns() {
    let mut queue = queue(1);
    let (a, b) = (name("a"), name("b"));
    let of_a: Vec<_> = (0..3)
        .map(|_| queue.enter(&a, &of("ann", Foreground), 1))
        .collect();
    let of_b: Vec<_> = (0..2)
        .map(|_| queue.enter(&b, &of("ben", Foreground), 1))
        .collect();
    let expected = [&of_a[0], &of_b[0], &of_a[1], &of_b[1], &of_a[2]];
    for ticket in expected {
        let ticket = ticket.clone().unwrap();
        assert_eq!(queue.start_next(), Some(ticket));
        assert_eq!(queue.start_next(), None, "the only slot is taken");
        queue.leave(ticket);
    }
    assert_eq!((queue.start_next(), queue.waiting()), (None, 0));
}

#[test]
fn background_compilations_wait_for_all_others() {
    let mut queue = queue(2);
    let a = name("a");
    let late = queue.enter(&a, &of("ann", Background), 1).unwrap();
    let urgent = queue.enter(&a, &of("ann", Foreground), 1).unwrap();
    assert_eq!(queue.start_next(), Some(urgent));
    assert_eq!(queue.start_next(), Some(late));
}

#[test]
fn a_full_queue_refuses_and_names_the_environment() {
    let mut queue = queue(1);
    let (a, b) = (name("a"), name("b"));
    for number in 0..5 {
        let user = format!("user{number}");
        queue.enter(&a, &of(&user, Foreground), 1).unwrap();
    }
    let full = queue.enter(&a, &of("ann", Background), 1).unwrap_err();
    assert!(
        full.to_string()
            .contains("5 compilations already wait for a")
    );
    for _ in 0..3 {
        queue.enter(&b, &of("ben", Background), 1).unwrap();
    }
    let full = queue
        .enter(&name("c"), &of("ann", Foreground), 1)
        .unwrap_err();
    assert!(full.to_string().starts_with("8 compilations already wait;"));
}

#[test]
fn one_caller_has_a_part_of_the_queue() {
    let mut queue = queue(1);
    let (a, b) = (name("a"), name("b"));
    let ann = of("ann", Foreground);
    let tickets: Vec<_> = (0..4).map(|_| queue.enter(&a, &ann, 1).unwrap()).collect();
    // in whichever environment and with whichever priority
    for (environment, priority) in [(&a, Foreground), (&b, Foreground), (&b, Background)] {
        let full = queue
            .enter(environment, &of("ann", priority), 1)
            .unwrap_err();
        assert_eq!(full, CompileQueueFull::Caller { waiting: 4 });
    }
    queue.enter(&a, &of("ben", Foreground), 1).unwrap();
    let plans = CompileOrigin {
        caller: CompileCaller::PlansOf("ann".to_owned()),
        priority: Foreground,
    };
    queue.enter(&b, &plans, 1).unwrap();
    // a running compilation is none that waits
    assert_eq!(queue.start_next(), Some(tickets[0]));
    queue.enter(&b, &ann, 1).unwrap();
    assert!(queue.enter(&b, &ann, 1).is_err());
    queue.leave(tickets[1]);
    queue.leave(tickets[0]);
    queue.enter(&b, &ann, 1).unwrap();
    assert!(queue.enter(&b, &ann, 1).is_err());
}

#[test]
fn waiting_compilations_hold_a_bounded_number_of_bytes() {
    let mut queue = queue(1);
    let a = name("a");
    let (ann, ben) = (of("ann", Foreground), of("ben", Foreground));
    // one alone may have more than its part, but no second one
    let large = queue.enter(&a, &ann, 90).unwrap();
    let full = queue.enter(&a, &ann, 1).unwrap_err();
    assert_eq!(full, CompileQueueFull::CallerBytes { bytes: 90 });
    let full = queue.enter(&a, &ben, 11).unwrap_err();
    assert_eq!(full, CompileQueueFull::AllBytes { bytes: 90 });
    let small = queue.enter(&a, &ben, 10).unwrap();
    assert!(queue.enter(&a, &of("cid", Background), usize::MAX).is_err());
    // one that runs holds no bytes of the queue
    assert_eq!(queue.start_next(), Some(large));
    let other = queue.enter(&a, &ann, 50).unwrap();
    queue.leave(other);
    queue.leave(small);
    queue.enter(&a, &of("cid", Background), usize::MAX).unwrap();
}

#[test]
fn a_compilation_that_no_longer_waits_frees_its_place() {
    let mut queue = queue(1);
    let a = name("a");
    let first = queue.enter(&a, &of("ann", Foreground), 1).unwrap();
    let second = queue.enter(&a, &of("ann", Foreground), 1).unwrap();
    queue.leave(first);
    queue.leave(first);
    assert_eq!(queue.start_next(), Some(second));
    queue.leave(second);
    assert_eq!((queue.waiting(), queue.running()), (0, 0));
}

proptest! {
    /// Every compilation starts once or leaves, no more run than there are slots, and those of one
    /// environment and priority start in their order.
    #[test]
    fn random_use_keeps_the_bounds(steps in prop::collection::vec((0_u8..4, 0_u8..3, 0_u8..3, any::<bool>()), 1..200)) {
        let mut queue = queue(3);
        let mut running: Vec<CompileTicket> = Vec::new();
        let mut waiting: HashMap<(u8, bool), VecDeque<CompileTicket>> = HashMap::new();
        let mut callers: HashMap<CompileTicket, u8> = HashMap::new();
        for (action, environment, caller, is_urgent) in steps {
            let key = (environment, is_urgent);
            match action {
                0 | 1 => {
                    let priority = if is_urgent { Foreground } else { Background };
                    let environment = name(&format!("e{environment}"));
                    let all: usize = waiting.values().map(VecDeque::len).sum();
                    let of_caller = waiting.values().flatten().filter(|it| callers[it] == caller).count();
                    match queue.enter(&environment, &of(&caller.to_string(), priority), 1) {
                        Ok(ticket) => {
                            prop_assert!(of_caller < 4 && all < 8);
                            callers.insert(ticket, caller);
                            waiting.entry(key).or_default().push_back(ticket);
                        }
                        Err(CompileQueueFull::Caller { waiting }) => {
                            prop_assert_eq!((waiting, of_caller), (4, 4));
                        }
                        Err(CompileQueueFull::AllBytes { .. } | CompileQueueFull::CallerBytes { .. }) => {
                            prop_assert!(false, "all together have 8 bytes");
                        }
                        Err(CompileQueueFull::All { waiting }) => prop_assert_eq!((waiting, all), (8, 8)),
                        Err(CompileQueueFull::Environment { waiting, .. }) => prop_assert_eq!(waiting, 5),
                    }
                }
                2 => {
                    let had_slot = running.len() < 3;
                    let all: usize = waiting.values().map(VecDeque::len).sum();
                    match queue.start_next() {
                        Some(ticket) => {
                            prop_assert!(had_slot);
                            let of = waiting.iter_mut().find(|(_, it)| it.front() == Some(&ticket));
                            let (key, tickets) = of.expect("the first one of an environment starts");
                            let is_urgent = key.1;
                            tickets.pop_front();
                            let urgent_waits = waiting.iter().any(|(key, it)| key.1 && !it.is_empty());
                            prop_assert!(is_urgent || !urgent_waits);
                            running.push(ticket);
                        }
                        None => prop_assert!(!had_slot || all == 0),
                    }
                }
                _ => {
                    let ticket = match is_urgent {
                        true => running.pop(),
                        false => waiting.get_mut(&key).and_then(VecDeque::pop_back),
                    };
                    ticket.into_iter().for_each(|it| queue.leave(it));
                }
            }
            let all: usize = waiting.values().map(VecDeque::len).sum();
            prop_assert_eq!((queue.waiting(), queue.running()), (all, running.len()));
        }
    }
}
