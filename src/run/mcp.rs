//! `kvtop mcp`: read-only answers for assistants, over the Model Context Protocol on standard input and output.
//!
//! An engine task takes in what arrives; questions get pictures of it. So a client that reads slowly delays nothing but
//! its own answers.

mod bounded;
mod desk;
mod files;
mod resources;
mod tools;

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};

use self::desk::Desk;
use self::files::Files;
use self::tools::Answer;
use super::RunError;
use super::headless::ended;
use super::live;
use super::output::tell;
use crate::cli::{McpArgs, SourceArgs};
use crate::exit::Exit;

const INSTRUCTIONS: &str = "kvtop inspects KV-cache-aware routing in NVIDIA Dynamo: what routers know of workers' KV \
     caches, and what is wrong with it. Start with `check`; `explain` describes a finding; `snapshot` has the figures. \
     Tools with a `file` argument read a recording instead of the live deployment. Everything is read-only: a fix is \
     printed, never applied. A value of null is unknown, not 0. Long answers are shortened, and `truncated` says where.";

/// The longest wait for the sources to end.
const END_WITHIN: Duration = Duration::from_secs(2);

/// The data that the tools read.
struct Server {
    /// None without a deployment.
    desk: Option<Desk>,
    files: Files,
    source: SourceArgs,
    /// Held while a recording or manifests are read: one at a time, so that memory stays bounded.
    reading: tokio::sync::Semaphore,
}

pub(super) async fn mcp(args: &McpArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let files = Files::new(&args.paths)?;
    let (mut desk, mut watch) = (None, None);
    if !args.offline {
        match live::start(source).await {
            Ok(live) => {
                tell(&format!("kvtop: attached to {}", live.target.title()));
                let (asks, task) = desk::new(live);
                (desk, watch) = (Some(asks), Some(tokio::spawn(task)));
            }
            // Recordings and manifests can be read without a deployment.
            Err(error @ RunError::Nowhere(_)) if !args.paths.is_empty() => {
                tell(&format!("kvtop: no deployment, so only files are read: {}", first(&error)));
            }
            Err(error) => return Err(error),
        }
    }
    let server =
        Server { desk, files, source: source.clone(), reading: tokio::sync::Semaphore::new(1) };
    let ended = ended();
    tokio::pin!(ended);
    let exit = tokio::select! {
        exit = &mut ended => exit,
        exit = serve(server) => exit?,
    };
    if let Some(watch) = watch {
        // It ends with the last who could ask, and tells its sources to end.
        drop(tokio::time::timeout(END_WITHIN, watch).await);
    }
    Ok(exit)
}

fn first(error: &RunError) -> String {
    error.said().lines().next().unwrap_or_default().to_owned()
}

/// Serves one client until it closes the connection.
async fn serve(server: Server) -> Result<Exit, RunError> {
    let failed = |error: String| RunError::Mcp { why: super::printable_lines(&error) };
    let running = server.serve(rmcp::transport::stdio()).await;
    let running = running.map_err(|error| failed(error.to_string()))?;
    running.waiting().await.map_err(|error| failed(error.to_string()))?;
    Ok(Exit::Clean)
}

impl Server {
    async fn answer(&self, name: &str, arguments: JsonObject) -> Result<Answer, String> {
        let tool = tools::find(name)?;
        let call = tool.read(arguments)?;
        if let Some(query) = call.live() {
            let Some(desk) = &self.desk else {
                return Err("no deployment is attached: pass `file`, or start kvtop mcp with the options of one"
                    .to_owned());
            };
            let snapshot = desk.picture(query).await.ok_or("kvtop is stopping")?;
            return Ok(call.of_snapshot(&snapshot));
        }
        let turn = self.reading.acquire().await.map_err(|error| error.to_string())?;
        let (files, source) = (self.files.clone(), self.source.clone());
        let read = tokio::task::spawn_blocking(move || call.of_files(&files, &source)).await;
        drop(turn);
        read.map_err(|_| "kvtop failed to read the files; this is a bug".to_owned())?
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("kvtop", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = self.answer(&request.name, request.arguments.unwrap_or_default()).await;
        let result = match answer {
            Ok(Answer::Text(text)) => {
                CallToolResult::success(vec![ContentBlock::text(bounded::text(text))])
            }
            Ok(Answer::Json(value)) => {
                let value = bounded::json(value);
                let mut result =
                    CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
                result.structured_content = Some(value);
                result
            }
            Err(why) => CallToolResult::error(vec![ContentBlock::text(
                super::printable_lines(&why).replace('\n', " "),
            )]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all(self.desk.is_some())))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let missing = || ErrorData::resource_not_found("there is no such resource", None);
        let contents = if uri == resources::FINDINGS {
            let answer = self.answer("check", JsonObject::default()).await;
            let Ok(Answer::Json(value)) = answer else { return Err(missing()) };
            ResourceContents::text(bounded::json(value).to_string(), uri)
                .with_mime_type("application/json")
        } else {
            let (text, kind) = resources::read(&uri).ok_or_else(missing)?;
            ResourceContents::text(bounded::text(text), uri).with_mime_type(kind)
        };
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
