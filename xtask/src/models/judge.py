"""Judges requests by the vendors' own client types. Nothing is sent anywhere.

stdin: a JSON document a line, {"dialect", "name", "path", "body"}, as `cargo run -p haft-model --example requests` prints.
stdout: a line for each fault. Exit: 0 none, 1 some.
"""

import json
import sys
import typing

# pydantic looks into an Iterable only when somebody walks it: faults inside would pass unseen. So the SDKs are imported
# with Iterable meaning List.
_iterable, typing.Iterable = typing.Iterable, typing.List
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses

typing.Iterable = _iterable
from google.genai import types as gemini
from pydantic import ConfigDict, TypeAdapter, ValidationError


def strict(kind):
    # The settings reach into TypedDicts only from a root that is none.
    return TypeAdapter(typing.List[kind], config=ConfigDict(extra="forbid", strict=True))


KINDS = {
    ("anthropic", True): strict(MessageCreateParamsStreaming),
    ("anthropic", False): strict(MessageCreateParamsNonStreaming),
    ("openai", True): strict(chat.CompletionCreateParamsStreaming),
    ("openai", False): strict(chat.CompletionCreateParamsNonStreaming),
    ("responses", True): strict(responses.ResponseCreateParamsStreaming),
    ("responses", False): strict(responses.ResponseCreateParamsNonStreaming),
}

# The SDK of Gemini has a model for each part of a request, and none for the request as it is sent.
GEMINI = {
    "contents": typing.List[gemini.Content],
    "systemInstruction": gemini.Content,
    "tools": typing.List[gemini.Tool],
    "toolConfig": gemini.ToolConfig,
    "generationConfig": gemini.GenerationConfig,
}


def faults(document):
    body, dialect = document["body"], document["dialect"]
    if dialect == "gemini":
        for key, value in body.items():
            if key not in GEMINI:
                yield f"{key}: no field of a request"
                continue
            yield from said(TypeAdapter(GEMINI[key]), json.dumps(value), key)
        return
    adapter = KINDS[dialect, body.get("stream", False)]
    yield from said(adapter, json.dumps([body]), "")


def said(adapter, text, place):
    try:
        adapter.validate_json(text)
    except ValidationError as err:
        # Every member of a union says why it is not meant; the deepest come nearest.
        errors = err.errors(include_url=False, include_input=False)
        deepest = max(len(error["loc"]) for error in errors)
        for error in errors:
            if len(error["loc"]) >= deepest - 1:
                where = ".".join(str(part) for part in error["loc"])
                yield f"{place} {where}: {error['msg']}"


def main():
    documents = [json.loads(line) for line in sys.stdin if line.strip()]
    count = 0
    for document in documents:
        for fault in faults(document):
            count += 1
            print(f"{document['dialect']}, {document['name']}: {fault}")
    print(f"models: {len(documents)} requests, {count} faults")
    return 1 if count or not documents else 0


sys.exit(main())
