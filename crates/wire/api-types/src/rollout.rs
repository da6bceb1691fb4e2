//! Rollouts: jobs that take their nodes in batches and end when too many nodes have failed. Main
//! type: [`RolloutOptions`].
//!
//! Invariant: a percentage of nodes is rounded down, so a batch is never larger and no more
//! failures are tolerated than requested; but a batch has at least one node.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::ApiError;
use crate::defaults::{BATCH_SIZES, PAUSE_SECONDS, SPLAY_SECONDS};

/// A number of nodes, or a percentage of the nodes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// This number of nodes.
    Nodes(u32),
    /// Percentage of the job's nodes, from 0 to 100.
    Percent(u8),
}

/// Sizes of a job's batches in order; the last one repeats until no node is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchSizes(Vec<Portion>);

/// Options that turn a job into a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutOptions {
    /// Sizes of the batches; `None`: all nodes form one batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchSizes>,
    /// Pause between the end of a batch and the start of the next one, in seconds; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_between_batches: Option<u64>,
    /// Number of nodes that may fail; after one more failure no further node is started. `None`:
    /// any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<Portion>,
    /// Time over which the starts of the nodes are spread evenly, in seconds; absent: all start as soon as they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splay: Option<u64>,
}

/// A rollout option with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutProblem {
    /// Name of the option in the API.
    pub option: &'static str,
    /// Rule that the option breaks, phrased to follow the option's name.
    pub rule: String,
}

/// Error message for a text that is not a portion.
const NO_PORTION: &str = "must be a number of nodes, or a share of them such as 10%";

// === impl Portion ===

impl Portion {
    /// Returns the number of nodes out of `nodes`, rounded down and never larger than `nodes`.
    pub fn of(self, nodes: usize) -> usize {
        match self {
            Self::Nodes(count) => usize::try_from(count).map_or(nodes, |count| count.min(nodes)),
            Self::Percent(percent) => nodes * usize::from(percent.min(100)) / 100,
        }
    }
}

impl FromStr for Portion {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let portion = match text.strip_suffix('%') {
            Some(percent) if digits(percent) => percent
                .parse()
                .ok()
                .filter(|percent| *percent <= 100)
                .map(Self::Percent),
            None if digits(text) => text.parse().ok().map(Self::Nodes),
            _ => None,
        };
        portion.ok_or(NO_PORTION)
    }
}

impl fmt::Display for Portion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Serialize for Portion {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nodes(count) => writer.serialize_u32(*count),
            Self::Percent(_) => writer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Portion {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Portion;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of nodes, or a share of them such as \"10%\"")
            }

            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<Portion, E> {
                count
                    .try_into()
                    .map(Portion::Nodes)
                    .map_err(|_| E::custom(NO_PORTION))
            }

            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Portion, E> {
                count
                    .try_into()
                    .map(Portion::Nodes)
                    .map_err(|_| E::custom(NO_PORTION))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Portion, E> {
                text.parse().map_err(E::custom)
            }
        }
        reader.deserialize_any(Reader)
    }
}

// === impl BatchSizes ===

impl BatchSizes {
    /// Creates the list of sizes, in order.
    pub fn new(sizes: Vec<Portion>) -> Self {
        Self(sizes)
    }

    /// Returns the sizes of the batches of a job on `nodes` nodes; their sum is that number.
    pub fn of(&self, nodes: usize) -> Vec<usize> {
        let mut left = nodes;
        let mut sizes = Vec::new();
        let mut portions = self.0.iter();
        let mut portion = portions.next();
        while left > 0 {
            let size = portion
                .map_or(left, |portion| portion.of(nodes))
                .clamp(1, left);
            sizes.push(size);
            left -= size;
            portion = portions.next().or(portion);
        }
        sizes
    }
}

impl FromStr for BatchSizes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',')
            .map(|portion| portion.trim().parse())
            .collect::<Result<_, _>>()
            .map(Self)
            .map_err(|_| {
                "must be a number of nodes, a share of them such as 10%, or several such sizes with \
                 commas, as in 1,10%,100%"
            })
    }
}

impl fmt::Display for BatchSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, portion) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{portion}")?;
        }
        Ok(())
    }
}

impl Serialize for BatchSizes {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(writer)
    }
}

impl<'de> Deserialize<'de> for BatchSizes {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = BatchSizes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a number of nodes, a share of them such as \"10%\", or a list of such sizes",
                )
            }

            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<BatchSizes, E> {
                let count = count.try_into().map_err(|_| E::custom(NO_PORTION))?;
                Ok(BatchSizes(vec![Portion::Nodes(count)]))
            }

            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<BatchSizes, E> {
                let count = count.try_into().map_err(|_| E::custom(NO_PORTION))?;
                Ok(BatchSizes(vec![Portion::Nodes(count)]))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<BatchSizes, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<BatchSizes, A::Error> {
                let mut sizes = Vec::new();
                while let Some(portion) = items.next_element()? {
                    if sizes.len() == BATCH_SIZES {
                        return Err(A::Error::custom(too_many_sizes()));
                    }
                    sizes.push(portion);
                }
                Ok(BatchSizes(sizes))
            }
        }
        reader.deserialize_any(Reader)
    }
}

// === impl RolloutOptions ===

