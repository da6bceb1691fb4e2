//! Parameters that each node of a task has for itself: [`NodeParamsSource`],
//! [`NodeParams`].
//!
//! Invariant: they count as secret. They are in the sealed part of a job and in the request to their
//! node, and nowhere else.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{Read as _, Write as _};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::{StreamExt as _, stream};
use pcp::Certname;
use pxp::action::{self, RunWithParams};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::defaults::{
    NODE_PARAMS_ALL_BYTES, NODE_PARAMS_AT_ONCE, NODE_PARAMS_BYTES, NODE_PARAMS_TOTAL_BYTES,
};
use crate::kind::RUN_WITH;
use crate::node_params_budget::{NodeParamsBudget, NodeParamsReservation};

/// Parameters as JSON text, by name.
pub type NodeParamTexts = BTreeMap<String, Box<RawValue>>;

/// Source of the parameters that differ between the nodes of a task, such as a catalog for each.
#[async_trait]
pub trait NodeParamsSource: fmt::Debug + Send + Sync {
    /// Parameters of the same names and types, to check them against the task's metadata.
    fn sample(&self) -> Map<String, Value>;

    /// Prepares what the nodes have in common. An error is the `_error` of all nodes.
    async fn open(&self) -> Result<Box<dyn OpenNodeParams + '_>, Value>;
}

/// A source whose common part is ready, such as the code from which catalogs are compiled.
#[async_trait]
pub trait OpenNodeParams: Send + Sync {
    /// The parameters of a node. An error is the `_error` of a node that is not asked to run the task.
    async fn of_node(&self, node: &Certname) -> Result<NodeParamTexts, Value>;

    /// Files of modules that the parameters given so far name, as entries among the `files` of a task's
    /// metadata.
    fn files(&self) -> Vec<String>;
}

/// The parameters of the nodes of one job, by node. Compressed, since catalogs shrink to a tenth.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct NodeParams {
    by_node: HashMap<Certname, CompressedParams>,
    /// Memory for them; `None` if they are not counted.
    #[serde(skip)]
    _reserved: Option<NodeParamsReservation>,
}

/// The parameters of a node as a gzip stream of JSON, in Base64 where they are stored.
#[derive(Clone)]
struct CompressedParams(Vec<u8>);

/// The result of collecting parameters: they, and the errors of nodes that have none.
pub(crate) struct CollectedNodeParams {
    pub(crate) params: NodeParams,
    pub(crate) errors: HashMap<Certname, Value>,
    /// Files of modules that the parameters name.
    pub(crate) files: Vec<String>,
    /// Memory for all parameters, compressed.
    reserved: NodeParamsReservation,
}

// === impl CollectedNodeParams ===

impl CollectedNodeParams {
    /// No parameters of any node.
    pub(crate) fn none(budget: &NodeParamsBudget) -> Self {
        Self {
            params: NodeParams::default(),
            errors: HashMap::new(),
            files: Vec::new(),
            reserved: budget.begin(),
        }
    }

    /// Asks a source for the parameters of these nodes, of several at once. They take memory of `budget`.
    pub(crate) async fn collect(
        source: &dyn NodeParamsSource,
        nodes: &[Certname],
        budget: &NodeParamsBudget,
    ) -> Self {
        let mut collected = Self::none(budget);
        let source = match source.open().await {
            Ok(source) => source,
            Err(error) => {
                let errors = nodes.iter().map(|node| (node.clone(), error.clone()));
                collected.errors = errors.collect();
                return collected;
            }
        };
        let asked: Vec<_> = nodes
            .iter()
            .map(|node| compress_params(&*source, node))
            .collect();
        let mut found = stream::iter(asked).buffered(NODE_PARAMS_AT_ONCE);
        let mut answered = 0;
        while let Some(params) = found.next().await {
            collected.add(&nodes[answered], params);
            answered += 1;
            if collected.reserved.bytes() >= NODE_PARAMS_TOTAL_BYTES {
                break;
            }
        }
        drop(found);
        collected.files = source.files();
        for node in nodes.iter().skip(answered) {
            let error = no_space_error(collected.reserved.bytes());
            collected.errors.insert(node.clone(), error);
        }
        collected
    }

