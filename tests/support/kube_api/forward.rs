//! Port-forward over WebSocket, in the subprotocol `v4.channel.k8s.io`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

use super::Shared;
use super::http::{Head, Socket};

const PROTOCOL: &str = "v4.channel.k8s.io";

/// A port to forward and where it leads.
pub(super) struct Forward {
    pub(super) port: u16,
    /// Nothing listens there when none.
    pub(super) target: Option<SocketAddr>,
}

/// Returns true when the request may become a port-forward.
pub(super) fn is_upgrade(head: &Head) -> bool {
    head.header("upgrade").eq_ignore_ascii_case("websocket")
        && head.header("sec-websocket-protocol").split(',').any(|it| it.trim() == PROTOCOL)
}

/// Serves one forward of one port, until either side closes or it is cut.
pub(super) async fn serve(
    shared: Arc<Shared>,
    mut socket: Socket,
    head: Head,
    forward: Forward,
) -> io::Result<()> {
    let accept = derive_accept_key(head.header("sec-websocket-key").as_bytes());
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n"
    );
    socket.write_all(answer.as_bytes()).await?;
    socket.flush().await?;
    let mut web = WebSocketStream::from_raw_socket(socket, Role::Server, None).await;
    let [low, high] = forward.port.to_le_bytes();
    for channel in [0, 1] {
        web.send(Message::binary(vec![channel, low, high])).await.map_err(io::Error::other)?;
    }
    let connected = match forward.target {
        Some(target) => TcpStream::connect(target).await.ok(),
        None => None,
    };
    let mut cut = shared.cut_forwards.subscribe();
    if let Some(target) = connected {
        tokio::select! {
            done = pump(&mut web, target) => done?,
            _ = cut.changed() => return Ok(()),
        }
    } else {
        let text =
            format!("\u{1}error forwarding port {} to pod: connection refused", forward.port);
        let message = Message::binary(text.into_bytes());
        web.send(message).await.map_err(io::Error::other)?;
    }
    // As recorded: the end of a connection is told, that of the API server is not.
    web.close(None).await.map_err(io::Error::other)
}

async fn pump(web: &mut WebSocketStream<Socket>, mut target: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        tokio::select! {
            message = web.next() => match message {
                Some(Ok(Message::Binary(bytes))) if bytes.first() == Some(&0) => {
                    target.write_all(&bytes[1..]).await?;
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(()),
                Some(Ok(_)) => {}
            },
            read = target.read(&mut buffer) => {
                let length = read?;
                if length == 0 {
                    return Ok(());
                }
                let mut bytes = vec![0];
                bytes.extend_from_slice(&buffer[..length]);
                web.send(Message::binary(bytes)).await.map_err(io::Error::other)?;
            }
        }
    }
}
