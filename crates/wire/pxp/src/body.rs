//! The data of every PXP message.
//!
//! [`PxpMessageBody::decode`] parses it according to the message's type, [`PxpMessageBody::encode`]
//! writes it. Invariant: every schema is closed, and every decoded body has a checked transaction
//! id.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use pcp::{MessageId, PcpMessage, PcpUri};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::{TransactionId, json, types};

/// The data of one PXP message.
#[derive(Clone, Debug)]
pub enum PxpMessageBody {
    /// A request to run an action and respond when it has ended.
    BlockingRequest(PxpRequest),
    /// A request to start an action.
    NonBlockingRequest(PxpRequest),
    /// The response that a non-blocking request was accepted, now or earlier.
    ProvisionalResponse {
        /// Transaction id of the request.
        transaction_id: TransactionId,
    },
    /// The outcome of a blocking request.
    BlockingResponse(PxpResponse),
    /// The outcome of a non-blocking request.
    NonBlockingResponse(PxpResponse),
    /// The error response that a request could not be carried out.
    Error(RpcError),
    /// Extension: the acknowledgement that an outcome is stored durably.
    OutcomeAck {
        /// Transaction id of the acknowledged outcome.
        transaction_id: TransactionId,
    },
    /// Extension: a piece of a running action's output.
    Output(OutputPiece),
    /// Extension: the amount of output that the agent may send.
    OutputCredit {
        /// Transaction id of the running action.
        transaction_id: TransactionId,
        /// Total bytes of both streams that the agent may have sent; it only grows.
        until: u64,
    },
    /// Extension: a request to end an action.
    Cancel {
        /// Transaction id of the action to end.
        transaction_id: TransactionId,
        /// `true`: kill at once, without a request to end first.
        force: bool,
    },
}

/// A request to an agent to run an action.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PxpRequest {
    /// Id chosen by the requester; an agent runs it at most once.
    pub transaction_id: TransactionId,
    /// PXP module: `task`, `command`, …
    pub module: String,
    /// Action of the module: `run`, `query`, …
    pub action: String,
    /// Parameters of the action, an object, see [`crate::action`]; `{}` when absent.
    #[serde(default = "no_params", deserialize_with = "json::raw_object")]
    pub params: Box<RawValue>,
    /// True if the agent is to send the outcome. Required in non-blocking requests, `None` in
    /// others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify_outcome: Option<bool>,
    /// Extension, only for agents that announced `extended_requests`: the requester accepts results
    /// with truncated output that is marked as such. Other requesters get the whole output, or an
    /// error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended: Option<bool>,
    /// Extension, only for agents that announced `file_servers`: addresses (`https://HOST:PORT`) of
    /// servers that have the files of this request. They are tried before those of the agent's own
    /// configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_servers: Vec<String>,
}

/// The outcome of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PxpResponse {
    /// Transaction id of the request.
    pub transaction_id: TransactionId,
    /// Results of the action, see [`crate::action`].
    pub results: Box<RawValue>,
}

/// The error of a request that could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RpcError {
    /// Transaction id of the request.
    pub transaction_id: TransactionId,
    /// Id of the message that carried the request.
    pub id: MessageId,
    /// Error text for people.
    pub description: String,
}

/// A piece of a running action's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPiece {
    /// Transaction id of the running action.
    pub transaction_id: TransactionId,
    /// The stream that the piece belongs to.
    pub stream: ProcessStream,
    /// Number of bytes of this stream before this piece.
    pub offset: u64,
    /// The bytes of the piece. On the wire a string if they are UTF-8, else base64.
    pub data: Bytes,
}

/// An output stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessStream {
    /// Standard output of the action's process.
    Stdout,
    /// Standard error of the action's process.
    Stderr,
}

