//! Sentences that give a model orders.
//!
//! A description says what a tool does and when to use it, also in the imperative. It has no business with what the user is
//! told, with other instructions, with files that hold secrets, or with sending things away. The table is of such sentences,
//! in the words that attacks have in common; each was weighed against a few thousand honest definitions.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{
    Kind, Severity,
    places::{Role, Text},
    plain::Plain,
    remark::Remark,
};

/// A sentence that gives an order.
struct Order {
    kind: Kind,
    severity: Severity,
    pattern: Regex,
}

/// All patterns at once, then each that is there: most texts have none.
struct Orders {
    all: RegexSet,
    each: Vec<Order>,
}

static ORDERS: LazyLock<Orders> = LazyLock::new(|| {
    // Letters here are small and Latin, so that the ends of words can be found without tables of all alphabets.
    let ascii = |pattern: String| pattern.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[a-z0-9'_-]");
    let written: Vec<_> =
        table().into_iter().map(|(kind, severity, text)| (kind, severity, ascii(text))).collect();
    let all = RegexSet::new(written.iter().map(|(_, _, pattern)| pattern)).expect("patterns of ours");
    let order = |(kind, severity, pattern): &(Kind, Severity, String)| Order {
        kind: *kind,
        severity: *severity,
        pattern: Regex::new(pattern).expect("a pattern of ours"),
    };
    Orders { all, each: written.iter().map(order).collect() }
});

/// Who must not know.
const PERSON: &str = r"(the |your |any |this |our )?(end[- ]?)?(users?|humans?|persons?|people|operators?|owners?|customers?|anyone|anybody|them)\b";
/// What a model was told by others.
const TOLD: &str = r"(instructions?|prompts?|rules|guidelines|directives|directions|orders|commands|guardrails|safety (rules|checks|policies|measures)|polic(y|ies) of)";
/// What only an attacker wants passed on.
const PRIVATE: &str = r"(passwords?|passphrases?|credentials?|api[ _-]?keys?|private[ _-]?keys?|ssh[ _-]?keys?|access[ _-]?tokens?|secrets?|environment variables|env(ironment)? vars|system prompt|chat history|conversation( history)?|previous messages|all (of )?(the |your |their )?(files|mails?|emails?|messages|data))\b";
/// Somewhere outside.
const OUTSIDE: &str = r"(https?://|[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]|webhook|pastebin|ngrok|(this|our|my|the following) (server|endpoint|address|url))";

/// Written for plain text: small letters, single spaces, nothing unseen.
fn table() -> Vec<(Kind, Severity, String)> {
    use Kind::{Order, Secrecy, Secrets, Sends};
    use Severity::{Alarm, Note, Warn};
    let verbs_of_silence = "(tell|mention|inform|notify|reveal|disclose|alert|warn|report|admit|explain|say)";
    let table: Vec<(Kind, Severity, String)> = vec![
        // Tags that lend a sentence a voice that it does not have.
        (Order, Alarm, r"</? ?(important|critical|system|urgent|secret|hidden|override|priority|admin|instructions?|system[-_ ]?(prompt|message|instructions?|reminder|note))\b[^<>]{0,40}>".into()),
        (Order, Alarm, r"<\|(im_start|im_end|system|assistant|user|endoftext)\|?>|\[/?inst\]|<</?sys>>|</?(tool_call|function_calls?|tool_result|tool_response)>".into()),
        (Order, Alarm, r"\[(system|admin|hidden|secret)( |_|-)?(note|message|prompt|instructions?|override|directive)?\]".into()),
        (Order, Warn, r"(^|[.!?:] )(#+ ?)?(system|admin|developer|assistant) (override|prompt|message|instructions?|note|directive) ?:".into()),
        // Other instructions are not a description's business.
        (Order, Alarm, format!(r"\b(ignore|disregard|forget|override|bypass|neglect|cancel|discard|do not follow|don't follow|stop following)( \w+){{0,2}} (all|any|every|previous|prior|earlier|preceding|above|foregoing|former|other|your|original|existing|initial|safety|system)( \w+){{0,3}} {TOLD}")),
        (Order, Alarm, r"\b(ignoriere|missachte|vergiss)( \w+){0,3} (vorherigen|vorigen|bisherigen|obigen|anweisungen)|\bignor(a|e|ez|er)( \w+){0,3} (instrucciones|instructions precedentes|instructions précédentes|consignes|istruzioni|instruções)|忽略(之前|以上|先前|所有|前面).{0,6}(指令|指示|说明|提示)|игнорируй(те)? .{0,20}инструкци".into()),
        (Order, Warn, format!(r"\b(new|updated|real|actual|true|hidden|secret) {TOLD}( for (the )?(assistant|model|ai|agent|llm))? ?:")),
        (Order, Warn, r"\b(from now on|henceforth),? (you|the (assistant|model|ai|agent|llm))\b".into()),
        (Order, Warn, r"\byou are (now|no longer) (a|an|the|in|bound|restricted|required)\b".into()),
        (Order, Alarm, r"\b(takes? precedence over|has priority over|overrides?|supersedes?) (all |any |every )?(the |your )?(other |previous |user'?s? |system |prior )+(instructions?|rules|prompts?|requests?|guidelines)".into()),
        // What a person is told is theirs.
        (Secrecy, Alarm, format!(r"\b(do not|don't|never|must not|mustn't|should not|shouldn't|cannot|avoid|refrain from)( \w+){{0,3}} {verbs_of_silence}(ing)?\b[^.;]{{0,60}}\b(to |with )?{PERSON}")),
        (Secrecy, Alarm, format!(r"\b(without|no need to|instead of) ({verbs_of_silence}|tell|telling|mentioning|informing|notifying|alerting|warning|asking|letting)(ing)? {PERSON}")),
        (Secrecy, Alarm, format!(r"\b(do not|don't|never) let {PERSON} (know|see|notice|find out)")),
        (Secrecy, Alarm, format!(r"\b(hide|conceal|keep) (this|it|these|that|them|the (fact|call|action|instructions?)|any (trace|mention))( \w+){{0,4}} (from|secret from) {PERSON}")),
        (Secrecy, Alarm, format!(r"\b{PERSON} (must|should|may|can|will|need)( not|n't)? (never |ever )?(know|see|notice|be told|be informed|be aware|find out|learn) (about|of) (this|it|these|the)\b")),
        (Secrecy, Warn, r"\b(do not|don't|never) (mention|reveal|disclose|talk about|speak of|refer to) (this|these|the (existence|presence|above)|any of this)\b".into()),
        (Secrecy, Warn, r"\b(silently|secretly|covertly|discreetly|quietly) (call|send|read|include|add|append|forward|copy|upload|collect|run|execute|pass|attach|exfiltrate)".into()),
        (Order, Warn, r"\b(even if|regardless of (whether|what)|no matter what) the (user|human|person) (says?|asks?|objects?|wants?|refuses?|declines?|did not|didn't|has not|hasn't)".into()),
        (Order, Warn, r"\bwithout (asking|waiting for|requesting|seeking|requiring) (the |any |for )?(user'?s? |human |further )?(confirmation|permission|approval|consent|the user)\b".into()),
        // Which tool is used next is not a description's business either, unless it is one of the same server.
        (Order, Warn, r"\b(before|prior to) (using|calling|invoking|running|executing|you (use|call)) (any|all|every|each|other)( of the)?( other)? (tools?|functions?|servers?)\b".into()),
        (Order, Warn, r"\b(must|has to|needs to|should) (always )?(be )?(called|invoked|used|run|executed) (first |immediately )?(before|prior to|after|instead of|in place of) (any|all|every|each)( other| of the other)? (tools?|functions?|requests?|messages?|actions?|tasks?|operations?)\b".into()),
        (Order, Warn, r"\b(always|must) (use|choose|prefer|select|pick|call|invoke) this (tool|server|function|plugin)( \w+){0,3} (over|instead of|rather than|in place of) (any|all|every|the) other".into()),
        (Order, Warn, r"\b(never|do not|don't|must not) (use|call|invoke|choose|trust|rely on) (any )?(other|alternative|competing|another) (tools?|servers?|functions?|plugins?)\b".into()),
        (Order, Warn, r"\b(on|after|before|for|with|in) (every|each) (message|turn|conversation|response|reply|tool call|user (message|request|query))\b[^.]{0,40}\b(call|invoke|run|send|use) (this|the)\b".into()),
        // Reading what is private, and passing it on.
        (Order, Alarm, r"\b(before|when|while|prior to) (using|calling|invoking|running) (this|the|any) (tool|function)[^.]{0,40}\b(read|open|cat|load|fetch|retrieve|access|dump|print|list)\b[^.]{0,60}(~|/|\.[a-z]|\bfiles?\b|\bcontents?\b|\bvariables?\b)".into()),
        (Sends, Alarm, format!(r"\b(include|pass|append|attach|put|add|insert|provide|supply|embed|encode|copy|paste)( \w+){{0,3}} (the |its |their |your |all |full |entire |complete |raw )+(contents?|text|values?|output|history|data)( of| from)( \w+){{0,3}} {PRIVATE}")),
        (Sends, Alarm, format!(r"\b(read|collect|gather|extract|harvest|steal|retrieve|obtain|dump|exfiltrate)( \w+){{0,4}} {PRIVATE}[^.]{{0,60}}\b(and|then) (send|pass|include|forward|post|upload|append|attach|submit|transmit|put|add|write|e-?mail)\b")),
        (Sends, Alarm, format!(r"\b(send|forward|post|upload|exfiltrate|transmit|leak|bcc|cc|e-?mail|copy|deliver|submit|report|redirect|mirror)( \w+){{0,3}} ({PRIVATE}|everything|all (mails?|emails?|messages|results|outputs?|traffic|requests|responses|of it))[^.;]{{0,60}}\b(to|via|at|with) ([^ ]+ ){{0,3}}?{OUTSIDE}")),
        (Sends, Alarm, r"\b(bcc|blind[- ]copy)( \w+){0,4} [a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]".into()),
        (Sends, Warn, format!(r"\b(change|set|replace|rewrite|redirect) (the |all |every |any )?(recipients?|address(es)?|destination|to field|payee|account number)( \w+){{0,4}} (to|with|by) {OUTSIDE}")),
        (Sends, Warn, r"!\[[^\]]{0,80}\]\(https?://[^)]{1,200}[?&=][^)]{0,80}(\{|<|\$|data|secret|token|content|history)".into()),
        // Places where secrets are.
        (Secrets, Warn, r"(~|\$home|/root|/home/[^ /]+|%userprofile%)[/\\]\.(ssh|aws|gnupg|kube|docker|netrc|config/gcloud|azure|npmrc|pypirc|git-credentials|cursor|claude|codeium|password-store|bash_history|zsh_history)\b".into()),
        (Secrets, Warn, r"\b(id_(rsa|ed25519|ecdsa|dsa)|authorized_keys|\.?mcp\.json|claude_desktop_config|wallet\.dat|cookies\.sqlite|login\.keychain)\b|\.aws/credentials|\.git-credentials|/etc/(shadow|passwd|sudoers)\b|/proc/(self|\d+)/environ".into()),
        (Secrets, Note, r"(^|[ '`/(])\.env(\.local|\.production)?([ '`,.;:)]|$)".into()),
        (Secrets, Note, r"^(system_?prompt|chain_?of_?thought|(conversation|chat|message)_?history|previous_(messages|tool_calls)|(all_?)?(tool|environment)_?(names_and_descriptions|variables))$".into()),
    ];
    table
}

pub(super) fn look(text: &Text<'_>, plain: &Plain, remarks: &mut Vec<Remark>) {
    for index in &ORDERS.all.matches(&plain.text) {
        let Order { kind, severity, pattern } = &ORDERS.each[index];
        let Some(found) = pattern.find(&plain.text) else { continue };
        let words = &text.text[plain.origin(found.range())];
        remarks.push(text.remark(*kind, weight(text, *kind, *severity), words));
    }
}

/// A secret's place is a usual default or example of a tool that manages such files: where it is no sentence, it is only noted.
fn weight(text: &Text<'_>, kind: Kind, severity: Severity) -> Severity {
    match (kind, text.role) {
        (Kind::Secrets, Role::Value | Role::Name) => Severity::Note,
        _ => severity,
    }
}
