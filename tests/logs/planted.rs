//! Prompts and secrets in every form that was seen in logs, and none of them in a frame.

use kvtop::frame::Body;
use kvtop::record::encode;
use kvtop::source::logs::{LogLimits, LogText, spawn_with};
use tokio::sync::watch;

use super::{FRONTEND, frontend};
use crate::support::frames::Delivered;
use crate::support::kube_api::FakeKube;

const HEAD: &str = "2026-02-16T14:38:53.950961Z  INFO dynamo_llm::http::service: ";

/// How prompts, answers and their tokens stand in lines.
const PROMPTS: &[&str] = &[
    "request: NvCreateChatCompletionRequest { messages: [User(Message { content: Text(\"PLANTED\") })] }",
    "content: Text(\"PLANTED\")",
    "content: Some(Text(\"PLANTED\"))",
    "Prompt: \"PLANTED\"",
    "prompt: PLANTED it is",
    "prompt=PLANTED it is",
    "prompt='PLANTED'",
    "prompt = \"PLANTED\"",
    "formatted_prompt: Some(\"PLANTED\")",
    "system_prompt=PLANTED",
    "text=PLANTED",
    "text: \"PLANTED\"",
    "generated text: 'PLANTED'",
    "tokens=[PLANTED, 2, 3]",
    "token_ids: [1, PLANTED]",
    "prompt_token_ids=[1, PLANTED]",
    "input_ids=tensor([PLANTED])",
    "inputs: \"PLANTED\"",
    "{\"prompt\": \"PLANTED\"}",
    "body={\"messages\":[{\"role\":\"user\",\"content\":\"PLANTED\"}]}",
    "body: {\\\"messages\\\":[{\\\"content\\\":\\\"PLANTED\\\"}]}",
    "got request PLANTED",
    "user said PLANTED",
    "completion='PLANTED'",
    "delta: Delta { content: Some(\"PLANTED\") }",
    "question=PLANTED answer=PLANTED",
    "arguments: \"{\\\"city\\\": \\\"PLANTED\\\"}\"",
    "query: PLANTED",
    "instructions: \"PLANTED\"",
    "choices: [Choice { message: PLANTED }]",
    "RequestOutput(request_id=0, prompt='PLANTED', outputs=[CompletionOutput(text='PLANTED')])",
    "Received request cmpl-1: prompt: 'PLANTED', params: SamplingParams(n=1)",
];

/// How secrets stand in lines.
const SECRETS: &[&str] = &[
    "secret: Some(\"PLANTED\")",
    "Login { client_secret: PLANTED, n: 1 }",
    "client_secret=PLANTED",
    "password: PLANTED",
    "password=\"PLANTED\"",
    "Auth { user: \"u\", password: \"PLANTED\" }",
    "nkey seed SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQAPLANTED",
    "Cookie: session=PLANTED",
    "Set-Cookie: id=PLANTED; HttpOnly",
    "Authorization: Bearer PLANTED",
    "authorization: Basic PLANTED",
    "x-api-key: PLANTED",
    "AKIAIOSFODNN7PLANTED",
    "aws_secret_access_key = PLANTED",
    "aws_session_token=PLANTED",
    "xoxb-123456789012-PLANTED",
    "https://hooks.slack.com/services/T0/B0/PLANTED",
    "ghp_PLANTED0123456789abcdef",
    "github_pat_PLANTED0123456789",
    "glpat-PLANTED0123456789",
    "hf_PLANTED0123456789abc",
    "nvapi-PLANTED0123456789",
    "sk-PLANTED0123456789abc",
    "AIzaSyPLANTED0123456789",
    "ya29.PLANTED0123456789",
    "eyJhbGciOiJIUzI1NiJ9.PLANTED.x",
    "nats://user:PLANTED@nats:4222",
    "https://host/path?token=PLANTED",
    "https://host/path?sig=PLANTED",
    "-----BEGIN NATS USER JWT----- PLANTED ------END NATS USER JWT------",
    "-----BEGIN USER NKEY SEED----- PLANTED",
    "-----BEGIN RSA PRIVATE KEY----- PLANTED",
    "args: Namespace(api_key='PLANTED', port=8000)",
    "env: {'HF_TOKEN': 'PLANTED'}",
    "jwt=PLANTED",
    "connection string Server=db;Pwd=PLANTED",
];

