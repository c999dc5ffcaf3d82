//! Renders a verdict as the hook reply that the agent understands.
//!
//! Invariant: a reply is empty or one JSON object. An agent that does not support a kind of reply
//! gets none: no reply ever allows what the agent would have asked the person about.

use serde_json::{Value, json};

use crate::{AgentKind, HookPhase};

/// Retake's verdict on what an agent is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookVerdict {
    /// Nothing.
    Proceed,
    /// The model should know this.
    Note(String),
    /// The call must not run, and why. At a moment that can deny nothing this is a note.
    Deny(String),
}

/// The kinds of feedback that an agent accepts before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFeedback {
    /// Only a note: the call goes on.
    Notes,
    /// That the call must not run, with a reason that the model reads; or a note.
    Denials,
    /// The same, but a note reaches the model only once the call has run.
    DenialsAndLateNotes,
}

/// The moments at which an agent passes what the person says about its work on to its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersonalFeedback {
    /// With the person's next message.
    pub message: bool,
    /// At the end of a call.
    pub call_end: bool,
    /// At the end of its turn, with which it then goes on.
    pub turn_end: bool,
}

/// The replies that the hooks of an agent understand.
///
/// [`render_reply`] asks for a denial only before a call, and for a note never at
/// [`HookPhase::Other`].
pub(crate) struct HookReplies {
    /// The feedback accepted before a call.
    pub(crate) feedback: HookFeedback,
    /// Denies a call, with the reason.
    pub(crate) deny: fn(&str) -> Value,
    /// Passes a text on to the model, if that is possible.
    pub(crate) note: Option<fn(HookPhase, &str) -> Value>,
    /// Whether a text after a call reaches the model.
    pub(crate) has_notes_after_calls: bool,
    /// Hands work back at the end of a turn, if that is possible.
    pub(crate) hand_back: Option<fn(&str) -> Value>,
    /// Says "go on", for agents that want a reply even then.
    pub(crate) proceed: Option<fn(HookPhase) -> Value>,
}

/// Returns the feedback that this agent accepts at [`HookPhase::Begin`].
pub fn feedback_of(agent: AgentKind) -> HookFeedback {
    agent.spec().replies.feedback
}

/// Returns when this agent passes the person's feedback on to its model.
pub fn personal_feedback_of(agent: AgentKind) -> PersonalFeedback {
    let HookReplies { note, has_notes_after_calls, hand_back, .. } = &agent.spec().replies;
    PersonalFeedback {
        message: note.is_some(),
        call_end: note.is_some() && *has_notes_after_calls,
        turn_end: hand_back.is_some(),
    }
}

/// The text for standard output; it may be empty. `feedback` is what the person says about the
/// agent's work.
pub fn render_reply(
    agent: AgentKind,
    phase: HookPhase,
    verdict: &HookVerdict,
    feedback: Option<&str>,
) -> String {
    let replies = &agent.spec().replies;
    if let (HookPhase::Begin, HookVerdict::Deny(reason)) = (phase, verdict) {
        return (replies.deny)(reason).to_string();
    }
    let note = replies.note_of(phase, verdict);
    let feedback = feedback.filter(|_| replies.takes_feedback(phase));
    let texts: Vec<&str> = note.into_iter().chain(feedback).collect();
    let reply = if texts.is_empty() {
        None
    } else {
        let text = texts.join("\n\n");
        match phase {
            HookPhase::TurnEnd => replies.hand_back.map(|hand_back| hand_back(&text)),
            _ => replies.note.map(|note| note(phase, &text)),
        }
    };
    let reply = reply.or_else(|| replies.proceed.map(|proceed| proceed(phase)));
    reply.map(|reply| reply.to_string()).unwrap_or_default()
}

impl HookReplies {
    /// The note of a verdict that is passed on at this moment: before the call or after it, never
    /// both times.
    fn note_of<'v>(&self, phase: HookPhase, verdict: &'v HookVerdict) -> Option<&'v str> {
        let is_late = self.feedback == HookFeedback::DenialsAndLateNotes;
        let is_passed_on = match phase {
            HookPhase::Begin => !is_late,
            HookPhase::End => is_late,
            HookPhase::UserMessage => true,
            HookPhase::TurnEnd | HookPhase::Other => false,
        };
        match verdict {
            HookVerdict::Proceed => None,
            HookVerdict::Note(text) | HookVerdict::Deny(text) => is_passed_on.then_some(text),
        }
    }

    fn takes_feedback(&self, phase: HookPhase) -> bool {
        match phase {
            HookPhase::UserMessage => self.note.is_some(),
            HookPhase::End => self.has_notes_after_calls,
            HookPhase::TurnEnd => self.hand_back.is_some(),
            HookPhase::Begin | HookPhase::Other => false,
        }
    }
}

