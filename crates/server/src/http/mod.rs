//! REST over loopback: the same verbs and documents as the command line, for other programs.
//!
//! - `listener` takes connections, on loopback only, and `connections` bounds them;
//! - `guard` lets requests through: Host, Origin, token; it stands before the router, so no
//!   route can be reached around it, and it names the `caller`;
//! - `grants` are the tokens that survive a restart: logins, and agents' tokens;
//! - `quota` bounds what each caller holds at once, with a reserve for the person;
//! - `routes` have the handlers, each registered together with its documentation, who may use
//!   it and how large its body may be (`operation`);
//! - `openapi` makes the description of all of it, `page` a page to read it on.
//!
//! A request is refused in this order: Host or Origin (403), token (401), too much at once (503),
//! path (404), method (405), scope (403), size (413), syntax (400), meaning (422, 404, 409).
//!
//! Logs hold methods, routes and statuses: never queries, bodies or tokens.

mod access;
mod caller;
mod conditional;
mod connections;
mod content_response;
mod error;
mod extract;
mod grant_file;
mod grants;
mod guard;
mod heavy_reads;
mod listener;
mod one_time_code;
mod openapi;
mod page;
mod quota;
mod reveal;
mod route_policy;
mod routes;
mod stream_slot;
mod token;
mod write_timeout;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use retake_engine::model::ErrorCode;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, mpsc, watch};

pub use access::{AccessRequest, HttpAccess};
pub use grants::TokenLifetimes;
pub use one_time_code::OneTimeCodes;
pub use openapi::description;
pub use page::render_page;
pub use token::TokenScope;

use crate::ProjectPool;
use crate::daemon::idle::until_next_tick;
use crate::projects::with_caller;
use crate::stream::{StreamHub, StreamTiming};
use caller::HttpCaller;
use error::ErrorResponse;
use guard::HostNames;
use heavy_reads::HeavyReads;
use listener::ConnectionHost;
use quota::{CallerQuota, QuotaBounds};
use retake_service::ApiError;
use token::{AccessTokens, TokenFiles};

/// Maximum requests that run at once; others queue for at most [`QUEUE_TIMEOUT`].
const MAX_CONCURRENT_REQUESTS: usize = 32;
/// Maximum requests of agents among them; the rest is the person's reserve.
const MAX_CONCURRENT_AGENT_REQUESTS: usize = 24;
/// Maximum requests in flight, from the token to the head of the answer: also those whose body is
/// read, or that queue.
const REQUEST_BOUNDS: QuotaBounds = QuotaBounds { person: 128, agent: 16, all_agents: 48 };
/// Maximum event streams. All agents together have fewer than one project may have
/// ([`crate::stream::MAX_STREAMS`]).
const STREAM_BOUNDS: QuotaBounds = QuotaBounds { person: 64, agent: 16, all_agents: 48 };
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
/// Grace period for requests in flight at shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Where to listen.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Loopback addresses.
    pub addresses: Vec<IpAddr>,
    /// The port; 0 is any that is free, and so is one that is in use.
    pub port: u16,
    /// How long tokens are good for.
    pub lifetimes: TokenLifetimes,
    /// How event streams deal with time.
    pub timing: StreamTiming,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            addresses: vec![Ipv4Addr::LOCALHOST.into()],
            port: 0,
            lifetimes: TokenLifetimes::default(),
            timing: StreamTiming::default(),
        }
    }
}

/// State shared by the handlers.
#[derive(Clone, Debug)]
struct AppState {
    projects: Arc<ProjectPool>,
    tokens: Arc<AccessTokens>,
    access: Arc<HttpAccess>,
    names: HostNames,
    /// Says why the port is not the one in the settings.
    port_note: Option<String>,
    /// Requests in flight, by caller.
    requests: Arc<CallerQuota>,
    /// Event streams, by caller.
    streams: Arc<CallerQuota>,
    request_slots: Arc<Semaphore>,
    agent_slots: Arc<Semaphore>,
    heavy: Arc<HeavyReads>,
    timing: StreamTiming,
}