/// Lines that a decoder reads, with something planted beside the fields that it uses.
const READ: &[&str] = &[
    "2026-02-16T14:38:53.950961Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=77 \
     dp_rank=0, logit: 4.500, cached blocks: 2, tree size: 9, total blocks: 99 prompt=PLANTED",
    "2026-02-16T14:38:53.950961Z  WARN request{prompt=\"PLANTED\"}: dynamo_llm::kv_router::indexer: Failed to \
     find parent block; skipping store operation worker_id=77 parent_hash=Some(ExternalSequenceBlockHash(9)) \
     note=PLANTED",
    "TensorRT-LLM engine args: {'model': 'PLANTED', 'tokens_per_block': 32, 'hf_token': 'PLANTED'}",
    "Initializing the worker with config: Config(kv_block_size=32, prompt='PLANTED', max_batch_size=8)",
    "{\"time\":\"2026-02-16T14:38:53Z\",\"level\":\"INFO\",\"target\":\"dynamo_llm::kv_router::scheduler\",\
     \"message\":\"Selected worker\",\"worker_id\":77,\"prompt\":\"PLANTED\",\"logit\":1.5}",
    "GPU KV cache size: 8,128 tokens for PLANTED",
];

/// Returns how prompts and secrets are written.
pub(crate) fn forms() -> impl Iterator<Item = &'static str> {
    PROMPTS.iter().chain(SECRETS).copied()
}

/// Returns every form: after a head, bare, as JSON, and as the second line of an entry.
pub(crate) fn lines() -> Vec<String> {
    let mut lines: Vec<String> = READ.iter().map(|&line| line.to_owned()).collect();
    for form in forms() {
        lines.push(format!("{HEAD}{form}"));
        lines.push((*form).to_owned());
        lines.push(
            serde_json::json!({ "level": "INFO", "message": form, "fields": { "x": form } })
                .to_string(),
        );
        lines.push("DEBUG:vllm.engine:got a prompt".to_owned());
        lines.push(format!("  and PLANTED: {form}"));
    }
    lines
}

#[tokio::test]
async fn nothing_that_is_planted_enters_a_frame() {
    let lines = lines();
    assert!(PROMPTS.len() + SECRETS.len() + READ.len() >= 60);
    let kube = FakeKube::demo();
    for line in &lines {
        kube.log_line(FRONTEND, "main", line);
    }
    let (emitter, mut delivered) = Delivered::with_room(10_000);
    let (_targets, list) = watch::channel(vec![frontend()]);
    let limits = LogLimits { text: LogText::Read, ..LogLimits::default() };
    let _handle = spawn_with(kube.client().await, emitter, list, limits);
    delivered.until("every line", |it| it.lines(FRONTEND).len() >= lines.len()).await;

    for (kept, line) in delivered.lines(FRONTEND).iter().zip(&lines) {
        assert!(!kept.contains("PLANTED"), "{line}\n{kept}");
    }
    for frame in &delivered.frames {
        assert!(matches!(frame.body, Body::Whole(_)) && !encode(frame).contains("PLANTED"));
    }
}

#[tokio::test]
async fn where_whole_lines_are_kept_the_forms_that_are_known_are_removed() {
    // Sentences without a field's name cannot be told from harmless ones.
    let unknowable = ["got request", "user said", "hooks.slack.com", "Pwd=", "choices: [Choice"];
    let forms: Vec<_> = PROMPTS
        .iter()
        .chain(SECRETS)
        .filter(|form| !unknowable.iter().any(|part| form.contains(part)))
        .collect();
    let kube = FakeKube::demo();
    for form in &forms {
        kube.log_line(FRONTEND, "main", &format!("{HEAD}{form}"));
    }
    let (emitter, mut delivered) = Delivered::with_room(10_000);
    let (_targets, list) = watch::channel(vec![frontend()]);
    let limits = LogLimits { text: LogText::Whole, ..LogLimits::default() };
    let _handle = spawn_with(kube.client().await, emitter, list, limits);
    delivered.until("every line", |it| it.lines(FRONTEND).len() >= forms.len()).await;

    let lines = delivered.lines(FRONTEND);
    let missed: Vec<_> = lines.iter().filter(|kept| kept.contains("PLANTED")).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
