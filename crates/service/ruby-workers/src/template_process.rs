//! Process of one environment version, from which sessions are forked. Main type: [`TemplateProcess`].
//!
//! Invariant: the process runs no function; when this handle is dropped, the process and all sessions that
//! it forked are dead and reaped.

use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value as Json, json};

use crate::channel::{Channel, ChannelError, TimeBudget};
use crate::defaults::{CONTROL_TIME_MAX, END_TIME_MAX, FRAME_MAX, START_MESSAGES_MAX};
use crate::environment::RubyEnvironment;
use crate::error::RubyWorkerError;
use crate::frame::encode;
use crate::interrupt::RubyInterrupt;
use crate::preloaded_code::PreloadedCode;
use crate::process::{scripts, start_ruby};
use crate::settings::RubyWorkerSettings;

/// Directories of Puppet, whose parents it creates when it starts.
const PUPPET_DIRECTORIES: [&str; 7] = [
    "confdir",
    "codedir",
    "vardir",
    "publicdir",
    "rundir",
    "logdir",
    "ssldir",
];

/// A directory that does not exist, in one that does.
const NO_DIRECTORY: &str = "/nonexistent";

impl PreloadedCode {
    /// Kind and name, as `ruby/template.rb` reads them.
    fn to_json(&self) -> Json {
        match self {
            Self::Function(name) => json!(["function", name]),
            Self::Template(path) => json!(["erb", path]),
        }
    }
}

#[derive(Debug)]
pub(crate) struct TemplateProcess {
    child: Child,
    channel: Channel,
    environment: String,
}

/// A session process that was just forked.
#[derive(Debug)]
pub(crate) struct ForkedSession {
    /// Its id, which stays reserved until [`TemplateProcess::end_session`].
    pub(crate) pid: i64,
    pub(crate) channel: Channel,
}

// === impl TemplateProcess ===

impl TemplateProcess {
    /// Starts `ruby` and loads Puppet and the environment. `interrupt` ends that.
    pub(crate) fn start(
        settings: &RubyWorkerSettings,
        environment: &RubyEnvironment,
        interrupt: Option<&RubyInterrupt>,
    ) -> Result<Self, RubyWorkerError> {
        let (child, socket) = start_ruby(settings, environment)?;
        let channel = Channel::new(socket, None, FRAME_MAX);
        let mut process = match channel {
            Ok(channel) => Self {
                child,
                channel,
                environment: environment.name.clone(),
            },
            Err(source) => {
                reap(child);
                return Err(RubyWorkerError::Start {
                    ruby: settings.ruby.clone(),
                    source,
                });
            }
        };
        let mut budget = TimeBudget::interruptible(settings.start_time_max, interrupt);
        process
            .load(settings, environment, &mut budget)
            .map_err(|error| match error {
                RubyWorkerError::Silent { environment, .. } => RubyWorkerError::Silent {
                    environment,
                    after: settings.start_time_max,
                },
                other => other,
            })?;
        Ok(process)
    }

    fn load(
        &mut self,
        settings: &RubyWorkerSettings,
        environment: &RubyEnvironment,
        budget: &mut TimeBudget,
    ) -> Result<(), RubyWorkerError> {
        let ready = self.ask(&scripts(), &[], budget)?;
        if let Some(message) = ready.get("missing") {
            return Err(RubyWorkerError::LibraryMissing {
                ruby: settings.ruby.clone(),
                message: message.as_str().unwrap_or_default().to_owned(),
            });
        }
        let directories = PUPPET_DIRECTORIES.iter();
        let mut puppet_settings: Vec<Json> = directories
            .map(|name| json!([name, NO_DIRECTORY]))
            .collect();
        puppet_settings.push(json!(["environment", environment.name]));
        let own = settings.puppet_settings.iter();
        puppet_settings.extend(own.map(|(name, value)| json!([name, value])));
        let setup = json!({
            "op": "setup",
            "environment": environment.name,
            "directory": environment.directory,
            "module_directories": environment.module_directories,
            "settings": puppet_settings,
        });
        self.ask(&setup, &[], budget)?;
        Ok(())
    }

    /// Forks a session. The code of `preload` is loaded first, so that further sessions have it.
    pub(crate) fn fork(
        &mut self,
        settings: &RubyWorkerSettings,
        preload: &[PreloadedCode],
    ) -> Result<ForkedSession, RubyWorkerError> {
        let environment = self.environment.clone();
        let failed = |source: io::Error| RubyWorkerError::Connection {
            environment: environment.clone(),
            source,
        };
        let (own, other) = UnixStream::pair().map_err(failed)?;
        let (output, printed) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let message = json!({
            "op": "fork",
            "memory": settings.memory_max_bytes,
            // the limit counts all processes of the user, so it must be one that nothing else has
            "processes": settings.user.map(|_| settings.user_processes_max),
            "frame": settings.frame_max_bytes,
            "preload": preload.iter().map(PreloadedCode::to_json).collect::<Vec<_>>(),
        });
        let fds = [OwnedFd::from(other), printed];
        let mut budget = TimeBudget::new(CONTROL_TIME_MAX);
        let reply = self.ask(&message, &fds, &mut budget)?;
        let pid = reply.get("pid").and_then(Json::as_i64);
        let pid = pid.ok_or_else(|| self.malformed(&reply))?;
        let output = Some((output, settings.output_max_bytes));
        let channel = Channel::new(own, output, settings.frame_max_bytes).map_err(failed)?;
        let channel = channel.with_process(open_process(pid));
        Ok(ForkedSession { pid, channel })
    }

