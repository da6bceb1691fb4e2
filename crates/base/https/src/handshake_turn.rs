//! Computes the handshakes of all networks in turns: [`TurnLimited`].
//!
//! Invariant: a handshake is polled only with a permit of its network and one of its listener, and
//! holds neither while it waits for the client. Therefore many handshakes of one network delay one
//! of another network by a single step, and a slow client delays nothing.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use admission::AdmissionPermit;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A permit of the network and one of the listener.
type HandshakePermits = (OwnedSemaphorePermit, OwnedSemaphorePermit);

/// A future that is polled only while it holds its permits.
pub(crate) struct TurnLimited<F, T> {
    computing: F,
    take_turn: T,
    turn: Option<Pin<Box<dyn Future<Output = HandshakePermits> + Send>>>,
}

/// Returns a function that acquires the permits for a step of the handshake with this `admission`.
pub(crate) fn handshake_turns(
    admission: Arc<AdmissionPermit>,
    listener: Arc<Semaphore>,
) -> impl Fn() -> Pin<Box<dyn Future<Output = HandshakePermits> + Send>> {
    move || {
        let (admission, listener) = (Arc::clone(&admission), Arc::clone(&listener));
        Box::pin(async move {
            let of_network = admission.acquire_handshake_turn().await;
            let of_listener = listener.acquire_owned().await;
            let of_listener = of_listener.expect("the turns of a listener are never closed");
            (of_network, of_listener)
        })
    }
}

// === impl TurnLimited ===

impl<F, T> TurnLimited<F, T> {
    pub(crate) fn new(computing: F, take_turn: T) -> Self {
        Self {
            computing,
            take_turn,
            turn: None,
        }
    }
}

impl<F, T> Future for TurnLimited<F, T>
where
    F: Future + Unpin,
    T: Fn() -> Pin<Box<dyn Future<Output = HandshakePermits> + Send>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let turn = this.turn.get_or_insert_with(&this.take_turn);
        let _held = ready!(turn.as_mut().poll(cx));
        this.turn = None;
        Pin::new(&mut this.computing).poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::Mutex;
    use std::task::Waker;

    use admission::{AdmissionLimits, ConnectionGate};
    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    use super::*;

    /// A future of three steps, each of which records the name and waits to be woken.
    struct Steps {
        name: &'static str,
        left: usize,
        log: Arc<Mutex<Vec<&'static str>>>,
    }

    impl Future for Steps {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            self.log.lock().unwrap().push(self.name);
            self.left -= 1;
            if self.left == 0 {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    }

    async fn connection(
        gate: &ConnectionGate,
        listener: &TcpListener,
        from: [u8; 4],
    ) -> (TcpStream, Arc<AdmissionPermit>) {
        let client = TcpSocket::new_v4().unwrap();
        client.bind(SocketAddr::from((from, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(client.connect(address), gate.accept(listener));
        let (_server, _, admission) = accepted.unwrap();
        (client.unwrap(), Arc::new(admission))
    }

    #[tokio::test]
    async fn many_handshakes_of_one_network_delay_one_of_another_by_a_step() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let gate = ConnectionGate::new(AdmissionLimits::default());
        let of_listener = Arc::new(Semaphore::new(1));
        let log = Arc::new(Mutex::new(Vec::new()));
        let blocked = Arc::clone(&of_listener).acquire_owned().await.unwrap();
        let mut handshakes = Vec::new();
        let mut clients = Vec::new();
        for (name, from) in [("flood", [127, 0, 0, 2]); 20]
            .into_iter()
            .chain([("honest", [127, 0, 0, 1])])
        {
            let (client, admission) = connection(&gate, &listener, from).await;
            clients.push(client);
            let steps = Steps {
                name,
                left: 3,
                log: Arc::clone(&log),
            };
            let turns = handshake_turns(admission, Arc::clone(&of_listener));
            let mut taking_turns = Box::pin(TurnLimited::new(steps, turns));
            // All are queued before the first gets its permits.
            let mut cx = Context::from_waker(Waker::noop());
            assert!(taking_turns.as_mut().poll(&mut cx).is_pending());
            handshakes.push(taking_turns);
        }
        drop(blocked);
        for ended in handshakes.into_iter().map(tokio::spawn).collect::<Vec<_>>() {
            ended.await.unwrap();
        }
        let log = log.lock().unwrap();
        assert_eq!(log.len(), 21 * 3);
        let last_honest = log.iter().rposition(|name| *name == "honest").unwrap();
        assert!(last_honest < 2 * 3 + 1, "{log:?}");
    }
}
