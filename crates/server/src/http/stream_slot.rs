//! The place of an event stream among those of its caller.
//!
//! Invariants: a stream takes its place before it is opened, and gives it back when its body is
//! gone. The stream of a token that was revoked tells nothing more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use retake_engine::model::ErrorCode;

use super::caller::HttpCaller;
use super::error::ErrorResponse;
use super::grants::TokenGrant;
use super::quota::{CallerQuota, QuotaPermit};

/// A place for one stream.
#[derive(Debug)]
pub(super) struct StreamSlot {
    _permit: QuotaPermit,
    grant: Option<Arc<TokenGrant>>,
}

impl StreamSlot {
    /// Takes a place for the caller of a request.
    pub(super) fn acquire(request: &Request) -> Result<Self, ErrorResponse> {
        let extensions = request.extensions();
        let (caller, quota) =
            (extensions.get::<HttpCaller>(), extensions.get::<Arc<CallerQuota>>());
        let permit = caller.zip(quota).and_then(|(caller, quota)| quota.acquire(&caller.account()));
        let permit = permit.ok_or_else(|| {
            ErrorResponse::new(
                ErrorCode::TooManyStreams,
                "too many event streams are open with this token",
                "close one, or follow several projects and dialogs with one stream",
            )
        })?;
        Ok(Self { _permit: permit, grant: caller.and_then(|caller| caller.grant().cloned()) })
    }

    /// Keeps the place until the answer's body is gone.
    pub(super) fn hold_while_streaming(self, response: Response) -> Response {
        response.map(|body| Body::new(SlottedBody { body, slot: self }))
    }

    fn is_revoked(&self) -> bool {
        self.grant.as_ref().is_some_and(|grant| grant.is_revoked())
    }
}

/// A body that holds a place.
struct SlottedBody {
    body: Body,
    slot: StreamSlot,
}

impl HttpBody for SlottedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_ready() && self.slot.is_revoked() {
            return Poll::Ready(None);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