/// A note in the form that Claude Code introduced.
pub(crate) fn added_context(event: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::*;

    #[test]
    fn every_agent_is_answered_in_its_words() {
        let verdicts = [
            ("proceed", HookVerdict::Proceed),
            ("note", HookVerdict::Note("N".into())),
            ("deny", HookVerdict::Deny("D".into())),
        ];
        let mut table = String::new();
        for agent in AgentKind::ALL {
            for phase in [HookPhase::Begin, HookPhase::UserMessage, HookPhase::Other] {
                for (name, verdict) in &verdicts {
                    let text = render_reply(agent, phase, verdict, None);
                    let text = if text.is_empty() { "-" } else { &text };
                    writeln!(table, "{agent} {phase:?} {name}: {text}").unwrap();
                }
            }
        }
        expect![[r#"
            claude-code Begin proceed: -
            claude-code Begin note: {"hookSpecificOutput":{"additionalContext":"N","hookEventName":"PreToolUse"}}
            claude-code Begin deny: {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"D"}}
            claude-code UserMessage proceed: -
            claude-code UserMessage note: {"hookSpecificOutput":{"additionalContext":"N","hookEventName":"UserPromptSubmit"}}
            claude-code UserMessage deny: {"hookSpecificOutput":{"additionalContext":"D","hookEventName":"UserPromptSubmit"}}
            claude-code Other proceed: -
            claude-code Other note: -
            claude-code Other deny: -
            codex Begin proceed: -
            codex Begin note: {"hookSpecificOutput":{"additionalContext":"N","hookEventName":"PreToolUse"}}
            codex Begin deny: {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"D"}}
            codex UserMessage proceed: -
            codex UserMessage note: {"hookSpecificOutput":{"additionalContext":"N","hookEventName":"UserPromptSubmit"}}
            codex UserMessage deny: {"hookSpecificOutput":{"additionalContext":"D","hookEventName":"UserPromptSubmit"}}
            codex Other proceed: -
            codex Other note: -
            codex Other deny: -
            gemini Begin proceed: -
            gemini Begin note: -
            gemini Begin deny: {"decision":"deny","reason":"D"}
            gemini UserMessage proceed: -
            gemini UserMessage note: {"hookSpecificOutput":{"additionalContext":"N","hookEventName":"BeforeAgent"}}
            gemini UserMessage deny: {"hookSpecificOutput":{"additionalContext":"D","hookEventName":"BeforeAgent"}}
            gemini Other proceed: -
            gemini Other note: -
            gemini Other deny: -
            opencode Begin proceed: -
            opencode Begin note: {"note":"N"}
            opencode Begin deny: {"deny":"D"}
            opencode UserMessage proceed: -
            opencode UserMessage note: {"note":"N"}
            opencode UserMessage deny: {"note":"D"}
            opencode Other proceed: -
            opencode Other note: -
            opencode Other deny: -
            copilot Begin proceed: -
            copilot Begin note: {"additionalContext":"N"}
            copilot Begin deny: {"permissionDecision":"deny","permissionDecisionReason":"D"}
            copilot UserMessage proceed: -
            copilot UserMessage note: {"additionalContext":"N"}
            copilot UserMessage deny: {"additionalContext":"D"}
            copilot Other proceed: -
            copilot Other note: -
            copilot Other deny: -
            cline Begin proceed: {"cancel":false}
            cline Begin note: {"cancel":false,"contextModification":"N"}
            cline Begin deny: {"cancel":false,"contextModification":"D"}
            cline UserMessage proceed: {"cancel":false}
            cline UserMessage note: {"cancel":false,"contextModification":"N"}
            cline UserMessage deny: {"cancel":false,"contextModification":"D"}
            cline Other proceed: {"cancel":false}
            cline Other note: {"cancel":false}
            cline Other deny: {"cancel":false}
            cursor Begin proceed: {}
            cursor Begin note: {}
            cursor Begin deny: {"agent_message":"D","permission":"deny","user_message":"D"}
            cursor UserMessage proceed: {"continue":true}
            cursor UserMessage note: {"continue":true}
            cursor UserMessage deny: {"continue":true}
            cursor Other proceed: {}
            cursor Other note: {}
            cursor Other deny: {}
            copilot-vscode Begin proceed: -
            copilot-vscode Begin note: {"hookSpecificOutput":{"additionalContext":"N","hookEventName":"PreToolUse"}}
            copilot-vscode Begin deny: {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"D"}}
            copilot-vscode UserMessage proceed: -
            copilot-vscode UserMessage note: {"hookSpecificOutput":{"additionalContext":"N","hookEventName":"UserPromptSubmit"}}
            copilot-vscode UserMessage deny: {"hookSpecificOutput":{"additionalContext":"D","hookEventName":"UserPromptSubmit"}}
            copilot-vscode Other proceed: -
            copilot-vscode Other note: -
            copilot-vscode Other deny: -
        "#]].assert_eq(&table);
    }

    #[test]
    fn after_a_call_only_those_are_told_that_cannot_be_before() {
        for agent in AgentKind::ALL {
            let at_end = |verdict| render_reply(agent, HookPhase::End, &verdict, None);
            let (nothing, note) =
                (at_end(HookVerdict::Proceed), at_end(HookVerdict::Note("N".into())));
            assert_eq!(
                note != nothing,
                feedback_of(agent) == HookFeedback::DenialsAndLateNotes,
                "{agent}"
            );
            assert_eq!(
                render_reply(agent, HookPhase::Other, &HookVerdict::Proceed, None),
                nothing,
                "{agent}"
            );
        }
        let reply =
            render_reply(AgentKind::Gemini, HookPhase::End, &HookVerdict::Note("N".into()), None);
        expect![[
            r#"{"hookSpecificOutput":{"additionalContext":"N","hookEventName":"AfterTool"}}"#
        ]]
        .assert_eq(&reply);
    }

    #[test]
    fn every_agent_gets_the_persons_feedback_where_its_model_reads_it() {
        let mut table = String::new();
        for agent in AgentKind::ALL {
            for phase in
                [HookPhase::Begin, HookPhase::End, HookPhase::UserMessage, HookPhase::TurnEnd]
            {
                let reply = |feedback| render_reply(agent, phase, &HookVerdict::Proceed, feedback);
                let (with, without) = (reply(Some("F")), reply(None));
                if with != without {
                    writeln!(table, "{agent} {phase:?}: {with}").unwrap();
                }
            }
            let moments = personal_feedback_of(agent);
            let told = |phase| {
                let reply = |feedback| render_reply(agent, phase, &HookVerdict::Proceed, feedback);
                reply(Some("F")) != reply(None)
            };
            assert_eq!(moments.message, told(HookPhase::UserMessage), "{agent}");
            assert_eq!(moments.call_end, told(HookPhase::End), "{agent}");
            assert_eq!(moments.turn_end, told(HookPhase::TurnEnd), "{agent}");
        }
        expect![[r#"
            claude-code End: {"hookSpecificOutput":{"additionalContext":"F","hookEventName":"PostToolUse"}}
            claude-code UserMessage: {"hookSpecificOutput":{"additionalContext":"F","hookEventName":"UserPromptSubmit"}}
            claude-code TurnEnd: {"decision":"block","reason":"F"}
            codex End: {"hookSpecificOutput":{"additionalContext":"F","hookEventName":"PostToolUse"}}
            codex UserMessage: {"hookSpecificOutput":{"additionalContext":"F","hookEventName":"UserPromptSubmit"}}
            codex TurnEnd: {"decision":"block","reason":"F"}
            gemini End: {"hookSpecificOutput":{"additionalContext":"F","hookEventName":"AfterTool"}}
            gemini UserMessage: {"hookSpecificOutput":{"additionalContext":"F","hookEventName":"BeforeAgent"}}
            opencode UserMessage: {"note":"F"}
            copilot UserMessage: {"additionalContext":"F"}
            cline UserMessage: {"cancel":false,"contextModification":"F"}
            copilot-vscode UserMessage: {"hookSpecificOutput":{"additionalContext":"F","hookEventName":"UserPromptSubmit"}}
        "#]].assert_eq(&table);
        let both = HookVerdict::Note("N".into());
        let reply = render_reply(AgentKind::Codex, HookPhase::UserMessage, &both, Some("F"));
        assert!(reply.contains(r"N\n\nF"), "{reply}");
    }
}