impl AppState {
    /// Runs a blocking closure on the blocking thread pool.
    async fn run_blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&ProjectPool) -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let place = tokio::time::timeout(QUEUE_TIMEOUT, self.acquire_slot());
        let Ok(Ok(place)) = place.await else { return Err(ErrorResponse::busy()) };
        let pool = Arc::clone(&self.projects);
        // A HTTP request keeps the daemon from idling out, as one on its socket does.
        let busy = pool.idle().start_work().ok_or_else(ErrorResponse::busy)?;
        let (caller, is_revealed) = (HttpCaller::current_as_caller(), reveal::is_revealed());
        let done = tokio::task::spawn_blocking(move || {
            let run = || reveal::run_blocking_revealed(is_revealed, || job(&pool));
            let done = with_caller(caller, run);
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

/// A place among the requests that run.
type RequestSlot = (Option<OwnedSemaphorePermit>, OwnedSemaphorePermit);

impl AppState {
    /// Waits for a place; agents and clients without a token leave some to the person.
    async fn acquire_slot(&self) -> Result<RequestSlot, AcquireError> {
        let is_person = HttpCaller::current().is_some_and(|caller| caller.is_person());
        let of_agents = if is_person {
            None
        } else {
            Some(Arc::clone(&self.agent_slots).acquire_owned().await?)
        };
        Ok((of_agents, Arc::clone(&self.request_slots).acquire_owned().await?))
    }
}

/// A server that listens until it is stopped or dropped.
#[derive(Debug)]
pub struct HttpServer {
    addresses: Vec<SocketAddr>,
    access: Arc<HttpAccess>,
    port_note: Option<String>,
    stop: watch::Sender<bool>,
    /// Ends when no connection is left.
    connections: mpsc::Receiver<()>,
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
    pub fn codes(&self) -> &OneTimeCodes {
        self.access.codes()
    }

    /// Codes, logins and agents' tokens.
    pub fn access(&self) -> &Arc<HttpAccess> {
        &self.access
    }

    /// Says why the port is not the one that was wanted.
    pub fn port_note(&self) -> Option<&str> {
        self.port_note.as_deref()
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
            let all = self.connections.recv();
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
        .map_err(|error| no_threads(&error))?;
    let heavy = HeavyReads::start().map(Arc::new).map_err(|error| no_threads(&error))?;
    let (listeners, port_note) = runtime.block_on(bind_or_fall_back(options))?;
    let addresses: Vec<_> =
        listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
    let Some(first) = addresses.first() else {
        return Err(ApiError::new(
            ErrorCode::NoPort,
            "there is no address to listen on",
            "name one",
        ));
    };
    let tokens = Arc::new(AccessTokens::new()?);
    let access = Arc::new(HttpAccess::open(&pool, options.lifetimes));
    let files = TokenFiles::write(pool.retake().folder(), &format!("http://{first}"), &tokens)?;
    let state = AppState {
        projects: pool,
        tokens,
        access: Arc::clone(&access),
        names: HostNames::for_port(first.port()),
        port_note: port_note.clone(),
        requests: CallerQuota::new(REQUEST_BOUNDS),
        streams: CallerQuota::new(STREAM_BOUNDS),
        request_slots: Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)),
        agent_slots: Arc::new(Semaphore::new(MAX_CONCURRENT_AGENT_REQUESTS)),
        heavy,
        timing: options.timing,
    };
    runtime.spawn(beat_streams(Arc::clone(state.projects.streams()), options.timing.heartbeat));
    let (stop, stopped) = watch::channel(false);
    let (alive, connections) = mpsc::channel(1);
    let host = ConnectionHost::new(guarded_router(state), stopped, alive);
    for listener in listeners {
        runtime.spawn(listener::accept_connections(listener, host.clone()));
    }
    drop(host);
    let runtime = Some(runtime);
    Ok(HttpServer { addresses, access, port_note, stop, connections, runtime, files })
}

/// Listens on the port that is wanted, or, if it cannot, on any that is free; then says so.
async fn bind_or_fall_back(
    options: &HttpOptions,
) -> Result<(Vec<TcpListener>, Option<String>), ApiError> {
    match listener::bind(&options.addresses, options.port).await {
        Err(failure) if failure.code == ErrorCode::NoPort && options.port != 0 => {
            let listeners = listener::bind(&options.addresses, 0).await?;
            let note = format!("{}; another port was taken", failure.message);
            tracing::warn!(code = %failure.code, "{note}");
            Ok((listeners, Some(note)))
        }
        bound => Ok((bound?, None)),
    }
}

/// One heartbeat for all streams.
async fn beat_streams(streams: Arc<StreamHub>, interval: Duration) {
    loop {
        tokio::time::sleep(until_next_tick(interval)).await;
        streams.beat();
    }
}

fn no_threads(error: &std::io::Error) -> ApiError {
    ApiError::new(ErrorCode::Busy, format!("no threads can be started: {error}"), "try again")
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
