//! OpenAPI schemas of the text enums, built from the enums themselves.

use retake_engine::RecordState;
use retake_engine::model::{
    Actor, CallerChannel, CallerEvidence, ChangeMethod, ChangeStatus, ChangeType, CheckpointKind,
    CommentKind, CommentState, Confidence, ContextSource, HunkKind, OperationKind, OperationState,
    QueueState, SessionState,
};
use serde_json::Value;
use utoipa::openapi::schema::{Array, ArrayBuilder, Object, ObjectBuilder, SchemaType, Type};

macro_rules! words {
    ($($name:ident: $set:ty),* $(,)?) => {
        $(
#[doc = concat!("Schema of [`", stringify!($set), "`].")]
pub fn $name() -> Object {
            let names = <$set>::ALL.iter().map(|word| word.as_str());
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).build()
        }
)*
    };
}

words! {
    actor: Actor,
    caller_channel: CallerChannel,
    caller_evidence: CallerEvidence,
    confidence: Confidence,
    comment_kind: CommentKind,
    comment_state: CommentState,
    context_source: ContextSource,
    hunk_kind: HunkKind,
    queue_state: QueueState,
    record_state: RecordState,
    change_type: ChangeType,
    change_method: ChangeMethod,
    change_status: ChangeStatus,
    checkpoint_kind: CheckpointKind,
    operation_kind: OperationKind,
    operation_state: OperationState,
    session_state: SessionState,
}

/// Schema of a list of words of such a set.
fn list_of(words: Object) -> Array {
    ArrayBuilder::new().items(words).min_items(Some(1)).description(Some("One of these.")).build()
}

/// Schema of a list of [`Actor`]s.
pub fn actors() -> Array {
    list_of(actor())
}

/// Schema of a list of [`ChangeStatus`]es.
pub fn change_statuses() -> Array {
    list_of(change_status())
}

/// Schema of a list of [`Confidence`]s.
pub fn confidences() -> Array {
    list_of(confidence())
}

/// Schema of a caller's scope.
pub fn caller_scope() -> Object {
    let names = ["person", "agent", "program"];
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).build()
}

/// Schema of a change's review status; null if it is not subject to review.
pub fn review_status() -> Object {
    let names = ChangeStatus::ALL.iter().map(|word| Value::from(word.as_str()));
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(names.chain([Value::Null])))
        .build()
}
