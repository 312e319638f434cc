"""FastAPI and Hansard: the whole backend of a `useChat` page.  uvicorn --app-dir examples fastapi_chat:app"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles

import hansard
from hansard.agent import Agent, ScriptedModel, resume_point
from hansard.errors import HansardError


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
    yield
    await agent.close()  # what was said of answers that still run stays, as interrupted


app, ledger = FastAPI(lifespan=lifespan), hansard.open(os.environ.get("HANSARD_DB", "chat.db"))
model = os.environ.get("MODEL") or ScriptedModel(["Tea is served. " * 20], delay=0.05)  # MODEL=anthropic:claude-...
agent = Agent(model, ledger=ledger, name="waiter", instructions="Be kind.")


@app.post("/api/chat")
async def chat(body: dict[str, object]) -> Response:
    stream = await agent.sse(body)
    return StreamingResponse(stream, headers=stream.headers)


@app.get("/api/chat/{thread_id}/stream")
async def resume(thread_id: str, request: Request) -> Response:
    stream = await agent.resume(thread_id, start=resume_point(request.query_params, request.headers))
    return StreamingResponse(stream, headers=stream.headers) if stream else Response(status_code=204)


@app.exception_handler(HansardError)
async def refused(_: Request, error: HansardError) -> Response:
    return JSONResponse({"error": str(error)}, error.status)


app.post("/api/chat/{thread_id}/stop")(agent.stop)
app.get("/api/chat/{thread_id}")(agent.ui_messages)
app.mount("/", StaticFiles(directory=Path(__file__).with_name("react_chat") / "dist", html=True, check_dir=False))
