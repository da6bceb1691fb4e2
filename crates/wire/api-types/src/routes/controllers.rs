//! Route on which brokers of other machines connect.

use crate::route::Method::Get;
use crate::route::{Policy, Route};

super::group! {
    CONTROLLER = Route::new(Get, "/server", "controller", Policy::Broker,
        "A broker on another machine connects here (WebSocket)").nothing(101);
    CONTROLLER_SERVER = Route::new(Get, "/server/server", "controller_server", Policy::Broker,
        "The same, as brokers append it to a path of their configuration").nothing(101);
}
