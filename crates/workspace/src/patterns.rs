//! The patterns that ship with Retake; both lists can be edited in the settings.

/// Patterns excluded by default: the profile `classic` (FILT-5 to FILT-10).
///
/// Lowest precedence: the user's own rules win, and files that git tracks or a
/// tool names are included despite this list. `Cargo.lock` is not in it,
/// because no pattern can tell a library from a program (C-19).
pub const DEFAULT_EXCLUDES: &[&str] = &[
    // State of agents (FILT-5).
    ".agentsmithy/",
    "chroma_db/",
    // Version control.
    ".git/",
    ".svn/",
    ".hg/",
    // Python (FILT-6).
    ".venv/",
    "venv/",
    "env/",
    ".env/",
    "__pycache__/",
    "*.pyc",
    "*.pyo",
    "*.pyd",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    ".tox/",
    ".coverage",
    "coverage/",
    "htmlcov/",
    "*.egg-info/",
    "dist/",
    "build/",
    ".eggs/",
    ".ipynb_checkpoints/",
    ".hypothesis/",
    ".nox/",
    ".benchmarks/",
    // JavaScript and TypeScript (FILT-7).
    "node_modules/",
    ".next/",
    ".nuxt/",
    ".cache/",
    ".parcel-cache/",
    "out/",
    ".output/",
    ".nyc_output/",
    // Rust and Go (FILT-8).
    "target/",
    "vendor/",
    // C, C++ and Java (FILT-9).
    "*.o",
    "*.a",
    "*.so",
    "*.dylib",
    "*.dll",
    "*.exe",
    "*.class",
    "*.jar",
    "*.war",
    // Editors, logs and systems (FILT-10).
    ".idea/",
    ".vscode/",
    "*.swp",
    "*.swo",
    ".DS_Store",
    "*.log",
    "logs/",
    "npm-debug.log*",
    "yarn-debug.log*",
    "Thumbs.db",
    "desktop.ini",
];

/// Scratch files of agents and patch tools (FILT-1), counted apart from ignored
/// files because a user's own file can look like this (W-30).
pub const SCRATCH_PATTERNS: &[&str] = &[
    ".tmp*",
    ".file_index.txt",
    ".grep_*.txt",
    ".pytest_*.txt",
    ".diff_*.txt",
    ".compile_*.txt",
    "*.rej",
    "*.orig",
];
