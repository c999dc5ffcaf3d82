//! The alias table from tool names to kinds of tools (DET-4, C-23).
//!
//! Names are compared without case and separators, so `write_file`, `WriteFile` and `writeFile`
//! are one row. `Read` means "changes no project file itself": searches, web access, plans, and
//! also the tools that start a subagent, because the subagent's own calls are reported one by one.

use super::arguments::{self, ToolArguments, squash};

/// The effect of a tool call on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// Changes nothing.
    Read,
    /// Gives a file its whole content.
    Write,
    /// Changes part of files.
    Edit,
    /// Removes files.
    Delete,
    /// Runs a command, which may do anything.
    Shell,
    /// Not known, which may do anything.
    Other,
}

impl ToolKind {
    /// The lower-case word for logs and the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Shell => "shell",
            Self::Other => "other",
        }
    }
}

/// Normalised tool names, by kind; one text per row keeps the table readable.
const TOOL_NAMES: &[(ToolKind, &str)] = &[
    (
        ToolKind::Write,
        "write writefile writetofile writefiles filewrite fswrite create createfile \
         createnewfile builtincreatenewfile newfile savefile writetext puttext overwritefile \
         appendtofile appendfile append createtextfile savetofile",
    ),
    (
        ToolKind::Edit,
        "edit editfile editfiles multiedit notebookedit editnotebook editnotebookfile replace \
         replaceinfile replaceinfiles applydiff applypatch patch patchfile fspatch fsedit \
         strreplaceeditor strreplacebasededittool editor texteditor strreplace searchreplace \
         searchandreplace replacestringinfile multireplacestringinfile inserteditintofile insert \
         insertcontent insertintofile insertline updatefile modifyfile fileedit smartedit \
         editexistingfile builtineditexistingfile singlefindandreplace multifindandreplace \
         applyedit applyedits movefile renamefile move rename undoedit replacelines \
         replacesymbolbody insertaftersymbol insertbeforesymbol multiapplypatch replaceregex \
         editlines",
    ),
    (
        ToolKind::Delete,
        "delete deletefile deletefiles deletepath remove removefile removefiles fsdelete unlink \
         rm deletedirectory removedirectory",
    ),
    (
        ToolKind::Shell,
        "bash shell sh zsh terminal runcommand runcommands runshellcommand runterminalcommand \
         runterminalcmd runinterminal builtinrunterminalcommand executecommand executebash \
         execcommand exec execute executeshell shellcommand localshell localshellcall \
         containerexec unifiedexec commandexecution powershell pwsh cmd writestdin writebash \
         shellexec runscript command",
    ),
    (
        ToolKind::Read,
        "read readfile readfiles readmanyfiles readmultiplefiles fsread readtextfile \
         readmediafile notebookread readnotebook view viewfile viewimage cat open openfile glob \
         grep grepsearch ls list listfiles listdir listdirectory listdirectorywithsizes \
         directorytree find findfiles filesearch search searchfiles searchfilecontent \
         searchcodebase codebasesearch codesearch semanticsearch getfileinfo \
         listcodedefinitionnames listcodeusages geterrors getdiagnostics readlints lsp webfetch \
         websearch fetch fetchurl googlewebsearch fetchwebpage fetchwebcontent searchweb webrun \
         todowrite todoread todo todos updatetodolist managetodolist taskcreate taskupdate \
         tasklist taskget taskoutput taskstop updateplan plan enterplanmode exitplanmode \
         planmoderespond askuserquestion askuser askfollowupquestion attemptcompletion \
         submitandexit submit think thinking sequentialthinking savememory memory bashoutput \
         readbash killshell killbash stopbash listbash shelloutput readshelloutput \
         getterminaloutput toolsearch skill activateskill slashcommand reportintent agent task \
         spawnagent invokeagent waitagent closeagent sendinput resumeagent newtask subagent \
         runsubagent switchmode useskill listmcpresources readmcpresource \
         listmcpresourcesresource accessmcpresource fetchinstructions question sleep wait \
         getchangedfiles getsearchviewresults getprojectsetupinfo getvscodeapi githubrepo \
         terminallastcommand terminalselection",
    ),
];