/// The error for data that is not a PXP body. Texts are short and never contain the whole input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PxpBodyError {
    /// The message has no data, or `null`, which v1 brokers send for none.
    #[error("no data")]
    NoData,
    /// The data does not fit the schema of the message's type.
    #[error("invalid data: {0}")]
    Invalid(String),
    /// The message's type is not one of PXP.
    #[error("not a message type of PXP")]
    UnknownType,
}

// === impl PxpMessageBody ===

impl PxpMessageBody {
    /// Parses the data of a message of this type.
    pub fn decode(message_type: &str, data: Option<&RawValue>) -> Result<Self, PxpBodyError> {
        let body = match message_type {
            types::BLOCKING_REQUEST => Self::BlockingRequest(request(data, false)?),
            types::NON_BLOCKING_REQUEST => Self::NonBlockingRequest(request(data, true)?),
            types::PROVISIONAL_RESPONSE => {
                let TransactionData { transaction_id } = read(data)?;
                Self::ProvisionalResponse { transaction_id }
            }
            types::BLOCKING_RESPONSE => Self::BlockingResponse(read(data)?),
            types::NON_BLOCKING_RESPONSE => Self::NonBlockingResponse(read(data)?),
            types::RPC_ERROR => Self::Error(read(data)?),
            types::OUTCOME_ACK => {
                let TransactionData { transaction_id } = read(data)?;
                Self::OutcomeAck { transaction_id }
            }
            types::OUTPUT => Self::Output(read::<OutputWire>(data)?.into_output()?),
            types::OUTPUT_CREDIT => {
                let OutputCreditData {
                    transaction_id,
                    until,
                } = read(data)?;
                Self::OutputCredit {
                    transaction_id,
                    until,
                }
            }
            types::CANCEL => {
                let CancelData {
                    transaction_id,
                    force,
                } = read(data)?;
                Self::Cancel {
                    transaction_id,
                    force,
                }
            }
            _ => return Err(PxpBodyError::UnknownType),
        };
        Ok(body)
    }

    /// The type of the message that carries this body.
    pub fn message_type(&self) -> &'static str {
        match self {
            Self::BlockingRequest(_) => types::BLOCKING_REQUEST,
            Self::NonBlockingRequest(_) => types::NON_BLOCKING_REQUEST,
            Self::ProvisionalResponse { .. } => types::PROVISIONAL_RESPONSE,
            Self::BlockingResponse(_) => types::BLOCKING_RESPONSE,
            Self::NonBlockingResponse(_) => types::NON_BLOCKING_RESPONSE,
            Self::Error(_) => types::RPC_ERROR,
            Self::OutcomeAck { .. } => types::OUTCOME_ACK,
            Self::Output(_) => types::OUTPUT,
            Self::OutputCredit { .. } => types::OUTPUT_CREDIT,
            Self::Cancel { .. } => types::CANCEL,
        }
    }

    /// The transaction id that every body has.
    pub fn transaction_id(&self) -> &TransactionId {
        match self {
            Self::BlockingRequest(request) | Self::NonBlockingRequest(request) => {
                &request.transaction_id
            }
            Self::BlockingResponse(response) | Self::NonBlockingResponse(response) => {
                &response.transaction_id
            }
            Self::Error(error) => &error.transaction_id,
            Self::Output(output) => &output.transaction_id,
            Self::ProvisionalResponse { transaction_id }
            | Self::OutcomeAck { transaction_id }
            | Self::OutputCredit { transaction_id, .. }
            | Self::Cancel { transaction_id, .. } => transaction_id,
        }
    }

    /// The data of the message that carries this body.
    pub fn encode(&self) -> Box<RawValue> {
        let raw = match self {
            Self::BlockingRequest(request) => to_raw_value(&PxpRequest {
                notify_outcome: None,
                ..request.clone()
            }),
            Self::NonBlockingRequest(request) => {
                let notify_outcome = Some(request.notify_outcome.unwrap_or(true));
                to_raw_value(&PxpRequest {
                    notify_outcome,
                    ..request.clone()
                })
            }
            Self::BlockingResponse(response) | Self::NonBlockingResponse(response) => {
                to_raw_value(response)
            }
            Self::Error(error) => to_raw_value(error),
            Self::Output(output) => to_raw_value(&OutputWire::of(output)),
            Self::ProvisionalResponse { transaction_id } | Self::OutcomeAck { transaction_id } => {
                to_raw_value(&TransactionData {
                    transaction_id: transaction_id.clone(),
                })
            }
            Self::OutputCredit {
                transaction_id,
                until,
            } => to_raw_value(&OutputCreditData {
                transaction_id: transaction_id.clone(),
                until: *until,
            }),
            Self::Cancel {
                transaction_id,
                force,
            } => to_raw_value(&CancelData {
                transaction_id: transaction_id.clone(),
                force: *force,
            }),
        };
        raw.expect("strings, numbers and raw JSON always serialise")
    }

    /// A message with this body and a new id. A reply does not set `in_reply_to`: no agent in the
    /// field does that.
    pub fn into_message(self, target: PcpUri, sender: PcpUri) -> PcpMessage {
        PcpMessage::new(self.message_type(), Some(self.encode()))
            .to(target)
            .from(sender)
    }
}

