//! Temporary files of steps: their state, and their removal without losing content.

use std::io;

use retake_model::{FileState, ObjectId, ProjectPath};
use retake_store::{OperationStep, Store, StoreError, encode_stream, hash_stream};
use retake_workspace::{ReadError, Workspace, WriteError};

/// Reads the state of a path on disk; `None` if it is missing or unreadable.
pub(super) fn state_of(workspace: &Workspace, path: &ProjectPath) -> Option<FileState> {
    read_state(workspace, path).ok().flatten()
}

/// Reads the state of a path on disk; `None` if it is missing, an error if it is unreadable.
pub(super) fn read_state(
    workspace: &Workspace,
    path: &ProjectPath,
) -> Result<Option<FileState>, StoreError> {
    let mut oid = None;
    let stat = workspace.read(path, u64::MAX - 1, &mut |reader, stat| {
        oid = None;
        match hash_stream(reader, stat.size) {
            Ok(found) => oid = Some(found),
            Err(StoreError::Write(error)) => return Err(error),
            Err(error) => return Err(io::Error::other(error.to_string())),
        }
        Ok(())
    });
    match (stat, oid) {
        (Ok(stat), Some(oid)) => {
            let (kind, mode, size) = (stat.file_kind(), stat.mode, stat.size);
            Ok(Some(FileState { kind, mode, oid, size }))
        }
        (Err(ReadError::Gone), _) => Ok(None),
        (Err(error), _) => Err(StoreError::Write(io::Error::other(error.to_string()))),
        (Ok(_), None) => Err(StoreError::NotCaptured),
    }
}

/// Finishes an interrupted exchange. A file that can be moved neither back nor forth is stored.
pub(super) fn finish_exchange(
    workspace: &Workspace,
    store: &Store,
    step: &OperationStep,
) -> Result<Option<ObjectId>, StoreError> {
    let failed = |error: WriteError| StoreError::Write(io::Error::other(error.to_string()));
    let Some(spare) = workspace.finish_exchange(&step.temp, &step.path).map_err(failed)? else {
        return Ok(None);
    };
    let kept = store_file_content(workspace, store, &spare)?;
    workspace.remove_temp(&spare).map_err(failed)?;
    Ok(Some(kept))
}

/// Removes a step's temporary file. Content that the step neither replaced nor wrote is another
/// program's, and is stored first.
pub(super) fn discard_temp(
    workspace: &Workspace,
    store: &Store,
    step: &OperationStep,
) -> Result<Option<ObjectId>, StoreError> {
    let expected = |oid: &ObjectId| {
        [&step.now, &step.then].iter().any(|side| side.known().is_some_and(|s| s.oid == *oid))
    };
    let kept = match read_state(workspace, &step.temp)? {
        Some(state) if !expected(&state.oid) => {
            Some(store_file_content(workspace, store, &step.temp)?)
        }
        _ => None,
    };
    remove_temp(workspace, step)?;
    Ok(kept)
}

/// Removes a step's temporary file, whose content is known.
pub(super) fn remove_temp(workspace: &Workspace, step: &OperationStep) -> Result<(), StoreError> {
    let removed = workspace.remove_temp(&step.temp);
    removed.map_err(|error| StoreError::Write(io::Error::other(error.to_string())))
}

/// Stores the content of a file that is about to be removed.
pub(super) fn store_file_content(
    workspace: &Workspace,
    store: &Store,
    path: &ProjectPath,
) -> Result<ObjectId, StoreError> {
    let batch = store.batch()?;
    let mut result = None;
    let read = workspace.read(path, u64::MAX - 1, &mut |reader, stat| {
        let emit = &mut |object| batch.put_object(&object).map_err(io::Error::other);
        result = Some(encode_stream(reader, stat.size, emit));
        Ok(())
    });
    read.map_err(|error| StoreError::Write(io::Error::other(error.to_string())))?;
    let oid = result.ok_or(StoreError::NotCaptured)??;
    batch.commit()?;
    Ok(oid)
}