    fn add(&mut self, node: &Certname, found: Result<CompressedParams, Value>) {
        let compressed = found.and_then(|compressed| {
            let (total, bytes) = (self.reserved.bytes(), compressed.0.len());
            if total + bytes > NODE_PARAMS_TOTAL_BYTES {
                return Err(no_space_error(total));
            }
            match self.reserved.grow(bytes) {
                Ok(()) => Ok(compressed),
                Err(held) => Err(no_space_for_jobs_error(held)),
            }
        });
        match compressed {
            Ok(params) => drop(self.params.by_node.insert(node.clone(), params)),
            Err(error) => drop(self.errors.insert(node.clone(), error)),
        }
    }
}

impl CollectedNodeParams {
    /// The parameters, with the memory that they take.
    pub(crate) fn into_params(self) -> NodeParams {
        NodeParams {
            _reserved: Some(self.reserved),
            ..self.params
        }
    }
}

/// The parameters of a node, compressed at once: those that wait for the ones before them are small.
async fn compress_params(
    source: &dyn OpenNodeParams,
    node: &Certname,
) -> Result<CompressedParams, Value> {
    let params = source.of_node(node).await?;
    check_size(&params)?;
    // Compression takes the processor for some time.
    let compressing = tokio::task::spawn_blocking(move || CompressedParams::of(&params));
    Ok(compressing
        .await
        .expect("compression does not panic, and blocking tasks are not aborted"))
}

// === impl NodeParams ===

impl NodeParams {
    /// Counts the memory of parameters that were stored before a restart.
    pub(crate) fn counted_in(self, budget: &NodeParamsBudget) -> Self {
        let bytes = self.by_node.values().map(|params| params.0.len()).sum();
        Self {
            _reserved: Some(budget.count(bytes)),
            ..self
        }
    }

    /// The parameters of a task action for this node; `None` if the node has none of its own.
    pub(crate) fn merge(
        &self,
        node: &Certname,
        action: &str,
        params: &RawValue,
    ) -> Result<Option<Box<RawValue>>, UnreadableNodeParams> {
        let Some(own) = self.by_node.get(node) else {
            return Ok(None);
        };
        let own = own.to_texts().ok_or(UnreadableNodeParams)?;
        if action != RUN_WITH {
            let merged = merge_into_input(&own, params);
            return merged.map(Some).ok_or(UnreadableNodeParams);
        }
        let with = action::decode::<RunWithParams>(params);
        let mut with = with.map_err(|_| UnreadableNodeParams)?;
        with.run = merge_into_input(&own, &with.run).ok_or(UnreadableNodeParams)?;
        Ok(Some(action::encode(&with)))
    }
}

/// The parameters of a node were altered, so its request cannot be made.
#[derive(Debug)]
pub(crate) struct UnreadableNodeParams;

// === impl CompressedParams ===

impl CompressedParams {
    fn of(params: &NodeParamTexts) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let text = action::encode(params);
        let written = encoder.write_all(text.get().as_bytes());
        let compressed = written.and_then(|()| encoder.finish());
        Self(compressed.expect("writing to memory does not fail"))
    }

    /// The parameters; `None` if they were altered.
    fn to_texts(&self) -> Option<NodeParamTexts> {
        // Names and syntax of JSON take more than the values alone.
        let limit = 2 * NODE_PARAMS_BYTES as u64;
        let mut text = String::new();
        let mut decoder = GzDecoder::new(&*self.0).take(limit);
        decoder.read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}

impl Serialize for CompressedParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for CompressedParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text.as_bytes());
        bytes.map(Self).map_err(D::Error::custom)
    }
}

fn check_size(params: &NodeParamTexts) -> Result<(), Value> {
    let bytes: usize = params.values().map(|value| value.get().len()).sum();
    if bytes > NODE_PARAMS_BYTES {
        return Err(too_large(&format!(
            "its parameters have {bytes} bytes, and a node takes {NODE_PARAMS_BYTES} at the most"
        )));
    }
    Ok(())
}