impl ProcessStream {
    /// The stream's name on the wire: `stdout` or `stderr`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

// === wire forms ===

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionData {
    transaction_id: TransactionId,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputCreditData {
    transaction_id: TransactionId,
    until: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelData {
    transaction_id: TransactionId,
    #[serde(default)]
    force: bool,
}

/// Wire form of [`OutputPiece`], with exactly one of the two forms of data.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputWire {
    transaction_id: TransactionId,
    stream: ProcessStream,
    offset: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

impl OutputWire {
    fn of(output: &OutputPiece) -> Self {
        let text = std::str::from_utf8(&output.data).ok();
        Self {
            transaction_id: output.transaction_id.clone(),
            stream: output.stream,
            offset: output.offset,
            data: text.map(str::to_owned),
            data_base64: text.is_none().then(|| BASE64.encode(&output.data)),
        }
    }

    fn into_output(self) -> Result<OutputPiece, PxpBodyError> {
        let data = match (self.data, self.data_base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(base64)) => BASE64
                .decode(base64)
                .map_err(|_| PxpBodyError::Invalid("data_base64 is not base64".to_owned()))?,
            _ => {
                let reason = "exactly one of data and data_base64 is needed";
                return Err(PxpBodyError::Invalid(reason.to_owned()));
            }
        };
        let Self {
            transaction_id,
            stream,
            offset,
            ..
        } = self;
        Ok(OutputPiece {
            transaction_id,
            stream,
            offset,
            data: data.into(),
        })
    }
}

fn read<T: DeserializeOwned>(data: Option<&RawValue>) -> Result<T, PxpBodyError> {
    let text = data
        .map(RawValue::get)
        .filter(|text| *text != "null")
        .ok_or(PxpBodyError::NoData)?;
    // Serde's derived types accept an array for an object; the schemas do not.
    if !text.starts_with('{') {
        return Err(PxpBodyError::Invalid("not an object".to_owned()));
    }
    serde_json::from_str(text).map_err(|error| PxpBodyError::Invalid(json::error_reason(&error)))
}

fn request(data: Option<&RawValue>, non_blocking: bool) -> Result<PxpRequest, PxpBodyError> {
    let request: PxpRequest = read(data)?;
    match (request.notify_outcome, non_blocking) {
        (Some(_), true) | (None, false) => Ok(request),
        (None, true) => Err(PxpBodyError::Invalid(
            "the key \"notify_outcome\" is missing; add it".to_owned(),
        )),
        (Some(_), false) => Err(PxpBodyError::Invalid(
            "notify_outcome has no place in a blocking request".to_owned(),
        )),
    }
}

fn no_params() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an empty object is JSON")
}
