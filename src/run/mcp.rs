//! `kvtop mcp`: read-only answers for assistants, over the Model Context Protocol on standard input and output.
//!
//! An engine task takes in what arrives; questions get pictures of it. So a client that reads slowly delays nothing but
//! its own answers.

mod bounded;
mod desk;
mod files;
mod limited;
mod planned;
mod resources;
mod table;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::async_rw::TransportAdapterAsyncRW;
use rmcp::transport::{IntoTransport, stdio};
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};

use self::desk::Desk;
use self::files::Files;
use self::limited::Limited;
use self::tools::{Answer, Call};
use super::RunError;
use super::headless::ended;
use super::live;
use super::output::tell;
use crate::cli::{McpArgs, SourceArgs};
use crate::exit::Exit;
use crate::snapshot::{Snapshot, ViewQuery};

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
    /// The same for plans, so that at most one takes the processor.
    planning: tokio::sync::Semaphore,
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
    let [reading, planning] = [(); 2].map(|()| tokio::sync::Semaphore::new(1));
    let server = Server { desk, files, source: source.clone(), reading, planning };
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
    error.said().lines().next().unwrap_or_default().trim_end_matches(" Try:").to_owned()
}

/// Serves one client until it closes the connection.
async fn serve(server: Server) -> Result<Exit, RunError> {
    let failed = |error: String| RunError::Mcp { why: super::printable_lines(&error) };
    let transport =
        IntoTransport::<RoleServer, _, TransportAdapterAsyncRW>::into_transport(stdio());
    let running = server.serve(Limited::new(transport)).await;
    let running = running.map_err(|error| failed(error.to_string()))?;
    running.waiting().await.map_err(|error| failed(error.to_string()))?;
    Ok(Exit::Clean)
}

impl Server {
    async fn answer(&self, name: &str, arguments: JsonObject) -> Result<Answer, String> {
        let tool = table::find(name)?;
        let call = tool.read(arguments)?;
        if call.simulates() {
            return self.planned(call).await;
        }
        match call.live() {
            Some(query) => {
                let snapshot = self.picture(query).await?;
                Ok(call.of_snapshot(&snapshot))
            }
            None => self.read(move |files, source| call.of_files(files, source)).await,
        }
    }

    /// Simulates on a picture, one plan at a time.
    async fn planned(&self, call: Call) -> Result<Answer, String> {
        let turn = self.planning.acquire().await.map_err(|error| error.to_string())?;
        let call = Arc::new(call);
        let snapshot = if let Some(query) = call.live() {
            self.picture(query).await?
        } else {
            let call = Arc::clone(&call);
            self.read(move |files, source| call.recorded(files, source).map(Box::new)).await?
        };
        let answer = planned::answer(&call, &snapshot, self.source.ttft_p95).await;
        drop(turn);
        answer
    }

    /// Returns a picture of the attached deployment.
    async fn picture(&self, query: ViewQuery) -> Result<Box<Snapshot>, String> {
        let none =
            "no deployment is attached: pass `file`, or start kvtop mcp with the options of one";
        let desk = self.desk.as_ref().ok_or(none)?;
        Ok(desk.picture(query).await.ok_or("kvtop is stopping")?)
    }

    /// Reads files, one call at a time.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Files, &SourceArgs) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let turn = self.reading.acquire().await.map_err(|error| error.to_string())?;
        let (files, source) = (self.files.clone(), self.source.clone());
        let done = tokio::task::spawn_blocking(move || read(&files, &source)).await;
        drop(turn);
        done.map_err(|_| "kvtop failed to read the files; this is a bug".to_owned())?
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
        Ok(ListToolsResult::with_all_items(table::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = tokio::select! {
            answer = self.answer(&request.name, request.arguments.unwrap_or_default()) => answer,
            // A plan ends with the future that waits for it.
            () = context.ct.cancelled() => Err("the client cancelled the call".to_owned()),
        };
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