fn no_space_error(total: usize) -> Value {
    too_large(&format!(
        "the parameters of the nodes before it have {total} bytes, compressed, and a job takes \
         {NODE_PARAMS_TOTAL_BYTES} at the most: run it on fewer nodes at once"
    ))
}

fn no_space_for_jobs_error(held: usize) -> Value {
    too_large(&format!(
        "the parameters of the nodes of all unfinished jobs have {held} bytes, compressed, and the server takes \
         {NODE_PARAMS_ALL_BYTES} at the most: run it again when other jobs have ended"
    ))
}

fn too_large(msg: &str) -> Value {
    json!({"kind": "tutti/parameters-too-large", "msg": msg, "details": {}})
}

/// Adds entries to the member `input`. The values are copied as text, since a catalog may be large.
fn merge_into_input(own: &NodeParamTexts, params: &RawValue) -> Option<Box<RawValue>> {
    let mut params = action::decode::<BTreeMap<String, Box<RawValue>>>(params).ok()?;
    let input = params.get("input")?;
    let mut input = action::decode::<BTreeMap<String, Box<RawValue>>>(input).ok()?;
    for (name, value) in own {
        input.insert(name.clone(), value.clone());
    }
    params.insert("input".to_owned(), action::encode(&input));
    Some(action::encode(&params))
}

