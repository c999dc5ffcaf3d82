//! REST over loopback: the same verbs and documents as the command line, for other programs.
//!
//! - `listener` takes connections, on loopback only;
//! - `guard` lets requests through: Host, Origin, token; it stands before the router, so no
//!   route can be reached around it;
//! - `routes` have the handlers, each registered together with its documentation, who may use
//!   it and how large its body may be (`operation`);
//! - `openapi` makes the description of all of it, `page` a page to read it on.
//!
//! A request is refused in this order: Host or Origin (403), token (401), path (404), method
//! (405), scope (403), size (413), syntax (400), meaning (422, 404, 409).
//!
//! Logs hold methods, routes and statuses: never queries, bodies or tokens.

mod code;
mod error;
mod guard;
mod impatient;
mod input;
mod listener;
mod openapi;
mod operation;
mod page;
mod routes;
mod token;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

pub use code::Codes;
pub use openapi::description;
pub use page::page;
pub use token::Scope;

use crate::stream::Pace;
use crate::{Failure, Hall};
use error::Problem;
use guard::Names;
use token::{RunFiles, Tokens};

/// Maximum requests that run at once; others queue for at most [`WORK_PATIENCE`].
const AT_WORK: usize = 32;
const WORK_PATIENCE: Duration = Duration::from_secs(10);
/// Grace period for requests in flight at shutdown.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Where to listen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Loopback addresses.
    pub addresses: Vec<IpAddr>,
    /// The port; 0 is any that is free.
    pub port: u16,
    /// How event streams deal with time.
    pub pace: Pace,
}

impl Default for Options {
    fn default() -> Self {
        Self { addresses: vec![Ipv4Addr::LOCALHOST.into()], port: 0, pace: Pace::default() }
    }
}

/// State shared by the handlers.
#[derive(Clone, Debug)]
struct Desk {
    hall: Arc<Hall>,
    tokens: Arc<Tokens>,
    codes: Arc<Codes>,
    names: Names,
    at_work: Arc<Semaphore>,
    pace: Pace,
}

impl Desk {
    /// Runs a blocking closure on the blocking thread pool.
    async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Hall) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = tokio::time::timeout(WORK_PATIENCE, self.at_work.clone().acquire_owned());
        let Ok(Ok(place)) = place.await else { return Err(Problem::busy()) };
        let hall = Arc::clone(&self.hall);
        // A HTTP request keeps the daemon from idling out, as one on its socket does.
        let busy = hall.life().begin().ok_or_else(Problem::busy)?;
        let done = tokio::task::spawn_blocking(move || {
            let done = job(&hall);
            drop((place, busy));
            done
        });
        done.await.unwrap_or_else(|_| {
            let hint = "please report it, with what was asked for";
            Err(Problem::new("internal", "the request ended in a fault of Retake", hint))
        })
    }
}

/// A server that listens until it is stopped or dropped.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<SocketAddr>,
    codes: Arc<Codes>,
    stop: watch::Sender<bool>,
    connections: Arc<Semaphore>,
    runtime: Option<Runtime>,
    files: RunFiles,
}

impl Running {
    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where a client asks.
    pub fn url(&self) -> String {
        format!("http://{}", self.addresses[0])
    }

    /// One-time codes for browsers.
    pub fn codes(&self) -> &Arc<Codes> {
        &self.codes
    }

    /// Takes no more requests, and finishes those that it has; removes its files if it still has
    /// them.
    pub fn stop(mut self, removes_files: bool) {
        if !removes_files {
            self.files.leave();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            let all = self.connections.acquire_many(listener::MOST_CONNECTIONS as u32);
            let _ = runtime.block_on(async { tokio::time::timeout(STOP_PATIENCE, all).await });
            runtime.shutdown_timeout(STOP_PATIENCE);
        }
    }
}

/// Serves all projects of a hall.
pub fn serve(hall: Arc<Hall>, options: &Options) -> Result<Running, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(AT_WORK)
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new("busy", format!("no threads can be started: {error}"), "try again")
        })?;
    let listeners = runtime.block_on(listener::bind(&options.addresses, options.port))?;
    let addresses: Vec<_> =
        listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
    let Some(first) = addresses.first() else {
        return Err(Failure::new("no_port", "there is no address to listen on", "name one"));
    };
    let (tokens, codes) = (Arc::new(Tokens::new()?), Arc::new(Codes::default()));
    let files = RunFiles::write(hall.retake().folder(), &format!("http://{first}"), &tokens)?;
    let desk = Desk {
        hall,
        tokens,
        codes: Arc::clone(&codes),
        names: Names::on(first.port()),
        at_work: Arc::new(Semaphore::new(AT_WORK)),
        pace: options.pace,
    };
    let router = guarded(desk);
    let connections = Arc::new(Semaphore::new(listener::MOST_CONNECTIONS));
    let (stop, stopped) = watch::channel(false);
    for listener in listeners {
        let (router, places) = (router.clone(), Arc::clone(&connections));
        runtime.spawn(listener::accept(listener, router, places, stopped.clone()));
    }
    Ok(Running { addresses, codes, stop, connections, runtime: Some(runtime), files })
}

/// All routes behind the guard. The inner router is the outer one's only answer, so that the
/// guard comes before anything is looked up.
fn guarded(desk: Desk) -> Router {
    let (routes, _) = routes::all().split_for_parts();
    let routes = routes.fallback(operation::unknown).with_state(desk.clone());
    Router::new()
        .fallback_service(routes.layer(from_fn(operation::told)))
        .layer(from_fn_with_state(desk, guard::guard))
}
