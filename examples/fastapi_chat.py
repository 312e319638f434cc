"""FastAPI and Hansard: the whole backend of a `useChat` page.  uvicorn --app-dir examples fastapi_chat:app"""

import os
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import StreamingResponse
from fastapi.staticfiles import StaticFiles

import hansard
from hansard.agent import AI_SDK_HEADERS, Agent, ScriptedModel
from hansard.errors import NotFound

app, ledger = FastAPI(), hansard.open(os.environ.get("HANSARD_DB", "chat.db"))
model = os.environ.get("MODEL") or ScriptedModel(["Tea is served. " * 20], delay=0.05)  # MODEL=anthropic:claude-...
agent = Agent(model, ledger=ledger, name="waiter", instructions="Be kind.")


@app.post("/api/chat")
async def chat(body: dict) -> StreamingResponse:
    return StreamingResponse(agent.sse(body), headers=AI_SDK_HEADERS)


@app.get("/api/chat/{chat_id}/stream")
async def resume(chat_id: str) -> Response:
    stream = await agent.resume(chat_id)
    return StreamingResponse(stream, headers=AI_SDK_HEADERS) if stream else Response(status_code=204)


@app.post("/api/chat/{chat_id}/stop")
async def stop(chat_id: str) -> bool:
    return await agent.stop(chat_id)


@app.get("/api/chat/{chat_id}")
async def messages(chat_id: str) -> list:
    try:
        return hansard.write(await ledger.aio.export_conversation(chat_id), "ai-sdk-ui").data
    except NotFound:
        return []


app.mount("/", StaticFiles(directory=Path(__file__).with_name("react_chat") / "dist", html=True, check_dir=False))
