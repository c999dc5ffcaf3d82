//! Accepts connections: loopback only, bounded in number, with timeouts.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use retake_engine::model::ErrorCode;
use retake_service::ApiError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::write_timeout::WriteTimeoutStream;

/// Maximum connections; further ones are refused.
pub(super) const MAX_CONNECTIONS: usize = 256;
/// Maximum refusals that are answered at once, and the timeout of each.
const MAX_REFUSALS: usize = 32;
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout, maximum headers and maximum bytes of a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADERS: usize = 64;
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// Response to a connection over the limit.
const BUSY_RESPONSE: &str =
    r#"{"code":"busy","message":"too many connections","hint":"close some, or try again"}"#;

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
pub(super) async fn accept_connections(
    listener: TcpListener,
    router: Router,
    connections: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
) {
    let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => return,
        };
        let Ok((stream, _)) = stream else {
            // No file handle is left, or the like: it passes.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        match Arc::clone(&connections).try_acquire_owned() {
            Ok(permit) => {
                let (router, stop) = (router.clone(), stop.clone());
                tokio::spawn(async move {
                    serve_connection(stream, router, stop).await;
                    drop(permit);
                });
            }
            // A client that does not read the refusal in time is cut off.
            Err(_) => {
                if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
                    tokio::spawn(async move {
                        let _ = tokio::time::timeout(REFUSAL_TIMEOUT, send_busy(stream)).await;
                        drop(permit);
                    });
                }
            }
        }
    }
}

/// Sends the refusal; reads and discards the request, or the client would lose the answer.
async fn send_busy(mut stream: TcpStream) -> std::io::Result<()> {
    let length = BUSY_RESPONSE.len();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\nx-content-type-options: nosniff\r\n\
         cache-control: no-store\r\n\r\n{BUSY_RESPONSE}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    let mut forgotten = [0; 4096];
    while stream.read(&mut forgotten).await? > 0 {}
    Ok(())
}

async fn serve_connection(stream: TcpStream, router: Router, mut stop: watch::Receiver<bool>) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(
            TokioIo::new(WriteTimeoutStream::new(stream)),
            TowerToHyperService::new(router),
        );
    let mut connection = std::pin::pin!(connection);
    // How a connection ends is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
