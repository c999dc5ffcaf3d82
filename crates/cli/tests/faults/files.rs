//! What lies in the project: names, kinds, sizes, links, mounts, roots, git.