impl RolloutOptions {
    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// The first option that makes no sense.
    pub fn check(&self) -> Result<(), RolloutProblem> {
        let problem = |option, rule: &str| {
            Err(RolloutProblem {
                option,
                rule: rule.to_owned(),
            })
        };
        if let Some(BatchSizes(sizes)) = &self.batch {
            if sizes.is_empty() {
                return problem("batch", "must have at least one size");
            }
            if sizes.len() > BATCH_SIZES {
                return problem("batch", &too_many_sizes());
            }
            if sizes
                .iter()
                .any(|size| matches!(size, Portion::Nodes(0) | Portion::Percent(0)))
            {
                return problem("batch", "must not be 0: such a batch would start no node");
            }
        }
        match self.pause_between_batches {
            Some(_) if self.batch.is_none() => problem(
                "pause_between_batches",
                "needs batch: without batches there is nothing between them",
            ),
            Some(seconds) if seconds > PAUSE_SECONDS => problem(
                "pause_between_batches",
                &format!("must be at most {PAUSE_SECONDS} seconds (7 days)"),
            ),
            _ => Ok(()),
        }?;
        match self.splay {
            Some(_) if self.batch.is_some() => problem(
                "splay",
                "contradicts batch, whose nodes start together; set one of them",
            ),
            Some(0) => problem(
                "splay",
                "must not be 0; leave it out to start all nodes at once",
            ),
            Some(seconds) if seconds > SPLAY_SECONDS => problem(
                "splay",
                &format!("must be at most {SPLAY_SECONDS} seconds (1 day)"),
            ),
            _ => Ok(()),
        }
    }
}

fn too_many_sizes() -> String {
    format!("must have at most {BATCH_SIZES} sizes; the last one repeats until no node is left")
}

// === impl RolloutProblem ===

impl fmt::Display for RolloutProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.option, self.rule)
    }
}

impl From<RolloutProblem> for ApiError {
    fn from(problem: RolloutProblem) -> Self {
        Self::invalid(problem.option, problem.rule)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sizes(text: &str, nodes: usize) -> Vec<usize> {
        text.parse::<BatchSizes>().unwrap().of(nodes)
    }

    #[test]
    fn batches_are_rounded_down_and_the_last_size_repeats() {
        for (text, nodes, expected) in [
            ("1", 3, vec![1, 1, 1]),
            ("2", 5, vec![2, 2, 1]),
            ("9", 5, vec![5]),
            ("4294967295", 5, vec![5]),
            ("100%", 5, vec![5]),
            ("50%", 5, vec![2, 2, 1]),
            ("10%", 5, vec![1, 1, 1, 1, 1]),
            ("33%", 10, vec![3, 3, 3, 1]),
            ("1,10%,100%", 30, vec![1, 3, 26]),
            ("1, 10%", 30, vec![1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2]),
            ("1,10%,100%", 1, vec![1]),
            ("1,2,3", 2, vec![1, 1]),
            ("1", 0, vec![]),
        ] {
            assert_eq!(sizes(text, nodes), expected, "{text} of {nodes}");
        }
    }

    #[test]
    fn a_share_of_failures_is_rounded_down() {
        for (portion, nodes, expected) in [
            (Portion::Percent(10), 9, 0),
            (Portion::Percent(10), 19, 1),
            (Portion::Percent(100), 7, 7),
            (Portion::Percent(0), 7, 0),
            (Portion::Nodes(9), 7, 7),
            (Portion::Nodes(0), 7, 0),
        ] {
            assert_eq!(portion.of(nodes), expected, "{portion} of {nodes}");
        }
    }

    #[test]
    fn options_are_read_as_people_write_them_and_told_back() {
        for (json, told) in [
            (json!(5), json!([5])),
            (json!("5"), json!([5])),
            (json!("10%"), json!(["10%"])),
            (json!("1,10%,100%"), json!([1, "10%", "100%"])),
            (json!([1, "10%", "100%"]), json!([1, "10%", "100%"])),
        ] {
            let options: RolloutOptions = serde_json::from_value(json!({"batch": json})).unwrap();
            assert_eq!(options.check(), Ok(()));
            assert_eq!(json!(options)["batch"], told);
        }
        let none = RolloutOptions::default();
        assert_eq!((json!(none), none.check()), (json!({}), Ok(())));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_option() {
        let wrong: [(Value, &str); 11] = [
            (json!({"batch": 0}), "batch"),
            (json!({"batch": "0%"}), "batch"),
            (json!({"batch": [1, 0]}), "batch"),
            (json!({"batch": []}), "batch"),
            (json!({"batch": "1,".repeat(40) + "1"}), "batch"),
            (json!({"pause_between_batches": 5}), "pause_between_batches"),
            (
                json!({"batch": 1, "pause_between_batches": 604_801}),
                "pause_between_batches",
            ),
            (json!({"batch": "1, 0"}), "batch"),
            (json!({"splay": 0}), "splay"),
            (json!({"splay": 86_401}), "splay"),
            (json!({"splay": 60, "batch": 1}), "splay"),
        ];
        for (options, option) in wrong {
            let options: RolloutOptions = serde_json::from_value(options).unwrap();
            assert_eq!(options.check().unwrap_err().option, option, "{options:?}");
        }
        for unreadable in [
            json!({"batch": "101%"}),
            json!({"batch": "-1"}),
            json!({"batch": "1.5%"}),
            json!({"batch": "%"}),
            json!({"batch": "+1"}),
            json!({"batch": ""}),
            json!({"batch": {}}),
            json!({"batch": vec![1; 100]}),
            json!({"max_failures": -1}),
            json!({"max_failures": "٣"}),
            json!({"max_failures": "200%"}),
            json!({"max_failures": 1.5}),
        ] {
            let read = serde_json::from_value::<RolloutOptions>(unreadable.clone());
            assert!(read.is_err(), "{unreadable}");
        }
    }
}
