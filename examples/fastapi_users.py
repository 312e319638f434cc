"""FastAPI and Hansard for many users: each finds only their own chats.  uvicorn --app-dir examples fastapi_users:app"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

import hansard
from hansard.agent import Agent, ScriptedModel, resume_point
from hansard.errors import HansardError


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
    yield
    await agent.close()  # what was said of answers that still run stays, as interrupted


app, ledger = FastAPI(lifespan=lifespan), hansard.open(os.environ.get("HANSARD_DB", "chat.db"))
agent = Agent(ScriptedModel(["Tea is served."]), ledger=ledger, name="waiter")
TOKENS = {"token-of-ann": "ann", "token-of-bob": "bob"}  # your own sessions or tokens


def current_user(request: Request) -> str:
    user = TOKENS.get(request.headers.get("authorization", "").removeprefix("Bearer "))
    if user is None:
        raise HTTPException(401)
    return user


User = Annotated[str, Depends(current_user)]


@app.post("/api/chat")
async def chat(body: dict[str, object], user: User) -> Response:
    stream = await agent.sse(body, resource_id=user)
    return StreamingResponse(stream, headers=stream.headers)


@app.get("/api/chat/{thread_id}/stream")
async def resume(thread_id: str, request: Request, user: User) -> Response:
    start = resume_point(request.query_params, request.headers)
    stream = await agent.resume(thread_id, start=start, resource_id=user)
    return StreamingResponse(stream, headers=stream.headers) if stream else Response(status_code=204)


@app.post("/api/chat/{thread_id}/stop")
async def stop(thread_id: str, user: User) -> bool:
    return await agent.stop(thread_id, resource_id=user)


@app.get("/api/chat/{thread_id}")
async def messages(thread_id: str, user: User) -> list[dict[str, object]]:
    return await agent.ui_messages(thread_id, resource_id=user)


@app.get("/api/chats")
async def chats(user: User) -> list[dict[str, str | None]]:
    return [{"id": thread.id, "title": thread.title} for thread in ledger.threads(resource_id=user).items]


@app.exception_handler(HansardError)
async def refused(_: Request, error: HansardError) -> Response:
    return JSONResponse({"error": str(error)}, error.status)