    /// Kills a session and the processes that it started; gives how it ended.
    pub(crate) fn end_session(&mut self, pid: i64) -> Option<String> {
        let mut budget = TimeBudget::new(CONTROL_TIME_MAX);
        let message = json!({"op": "end", "pid": pid});
        let reply = self.ask(&message, &[], &mut budget).ok()?;
        reply.get("status")?.as_str().map(str::to_owned)
    }

    /// Sends a message, then each descriptor with one byte, and awaits the answer.
    fn ask(
        &mut self,
        message: &Json,
        fds: &[OwnedFd],
        budget: &mut TimeBudget,
    ) -> Result<Json, RubyWorkerError> {
        let reply = self.exchange(message, fds, budget);
        let reply = reply.map_err(|error| self.describe(error))?;
        match reply.get("fail").and_then(Json::as_str) {
            Some(message) => Err(RubyWorkerError::Environment {
                environment: self.environment.clone(),
                message: message.to_owned(),
            }),
            None => Ok(reply),
        }
    }

    fn exchange(
        &mut self,
        message: &Json,
        fds: &[OwnedFd],
        budget: &mut TimeBudget,
    ) -> Result<Json, ChannelError> {
        let frame = encode(message, FRAME_MAX).ok_or(ChannelError::TooLong)?;
        self.channel.send(&frame, budget)?;
        for fd in fds {
            send_descriptor(self.channel.socket(), fd.as_fd())?;
        }
        let reply = self.channel.receive(budget)?;
        serde_json::from_slice(&reply).map_err(|error| io::Error::from(error).into())
    }

    fn describe(&mut self, error: ChannelError) -> RubyWorkerError {
        let environment = self.environment.clone();
        match error {
            ChannelError::Closed => RubyWorkerError::EndedAtStart {
                environment,
                message: self.last_messages(),
            },
            ChannelError::TimedOut => RubyWorkerError::Silent {
                environment,
                after: CONTROL_TIME_MAX,
            },
            ChannelError::Interrupted => RubyWorkerError::Interrupted,
            ChannelError::Io(source) => RubyWorkerError::Connection {
                environment,
                source,
            },
            other => RubyWorkerError::Connection {
                environment,
                source: io::Error::other(other.to_string()),
            },
        }
    }

    fn malformed(&self, reply: &Json) -> RubyWorkerError {
        RubyWorkerError::Connection {
            environment: self.environment.clone(),
            source: io::Error::other(format!("the answer {reply} has no process id")),
        }
    }

    /// Text that `ruby` wrote to stderr before its environment was loaded. The process is dead.
    fn last_messages(&mut self) -> String {
        let mut text = Vec::new();
        // a worker's own processes do not hold its stderr, so the pipe ends with it
        if wait_until_dead(&self.child, END_TIME_MAX)
            && let Some(stderr) = self.child.stderr.take()
        {
            let _ = stderr
                .take(START_MESSAGES_MAX as u64)
                .read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).trim().to_owned()
    }
}

impl Drop for TemplateProcess {
    /// Closes the connection, which ends the process and its sessions, and reaps it.
    fn drop(&mut self) {
        let _ = self.channel.socket().shutdown(std::net::Shutdown::Both);
        wait_until_dead(&self.child, END_TIME_MAX);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reap(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// A descriptor of a session's process, which was forked just now; `None` on kernels without them (before
/// Linux 5.3), and if the process has ended.
fn open_process(pid: i64) -> Option<OwnedFd> {
    let pid = Pid::from_raw(pid.try_into().ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// True if the process ended within the time; it is not reaped.
fn wait_until_dead(child: &Child, time: Duration) -> bool {
    let Ok(pidfd) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
        return false;
    };
    let mut polled = [PollFd::new(&pidfd, PollFlags::IN)];
    let timeout = Timespec::try_from(time).ok();
    matches!(poll(&mut polled, timeout.as_ref()), Ok(ready) if ready > 0)
}

fn send_descriptor(socket: &UnixStream, fd: BorrowedFd<'_>) -> io::Result<()> {
    let fds = [fd];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(
        socket,
        &[IoSlice::new(b".")],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}