/// Leaves out the values.
impl fmt::Debug for NodeParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_node.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct FixedSource(HashMap<Certname, Result<Value, Value>>);

    #[async_trait]
    impl NodeParamsSource for FixedSource {
        fn sample(&self) -> Map<String, Value> {
            Map::new()
        }

        async fn open(&self) -> Result<Box<dyn OpenNodeParams + '_>, Value> {
            match self.0.is_empty() {
                true => Err(json!({"msg": "no code"})),
                false => Ok(Box::new(self)),
            }
        }
    }

    #[async_trait]
    impl OpenNodeParams for &FixedSource {
        async fn of_node(&self, node: &Certname) -> Result<NodeParamTexts, Value> {
            let catalog = self.0[node].clone()?;
            Ok(texts(&catalog))
        }

        fn files(&self) -> Vec<String> {
            vec!["m/files/a".to_owned()]
        }
    }

    fn texts(catalog: &Value) -> NodeParamTexts {
        BTreeMap::from([("catalog".to_owned(), action::encode(catalog))])
    }

    fn node(name: &str) -> Certname {
        name.parse().unwrap()
    }

    async fn collect(given: &[(&str, Result<Value, Value>)]) -> CollectedNodeParams {
        let nodes: Vec<Certname> = given.iter().map(|(name, _)| node(name)).collect();
        let results = given.iter().map(|(_, result)| result.clone());
        let source = FixedSource(nodes.iter().cloned().zip(results).collect());
        CollectedNodeParams::collect(&source, &nodes, &NodeParamsBudget::default()).await
    }

    #[tokio::test]
    async fn each_node_gets_its_own_parameters_and_keeps_the_common_ones() {
        let error = json!({"msg": "no"});
        let given = [
            ("a", Ok(json!({"name": "a"}))),
            ("b", Ok(json!({"name": "b"}))),
            ("c", Err(error.clone())),
        ];
        let collected = collect(&given).await;
        assert_eq!(collected.errors, HashMap::from([(node("c"), error)]));
        assert_eq!(collected.files, ["m/files/a"]);
        let text = serde_json::to_string(&collected.params).unwrap();
        let params: NodeParams = serde_json::from_str(&text).unwrap();
        let common = json!({"task": "t", "input": {"_noop": true}});
        let merged = |name: &str, action: &str, common: &Value| -> Value {
            let common = action::encode(common);
            let merged = params.merge(&node(name), action, &common).unwrap().unwrap();
            serde_json::from_str(merged.get()).unwrap()
        };
        let expected =
            |name| json!({"task": "t", "input": {"_noop": true, "catalog": {"name": name}}});
        assert_eq!(merged("a", "run", &common), expected("a"));
        let with = json!({"run": common, "run_as": "web", "env": {}});
        let with = merged("b", RUN_WITH, &with);
        assert_eq!(with["run"], expected("b"));
        assert_eq!(with["run_as"], "web");
        let common = action::encode(&common);
        assert!(params.merge(&node("c"), "run", &common).unwrap().is_none());
        assert!(!format!("{params:?}").contains("catalog"));
    }

    #[tokio::test]
    async fn a_source_that_cannot_be_opened_is_the_error_of_all_nodes() {
        let nodes = [node("a"), node("b")];
        let source = FixedSource(HashMap::new());
        let collected =
            CollectedNodeParams::collect(&source, &nodes, &NodeParamsBudget::default()).await;
        let error = json!({"msg": "no code"});
        assert_eq!(
            collected.errors,
            nodes.map(|node| (node, error.clone())).into()
        );
    }

    #[tokio::test]
    async fn parameters_that_are_too_large_are_an_error_of_their_node() {
        let large = json!("x".repeat(NODE_PARAMS_BYTES));
        let collected = collect(&[("a", Ok(large)), ("b", Ok(json!("y")))]).await;
        assert_eq!(collected.errors.len(), 1);
        assert_eq!(
            collected.errors[&node("a")]["kind"],
            "tutti/parameters-too-large"
        );
        assert!(collected.params.by_node.contains_key(&node("b")));
    }

    #[test]
    fn parameters_are_compressed_and_an_altered_one_is_none() {
        let catalog = json!(vec!["a resource like many others"; 10_000]);
        let params = texts(&catalog);
        let compressed = CompressedParams::of(&params);
        assert!(compressed.0.len() * 10 < params["catalog"].get().len());
        let texts = compressed.to_texts().unwrap();
        assert_eq!(texts["catalog"].get(), params["catalog"].get());
        let half = CompressedParams(compressed.0[..compressed.0.len() / 2].to_vec());
        assert!(half.to_texts().is_none());
        let bomb = CompressedParams::of(&self::texts(&json!("x".repeat(3 * NODE_PARAMS_BYTES))));
        assert!(bomb.to_texts().is_none());
    }

    #[test]
    fn all_parameters_together_have_a_limit() {
        let mut collected = CollectedNodeParams::none(&NodeParamsBudget::default());
        let one = CompressedParams::of(&texts(&json!("x"))).0.len();
        collected
            .reserved
            .grow(NODE_PARAMS_TOTAL_BYTES - one)
            .unwrap();
        for name in ["a", "b"] {
            collected.add(&node(name), Ok(CompressedParams::of(&texts(&json!("x")))));
        }
        assert!(collected.params.by_node.contains_key(&node("a")));
        let msg = collected.errors[&node("b")]["msg"].as_str().unwrap();
        assert!(msg.contains("fewer nodes"), "{msg}");
    }

    #[test]
    fn the_parameters_of_all_jobs_together_have_a_limit() {
        let budget = NodeParamsBudget::default();
        let one = CompressedParams::of(&texts(&json!("x"))).0.len();
        let others = budget.count(NODE_PARAMS_ALL_BYTES - one);
        let add = |name: &str| {
            let mut collected = CollectedNodeParams::none(&budget);
            collected.add(&node(name), Ok(CompressedParams::of(&texts(&json!("x")))));
            collected
        };
        let first = add("a");
        assert!(first.errors.is_empty());
        let second = add("b");
        let msg = second.errors[&node("b")]["msg"].as_str().unwrap();
        assert!(msg.contains("when other jobs have ended"), "{msg}");
        // the job holds them until it ends, also after a restart
        let stored = serde_json::to_string(&first.into_params()).unwrap();
        assert!(add("c").errors.is_empty());
        let stored: NodeParams = serde_json::from_str(&stored).unwrap();
        let restored = stored.counted_in(&budget);
        assert_eq!(add("d").errors.len(), 1);
        drop((restored, others));
        assert!(add("e").errors.is_empty());
    }
}
