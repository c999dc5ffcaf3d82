//! The machine around the project: disks, limits, clocks, processes, versions.
