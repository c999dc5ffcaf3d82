//! Accepts connections: loopback only, bounded in number, with timeouts.
//!
//! Invariant: a client whose request cannot be taken is told so, with a status and the one shape
//! of all errors, before its connection is closed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use retake_engine::model::ErrorCode;
use retake_service::ApiError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::connections::{ConnectionTable, HttpConnection, OpenConnection};
use super::error::ErrorResponse;
use super::write_timeout::WriteTimeoutStream;

/// Timeout until the first request with a valid token; other connections are closed after it.
const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for a request without a token that is in flight: its body has a timeout of its own.
const PUBLIC_REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum refusals whose clients are waited for, and the timeout of each.
const MAX_REFUSALS: usize = 32;
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout, maximum headers and maximum bytes of a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADERS: usize = 64;
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// What all connections of a server share.
#[derive(Clone, Debug)]
pub(super) struct ConnectionHost {
    router: Router,
    table: Arc<ConnectionTable>,
    refusals: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
    /// Dropped with the last connection, which ends the wait for them.
    _alive: mpsc::Sender<()>,
}

impl ConnectionHost {
    pub(super) fn new(
        router: Router,
        stop: watch::Receiver<bool>,
        alive: mpsc::Sender<()>,
    ) -> Self {
        let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
        Self { router, table: ConnectionTable::new(), refusals, stop, _alive: alive }
    }
}

/// Listens on these addresses, all with the same port.
pub(super) async fn bind(addresses: &[IpAddr], port: u16) -> Result<Vec<TcpListener>, ApiError> {
    if let Some(address) = addresses.iter().find(|address| !address.is_loopback()) {
        return Err(ApiError::new(
            ErrorCode::NotLoopback,
            format!("{address} can be reached from other machines, so nothing listens there"),
            "use 127.0.0.1 or ::1; to reach it from elsewhere, forward the port with ssh",
        ));
    }
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut port = port;
    for address in addresses {
        let cannot = |error| {
            let message = format!("nothing can listen on {address} port {port}: {error}");
            ApiError::new(
                ErrorCode::NoPort,
                message,
                "choose another port, or 0 for any that is free",
            )
        };
        let listener = TcpListener::bind(SocketAddr::new(*address, port)).await.map_err(cannot)?;
        port = listener.local_addr().map_err(cannot)?.port();
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Serves connections until it is stopped.
pub(super) async fn accept_connections(listener: TcpListener, mut host: ConnectionHost) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = host.stop.changed() => return,
        };
        let Ok((stream, _)) = stream else {
            // No file handle is left, or the like: it passes.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let connection = host.table.admit();
        tokio::spawn(serve_connection(stream, connection, host.clone()));
    }
}

/// The router, for the requests of one connection.
#[derive(Clone, Debug)]
struct ConnectionService {
    router: TowerToHyperService<Router>,
    connection: Arc<HttpConnection>,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<Body>;
    type Error = std::convert::Infallible;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(Arc::clone(&self.connection));
        self.router.call(request)
    }
}

async fn serve_connection(stream: TcpStream, open: OpenConnection, mut host: ConnectionHost) {
    let service = ConnectionService {
        router: TowerToHyperService::new(host.router.clone()),
        connection: Arc::clone(open.shared()),
    };
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(WriteTimeoutStream::new(stream)), service);
    let refusal = tokio::select! {
        // What the client has sent is read before it is said to be late.
        biased;
        // How a connection ends is the client's affair.
        _ = &mut connection => return,
        () = open.shared().wait_for_eviction() => ErrorResponse::busy_connections(),
        () = authentication_timeout(open.shared()) => ErrorResponse::slow_request(),
        _ = host.stop.changed() => {
            std::pin::Pin::new(&mut connection).graceful_shutdown();
            let _ = connection.await;
            return;
        }
    };
    // A client that has an answer expects no other one; its connection is just closed.
    if !open.shared().has_answered() {
        refuse(connection.into_parts().io.into_inner(), &refusal, &host.refusals).await;
    }
}

/// Waits until a connection has had its time for a request with a token; for ever if it has sent
/// one.
async fn authentication_timeout(connection: &HttpConnection) {
    let began = Instant::now();
    sleep_until(began + AUTHENTICATION_TIMEOUT).await;
    if connection.is_waiting() && connection.has_request() {
        sleep_until(began + PUBLIC_REQUEST_TIMEOUT).await;
    }
    if !connection.is_waiting() {
        std::future::pending::<()>().await;
    }
}

/// Sends a refusal; reads and discards the request for a moment, or the client would lose it.
async fn refuse(mut stream: WriteTimeoutStream, refusal: &ErrorResponse, refusals: &Semaphore) {
    let answer = refusal.as_http();
    // The first write to a connection has room in the system's buffer.
    let sending = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
        let Ok(_permit) = refusals.try_acquire() else { return Ok(()) };
        let mut forgotten = [0; 4096];
        while stream.read(&mut forgotten).await? > 0 {}
        Ok::<_, std::io::Error>(())
    };
    // A client that does not read the refusal in time is cut off.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, sending).await;
}
