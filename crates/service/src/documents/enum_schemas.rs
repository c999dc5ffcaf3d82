//! OpenAPI schemas of the text enums, built from the enums themselves.

use retake_engine::RecordState;
use retake_engine::model::{
    Actor, ChangeMethod, ChangeStatus, ChangeType, CheckpointKind, Confidence, ContextSource,
    OperationKind, OperationState, SessionState,
};
use serde_json::Value;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

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
    confidence: Confidence,
    context_source: ContextSource,
    record_state: RecordState,
    change_type: ChangeType,
    change_method: ChangeMethod,
    change_status: ChangeStatus,
    checkpoint_kind: CheckpointKind,
    operation_kind: OperationKind,
    operation_state: OperationState,
    session_state: SessionState,
}

/// Schema of a change's review status; null if it is not subject to review.
pub fn review_status() -> Object {
    let names = ChangeStatus::ALL.iter().map(|word| Value::from(word.as_str()));
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(names.chain([Value::Null])))
        .build()
}