/// The read tools that show the content of the files that they name. The others list, search, or
/// read no file at all.
const CONTENT_READERS: &str = "read readfile readfiles readmanyfiles readmultiplefiles fsread \
     readtextfile readmediafile notebookread readnotebook view viewfile viewimage cat openfile";

/// Tool names that mean the same on MCP servers; any other name may do anything there.
const SERVER_TOOLS: &str = "createfile deletefile directorytree edit editfile executecommand filesearch find \
     findfiles getfileinfo glob grep listdir listdirectory listdirectorywithsizes listfiles ls \
     movefile read readfile readfiles readmediafile readmultiplefiles readtextfile runcommand \
     searchfilecontent searchfiles shell strreplace viewfile write writefile writetofile bash";

/// The kind that a tool's name stands for.
pub fn kind_of(tool_name: &str) -> ToolKind {
    lookup_tool(tool_name).map_or(ToolKind::Other, |(kind, _)| kind)
}

/// Returns whether a call of kind [`ToolKind::Read`] shows the content of the files that it names.
pub(super) fn shows_content(tool: &str) -> bool {
    match lookup_tool(tool) {
        // Only an editor's command `view` makes it a reader.
        Some((ToolKind::Edit, _)) => true,
        Some((_, name)) => CONTENT_READERS.split_ascii_whitespace().any(|shower| shower == name),
        None => false,
    }
}

/// Returns whether the tool belongs to an MCP server, which any agent may use.
pub(crate) fn is_from_server(tool: &str) -> bool {
    tool.trim().get(..3).is_some_and(|start| start.eq_ignore_ascii_case("mcp"))
}

/// Looks up the kind of a tool and its normalised name.
fn lookup_tool(tool_name: &str) -> Option<(ToolKind, String)> {
    let name = tool_name.trim();
    if !is_from_server(name) {
        return lookup(squash(name));
    }
    let is_shared = |name: &str| SERVER_TOOLS.split_ascii_whitespace().any(|known| known == name);
    lookup(squash(tool_of_server(name)?)).filter(|(_, name)| is_shared(name))
}

/// Returns the tool's own part of `mcp__server__tool`. It must be known as a whole: `add_task` is
/// no `task`. In `mcp_server_tool` the server's name is taken to be one word; if it has more, the
/// tool is not known, which is on the safe side.
fn tool_of_server(name: &str) -> Option<&str> {
    let rest = name.get(3..)?;
    if let Some(rest) = rest.strip_prefix("__") {
        return rest.split_once("__").map(|(_, tool)| tool);
    }
    let separators = ['_', '.', ':', '/'];
    rest.strip_prefix(separators)?.split_once(separators).map(|(_, tool)| tool)
}

/// The kind of a call: some tools are several in one, and an argument decides.
pub fn kind_of_call(tool: &str, arguments: &ToolArguments<'_>) -> ToolKind {
    let kind = kind_of(tool);
    if kind != ToolKind::Edit {
        return kind;
    }
    match arguments.text(&["command"]) {
        Some("view") => ToolKind::Read,
        Some("create") => ToolKind::Write,
        _ if squash(tool) == "editor" && gives_whole_file(arguments) => ToolKind::Write,
        _ => ToolKind::Edit,
    }
}

/// Cline's `editor` with nothing but a new text creates the file.
fn gives_whole_file(arguments: &ToolArguments<'_>) -> bool {
    arguments.text(arguments::NEW_TEXT_KEYS).is_some()
        && arguments.text(arguments::OLD_TEXT_KEYS).is_none()
        && arguments.number(arguments::INSERT_LINE_KEYS).is_none()
}

fn lookup(squashed: String) -> Option<(ToolKind, String)> {
    let row = |names: &str| names.split_ascii_whitespace().any(|name| name == squashed);
    let kind = TOOL_NAMES.iter().find(|(_, names)| row(names)).map(|(kind, _)| *kind)?;
    Some((kind, squashed))
}
