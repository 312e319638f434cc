"""The zstd dictionary of stored bodies: content that many bodies share, so that small ones compress too.

Frozen: a stored body can only be read with the dictionary it was written with. A better one needs a new layout.
"""

from __future__ import annotations

_WORDS = (
    "error warning failed because could not should would have been function return import from class self None "
    "True False const await async string number object undefined null let me check the file and then run the tests "
    "the user wants to make sure that this is what we need in order to see which of these are there, please look at "
    "I will now update the code so that it works. The output shows that it is not the same as before. Here is the "
)
DICTIONARY = (
    _WORDS + 'https://www. .com/ /src/ /tests/ .py .ts .json .md line 1, in <module>\\n  File \\"/home/user/'
    ',"level":"high","disabled":false,"triggers":[]},"todos":[{"content":"","status":"pending","activeForm":""},'
    '{"content":"","status":"completed"}],"sidechain":true,"state":"interrupted","metadata":{"schemaVersion":1,'
    '"context":{"cwd":"/home/","gitBranch":"main","platform":"linux","userType":"external"},"thinking":{'
    '"extra":{"claude-code":{"requestId":"req_01","version":"2.1.","toolUseResult":{"stdout":"","stderr":"",'
    '"interrupted":false,"isImage":false},"filePath":"","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,'
    '"newLines":1,"lines":[" "]}],"userModified":false,"replaceAll":false},"openai-chat":{},"openai-responses":{},'
    '"gemini":{},"pydantic-ai":{},"ai-sdk-ui":{"providerMetadata":{"anthropic":{"$":{'
    '"cache_control":{"type":"ephemeral"},"usage":{"inputTokens":,"outputTokens":,"totalTokens":,"reasoningTokens":,'
    '"cacheReadTokens":,"cacheWriteTokens":},"finishReason":"stop","finishReason":"tool-calls","model":{"provider":'
    '"openai","name":"gpt-5","provider":"google","name":"gemini-3-pro","provider":"anthropic","name":"claude-opus-4-'
    '"responseId":"msg_01"},{"type":"file","mimeType":"image/png","data":"iVBORw0KGgo"},{"type":"source","sourceId":'
    '"url":"https://","title":""},{"type":"data","name":"","data":{"type":"reasoning","text":"","signature":"EqQBCkYIB'
    '","binding":{"provider":"anthropic","model":"claude-sonnet-4-","prefix":""}},{"type":"tool-call","toolCallId":'
    '"call_","toolName":"","input":{"command":"","file_path":"/","query":"","path":"","old_string":"","new_string":"",'
    '"content":"","description":""}},{"type":"tool-result","toolCallId":"toolu_01","toolName":"Bash","output":"",'
    '"isError":false,"status":"success"}],"role":"tool","parts":[{"type":"tool-result","role":"assistant","parts":['
    '{"type":"reasoning","text":"","role":"system","parts":[{"type":"text","text":"You are a helpful assistant.'
    '"}],"id":"01J","parentMessageId":"","createdAt":"2026-01-01T00:00:00.000Z","agentId":"assistant","runId":"01J'
    '{"role":"user","parts":[{"type":"text","text":"{"role":"assistant","parts":[{"type":"text","text":"'
).encode()
