//! Parser of one resource of a report: [`read`].
//!
//! Invariant: an unchanged resource uses no memory after it was read.

use std::io::Read;

use pxp::action::{PuppetResource, PuppetResourceStatus};

use super::cut;
use super::events::{ReportError, ReportYamlNode, YamlEvents};
use crate::defaults::{REPORTED_CONTAINMENT, REPORTED_MESSAGES};

/// An event of a resource.
#[derive(Default)]
struct ResourceEvent {
    status: Option<String>,
    message: Option<String>,
    property: Option<String>,
    name: Option<String>,
}

#[derive(Default)]
struct ReportedResource {
    resource_type: Option<String>,
    title: Option<String>,
    file: Option<String>,
    line: Option<u64>,
    containment: Vec<String>,
    failed: bool,
    changed: bool,
    corrective: bool,
    noop: bool,
    failures: Vec<String>,
    messages: Vec<String>,
}

/// Reads the next value as a resource; `None` if it is not to be reported.
pub(super) fn read<R: Read>(
    events: &mut YamlEvents<R>,
) -> Result<Option<PuppetResource>, ReportError> {
    if !events.enter_mapping()? {
        return Ok(None);
    }
    let mut seen = ReportedResource::default();
    while let Some(key) = events.key()? {
        match key.as_str() {
            "resource_type" => seen.resource_type = events.text()?.map(cut),
            "title" => seen.title = events.text()?.map(cut),
            "file" => seen.file = events.text()?.map(cut),
            "line" => seen.line = events.text()?.and_then(|line| line.parse().ok()),
            "containment_path" => {
                if events.enter_sequence()? {
                    while let Some(node) = events.item()? {
                        let name = events.text_of(node)?;
                        if seen.containment.len() < REPORTED_CONTAINMENT {
                            seen.containment.extend(name.map(cut));
                        }
                    }
                }
            }
            "failed" | "failed_to_restart" => seen.failed |= events.read_bool()?.unwrap_or(false),
            "changed" => seen.changed = events.read_bool()?.unwrap_or(false),
            "corrective_change" => seen.corrective = events.read_bool()?.unwrap_or(false),
            "events" => {
                if events.enter_sequence()? {
                    while let Some(node) = events.item()? {
                        if events.matches(node, &ReportYamlNode::Mapping)? {
                            let happening = read_event(events)?;
                            seen.add(happening);
                        }
                    }
                }
            }
            _ => events.skip()?,
        }
    }
    Ok(seen.into_reported())
}

fn read_event<R: Read>(events: &mut YamlEvents<R>) -> Result<ResourceEvent, ReportError> {
    let mut happening = ResourceEvent::default();
    while let Some(key) = events.key()? {
        match key.as_str() {
            "status" => happening.status = events.text()?,
            "message" => happening.message = events.text()?,
            "property" => happening.property = events.text()?,
            "name" => happening.name = events.text()?,
            _ => events.skip()?,
        }
    }
    Ok(happening)
}

impl ReportedResource {
    fn add(&mut self, happening: ResourceEvent) {
        let ResourceEvent {
            status,
            message,
            property,
            name,
        } = happening;
        let into = match status.as_deref().map(|it| it.trim_start_matches(':')) {
            Some("failure") => &mut self.failures,
            Some("noop") => {
                self.noop = true;
                &mut self.messages
            }
            Some("success") => &mut self.messages,
            // An audited value that did not change.
            _ => return,
        };
        if into.len() < REPORTED_MESSAGES {
            let what = property.or(name);
            into.extend(message.map(|message| match what {
                Some(what) if !what.is_empty() => cut(format!("{what}: {message}")),
                _ => cut(message),
            }));
        }
    }

    fn into_reported(self) -> Option<PuppetResource> {
        let status = if self.failed {
            PuppetResourceStatus::Failed
        } else if self.changed {
            PuppetResourceStatus::Changed
        } else if self.noop {
            PuppetResourceStatus::Noop
        } else {
            return None;
        };
        let mut messages = self.failures;
        messages.extend(self.messages);
        messages.truncate(REPORTED_MESSAGES);
        Some(PuppetResource {
            resource_type: self.resource_type.unwrap_or_default(),
            title: self.title.unwrap_or_default(),
            status,
            file: self.file,
            line: self.line,
            containment: self.containment,
            corrective: self.corrective,
            messages,
        })
    }
}
