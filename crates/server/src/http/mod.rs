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

mod error;
mod extract;
mod guard;
mod listener;
mod one_time_code;
mod openapi;
mod page;
mod route_policy;
mod routes;
mod token;
mod write_timeout;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use retake_engine::model::ErrorCode;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

pub use one_time_code::OneTimeCodes;
pub use openapi::description;
pub use page::render_page;
pub use token::TokenScope;

use crate::ProjectPool;
use crate::stream::StreamTiming;
use error::ErrorResponse;
use guard::HostNames;
use retake_service::ApiError;
use token::{AccessTokens, TokenFiles};

/// Maximum requests that run at once; others queue for at most [`WORK_PATIENCE`].
const MAX_CONCURRENT_REQUESTS: usize = 32;
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
/// Grace period for requests in flight at shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Where to listen.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Loopback addresses.
    pub addresses: Vec<IpAddr>,
    /// The port; 0 is any that is free.
    pub port: u16,
    /// How event streams deal with time.
    pub timing: StreamTiming,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            addresses: vec![Ipv4Addr::LOCALHOST.into()],
            port: 0,
            timing: StreamTiming::default(),
        }
    }
}

/// State shared by the handlers.
#[derive(Clone, Debug)]
struct AppState {
    projects: Arc<ProjectPool>,
    tokens: Arc<AccessTokens>,
    codes: Arc<OneTimeCodes>,
    names: HostNames,
    request_slots: Arc<Semaphore>,
    timing: StreamTiming,
}

impl AppState {
    /// Runs a blocking closure on the blocking thread pool.
    async fn run_blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&ProjectPool) -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let place = tokio::time::timeout(QUEUE_TIMEOUT, self.request_slots.clone().acquire_owned());
        let Ok(Ok(place)) = place.await else { return Err(ErrorResponse::busy()) };
        let pool = Arc::clone(&self.projects);
        // A HTTP request keeps the daemon from idling out, as one on its socket does.
        let busy = pool.idle().start_work().ok_or_else(ErrorResponse::busy)?;
        let done = tokio::task::spawn_blocking(move || {
            let done = job(&pool);
            drop((place, busy));
            done
        });
        done.await.unwrap_or_else(|_| {
            let hint = "please report it, with what was asked for";
            Err(ErrorResponse::new(
                ErrorCode::Internal,
                "the request ended in a fault of Retake",
                hint,
            ))
        })
    }
}

/// A server that listens until it is stopped or dropped.
#[derive(Debug)]
pub struct HttpServer {
    addresses: Vec<SocketAddr>,
    codes: Arc<OneTimeCodes>,
    stop: watch::Sender<bool>,
    connections: Arc<Semaphore>,
    runtime: Option<Runtime>,
    files: TokenFiles,
}

impl HttpServer {
    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where a client asks.
    pub fn url(&self) -> String {
        format!("http://{}", self.addresses[0])
    }

    /// One-time codes for browsers.
    pub fn codes(&self) -> &Arc<OneTimeCodes> {
        &self.codes
    }

    /// Takes no more requests, and finishes those that it has; removes its files if it still has
    /// them.
    pub fn stop(mut self, removes_files: bool) {
        if !removes_files {
            self.files.disarm();
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            let all = self.connections.acquire_many(listener::MAX_CONNECTIONS as u32);
            let _ = runtime.block_on(async { tokio::time::timeout(SHUTDOWN_GRACE, all).await });
            runtime.shutdown_timeout(SHUTDOWN_GRACE);
        }
    }
}

/// Serves all projects of a pool.
pub fn serve(pool: Arc<ProjectPool>, options: &HttpOptions) -> Result<HttpServer, ApiError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(MAX_CONCURRENT_REQUESTS)
        .enable_all()
        .build()
        .map_err(|error| {
            ApiError::new(
                ErrorCode::Busy,
                format!("no threads can be started: {error}"),
                "try again",
            )
        })?;
    let listeners = runtime.block_on(listener::bind(&options.addresses, options.port))?;
    let addresses: Vec<_> =
        listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
    let Some(first) = addresses.first() else {
        return Err(ApiError::new(
            ErrorCode::NoPort,
            "there is no address to listen on",
            "name one",
        ));
    };
    let (tokens, codes) = (Arc::new(AccessTokens::new()?), Arc::new(OneTimeCodes::default()));
    let files = TokenFiles::write(pool.retake().folder(), &format!("http://{first}"), &tokens)?;
    let state = AppState {
        projects: pool,
        tokens,
        codes: Arc::clone(&codes),
        names: HostNames::for_port(first.port()),
        request_slots: Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)),
        timing: options.timing,
    };
    let router = guarded_router(state);
    let connections = Arc::new(Semaphore::new(listener::MAX_CONNECTIONS));
    let (stop, stopped) = watch::channel(false);
    for listener in listeners {
        let (router, places) = (router.clone(), Arc::clone(&connections));
        runtime.spawn(listener::accept_connections(listener, router, places, stopped.clone()));
    }
    Ok(HttpServer { addresses, codes, stop, connections, runtime: Some(runtime), files })
}

/// All routes behind the guard. The inner router is the outer one's only answer, so that the
/// guard comes before anything is looked up.
fn guarded_router(state: AppState) -> Router {
    let (routes, _) = routes::all_routes().split_for_parts();
    let routes = routes.fallback(route_policy::unknown_route).with_state(state.clone());
    Router::new()
        .fallback_service(routes.layer(from_fn(route_policy::log_response)))
        .layer(from_fn_with_state(state, guard::guard))
}
